// SPDX-License-Identifier: Apache-2.0
// Goal: estimators follow what changes and shrug off what does not last. Method: constructed sequences.
#include "tandem/sched/estimator.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/base/rng.hpp"
#include "tandem/sched/observer.hpp"

namespace tandem::sched {
namespace {

constexpr int64_t kMs = 1'000'000;

Estimator fed(EstimatorKind kind, const std::vector<double>& values) {
  Estimator estimator({.kind = kind});
  int64_t now_ns = 0;
  for (const double value : values) estimator.observe(now_ns += 20 * kMs, kMs, value);
  return estimator;
}

constexpr EstimatorKind kAll[] = {EstimatorKind::kEwma,          EstimatorKind::kRobustEwma,
                                  EstimatorKind::kSlidingMedian, EstimatorKind::kKalmanTrend,
                                  EstimatorKind::kSizeHistory,   EstimatorKind::kChangePoint};

TEST(Estimator, AllFindAConstantWithNoise) {
  for (const EstimatorKind kind : kAll) {
    Rng rng(3);
    std::vector<double> values;
    for (int i = 0; i < 500; ++i) values.push_back(2 + 0.1 * rng.normal());
    const Estimator estimator = fed(kind, values);
    const Estimate estimate = estimator.predict(500 * 20 * kMs, kMs);
    EXPECT_NEAR(estimate.mean, 2, 0.1) << to_string(kind);
    // Fifteen values give a rough spread only.
    EXPECT_NEAR(estimate.spread, 0.1, kind == EstimatorKind::kSlidingMedian ? 0.1 : 0.05) << to_string(kind);
    EXPECT_NEAR(estimator.errors().bias, 0, 0.06) << to_string(kind);
    EXPECT_GT(estimator.errors().coverage, 0.85) << to_string(kind);
    EXPECT_LT(estimator.errors().mape, 0.06) << to_string(kind);
  }
}

TEST(Estimator, OneSpikeDoesNotPoisonTheRobustOnes) {
  std::vector<double> values(100, 1.0);
  values.push_back(1000);
  for (const EstimatorKind kind : {EstimatorKind::kRobustEwma, EstimatorKind::kSlidingMedian,
                                   EstimatorKind::kSizeHistory, EstimatorKind::kChangePoint}) {
    std::vector<double> more = values;
    more.insert(more.end(), 8, 1.0);  // the change-point estimator may hold the spike until it resets
    const double mean = fed(kind, kind == EstimatorKind::kChangePoint ? more : values).predict(0, kMs).mean;
    EXPECT_LT(mean, kind == EstimatorKind::kChangePoint ? 20 : 1.1) << to_string(kind);
  }
  EXPECT_GT(fed(EstimatorKind::kEwma, values).predict(0, kMs).mean, 50);  // what the others avoid
}

TEST(Estimator, ASpikeAtTheVeryStartIsForgottenToo) {
  std::vector<double> values(30, 1.0);
  values[0] = 1000;
  EXPECT_LT(fed(EstimatorKind::kRobustEwma, values).predict(0, kMs).mean, 1.1);
}

TEST(Estimator, AllFollowALastingChange) {
  for (const EstimatorKind kind : kAll) {
    Rng rng(4);
    std::vector<double> values;
    for (int i = 0; i < 200; ++i) values.push_back((i < 100 ? 1 : 3) + 0.05 * rng.normal());
    EXPECT_NEAR(fed(kind, values).predict(200 * 20 * kMs, kMs).mean, 3, 0.3) << to_string(kind);
  }
}

TEST(Estimator, ChangePointResetsAtOnce) {
  std::vector<double> values(100, 1.0);
  values.insert(values.end(), 6, 4.0);
  EXPECT_NEAR(fed(EstimatorKind::kChangePoint, values).predict(0, kMs).mean, 4, 0.5);
}

TEST(Estimator, KalmanPredictsAlongTheTrend) {
  Estimator estimator({.kind = EstimatorKind::kKalmanTrend});
  // Rises by 1 a second, a value every 50 ms.
  for (int i = 0; i <= 100; ++i) estimator.observe(i * 50 * kMs, kMs, 1 + 0.05 * i);
  EXPECT_NEAR(estimator.predict(5500 * kMs, kMs).mean, 6.5, 0.1);  // half a second ahead
}

TEST(Estimator, SizeHistoryKnowsSizesAndTheLineBetweenThem) {
  Estimator estimator({.kind = EstimatorKind::kSizeHistory});
  // Real time = 1 ms + nominal: ratio 2 at 1 ms, 1.25 at 4 ms.
  for (int i = 0; i < 50; ++i) {
    estimator.observe(i, 1 * kMs, 2);
    estimator.observe(i, 4 * kMs, 1.25);
  }
  EXPECT_NEAR(estimator.predict(0, 1 * kMs).mean, 2, 1e-9);
  EXPECT_NEAR(estimator.predict(0, 4 * kMs).mean, 1.25, 1e-9);
  EXPECT_NEAR(estimator.predict(0, 2 * kMs).mean, 1.5, 1e-9);   // unseen: (1 + 2) / 2
  EXPECT_NEAR(estimator.predict(0, 10 * kMs).mean, 1.1, 1e-9);  // unseen: (1 + 10) / 10
}

TEST(Estimator, SpreadWidensWithAge) {
  Estimator estimator({.kind = EstimatorKind::kEwma, .widening_ns = 100 * kMs});
  for (int i = 0; i < 100; ++i) estimator.observe(i * kMs, kMs, i % 2 == 0 ? 1.0 : 2.0);
  const double fresh = estimator.predict(99 * kMs, kMs).spread;
  EXPECT_GT(fresh, 0.4);
  EXPECT_NEAR(estimator.predict(399 * kMs, kMs).spread, 2 * fresh, 1e-9);  // sqrt(1 + 300 / 100)
}

TEST(Estimator, IgnoresWhatIsNoRatio) {
  for (const EstimatorKind kind : kAll) {
    Estimator estimator = fed(kind, {NAN, -1, 0, INFINITY, 1.5, 1.5});
    EXPECT_EQ(estimator.errors().ignored_count, 4u);
    EXPECT_TRUE(std::isfinite(estimator.predict(0, kMs).mean));
  }
}

TEST(Observer, LearnsUtilizationAndReportsAge) {
  const std::vector<int32_t> servers = {1, 2};
  Observer observer(servers, {});
  // Others keep the second device 60 % busy (of two servers) with jobs of 3 ms.
  for (int i = 1; i <= 50; ++i) {
    observer.sample(DeviceId{1}, i * 100 * kMs,
                    {.queue_depth = 2,
                     .work_ahead_ns = 4 * kMs,
                     .others_busy_ns = i * 120 * kMs,
                     .others_job_count = i * 40});
  }
  observer.sample(DeviceId{1}, 1, {.queue_depth = 77});  // older: ignored
  const std::vector<int64_t> nominal = {10 * kMs, 2 * kMs};
  const auto seen = observer.observe(5010 * kMs, nominal);
  EXPECT_NEAR(seen[1].utilization, 0.6, 1e-9);
  EXPECT_EQ(seen[1].mean_job_ns, 3 * kMs);
  EXPECT_EQ(seen[1].queue_depth, 2);
  EXPECT_EQ(seen[1].age_ns, 10 * kMs);
  EXPECT_EQ(seen[1].slowdown, 1);
  for (int i = 0; i < 50; ++i) observer.served(DeviceId{1}, 5010 * kMs, 2 * kMs, 3 * kMs);
  EXPECT_NEAR(observer.observe(5010 * kMs, nominal)[1].slowdown, 1.5, 0.01);
}

}  // namespace
}  // namespace tandem::sched
