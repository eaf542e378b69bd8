// SPDX-License-Identifier: Apache-2.0
// Goal: the engine moves stages, tensors and clocks as the model says, replays, and survives faults. Method:
// steps computed by hand; properties over all policies.
#include "tandem/sim/engine.hpp"

#include <gtest/gtest.h>

#include "tandem/sim/worlds.hpp"

namespace tandem::sim {
namespace {

RunResult run(const Scenario& scenario, std::string_view policy, RunOptions options = {}) {
  Result<RunResult> result = simulate(scenario, policy, options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message());
  return std::move(result).value();
}

TEST(Engine, AStepTakesWhatItsStagesAndTransfersTake) {
  const Scenario scenario = training(0);
  const RunResult host = run(scenario, "static-cpu");
  EXPECT_EQ(host.step_time.least, 32 * kMs);  // 8 stages of 4 ms
  EXPECT_EQ(host.step_time.most, 32 * kMs);
  EXPECT_EQ(host.transfer_count, 0);
  // 8 ms and the batch: 0.05 ms + 500,000 B / 2 GB/s = 0.3 ms.
  const RunResult accelerator = run(scenario, "static-accelerator");
  EXPECT_EQ(accelerator.step_time.most, 8 * kMs + 300'000);
  EXPECT_EQ(accelerator.devices[1].stall_count, 0u);
  EXPECT_NEAR(accelerator.steps_per_s(), 1 / 0.0083, 0.1);
  EXPECT_EQ(accelerator.accelerator_stage_share(1), 1);
}

TEST(Engine, SplitPaysForEachTensorThatMoves) {
  Scenario scenario = training(0, 4);
  // Stages 0 and 3 cannot run on the accelerator: t1 goes there (0.3 ms), t3 comes back; stage 3 also reads
  // t1, which the host still has.
  scenario.jobs[0].program.stages[0].nominal_ns[1] = sched::kCannotRun;
  scenario.jobs[0].program.stages[3].nominal_ns[1] = sched::kCannotRun;
  const RunResult r = run(scenario, "static-accelerator");
  EXPECT_EQ(r.step_time.most, (4 + 1 + 1 + 4) * kMs + 600'000);
}

TEST(Engine, ASeedReplaysExactlyAndAnotherDiffers) {
  Scenario scenario = training(0.6);
  scenario.devices[1].law.kind = plan::LawKind::kLogNormal;
  const RunResult a = run(scenario, "cost", {.keep_steps = 1000});
  const RunResult b = run(scenario, "cost", {.keep_steps = 1000});
  EXPECT_EQ(a.step_end_ns, b.step_end_ns);
  EXPECT_EQ(a.event_count, b.event_count);
  EXPECT_NE(a.step_end_ns, run(scenario, "cost", {.seed = 2, .keep_steps = 1000}).step_end_ns);
}

TEST(Engine, PoliciesMeetTheSameArrivals) {
  const Scenario scenario = training(0.6);
  const RunResult a = run(scenario, "static-cpu");
  const RunResult b = run(scenario, "static-accelerator");
  EXPECT_EQ(a.arrival_count, b.arrival_count);
  EXPECT_GT(a.arrival_count, 10000u);
}

TEST(Engine, EveryPolicyFinishesUnderEveryKindOfTrouble) {
  Scenario scenario = training(0.7);
  scenario.devices[1].law = {.kind = plan::LawKind::kGamma, .cv = 0.5};
  scenario.devices[1].rate = {
      .kind = RateKind::kMarkov, .factor = 0.3, .period_ns = 500 * kMs, .slow_ns = 200 * kMs};
  scenario.devices[1].faults = {.mean_up_ns = 700 * kMs, .mean_down_ns = 100 * kMs, .job_failure = 0.05};
  scenario.devices[1].context_ns = 100'000;
  scenario.devices[0].rate = {
      .kind = RateKind::kThermal, .factor = 0.5, .limit = 0.6, .period_ns = 2 * kSecond};
  scenario.links[0].faults = {.mean_up_ns = 900 * kMs, .mean_down_ns = 50 * kMs};
  scenario.links[0].duplex = false;
  scenario.monitor = {.period_ns = 10 * kMs, .delay_ns = 25 * kMs, .noise = 0.2};
  scenario.jobs.push_back(scenario.jobs[0]);
  scenario.horizon_ns = 5 * kSecond;
  for (const bool sharing : {false, true}) {
    scenario.devices[1].processor_sharing = sharing;
    for (const sched::PolicyInfo& policy : sched::policies()) {
      const RunResult r = run(scenario, policy.name);
      EXPECT_GT(r.step_time.count, 30u) << policy.name;
      EXPECT_LE(r.devices[0].utilization, 1.0001) << policy.name;
      EXPECT_LE(r.devices[1].utilization, 1.0001) << policy.name;
    }
  }
}

TEST(Engine, SpeedStretchesWhatIsInService) {
  Scenario scenario = training(0, 1);  // one stage of 4 ms on the host
  scenario.devices[0].rate = {.kind = RateKind::kSteps, .times_ns = {1 * kMs}, .factors = {0.5}};
  scenario.warm_up_ns = 0;
  scenario.steps_max = 2;
  const RunResult r = run(scenario, "static-cpu", {.keep_steps = 2});
  // 1 ms at full speed, then 3 ms of work at half: ends at 7 ms; the next takes 8.
  EXPECT_EQ(r.step_end_ns, (std::vector<int64_t>{7 * kMs, 15 * kMs}));
}

TEST(Engine, BatchesShareTheContextCost) {
  // Two streams of one job each at 1 ms and 1.5 ms; a batch of two within 2 ms costs 1 ms of context and 2 x
  // 1 ms.
  Scenario scenario = single_station(1);
  scenario.backgrounds[0].arrivals = {
      .kind = plan::ArrivalKind::kTrace, .times_ns = {1 * kMs, 3 * kMs / 2}, .work_ns = {1 * kMs, 1 * kMs}};
  scenario.devices[0].queue.batch_max = 2;
  scenario.devices[0].queue.batch_wait_ns = 2 * kMs;
  scenario.devices[0].context_ns = 1 * kMs;
  scenario.warm_up_ns = 0;
  scenario.horizon_ns = 20 * kMs;
  const RunResult r = run(scenario, "static-cpu");
  EXPECT_EQ(r.devices[0].others_sojourn.count, 2u);
  // Starts at 1.5 ms (full), ends at 4.5 ms: sojourns 3.5 and 3.
  EXPECT_EQ(r.devices[0].others_sojourn.most, 7 * kMs / 2);
  EXPECT_EQ(r.devices[0].others_sojourn.least, 3 * kMs);
}

TEST(Engine, TransfersShareALink) {
  // Two jobs send 20 MB at once over 2 GB/s: 10 ms each when alone, 20 ms for both together when shared.
  Scenario scenario = training(0, 1);
  scenario.jobs[0].program.tensors[0].bytes = 20'000'000;
  scenario.jobs[0].program.tensors[1].bytes = 0;
  scenario.jobs.push_back(scenario.jobs[0]);
  scenario.devices[1].servers = 2;
  scenario.warm_up_ns = 0;
  scenario.steps_max = 2;
  const RunResult r = run(scenario, "static-accelerator", {.keep_steps = 2});
  EXPECT_EQ(r.step_end_ns[0], 50'000 + 20 * kMs + 1 * kMs);
}

TEST(Engine, CountsStallsAgainstServiceTime) {
  const RunResult r = run(training(0.9), "static-accelerator");
  EXPECT_GT(r.devices[1].stall_count, r.devices[1].stage_count / 3);
  EXPECT_GT(r.congestion_exposure, 0.5);
  EXPECT_EQ(run(training(0.9), "static-cpu").congestion_exposure, 0);
}

TEST(Engine, SaysThatAScenarioIsUnstable) {
  const RunResult r = run(training(1.2), "cost");
  ASSERT_FALSE(r.notes.empty());
  EXPECT_NE(r.notes[0].find("1.20 times what it can serve"), std::string::npos);
}

TEST(Engine, ExplainsAStep) {
  const RunResult r = run(training(0.5), "cost", {.explain_step = 3});
  EXPECT_NE(r.explanation.find("stage 'stage7'"), std::string::npos);
  EXPECT_NE(r.explanation.find("cheapest"), std::string::npos);
}

TEST(Engine, RefusesBrokenScenarios) {
  const auto refused = [](const Scenario& scenario) { return !simulate(scenario, "cost").ok(); };
  Scenario scenario = training(0.5);
  scenario.devices.clear();
  EXPECT_TRUE(refused(scenario));
  scenario = training(0.5);
  scenario.backgrounds[0].device = 7;
  EXPECT_TRUE(refused(scenario));
  scenario = training(0.5);
  scenario.backgrounds[0].arrivals.rate_per_s = 0;
  EXPECT_TRUE(refused(scenario));
  scenario = training(0.5);
  scenario.horizon_ns = -1;
  EXPECT_TRUE(refused(scenario));
  scenario = training(0.5);
  scenario.jobs[0].program.stages[0].nominal_ns[0] = -1;
  EXPECT_TRUE(refused(scenario));
  EXPECT_FALSE(simulate(training(0.5), "no-such-policy").ok());
  scenario = training(0);
  scenario.jobs[0].program.stages[0].nominal_ns = {sched::kCannotRun, 1 * kMs};
  scenario.links.clear();  // the batch cannot reach the accelerator: held for ever
  EXPECT_TRUE(refused(scenario));
}

}  // namespace
}  // namespace tandem::sim
