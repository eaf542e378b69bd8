// SPDX-License-Identifier: Apache-2.0
// Histogram: what calibration remembers of a tensor, in constant memory. Bins have a power-of-two width and
// an edge at 0; when a larger value arrives, pairs of bins merge. Everything in it is a count or an extreme,
// so the result depends neither on the order of the data nor on how it was divided between threads, and
// histograms merge exactly.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tandem::quant {

class Histogram {
 public:
  static constexpr int kBins = 2048;  // on each side of zero

  void add(std::span<const float> values);
  // Only the count and the extremes, at a fraction of the time: bins stay as they are. All that minmax asks
  // for.
  void add_extremes(std::span<const float> values);
  void merge(const Histogram& other);

  int64_t count() const { return count_; }  // finite values
  int64_t not_finite() const {
    return not_finite_;
  }  // NaN and infinities, which are left out of everything else
  bool empty() const { return count_ == 0; }
  float min() const { return min_; }  // 0 when empty
  float max() const { return max_; }
  double width() const;  // of a bin; 0 until a value other than 0 arrived
  // Bin i of the positive side covers [i*width, (i+1)*width), of the negative side (-(i+1)*width, -i*width].
  int64_t positive(int i) const { return bins_[static_cast<size_t>(i)]; }
  int64_t negative(int i) const { return bins_[static_cast<size_t>(kBins + i)]; }
  // Smallest magnitude (a bin edge) that at least `fraction` of all values do not exceed.
  double magnitude_quantile(double fraction) const;

 private:
  void add_block(std::span<const float> block, bool counts);
  void add_range(float low, float high, int64_t finite);
  void widen(int exponent);
  int exponent_ = kUnset;  // width = 2^exponent
  static constexpr int kUnset = -100000;
  int64_t count_ = 0, not_finite_ = 0;
  float min_ = 0, max_ = 0;
  std::array<int64_t, 2 * kBins> bins_{};  // positive side, then negative
};

}  // namespace tandem::quant
