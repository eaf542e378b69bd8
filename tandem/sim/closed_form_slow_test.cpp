// SPDX-License-Identifier: Apache-2.0
// Goal: the simulator gives what queueing theory says. Method: the true value lies in the simulated 95 %
// interval (99.9 % where several are judged at once), fixed seeds; and the closed forms themselves against
// textbook numbers.
#include "tandem/sim/closed_form.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/sim/worlds.hpp"

namespace tandem::sim {
namespace {

TEST(ClosedForm, TheIntervalRefusesAWrongValue) {
  const Interval seen = sojourn_of(single_station(800));
  EXPECT_FALSE(seen.holds(1.1 * (mm1_wait(800, 1000) + 0.001)));
}

TEST(ClosedForm, MM1) {
  for (const double load : {0.3, 0.8}) {
    const Interval seen = sojourn_of(single_station(load * 1000));
    EXPECT_TRUE(seen.holds(mm1_wait(load * 1000, 1000) + 0.001))
        << load << " " << seen.mean << " +- " << seen.half_width;
    EXPECT_LT(seen.half_width, 0.1 * seen.mean);
  }
}

TEST(ClosedForm, MMk) {
  const Interval seen = sojourn_of(single_station(3 * 800, 3));
  EXPECT_TRUE(seen.holds(mmk_wait(2400, 1000, 3) + 0.001)) << seen.mean << " +- " << seen.half_width;
}

TEST(ClosedForm, MD1AndMG1) {
  for (const plan::ServiceLaw& law : {plan::ServiceLaw{.kind = plan::LawKind::kDeterministic},
                                      plan::ServiceLaw{.kind = plan::LawKind::kGamma, .cv = 2},
                                      plan::ServiceLaw{.kind = plan::LawKind::kLogNormal, .cv = 0.7}}) {
    Scenario scenario = single_station(700);
    scenario.backgrounds[0].law = law;
    const Interval seen = sojourn_of(scenario);
    EXPECT_TRUE(seen.holds(mg1_wait(700, 0.001, law.variance()) + 0.001))
        << seen.mean << " +- " << seen.half_width;
  }
}

TEST(ClosedForm, MM1K) {
  Scenario scenario = single_station(900);
  scenario.devices[0].queue.capacity = 4;  // and one in service
  const FiniteQueue truth = mm1k(900, 1000, 5);
  EXPECT_TRUE(sojourn_of(scenario).holds(truth.sojourn_s));
  const RunResult r = simulate(scenario, "static-cpu").value();
  const StationTotals& totals = r.devices[0].station;
  EXPECT_NEAR(static_cast<double>(totals.refused_count) /
                  static_cast<double>(totals.refused_count + totals.others_job_count),
              truth.refused, 0.01);
}

TEST(ClosedForm, ProcessorSharingIsInsensitiveToTheLaw) {
  for (const plan::LawKind kind : {plan::LawKind::kExponential, plan::LawKind::kDeterministic}) {
    Scenario scenario = single_station(700);
    scenario.devices[0].processor_sharing = true;
    scenario.backgrounds[0].law.kind = kind;
    const Interval seen = sojourn_of(scenario);
    EXPECT_TRUE(seen.holds(processor_sharing_sojourn(700, 0.001))) << seen.mean << " +- " << seen.half_width;
  }
}

TEST(ClosedForm, Priority) {
  Scenario scenario = single_station(400);
  scenario.devices[0].queue.discipline = sched::Discipline::kPriority;
  scenario.backgrounds.push_back(scenario.backgrounds[0]);
  scenario.backgrounds[0].priority = 1;
  // Both classes together: the mean over all jobs is the same as without priorities; the classes are told
  // apart by simulating the high one with the low one's load behind it.
  const std::vector<double> rates = {400, 400};
  const std::vector<double> waits = priority_waits(rates, 1000);
  EXPECT_TRUE(sojourn_of(scenario).holds((waits[0] + waits[1]) / 2 + 0.001));
  EXPECT_LT(waits[0] * 3, waits[1]);
}

TEST(ClosedForm, ClosedNetworkByMeanValueAnalysis) {
  // Three jobs circulate between host and accelerator, each of one stage there and one here, exponential.
  Scenario scenario = training(0, 2);
  scenario.links[0] = {.from = 0, .to = 1, .latency_ns = 0, .bytes_per_s = 1e15};
  scenario.devices[0].law.kind = scenario.devices[1].law.kind = plan::LawKind::kExponential;
  JobModel job = scenario.jobs[0];
  for (sched::Tensor& tensor : job.program.tensors) tensor.bytes = 0;
  job.program.stages[0].nominal_ns = {2 * kMs, sched::kCannotRun};
  job.program.stages[1].nominal_ns = {sched::kCannotRun, 1 * kMs};
  scenario.jobs = {job, job, job};
  scenario.horizon_ns = 100 * kSecond;
  std::vector<double> rates;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    scenario.seed = seed;
    rates.push_back(simulate(scenario, "cost").value().steps_per_s());
  }
  const std::vector<double> services = {0.002, 0.001};
  const Interval seen = interval_of(rates, 0.999);
  EXPECT_TRUE(seen.holds(closed_network_throughput(services, 3))) << seen.mean << " +- " << seen.half_width;
}

double wait_cdf(double t, double load) { return mm1_wait_cdf(t, load * 1000, 1000); }

// The wait of one job that comes at 200 ms in each replication: independent, unlike consecutive waits. A job
// at a fixed time meets the stationary state; the first of the stream after that time would not.
std::vector<double> late_waits(double load, int replications) {
  std::vector<double> waits;
  for (int i = 0; i < replications; ++i) {
    Scenario scenario = single_station(load * 1000);
    scenario.seed = 1000 + static_cast<uint64_t>(i);
    scenario.backgrounds.push_back(scenario.backgrounds[0]);
    scenario.backgrounds[1].arrivals = {.kind = plan::ArrivalKind::kTrace, .times_ns = {200 * kMs}};
    scenario.warm_up_ns = 200 * kMs;
    scenario.horizon_ns = 260 * kMs;
    const RunResult r = simulate(scenario, "static-cpu").value();
    if (r.devices[0].others_wait.count > 0) {
      waits.push_back(static_cast<double>(r.devices[0].others_wait.origin) * 1e-9);
    }
  }
  return waits;
}

TEST(ClosedForm, WaitsOfIndependentReplicationsFollowTheLaw) {
  const std::vector<double> waits = late_waits(0.6, 800);
  ASSERT_GT(waits.size(), 750u);
  EXPECT_FALSE(kolmogorov_smirnov(waits, wait_cdf, 0.6, 0.01).rejected);
  EXPECT_TRUE(kolmogorov_smirnov(waits, wait_cdf, 0.75, 0.01).rejected);  // it can say no
}

// The mean sojourn of M/M/1 by batch means of one run each.
TEST(Interval, CoversTheTruthIn93To97PercentOf400Replications) {
  const double truth_ns = (mm1_wait(500, 1000) + 0.001) * 1e9;
  int covered = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Scenario scenario = single_station(500);
    scenario.seed = seed;
    scenario.warm_up_ns = 0;
    scenario.horizon_ns = 40 * kSecond;
    const RunResult r = simulate(scenario, "static-cpu").value();
    covered += batch_means_interval(r.devices[0].others_series, true).holds(truth_ns) ? 1 : 0;
  }
  EXPECT_GE(covered, 372);
  EXPECT_LE(covered, 388);
}

