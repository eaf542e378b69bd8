// SPDX-License-Identifier: Apache-2.0
// The estimators. docs/scheduling.md has their mathematics and sources.
#include "tandem/sched/estimator.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/base/overload.hpp"
#include "tandem/base/text.hpp"

namespace tandem::sched {
namespace {

constexpr std::array<std::pair<EstimatorKind, const char*>, 6> kNames = {{
    {EstimatorKind::kEwma, "ewma"},
    {EstimatorKind::kRobustEwma, "robust-ewma"},
    {EstimatorKind::kSlidingMedian, "sliding-median"},
    {EstimatorKind::kKalmanTrend, "kalman-trend"},
    {EstimatorKind::kSizeHistory, "size-history"},
    {EstimatorKind::kChangePoint, "change-point"},
}};

double middle(std::array<double, 63>& values, uint32_t count) {
  const auto half = values.begin() + count / 2;
  std::nth_element(values.begin(), half, values.begin() + count);
  if (count % 2 == 1) return *half;
  return (*half + *std::max_element(values.begin(), half)) / 2;
}

}  // namespace

const char* to_string(EstimatorKind kind) {
  for (const auto& row : kNames) {
    if (row.first == kind) return row.second;
  }
  return "?";
}

std::vector<std::string_view> estimator_names() {
  std::vector<std::string_view> names;
  for (const auto& row : kNames) names.emplace_back(row.second);
  return names;
}

Result<EstimatorKind> estimator_from_string(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& row : kNames) {
    if (name == row.second) return row.first;
    names.emplace_back(row.second);
  }
  return usage_error(fmt::format("there is no estimator '{}'", printable(name)))
      .hint(did_you_mean(name, names));
}

Estimator::Estimator(EstimatorOptions options) : options_(options) {
  options_.gain = std::clamp(std::isfinite(options_.gain) ? options_.gain : 0.1, 1e-6, 1.0);
  options_.window = std::clamp<uint32_t>(options_.window, 1, estimators::Median::kWindowMax);
  options_.widening_ns = std::max<int64_t>(options_.widening_ns, 1);
  switch (options_.kind) {
    case EstimatorKind::kEwma: state_ = estimators::Ewma{}; break;
    case EstimatorKind::kRobustEwma: state_ = estimators::Ewma{.robust = true}; break;
    case EstimatorKind::kSlidingMedian: state_ = estimators::Median{}; break;
    case EstimatorKind::kKalmanTrend: state_ = estimators::Trend{}; break;
    case EstimatorKind::kSizeHistory: state_ = estimators::SizeHistory{}; break;
    case EstimatorKind::kChangePoint: state_ = estimators::ChangePoint{}; break;
  }
}

void estimators::Ewma::add(double value, double gain) {
  // The first values weigh 1, 1/2, 1/3, ...: a plain mean until the window is full.
  const double weight = std::max(gain, 1.0 / static_cast<double>(++count));
  double deviation = value - mean;
  if (robust) {
    // Before anything is known a spike cannot be told from the truth: the prior is a ratio of 1 within a
    // factor of two, so the first value counts as at most 2.
    const double limit = count == 1 ? 1 : 3 * std::max(scale, 0.02 * mean);
    deviation = std::clamp(deviation, -limit, limit);
    // The scale follows the clipped deviation, so it grows by a bounded factor per value and a lasting change
    // is followed after a few.
    scale = count == 1 ? 0.1 * mean : scale + weight * (1.4826 * std::abs(deviation) - scale);
  }
  mean += weight * deviation;
  variance = (1 - weight) * (variance + weight * deviation * deviation);
}

void estimators::Median::add(double value, uint32_t window) {
  values[next] = value;
  next = (next + 1) % window;
  count = std::min(count + 1, window);
  std::array<double, kWindowMax> sorted = values;
  mean = middle(sorted, count);
  for (uint32_t i = 0; i < count; ++i) sorted[i] = std::abs(values[i] - mean);
  spread = 1.4826 * middle(sorted, count);
}

void estimators::Trend::add(double value, double elapsed_s) {
  if (++count == 1) {
    level = value;
    p00 = noise;
    return;
  }
  const double dt = std::min(elapsed_s, 10.0);
  // Process noise: the slope does a random walk, the level one of its own.
  constexpr double kLevelNoise = 0.01, kSlopeNoise = 0.01;
  level += slope * dt;
  p00 += dt * (2 * p01 + dt * p11) + kLevelNoise * dt;
  p01 += dt * p11;
  p11 += kSlopeNoise * dt;
  const double innovation = value - level;
  // The measurement's variance from innovations less what the state explains; one innovation counts as at
  // most three deviations, or a step would be taken for noise and never followed.
  const double seen = std::min(innovation * innovation, 9 * (p00 + noise));
  noise = std::max(1e-6, noise + 0.02 * (seen - p00 - noise));
  const double total = p00 + noise;
  const double gain0 = p00 / total;
  const double gain1 = p01 / total;
  level += gain0 * innovation;
  slope += gain1 * innovation;
  p11 -= gain1 * p01;
  p01 -= gain0 * p01;
  p00 -= gain0 * p00;
}

