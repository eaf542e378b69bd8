// SPDX-License-Identifier: Apache-2.0
// Goal: statistics are right and intervals cover. Method: hand-computed numbers; known laws with fixed seeds.
#include "tandem/sim/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tandem/base/rng.hpp"
#include "tandem/sim/station.hpp"

namespace tandem::sim {
namespace {

TEST(QuantileSketch, IsWithinItsBound) {
  Rng rng(2);
  QuantileSketch sketch;
  std::vector<int64_t> values;
  for (int i = 0; i < 50000; ++i) {
    values.push_back(static_cast<int64_t>(std::exp(rng.uniform(0, 40))));
    sketch.add(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double p : {0.0, 0.01, 0.5, 0.99, 0.999, 1.0}) {
    const auto exact = static_cast<double>(values[static_cast<size_t>(p * 49999)]);
    EXPECT_NEAR(static_cast<double>(sketch.quantile(p)), exact, exact / 128 + 0.5) << p;
  }
  sketch.add(INT64_MAX);
  EXPECT_NEAR(static_cast<double>(sketch.quantile(1)), 9.22e18, 9.22e18 / 64);
  EXPECT_EQ(QuantileSketch().quantile(0.5), 0);
}

TEST(Moments, AreExactForLargeOffsets) {
  Moments moments;
  const int64_t base = int64_t{1} << 60;
  for (const int64_t x : {1, 2, 3, 4}) moments.add(base + x);
  EXPECT_EQ(static_cast<int64_t>(moments.sum / 4), base + 2);
  EXPECT_NEAR(moments.deviation(), 1.290994, 1e-6);  // sqrt(5 / 3)
  EXPECT_EQ(moments.most - moments.least, 3);
}

TEST(BatchSeries, CollapsesAndKeepsTheMean) {
  BatchSeries series;
  for (int i = 0; i < 100000; ++i) series.add(i);
  EXPECT_LE(series.means().size(), 4096u);
  EXPECT_EQ(series.batch_size(), 32u);
  EXPECT_DOUBLE_EQ(series.means()[0], 15.5);
}

TEST(WarmUp, FindsTheEndOfATransient) {
  Rng rng(7);
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back((i < 100 ? 10.0 : 1.0) + 0.1 * rng.normal());
  const size_t drop = warm_up_length(values);
  EXPECT_GE(drop, 100u);
  EXPECT_LE(drop, 130u);
  EXPECT_EQ(warm_up_length({}), 0u);
}

TEST(StudentT, AgreesWithTheTable) {
  EXPECT_NEAR(student_t(0.95, 1), 12.706, 0.001);
  EXPECT_NEAR(student_t(0.95, 2), 4.303, 0.001);
  EXPECT_NEAR(student_t(0.95, 3), 3.182, 0.03);
  EXPECT_NEAR(student_t(0.95, 9), 2.262, 0.001);
  EXPECT_NEAR(student_t(0.95, 31), 2.040, 0.001);
  EXPECT_NEAR(student_t(0.999, 9), 4.781, 0.01);
}

TEST(Interval, OfHandComputedValues) {
  const std::vector<double> values = {1, 2, 3};
  const Interval interval = interval_of(values);
  EXPECT_DOUBLE_EQ(interval.mean, 2);
  EXPECT_NEAR(interval.half_width, 4.303 / std::sqrt(3.0), 0.001);
  EXPECT_TRUE(std::isinf(interval_of(std::vector<double>{1}).half_width));
}

TEST(Little, RefusesAccountsThatDiffer) {
  EXPECT_TRUE(check_little({.area_ns = 5, .sojourn_ns = 5}, "x").ok());
  const Status wrong = check_little({.area_ns = 5, .sojourn_ns = 6}, "x");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code(), ErrorCode::kInternal);
}

}  // namespace
}  // namespace tandem::sim
