// SPDX-License-Identifier: Apache-2.0
// Goal: each policy decides as its source says. Method: small situations decided by hand; for the
// work-function algorithm its competitive ratio on adversarial and random request sequences against the
// offline optimum.
#include "tandem/sched/policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tandem/base/rng.hpp"
#include "tandem/sched/policies.hpp"
#include "tandem/sched/small_world.hpp"

namespace tandem::sched {
namespace {

constexpr DeviceId kAcc{1};

TEST(Policy, EveryOneOfTheTableKeepsItsPostcondition) {
  Rng rng(5);
  for (const PolicyInfo& info : policies()) {
    SmallWorld world;
    const auto policy = world.make(info.name);
    for (int i = 0; i < 300; ++i) {
      for (DeviceObservation& device : world.devices) {
        device.available = rng.below(4) != 0;
        device.queue_depth = static_cast<int32_t>(rng.below(5));
        device.work_ahead_ns = static_cast<int64_t>(rng.below(20)) * kMs;
      }
      const auto stage = static_cast<uint32_t>(i % 3);
      world.program.stages[stage].nominal_ns[1] = rng.below(5) == 0 ? kCannotRun : 2 * kMs;
      const Situation situation = world.at(stage, rng.below(2) == 0 ? kHost : kAcc);
      const Decision decision = policy->decide(situation);
      if (decision.hold()) {
        if (can_run(situation, kHost) && can_run(situation, kAcc))
          FAIL() << info.name << " holds without a need";
        continue;
      }
      ASSERT_TRUE(can_run(situation, decision.device)) << info.name << " at " << i;
      policy->completed(
          {.stage = stage, .device = decision.device, .elapsed_ns = 5 * kMs, .service_ns = 2 * kMs});
    }
  }
}

TEST(Policy, UnknownNamesAndBadOptionsAreRefused) {
  const SmallWorld world;
  const auto unknown = make_policy("cost-histeresis", {}, {world.program, world.links});
  EXPECT_NE(unknown.error().message().find("did you mean 'cost-hysteresis'"), std::string::npos);
  EXPECT_FALSE(make_policy("cost", {.margin = 1.5}, {world.program, world.links}).ok());
  EXPECT_FALSE(make_policy("cost", {.switch_ns = -1}, {world.program, world.links}).ok());
  EXPECT_FALSE(make_policy("cost", {.accelerator = DeviceId{3}}, {world.program, world.links}).ok());
}

TEST(Static, StaysAndFallsBackWhenTheDeviceIsLost) {
  SmallWorld world;
  EXPECT_EQ(world.make("static-cpu")->decide(world.at(0)).device, kHost);
  const auto policy = world.make("static-accelerator");
  EXPECT_EQ(policy->decide(world.at(0)).device, kAcc);
  world.devices[1].available = false;
  const Decision decision = policy->decide(world.at(0));
  EXPECT_EQ(decision.device, kHost);
  EXPECT_EQ(decision.reason, Reason::kFallback);
  world.devices[0].available = false;
  EXPECT_TRUE(policy->decide(world.at(0)).hold());
}

TEST(StaticSplit, FindsTheBestRunOfStages) {
  SmallWorld world;
  // Only stage 1 gains: 30 -> 2 ms pays two transfers of 2 ms; stages 0 and 2 are faster on the host.
  world.program.stages[0].nominal_ns = {1 * kMs, 9 * kMs};
  world.program.stages[1].nominal_ns = {30 * kMs, 2 * kMs};
  world.program.stages[2].nominal_ns = {1 * kMs, 9 * kMs};
  const auto policy = world.make("static-split");
  EXPECT_EQ(policy->decide(world.at(0)).device, kHost);
  EXPECT_EQ(policy->decide(world.at(1)).device, kAcc);
  EXPECT_EQ(policy->decide(world.at(2)).device, kHost);
}

TEST(RoundRobin, Turns) {
  const SmallWorld world;
  const auto policy = world.make("round-robin");
  EXPECT_EQ(policy->decide(world.at(0)).device, kHost);
  EXPECT_EQ(policy->decide(world.at(1)).device, kAcc);
  EXPECT_EQ(policy->decide(world.at(2)).device, kHost);
}

TEST(JoinShortestQueue, ComparesJobsPerServer) {
  SmallWorld world;
  const auto policy = world.make("join-shortest-queue");
  EXPECT_EQ(policy->decide(world.at(0)).device, kAcc);  // a tie goes to the faster
  world.devices[1].queue_depth = 3;
  world.devices[0].queue_depth = 2;
  EXPECT_EQ(policy->decide(world.at(0)).device, kHost);
  world.devices[1].servers = 2;  // 1.5 a server
  EXPECT_EQ(policy->decide(world.at(0)).device, kAcc);
}

TEST(EarliestFinish, WeighsWaitServiceAndTransfer) {
  SmallWorld world;
  const auto policy = world.make("earliest-finish");
  world.devices[1].queue_depth = 3;
  world.devices[1].work_ahead_ns = 5 * kMs;  // 5 + 2 + 2 = 9 < 10
  EXPECT_EQ(policy->decide(world.at(0)).device, kAcc);
  world.devices[1].work_ahead_ns = 7 * kMs;  // 11 > 10
  EXPECT_EQ(policy->decide(world.at(0)).device, kHost);
  EXPECT_EQ(world.make("earliest-finish-priority")->decide(world.at(2)).priority, 2);
}

TEST(Cost, AddsSwitching) {
  SmallWorld world;
  const auto policy = world.make("cost", {.switch_ns = 7 * kMs});
  EXPECT_EQ(policy->decide(world.at(0)).device, kAcc);
  EXPECT_EQ(policy->decide(world.at(0, kHost)).device, kHost);  // 4 + 7 > 10
}

TEST(CostHysteresis, KeepsMarginAndDwell) {
  SmallWorld world;
  const auto policy = world.make("cost-hysteresis", {.margin = 0.5, .dwell_ns = 50 * kMs});
  world.devices[1].queue_depth = 1;
  world.devices[1].work_ahead_ns = 2 * kMs;  // 6 against 10 saves 40 %
  Decision decision = policy->decide(world.at(0, kHost));
  EXPECT_EQ(decision.device, kHost);
  EXPECT_EQ(decision.reason, Reason::kMargin);
  world.devices[1].work_ahead_ns = 1 * kMs;  // saves exactly 50 %
  EXPECT_EQ(policy->decide(world.at(0, kHost)).device, kAcc);
  Situation soon = world.at(0, kHost);
  soon.last_switch_ns = soon.now_ns - 49 * kMs;
  EXPECT_EQ(policy->decide(soon).reason, Reason::kDwell);
  soon.last_switch_ns = soon.now_ns - 50 * kMs;
  EXPECT_EQ(policy->decide(soon).device, kAcc);
  world.devices[0].available = false;  // no dwell on a lost device
  EXPECT_EQ(policy->decide(world.at(0, kHost)).device, kAcc);
}

TEST(Threshold, HoldsForTheFastDevice) {
  SmallWorld world;
  const auto policy = world.make("threshold", {.threshold = 2, .hold = true});
  EXPECT_EQ(policy->decide(world.at(0)).device, kAcc);
  world.devices[1].queue_depth = 1;
  Situation situation = world.at(0);
  situation.waiting = 2;
  EXPECT_EQ(policy->decide(situation).reason, Reason::kWaits);
  situation.waiting = 3;
  EXPECT_EQ(policy->decide(situation).device, kHost);
  world.devices[0].queue_depth = 1;
  EXPECT_TRUE(policy->decide(situation).hold());
}

TEST(Threshold, WithoutALineOfItsOwnJoinsTheDevice) {
  SmallWorld world;
  const auto policy = world.make("threshold", {.threshold = 2});
  world.devices[1].queue_depth = 2;  // one waits; this one would be the second
  EXPECT_EQ(policy->decide(world.at(0)).device, kAcc);
  world.devices[1].queue_depth = 3;
  EXPECT_EQ(policy->decide(world.at(0)).device, kHost);
}

// Offline optimum of a two-state task system: requests cost r[i][s], moving costs d.
int64_t offline_optimum(const std::vector<std::array<int64_t, 2>>& requests, int64_t d) {
  std::array<int64_t, 2> w = {0, 0};
  for (const auto& r : requests) {
    const int64_t a = w[0] + r[0], b = w[1] + r[1];
    w = {std::min(a, b + d), std::min(b, a + d)};
  }
  return std::min(w[0], w[1]);
}

// Plays `count` requests. The adversary charges the state that the policy would serve in; else random costs.
struct Played {
  int64_t policy_ns = 0, optimum_ns = 0;
};
Played play(Policy& policy, bool adversary, int64_t d, uint64_t seed) {
  SmallWorld world(1);
  world.program.tensors[0].bytes = 0;
  world.links = {};
  Rng rng(seed);
  std::vector<std::array<int64_t, 2>> requests;
  Played played;
  DeviceId last = kHost;
  for (int i = 0; i < 400; ++i) {
    std::array<int64_t, 2> cost = {static_cast<int64_t>(rng.below(20)) * kMs,
                                   static_cast<int64_t>(rng.below(20)) * kMs};
    if (adversary) {
      cost = {0, 0};
      cost[index_of(last)] = 1 * kMs;
    }
    world.program.stages[0].nominal_ns = {cost[0], cost[1]};
    const DeviceId device = policy.decide(world.at(0, last)).device;
    played.policy_ns += cost[index_of(device)] + (device != last ? d : 0);
    requests.push_back(cost);
    last = device;
  }
  played.optimum_ns = offline_optimum(requests, d);
  return played;
}

TEST(WorkFunction, StaysWithinThreeTimesTheOptimum) {
  const SmallWorld world(1);
  for (const int64_t d : {1 * kMs, 5 * kMs, 30 * kMs}) {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
      const auto policy = world.make("work-function", {.switch_ns = d});
      const Played played = play(*policy, seed % 2 == 0, d, seed);
      ASSERT_LE(played.policy_ns, 3 * played.optimum_ns + 3 * d) << "seed " << seed << " d " << d;
    }
  }
}

TEST(WorkFunction, TheCheckRefusesAPolicyThatNeverMoves) {
  const SmallWorld world(1);
  const auto policy = world.make("static-cpu");
  const Played played = play(*policy, true, 1 * kMs, 2);
  EXPECT_GT(played.policy_ns, 3 * played.optimum_ns + 3 * kMs);
}

TEST(Lookahead, SeesTheTransferThatGreedyPlacementCauses) {
  SmallWorld world;
  // Stage 0 is a little cheaper on the accelerator, but the rest cannot run there and needs a huge t1 back.
  world.program.stages[0].nominal_ns = {10 * kMs, 7 * kMs};
  world.program.stages[1].nominal_ns = {10 * kMs, kCannotRun};
  world.program.stages[2].nominal_ns = {10 * kMs, kCannotRun};
  world.program.tensors[1].bytes = 20'000'000;
  EXPECT_EQ(world.make("earliest-finish")->decide(world.at(0)).device, kAcc);
  EXPECT_EQ(world.make("lookahead")->decide(world.at(0)).device, kHost);
  EXPECT_EQ(world.make("lookahead", {.horizon = 1})->decide(world.at(0)).device, kAcc);
}

TEST(Lookahead, PathEqualsBruteForceOnChains) {
  Rng rng(11);
  for (int round = 0; round < 200; ++round) {
    SmallWorld world(6);
    for (Stage& stage : world.program.stages) {
      stage.nominal_ns = {static_cast<int64_t>(rng.below(30)) * kMs,
                          static_cast<int64_t>(rng.below(30)) * kMs};
    }
    for (Tensor& tensor : world.program.tensors)
      tensor.bytes = static_cast<int64_t>(rng.below(20)) * 1'000'000;
    int64_t least_ns = kCannotRun;
    for (uint32_t placement = 0; placement < 64; ++placement) {
      Locations locations = world.locations;
      int64_t total_ns = 0;
      for (uint32_t i = 0; i < 6; ++i) {
        const DeviceId device{placement >> i & 1};
        const Stage& stage = world.program.stages[i];
        total_ns += expected_transfer_ns(world.program, stage, locations, world.links, device) +
                    stage.nominal_ns[index_of(device)];
        after_stage(stage, 2, device, locations);
      }
      least_ns = std::min(least_ns, total_ns);
    }
    EXPECT_EQ(cheapest_path(world.at(0), 6, {}).total_ns, least_ns) << "round " << round;
  }
}

TEST(Learning, LeavesADeviceThatTheModelFlatters) {
  const SmallWorld world;
  for (const char* name : {"ucb", "thompson"}) {
    const auto policy = world.make(name);
    int accelerator_count = 0;
    for (int i = 0; i < 600; ++i) {
      const DeviceId device = policy->decide(world.at(0)).device;
      // The model says 4 ms for the accelerator; in truth it takes 30.
      policy->completed({.stage = 0, .device = device, .elapsed_ns = device == kAcc ? 30 * kMs : 10 * kMs});
      if (i >= 500) accelerator_count += device == kAcc ? 1 : 0;
    }
    EXPECT_LE(accelerator_count, 10) << name;
  }
}

TEST(Learning, NeverTriesWhatTheModelFindsUnsafe) {
  SmallWorld world;
  world.program.stages[0].nominal_ns = {1000 * kMs, 2 * kMs};
  const auto policy = world.make("ucb");
  for (int i = 0; i < 300; ++i) {
    const DeviceId device = policy->decide(world.at(0)).device;
    ASSERT_EQ(device, kAcc);
    policy->completed({.stage = 0, .device = device, .elapsed_ns = 3 * kMs});
  }
}

TEST(Explain, ShowsTermsAndReason) {
  const SmallWorld world;
  const auto policy = world.make("cost");
  const Situation situation = world.at(0);
  EXPECT_EQ(explain(situation, policy->decide(situation), {"cpu", "fpga"}),
            "stage 'stage0' at 1s\n"
            "device  queue  wait  service  transfer  switching  uncertainty  total  chosen\n"
            "------  -----  ----  -------  --------  ---------  -----------  -----  --------\n"
            "cpu         0   0ns     10ms       0ns        0ns          0ns   10ms\n"
            "fpga        0   0ns      2ms       2ms        0ns          0ns    4ms  cheapest\n");
}

}  // namespace
}  // namespace tandem::sched
