// SPDX-License-Identifier: Apache-2.0
// Estimator: predicts the next slowdown (real over nominal service time) of a device from those seen so far,
// with a spread. A pure state machine of fixed size; values that are not finite or not positive are ignored
// and counted.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "tandem/base/result.hpp"

namespace tandem::sched {

enum class EstimatorKind : uint8_t {
  kEwma,           // exponentially weighted mean and variance
  kRobustEwma,     // the same with deviations clipped (Huber): one spike cannot poison it
  kSlidingMedian,  // median of a window; spread from the median absolute deviation
  kKalmanTrend,    // level and slope with process noise (local linear trend)
  kSizeHistory,    // mean per job size; a regression line over sizes for those never seen
  kChangePoint,    // running mean that starts anew when Page's test (1954) finds a change
};
const char* to_string(EstimatorKind kind);
std::vector<std::string_view> estimator_names();
Result<EstimatorKind> estimator_from_string(std::string_view name);

struct EstimatorOptions {
  EstimatorKind kind = EstimatorKind::kRobustEwma;
  double gain = 0.1;                    // EWMA: weight of a new value, (0, 1]
  uint32_t window = 15;                 // sliding median, 1 to 63
  int64_t widening_ns = 1'000'000'000;  // after this long without a value the variance has doubled
};

struct Estimate {
  double mean = 1;
  double spread = 0;  // standard deviation of the next value
};

// How good the predictions were, each made just before its value came in.
struct EstimatorErrors {
  uint64_t count = 0;
  double bias = 0;      // mean of predicted - seen
  double mape = 0;      // mean of |predicted - seen| / seen
  double coverage = 0;  // share of values within 1.96 spreads of the prediction
  uint64_t ignored_count = 0;
};

// The states of the kinds; internal to Estimator.
namespace estimators {

struct Ewma {
  bool robust = false;
  double mean = 1, variance = 0, scale = 0;
  uint64_t count = 0;
  void add(double value, double gain);
};
struct Median {
  static constexpr uint32_t kWindowMax = 63;
  std::array<double, kWindowMax> values{};
  uint32_t next = 0, count = 0;
  double mean = 1, spread = 0;
  void add(double value, uint32_t window);
};
struct Trend {
  double level = 1, slope = 0;          // slope per second
  double p00 = 1, p01 = 0, p11 = 0.01;  // covariance of the state
  double noise = 0.01;                  // variance of a measurement, learned
  uint64_t count = 0;
  void add(double value, double elapsed_s);
};
struct SizeHistory {
  static constexpr uint32_t kSizesMax = 64;
  struct Entry {
    int64_t nominal_ns = 0;
    Ewma ratio;
  };
  std::array<Entry, kSizesMax> entries{};
  uint32_t size_count = 0;
  // Sums for the least-squares line real = a + b * nominal, in units of milliseconds.
  double n = 0, mean_x = 0, mean_y = 0, sxx = 0, sxy = 0;
  void add(double value, int64_t nominal_ns, double gain);
  Estimate predict(int64_t nominal_ns) const;
};
struct ChangePoint {
  double count = 0, mean = 1, m2 = 0, up = 0, down = 0;
  uint64_t change_count = 0;
  void add(double value);
};

}  // namespace estimators

class Estimator {
 public:
  // Options out of range are brought into range.
  explicit Estimator(EstimatorOptions options = {});
  // A job of `nominal_ns` took `ratio` times that. Times do not decrease.
  void observe(int64_t now_ns, int64_t nominal_ns, double ratio);
  Estimate predict(int64_t now_ns, int64_t nominal_ns) const;
  EstimatorErrors errors() const;

 private:
  EstimatorOptions options_;
  std::variant<estimators::Ewma, estimators::Median, estimators::Trend, estimators::SizeHistory,
               estimators::ChangePoint>
      state_;
  int64_t last_ns_ = 0;
  uint64_t seen_count_ = 0;
  uint64_t ignored_count_ = 0;
  double bias_sum_ = 0, ape_sum_ = 0;
  uint64_t covered_count_ = 0;
};

}  // namespace tandem::sched
