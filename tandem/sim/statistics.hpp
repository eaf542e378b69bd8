// SPDX-License-Identifier: Apache-2.0
// Statistics of simulations in constant memory: moments, quantiles with a bounded error, a series collapsed
// to a few thousand batches, warm-up removal and confidence intervals.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tandem::sim {

__extension__ using Wide = __int128;  // sums of products of nanoseconds

// Quantiles of non-negative integers, each within 1/128 of a value of that rank: the logarithm is cut into 64
// pieces per power of two (DDSketch: Masson, Rim and Lee 2019; here with linear pieces, as HdrHistogram).
class QuantileSketch {
 public:
  QuantileSketch() : counts_(kBuckets) {}
  void add(int64_t value) {
    ++counts_[bucket(value)];
    ++count_;
  }
  uint64_t count() const { return count_; }
  // p in [0, 1]; 0 when empty.
  int64_t quantile(double p) const;
  // The share of values <= `value`, as far as buckets tell.
  double share_up_to(int64_t value) const;
  void merge(const QuantileSketch& other);
  void clear();
  std::span<const uint64_t> counts() const { return counts_; }
  // The middle of a bucket.
  static int64_t value_of(size_t bucket);

 private:
  static constexpr int kSubBits = 6;
  static constexpr size_t kBuckets = (64 - kSubBits) << kSubBits;
  static size_t bucket(int64_t value) {
    const auto v = static_cast<uint64_t>(value < 0 ? 0 : value);
    if (v < (uint64_t{1} << kSubBits)) return static_cast<size_t>(v);
    const int shift = std::bit_width(v) - 1 - kSubBits;
    return (static_cast<size_t>(shift + 1) << kSubBits) +
           static_cast<size_t>((v >> shift) - (1u << kSubBits));
  }
  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
};

// Count, mean, standard deviation, extremes of integers; the sum is exact.
struct Moments {
  uint64_t count = 0;
  Wide sum = 0;
  double squares = 0;  // of differences to `origin`, the first value: no cancellation
  int64_t origin = 0;
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = std::numeric_limits<int64_t>::min();

  void add(int64_t value) {
    if (count++ == 0) origin = value;
    sum += value;
    const auto difference = static_cast<double>(value - origin);
    squares += difference * difference;
    least = value < least ? value : least;
    most = value > most ? value : most;
  }
  double mean() const { return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count); }
  double deviation() const;
};

// The means of equal batches of a series of any length; when 4096 are full, neighbours are joined.
class BatchSeries {
 public:
  static constexpr size_t kBatchesMax = 4096;
  BatchSeries() { means_.reserve(kBatchesMax); }
  void add(double value) {
    sum_ += value;
    if (++in_batch_ == batch_size_) close_batch();
  }
  std::span<const double> means() const { return means_; }
  uint64_t batch_size() const { return batch_size_; }

 private:
  void close_batch();
  std::vector<double> means_;
  uint64_t batch_size_ = 1;
  uint64_t in_batch_ = 0;
  double sum_ = 0;
};

struct Interval {
  double mean = 0;
  double half_width = 0;  // infinite with fewer than two values
  double low() const { return mean - half_width; }
  double high() const { return mean + half_width; }
  bool holds(double value) const { return value >= low() && value <= high(); }
};

// How many of the first values to drop: White's marginal standard error rule (MSER, 1997), at most half of
// them.
size_t warm_up_length(std::span<const double> values);
// Student's t, two-sided: P(|T| <= result) = level.
double student_t(double level, size_t degrees_of_freedom);
// Of the mean of independent values (replications, paired differences).
Interval interval_of(std::span<const double> independent, double level = 0.95);
// Of the mean of a stationary, correlated series: the warm-up dropped, then 32 batch means.
Interval batch_means_interval(const BatchSeries& series, bool drop_warm_up, double level = 0.95);

// The largest distance between the empirical law of `values` and `cdf`, and whether a law that is true would
// be this far off with a chance below `alpha` (Kolmogorov-Smirnov, asymptotic). The values must be
// independent.
struct KolmogorovSmirnov {
  double distance = 0;
  bool rejected = false;
};
KolmogorovSmirnov kolmogorov_smirnov(std::vector<double> values, double (*cdf)(double x, double parameter),
                                     double parameter, double alpha);

}  // namespace tandem::sim
