// SPDX-License-Identifier: Apache-2.0
// Scenario: what is simulated, as plain data: devices, links, background load, training jobs, monitor,
// faults. Times are integer nanoseconds. Read from TOML by read_scenario(), checked by verify().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/plan/generators.hpp"
#include "tandem/sched/estimator.hpp"
#include "tandem/sched/job_queue.hpp"
#include "tandem/sched/policy.hpp"

namespace tandem::sim {

enum class RateKind : uint8_t {
  kConstant,
  kSteps,     // from times_ns[i] on the speed is factors[i]
  kSinusoid,  // 1 + swing * sin(2 pi t / period), sampled 64 times a period
  kMarkov,    // 1 for exponential times of mean period_ns, `factor` for those of mean slow_ns
  kThermal,   // first-order heating by the busy share, time constant period_ns; above `limit` (1: the
              // temperature of a device that is always busy) the speed is `factor`, until it is below limit -
              // 0.05
};

struct RateModel {
  RateKind kind = RateKind::kConstant;
  std::vector<int64_t> times_ns = {};
  std::vector<double> factors = {};
  double swing = 0, factor = 1, limit = 1;
  int64_t period_ns = 1'000'000'000, slow_ns = 1'000'000'000;
};

// A thing that is lost and returns: exponential times between (mean_up_ns, 0: never) and until it is back.
struct FaultModel {
  int64_t mean_up_ns = 0;
  int64_t mean_down_ns = 0;
  double job_failure = 0;  // chance that one of our stages fails at its end and must run again
};

struct DeviceModel {
  std::string name;
  int32_t servers = 1;
  bool processor_sharing = false;
  sched::JobQueueOptions queue = {.capacity = 1 << 16};
  plan::ServiceLaw law = {};  // of our stages: what nominal times are multiplied by
  int64_t context_ns = 0;     // fixed cost of a batch, and of a change between clients
  RateModel rate = {};
  FaultModel faults = {};
  double busy_w = 0, idle_w = 0;
};

struct LinkModel {
  uint32_t from = 0, to = 1;
  int64_t latency_ns = 0;
  double bytes_per_s = 1e9;
  bool duplex = true;  // false: both directions share the bandwidth
  FaultModel faults = {};
};

struct BackgroundModel {
  std::string name;
  uint32_t device = 1;
  plan::ArrivalSpec arrivals;
  int64_t mean_work_ns = 0;
  plan::ServiceLaw law = {.kind = plan::LawKind::kExponential};
  int32_t priority = 0;
};

// A training job: closed loop (the next step starts when the last ends, after think_ns) or open loop (steps
// arrive).
struct JobModel {
  std::string name;
  sched::Program program;
  bool open = false;
  plan::ArrivalSpec arrivals = {};  // open loop
  int64_t think_ns = 0;             // closed loop
  int32_t priority = 0;
};

struct MonitorModel {
  int64_t period_ns = 0;  // 0: every decision sees the present
  int64_t delay_ns = 0;
  double noise = 0;  // relative deviation of the work ahead
};

struct Scenario {
  std::string name;
  std::string text;  // a sentence for reports
  uint64_t seed = 1;
  int64_t horizon_ns = 10'000'000'000;
  int64_t warm_up_ns = 0;
  uint64_t steps_max = 0;  // 0: until the horizon
  bool stationary = true;  // false: no warm-up is removed
  std::vector<DeviceModel> devices;
  std::vector<LinkModel> links;
  std::vector<BackgroundModel> backgrounds;
  std::vector<JobModel> jobs;
  MonitorModel monitor;
  sched::EstimatorOptions estimator;
  sched::PolicyOptions policy;
};

// Everything that the engine relies on. Error kBadInput names the part and the range.
Status verify(const Scenario& scenario);

// Share of the device's capacity that its background load asks for.
double offered_load(const Scenario& scenario, uint32_t device);

// The idle links as policies see them.
sched::LinkTable idle_links(const Scenario& scenario);

}  // namespace tandem::sim
