// SPDX-License-Identifier: Apache-2.0
// Goal: each term of the cost is what its formula says. Method: round numbers computed by hand.
#include "tandem/sched/cost.hpp"

#include <gtest/gtest.h>

#include "tandem/sched/small_world.hpp"

namespace tandem::sched {
namespace {

constexpr DeviceId kAcc{1};

TEST(Cost, OfIdleDevicesIsServiceAndTransfer) {
  const SmallWorld world;
  const CostTerms host = cost_of(world.at(0), kHost, {});
  EXPECT_EQ(host.service_ns, 10 * kMs);
  EXPECT_EQ(host.total_ns, 10 * kMs);
  const CostTerms accelerator = cost_of(world.at(0), kAcc, {});
  EXPECT_EQ(accelerator.transfer_ns, 2 * kMs);  // 1 ms latency + 1,000,000 B * 1 ns
  EXPECT_EQ(accelerator.total_ns, 4 * kMs);
}

TEST(Cost, WaitsForTheWorkAheadAtTheBelievedRate) {
  SmallWorld world;
  world.devices[1] = {.queue_depth = 4, .servers = 2, .work_ahead_ns = 12 * kMs, .slowdown = 1.5};
  const CostTerms terms = cost_of(world.at(0), kAcc, {});
  EXPECT_EQ(terms.wait_ns, 9 * kMs);     // 12 ms * 1.5 / 2
  EXPECT_EQ(terms.service_ns, 3 * kMs);  // 2 ms * 1.5
  world.devices[1].queue_depth = 1;      // one of two servers is free
  EXPECT_EQ(cost_of(world.at(0), kAcc, {}).wait_ns, 0);
}

TEST(Cost, ContentionStretchesTheService) {
  SmallWorld world;
  world.devices[1].contention_share = 0.75;
  EXPECT_EQ(cost_of(world.at(0), kAcc, {}).service_ns, 8 * kMs);  // 2 ms / (1 - 0.75)
}

TEST(Cost, SwitchingCountsOnlyWhenThePlacementChanges) {
  const SmallWorld world;
  const CostWeights weights{.switch_ns = 7 * kMs};
  EXPECT_EQ(cost_of(world.at(0, kHost), kAcc, weights).switching_ns, 7 * kMs);
  EXPECT_EQ(cost_of(world.at(0, kAcc), kAcc, weights).switching_ns, 0);
  EXPECT_EQ(cost_of(world.at(0), kAcc, weights).switching_ns, 0);
}

TEST(Cost, UncertaintyAddsVariancesAndGrowsWithAge) {
  SmallWorld world;
  world.devices[1].slowdown_spread = 0.5;  // 2 ms * 0.5 = 1 ms
  EXPECT_EQ(cost_of(world.at(0), kAcc, {.risk = 3}).uncertainty_ns, 3 * kMs);
  // Age 50 ms at utilization 0.25 with jobs of 4 ms: variance 2 * 0.25 * 50 * 4 = 100 ms^2; with the 1 ms^2:
  // 101.
  world.devices[1].utilization = 0.25;
  world.devices[1].age_ns = 50 * kMs;
  world.devices[1].mean_job_ns = 4 * kMs;
  EXPECT_NEAR(static_cast<double>(cost_of(world.at(0), kAcc, {.risk = 1}).uncertainty_ns), 10.0499e6, 100);
}

TEST(Cost, TransfersOnlyWhatIsMissingFromWhereItLies) {
  SmallWorld world;
  // Stage 1 reads t1. After stage 0 on the accelerator it lies there only.
  after_stage(world.program.stages[0], 2, kAcc, world.locations);
  EXPECT_EQ(cost_of(world.at(1), kAcc, {}).transfer_ns, 0);
  world.links[kDevicesMax].backlog_ns = 5 * kMs;
  EXPECT_EQ(cost_of(world.at(1), kHost, {}).transfer_ns, 7 * kMs);
  // t0 was copied to the accelerator, the host's copy is still good: no transfer either way.
  EXPECT_EQ(cost_of(world.at(0), kAcc, {}).transfer_ns, 0);
  EXPECT_EQ(cost_of(world.at(0), kHost, {}).transfer_ns, 0);
}

TEST(Cost, SaysWhatIsImpossible) {
  SmallWorld world;
  world.links[1].up = false;
  EXPECT_FALSE(cost_of(world.at(0), kAcc, {}).possible());
  world.links[1].up = true;
  world.devices[1].available = false;
  EXPECT_FALSE(cost_of(world.at(0), kAcc, {}).possible());
  world.devices[1].available = true;
  world.program.stages[0].nominal_ns[1] = kCannotRun;
  EXPECT_FALSE(cost_of(world.at(0), kAcc, {}).possible());
}

TEST(Cost, AbsurdBeliefsDoNotOverflow) {
  SmallWorld world;
  world.devices[1] = {
      .queue_depth = 9, .work_ahead_ns = INT64_MAX / 2, .slowdown = 1e9, .slowdown_spread = 1e9};
  const CostTerms terms = cost_of(world.at(0), kAcc, {.risk = 100});
  EXPECT_GT(terms.total_ns, 0);
  EXPECT_LT(terms.total_ns, kCannotRun);
}

TEST(Program, IsRefusedWithTheReason) {
  SmallWorld world;
  EXPECT_TRUE(verify(world.program).ok());
  Program program = world.program;
  program.stages[1].nominal_ns = {kCannotRun, kCannotRun};
  EXPECT_NE(verify(program).error().message().find("no device can run it"), std::string::npos);
  program = world.program;
  program.stages[1].nominal_ns[0] = -1;
  EXPECT_FALSE(verify(program).ok());
  program = world.program;
  program.stages[2].inputs.add(99);
  EXPECT_FALSE(verify(program).ok());
  program.stages.clear();
  EXPECT_FALSE(verify(program).ok());
}

}  // namespace
}  // namespace tandem::sched