TEST(LinKumar, ValueIterationAgreesWithOneServerAndKnowsTheThreshold) {
  // A slow server that is nearly useless: M/M/1 with load 0.5 has 1 in the system.
  const TwoServerOptimum useless = two_server_optimum({.arrival = 0.5, .fast = 1, .slow = 1e-4});
  EXPECT_NEAR(useless.mean_number, 1, 0.01);
  // Equal servers: M/M/2 with load 0.5: 2 rho / (1 - rho^2) = 1.3333, used at once.
  const TwoServerOptimum equal = two_server_optimum({.arrival = 1, .fast = 1, .slow = 1});
  EXPECT_NEAR(equal.mean_number, 4.0 / 3, 0.001);
  EXPECT_EQ(equal.threshold, 0);
  EXPECT_GT(two_server_optimum({.arrival = 0.8, .fast = 1, .slow = 0.1}).threshold, 2);
}

// Open-loop steps of one stage: 5 ms on the host, 1 ms on the accelerator, exponential; one line in the
// driver.
Scenario two_servers(double arrival_per_s, int threshold) {
  Scenario scenario = training(0, 1);
  scenario.links[0] = {.from = 0, .to = 1, .latency_ns = 0, .bytes_per_s = 1e15};
  for (DeviceModel& device : scenario.devices) device.law.kind = plan::LawKind::kExponential;
  JobModel& job = scenario.jobs[0];
  for (sched::Tensor& tensor : job.program.tensors) tensor.bytes = 0;
  job.program.stages[0].nominal_ns = {5 * kMs, 1 * kMs};
  job.open = true;
  job.arrivals = {.kind = plan::ArrivalKind::kPoisson, .rate_per_s = arrival_per_s};
  scenario.policy.hold = true;
  scenario.policy.threshold = threshold;
  scenario.horizon_ns = 100 * kSecond;
  return scenario;
}

Interval number_in_system(Scenario scenario, const char* policy) {
  std::vector<double> numbers;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    scenario.seed = seed;
    numbers.push_back(simulate(scenario, policy).value().mean_in_progress);
  }
  return interval_of(numbers, 0.999);
}

TEST(LinKumar, TheThresholdPolicyReachesTheOptimumAndNoOtherBeatsIt) {
  const TwoServerOptimum optimum = two_server_optimum({.arrival = 800, .fast = 1000, .slow = 200});
  const Interval best = number_in_system(two_servers(800, optimum.threshold), "threshold");
  EXPECT_TRUE(best.holds(optimum.mean_number))
      << best.mean << " +- " << best.half_width << ", optimum " << optimum.mean_number << " at threshold "
      << optimum.threshold;
  for (const char* policy :
       {"static-accelerator", "join-shortest-queue", "earliest-finish", "cost", "round-robin"}) {
    EXPECT_GE(number_in_system(two_servers(800, 0), policy).high(), optimum.mean_number) << policy;
  }
  EXPECT_GT(number_in_system(two_servers(800, 0), "threshold").low(), optimum.mean_number);
}

}  // namespace
}  // namespace tandem::sim
