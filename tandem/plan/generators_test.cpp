// SPDX-License-Identifier: Apache-2.0
// Goal: laws have mean 1 and their variance, processes their rate. Method: many samples, tolerances of five
// standard errors; fixed seeds.
#include "tandem/plan/generators.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tandem::plan {
namespace {

TEST(ServiceLaw, HasMeanOneAndItsVariance) {
  ServiceLaw empirical{.kind = LawKind::kEmpirical, .values = {1, 2, 3, 6}};
  ASSERT_TRUE(empirical.normalize());
  const ServiceLaw laws[] = {{.kind = LawKind::kDeterministic},        {.kind = LawKind::kExponential},
                             {.kind = LawKind::kLogNormal, .cv = 0.5}, {.kind = LawKind::kGamma, .cv = 0.5},
                             {.kind = LawKind::kGamma, .cv = 1.5},     empirical};
  for (const ServiceLaw& law : laws) {
    Rng rng(17);
    const int n = 200000;
    double sum = 0, squares = 0;
    for (int i = 0; i < n; ++i) {
      const double x = law.sample(rng);
      ASSERT_GE(x, 0);
      sum += x;
      squares += (x - 1) * (x - 1);
    }
    EXPECT_NEAR(sum / n, 1, 5 * std::sqrt(law.variance() / n) + 1e-12) << static_cast<int>(law.kind);
    EXPECT_NEAR(squares / n, law.variance(), 0.1 * law.variance() + 1e-12) << static_cast<int>(law.kind);
  }
}

TEST(SampleExponential, HasTheLawsDistribution) {
  Rng rng(21);
  std::vector<double> values(200000);
  for (double& value : values) value = sample_exponential(rng);
  std::sort(values.begin(), values.end());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double cdf = 1 - std::exp(-values[i]);
    distance =
        std::max(distance, std::abs(cdf - static_cast<double>(i) / static_cast<double>(values.size())));
  }
  EXPECT_LT(distance, 1.63 / std::sqrt(200000.0));  // Kolmogorov-Smirnov at 1 %
  EXPECT_GT(values.back(), 9);                      // the tail is there: P(all below 9) = e^-25
}

TEST(ServiceLaw, RefusesValuesThatCannotBeNormalized) {
  EXPECT_FALSE(ServiceLaw{.kind = LawKind::kEmpirical}.normalize());
  EXPECT_FALSE((ServiceLaw{.kind = LawKind::kEmpirical, .values = {0, 0}}).normalize());
  EXPECT_FALSE((ServiceLaw{.kind = LawKind::kEmpirical, .values = {1, -1}}).normalize());
  EXPECT_FALSE((ServiceLaw{.kind = LawKind::kEmpirical, .values = {1, NAN}}).normalize());
}

TEST(Arrivals, KeepTheirMeanRateAndNeverGoBack) {
  const ArrivalSpec specs[] = {
      {.kind = ArrivalKind::kPoisson, .rate_per_s = 500},
      {.kind = ArrivalKind::kPeriodic, .rate_per_s = 500},
      {.kind = ArrivalKind::kMmpp,
       .rate_per_s = 100,
       .burst_rate_per_s = 2000,
       .calm_s = 0.2,
       .burst_s = 0.05},
      {.kind = ArrivalKind::kOnOff, .rate_per_s = 1000, .calm_s = 0.1, .burst_s = 0.1, .alpha = 2.5},
      {.kind = ArrivalKind::kDiurnal, .rate_per_s = 500, .swing = 0.8, .period_s = 2}};
  for (const ArrivalSpec& spec : specs) {
    Arrivals arrivals(spec, Rng(3));
    int64_t last = 0;
    int count = 0;
    constexpr int64_t kHorizon = 400'000'000'000;
    for (int64_t t = arrivals.next_ns(); t < kHorizon; t = arrivals.next_ns(), ++count) {
      ASSERT_GE(t, last);
      last = t;
    }
    EXPECT_NEAR(count / 400.0, spec.mean_rate_per_s(), 0.06 * spec.mean_rate_per_s())
        << static_cast<int>(spec.kind);
  }
}

TEST(Arrivals, FollowATraceAndEnd) {
  const ArrivalSpec spec{.kind = ArrivalKind::kTrace, .times_ns = {5, 5, 9}, .work_ns = {1, 2, 3}};
  Arrivals arrivals(spec, Rng(1));
  EXPECT_EQ(arrivals.next_ns(), 5);
  EXPECT_EQ(arrivals.traced_work_ns(), 1);
  EXPECT_EQ(arrivals.next_ns(), 5);
  EXPECT_EQ(arrivals.next_ns(), 9);
  EXPECT_EQ(arrivals.traced_work_ns(), 3);
  EXPECT_EQ(arrivals.next_ns(), kNever);
  EXPECT_EQ(Arrivals(ArrivalSpec{}, Rng(1)).next_ns(), kNever);
}

}  // namespace
}  // namespace tandem::plan
