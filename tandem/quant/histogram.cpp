// SPDX-License-Identifier: Apache-2.0
// Streaming histogram with doubling bins.
#include "tandem/quant/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::quant {
namespace {

constexpr int kExponentMin = -160;  // Below every subnormal's useful range; keeps ldexp exact in double.

// The smallest exponent e with magnitude < kBins * 2^e.
int exponent_for(float magnitude) {
  int e = 0;
  std::frexp(magnitude, &e);  // magnitude < 2^e
  return std::max(e - 11, kExponentMin);  // kBins = 2^11
}

void merge_pairs(std::array<int64_t, Histogram::kBins>& bins) {
  for (size_t i = 0; i < bins.size() / 2; ++i) bins[i] = bins[2 * i] + bins[2 * i + 1];
  std::fill(bins.begin() + bins.size() / 2, bins.end(), 0);
}

}  // namespace

double Histogram::width() const { return exponent_ == kUnset ? 0 : std::ldexp(1.0, exponent_); }

void Histogram::widen(int exponent) {
  if (exponent_ == kUnset) {
    exponent_ = exponent;  // Only zeros so far, and zeros are in bin 0 at every width.
    return;
  }
  // After 12 doublings everything is in bin 0.
  for (int i = 0; exponent_ < exponent; ++exponent_, ++i) {
    if (i < 12) {
      merge_pairs(positive_);
      merge_pairs(negative_);
    }
  }
}

void Histogram::add(std::span<const float> values) {
  float low = 0, high = 0;
  bool first = count_ == 0;
  int64_t finite = 0;
  for (float x : values) {
    if (!std::isfinite(x)) continue;
    if (first) {
      low = high = x;
      first = false;
    }
    low = std::min(low, x);
    high = std::max(high, x);
    sum_ += x;
    ++finite;
  }
  not_finite_ += static_cast<int64_t>(values.size()) - finite;
  if (finite == 0) return;
  if (count_ == 0) {
    min_ = low;
    max_ = high;
  }
  min_ = std::min(min_, low);
  max_ = std::max(max_, high);
  count_ += finite;

  const float magnitude = std::max(std::abs(low), std::abs(high));
  if (magnitude > 0) {
    const int exponent = exponent_for(magnitude);
    if (exponent_ == kUnset || exponent > exponent_) widen(exponent);
  }
  if (exponent_ == kUnset) {
    positive_[0] += finite;
    return;
  }
  const double inverse = std::ldexp(1.0, -exponent_);
  for (float x : values) {
    if (!std::isfinite(x)) continue;
    const int bin = std::min(static_cast<int>(std::abs(static_cast<double>(x)) * inverse), kBins - 1);
    ++(x < 0 ? negative_ : positive_)[static_cast<size_t>(bin)];
  }
}

void Histogram::merge(const Histogram& other) {
  not_finite_ += other.not_finite_;
  if (other.count_ == 0) return;
  Histogram theirs = other;
  if (theirs.exponent_ != kUnset) {
    if (exponent_ == kUnset || theirs.exponent_ > exponent_) widen(theirs.exponent_);
    else theirs.widen(exponent_);
  }
  for (size_t i = 0; i < positive_.size(); ++i) {
    positive_[i] += theirs.positive_[i];
    negative_[i] += theirs.negative_[i];
  }
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  sum_ += other.sum_;
  count_ += other.count_;
}

double Histogram::magnitude_quantile(double fraction) const {
  if (count_ == 0 || exponent_ == kUnset) return 0;
  const double wanted = fraction * static_cast<double>(count_);
  int64_t seen = 0;
  for (int i = 0; i < kBins; ++i) {
    seen += positive(i) + negative(i);
    if (static_cast<double>(seen) >= wanted) {
      const double edge = (i + 1) * width();
      return std::min(edge, static_cast<double>(std::max(std::abs(min_), std::abs(max_))));
    }
  }
  return std::max(std::abs(min_), std::abs(max_));
}

}  // namespace tandem::quant
