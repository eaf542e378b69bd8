// SPDX-License-Identifier: Apache-2.0
// Statistics: formulas and their sources.
#include "tandem/sim/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::sim {

int64_t QuantileSketch::value_of(size_t bucket) {
  if (bucket < (size_t{1} << kSubBits)) return static_cast<int64_t>(bucket);
  const size_t shift = (bucket >> kSubBits) - 1;
  const uint64_t low = ((bucket & ((1u << kSubBits) - 1)) + (1u << kSubBits)) << shift;
  return static_cast<int64_t>(low + ((uint64_t{1} << shift) >> 1));
}

int64_t QuantileSketch::quantile(double p) const {
  if (count_ == 0) return 0;
  const auto rank = static_cast<uint64_t>(std::clamp(p, 0.0, 1.0) * static_cast<double>(count_ - 1));
  uint64_t before = 0;
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    before += counts_[bucket];
    if (before > rank) return value_of(bucket);
  }
  return 0;
}

double QuantileSketch::share_up_to(int64_t value) const {
  if (count_ == 0) return 0;
  uint64_t below = 0;
  const size_t last = bucket(value);
  for (size_t b = 0; b <= last; ++b) below += counts_[b];
  return static_cast<double>(below) / static_cast<double>(count_);
}

void QuantileSketch::merge(const QuantileSketch& other) {
  for (size_t b = 0; b < kBuckets; ++b) counts_[b] += other.counts_[b];
  count_ += other.count_;
}

void QuantileSketch::clear() {
  std::fill(counts_.begin(), counts_.end(), 0);
  count_ = 0;
}

double Moments::deviation() const {
  if (count < 2) return 0;
  const auto n = static_cast<double>(count);
  const double shift = static_cast<double>(sum - Wide{origin} * static_cast<Wide>(count)) / n;
  return std::sqrt(std::max(0.0, (squares - n * shift * shift) / (n - 1)));
}

void BatchSeries::close_batch() {
  means_.push_back(sum_ / static_cast<double>(batch_size_));
  sum_ = 0;
  in_batch_ = 0;
  if (means_.size() < kBatchesMax) return;
  for (size_t i = 0; i < kBatchesMax / 2; ++i) means_[i] = (means_[2 * i] + means_[2 * i + 1]) / 2;
  means_.resize(kBatchesMax / 2);
  batch_size_ *= 2;
}

size_t warm_up_length(std::span<const double> values) {
  const size_t n = values.size();
  double sum = 0, squares = 0, best = INFINITY;
  size_t drop = 0;
  // From the end: sums over values[d, n).
  const double origin = n == 0 ? 0 : values[n - 1];
  for (size_t d = n; d-- > 0;) {
    const double x = values[d] - origin;
    sum += x;
    squares += x * x;
    if (d > n / 2) continue;
    const auto left = static_cast<double>(n - d);
    const double value = (squares - sum * sum / left) / (left * left);
    if (value > best) continue;
    best = value;
    drop = d;
  }
  return drop;
}

double student_t(double level, size_t degrees_of_freedom) {
  if (degrees_of_freedom == 0) return INFINITY;
  const double p = 0.5 + level / 2;
  // The normal quantile by bisection of erfc: exact enough, and called a few times a run.
  double low = 0, high = 10;
  for (int i = 0; i < 80; ++i) {
    const double x = (low + high) / 2;
    (1 - 0.5 * std::erfc(x / std::sqrt(2.0)) < p ? low : high) = x;
  }
  const double z = low;
  const auto n = static_cast<double>(degrees_of_freedom);
  if (degrees_of_freedom == 1) return std::tan(3.14159265358979323846 * (p - 0.5));
  if (degrees_of_freedom == 2) return (2 * p - 1) * std::sqrt(2 / (4 * p * (1 - p)));
  // Cornish-Fisher expansion (Abramowitz and Stegun 26.7.5); below 1 % off from three degrees on.
  const double z2 = z * z;
  const double g1 = z * (z2 + 1) / 4;
  const double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  const double g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
  return z + g1 / n + g2 / (n * n) + g3 / (n * n * n) + g4 / (n * n * n * n);
}

Interval interval_of(std::span<const double> values, double level) {
  const size_t n = values.size();
  if (n == 0) return {0, INFINITY};
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(n);
  if (n == 1) return {mean, INFINITY};
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double error = std::sqrt(squares / static_cast<double>(n - 1) / static_cast<double>(n));
  return {mean, student_t(level, n - 1) * error};
}

Interval batch_means_interval(const BatchSeries& series, bool drop_warm_up, double level) {
  std::span<const double> values = series.means();
  if (drop_warm_up) values = values.subspan(warm_up_length(values));
  constexpr size_t kBatches = 32;
  if (values.size() < 2 * kBatches) return interval_of(values, level);
  const size_t per_batch = values.size() / kBatches;
  // What does not fill a batch is dropped at the front, where a rest of the warm-up may be.
  values = values.subspan(values.size() - per_batch * kBatches);
  std::array<double, kBatches> means{};
  for (size_t i = 0; i < per_batch * kBatches; ++i) {
    means[i / per_batch] += values[i] / static_cast<double>(per_batch);
  }
  return interval_of(means, level);
}

KolmogorovSmirnov kolmogorov_smirnov(std::vector<double> values, double (*cdf)(double, double),
                                     double parameter, double alpha) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  KolmogorovSmirnov result;
  size_t i = 0;
  while (i < values.size()) {
    // Equal values are one jump; the law may jump there too (P(wait = 0) > 0).
    size_t j = i;
    while (j < values.size() && values[j] == values[i]) ++j;
    const double below = cdf(std::nextafter(values[i], -INFINITY), parameter);
    const double at = cdf(values[i], parameter);
    result.distance = std::max({result.distance, std::abs(static_cast<double>(i) / n - below),
                                std::abs(static_cast<double>(j) / n - at)});
    i = j;
  }
  const double critical = std::sqrt(-0.5 * std::log(alpha / 2)) / (std::sqrt(n) + 0.12 + 0.11 / std::sqrt(n));
  result.rejected = result.distance > critical;
  return result;
}

}  // namespace tandem::sim
