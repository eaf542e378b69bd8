// SPDX-License-Identifier: Apache-2.0
// Goal: the clairvoyant optimum is the optimum. Method: brute force on small random scenarios; no policy
// below it.
#include "tandem/sim/optimum.hpp"

#include <gtest/gtest.h>

#include "tandem/sim/worlds.hpp"

namespace tandem::sim {
namespace {

Scenario random_scenario(uint64_t seed, uint32_t stages) {
  Rng rng(seed);
  Scenario scenario = training(rng.uniform(0.2, 0.9), stages);
  scenario.seed = seed;
  scenario.backgrounds[0].mean_work_ns = static_cast<int64_t>(rng.uniform(0.2, 5) * kMs);
  scenario.backgrounds[0].arrivals.rate_per_s *=
      static_cast<double>(kMs) / static_cast<double>(scenario.backgrounds[0].mean_work_ns);
  scenario.devices[1].law = {.kind = plan::LawKind::kGamma, .cv = 0.5};
  scenario.jobs[0].think_ns = static_cast<int64_t>(rng.uniform(0, 2) * kMs);
  for (sched::Stage& stage : scenario.jobs[0].program.stages) {
    stage.nominal_ns = {static_cast<int64_t>(rng.uniform(1, 6) * kMs),
                        static_cast<int64_t>(rng.uniform(0.3, 3) * kMs)};
  }
  scenario.warm_up_ns = 0;
  return scenario;
}

TEST(Optimum, EqualsBruteForceOnSmallScenarios) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Scenario scenario = random_scenario(seed, 4);
    scenario.horizon_ns = 1 * kSecond;
    const Optimum optimum = clairvoyant_optimum(scenario, seed, 3).value();
    EXPECT_TRUE(optimum.exact);
    EXPECT_EQ(optimum.end_ns, brute_force_optimum_ns(scenario, seed, 3).value()) << "seed " << seed;
  }
}

TEST(Optimum, NoPolicyIsBelowIt) {
  constexpr uint64_t kSteps = 20;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Scenario scenario = random_scenario(seed, 6);
    scenario.steps_max = kSteps;
    scenario.horizon_ns = 60 * kSecond;
    const int64_t least_ns = clairvoyant_optimum(scenario, seed, kSteps).value().end_ns;
    for (const sched::PolicyInfo& policy : sched::policies()) {
      const RunResult r = simulate(scenario, policy.name, {.keep_steps = kSteps}).value();
      ASSERT_EQ(r.step_end_ns.size(), kSteps);
      EXPECT_GE(r.step_end_ns.back(), least_ns) << policy.name << " seed " << seed;
    }
  }
}

TEST(Optimum, IsTheBestStaticPlacementWhenNothingElseHappens) {
  Scenario scenario = training(0);
  scenario.warm_up_ns = 0;
  scenario.steps_max = 5;
  const RunResult r = simulate(scenario, "static-accelerator", {.keep_steps = 5}).value();
  EXPECT_EQ(clairvoyant_optimum(scenario, 1, 5).value().end_ns, r.step_end_ns.back());
}

TEST(Optimum, IsALabelledBoundWhereItIsNotExact) {
  Scenario scenario = random_scenario(3, 6);
  scenario.devices[1].processor_sharing = true;
  scenario.steps_max = 20;
  const Optimum bound = clairvoyant_optimum(scenario, 3, 20).value();
  EXPECT_FALSE(bound.exact);
  EXPECT_FALSE(bound.why_bound.empty());
  for (const char* policy : {"cost", "lookahead", "static-accelerator"}) {
    EXPECT_GE(simulate(scenario, policy, {.keep_steps = 20}).value().step_end_ns.back(), bound.end_ns);
  }
  scenario.jobs.push_back(scenario.jobs[0]);
  EXPECT_FALSE(clairvoyant_optimum(scenario, 3, 20).ok());
}

}  // namespace
}  // namespace tandem::sim