void estimators::SizeHistory::add(double value, int64_t nominal_ns, double gain) {
  const double x = static_cast<double>(nominal_ns) * 1e-6;
  const double y = x * value;
  n += 1;
  const double dx = x - mean_x;
  mean_x += dx / n;
  mean_y += (y - mean_y) / n;
  sxx += dx * (x - mean_x);
  sxy += dx * (y - mean_y);
  uint32_t i = 0;
  while (i < size_count && entries[i].nominal_ns != nominal_ns) ++i;
  if (i == kSizesMax) return;  // further sizes live by the line
  if (i == size_count) {
    ++size_count;
    entries[i].nominal_ns = nominal_ns;
    entries[i].ratio.robust = true;
  }
  entries[i].ratio.add(value, gain);
}

Estimate estimators::SizeHistory::predict(int64_t nominal_ns) const {
  double variance = 0;
  for (uint32_t i = 0; i < size_count; ++i) {
    if (entries[i].nominal_ns == nominal_ns)
      return {entries[i].ratio.mean, std::sqrt(entries[i].ratio.variance)};
    variance = std::max(variance, entries[i].ratio.variance);
  }
  if (n == 0 || nominal_ns <= 0) return {1, 0};
  const double x = static_cast<double>(nominal_ns) * 1e-6;
  const double slope = sxx > 1e-12 * mean_x * mean_x * n ? sxy / sxx : (mean_x > 0 ? mean_y / mean_x : 1);
  const double y = mean_y + slope * (x - mean_x);
  // A line may cross zero outside the sizes seen; a job is never faster than a twentieth of its nominal time.
  return {std::max(0.05, y / x), std::sqrt(variance)};
}

void estimators::ChangePoint::add(double value) {
  if (count >= 8) {
    const double deviation = std::max(std::sqrt(m2 / count), 0.02 * mean);
    const double z = std::clamp((value - mean) / deviation, -3.0, 3.0);
    up = std::max(0.0, up + z - 0.75);
    down = std::max(0.0, down - z - 0.75);
    // Six: a lasting shift of three deviations is found after three values; by chance about once in ten
    // thousand.
    if (up > 6 || down > 6) {
      *this = estimators::ChangePoint{.change_count = change_count + 1};
    }
  }
  count += 1;
  const double delta = value - mean;
  mean = count == 1 ? value : mean + delta / count;
  m2 += count == 1 ? 0 : delta * (value - mean);
  // A long calm must not make it deaf to slow drift.
  if (count > 256) {
    m2 *= 255.0 / count;
    count = 255;
  }
}

void Estimator::observe(int64_t now_ns, int64_t nominal_ns, double ratio) {
  if (!std::isfinite(ratio) || ratio <= 0) {
    ++ignored_count_;
    return;
  }
  if (seen_count_ > 0) {
    const Estimate predicted = predict(now_ns, nominal_ns);
    const double error = predicted.mean - ratio;
    bias_sum_ += error;
    ape_sum_ += std::abs(error) / ratio;
    if (std::abs(error) <= 1.96 * predicted.spread) ++covered_count_;
  }
  const double elapsed_s = static_cast<double>(now_ns - last_ns_) * 1e-9;
  std::visit(Overload{[&](estimators::Ewma& s) { s.add(ratio, options_.gain); },
                      [&](estimators::Median& s) { s.add(ratio, options_.window); },
                      [&](estimators::Trend& s) { s.add(ratio, elapsed_s); },
                      [&](estimators::SizeHistory& s) { s.add(ratio, nominal_ns, options_.gain); },
                      [&](estimators::ChangePoint& s) { s.add(ratio); }},
             state_);
  last_ns_ = now_ns;
  ++seen_count_;
}

Estimate Estimator::predict(int64_t now_ns, int64_t nominal_ns) const {
  const double age_s = seen_count_ == 0 ? 0 : static_cast<double>(now_ns - last_ns_) * 1e-9;
  Estimate estimate =
      std::visit(Overload{[](const estimators::Ewma& s) {
                            return Estimate{s.mean, std::sqrt(s.variance)};
                          },
                          [](const estimators::Median& s) {
                            return Estimate{s.mean, s.spread};
                          },
                          [&](const estimators::Trend& s) {
                            // A trend is trusted for a second, then it levels out.
                            const double ahead = s.level + s.slope * std::clamp(age_s, 0.0, 1.0);
                            return Estimate{std::max(0.05, ahead), std::sqrt(s.p00 + s.noise)};
                          },
                          [&](const estimators::SizeHistory& s) { return s.predict(nominal_ns); },
                          [](const estimators::ChangePoint& s) {
                            return Estimate{s.mean, s.count > 1 ? std::sqrt(s.m2 / (s.count - 1)) : 0.0};
                          }},
                 state_);
  const double age = std::max(0.0, age_s * 1e9 / static_cast<double>(options_.widening_ns));
  estimate.spread *= std::sqrt(1 + age);
  return estimate;
}

EstimatorErrors Estimator::errors() const {
  EstimatorErrors errors{.ignored_count = ignored_count_};
  if (seen_count_ < 2) return errors;
  errors.count = seen_count_ - 1;
  const auto n = static_cast<double>(errors.count);
  errors.bias = bias_sum_ / n;
  errors.mape = ape_sum_ / n;
  errors.coverage = static_cast<double>(covered_count_) / n;
  return errors;
}

}  // namespace tandem::sched
