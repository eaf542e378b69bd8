// SPDX-License-Identifier: Apache-2.0
// Scenarios made by hand, for the tests and benchmarks of sim.
#pragma once

#include "tandem/sim/engine.hpp"

namespace tandem::sim {

inline constexpr int64_t kMs = 1'000'000;
inline constexpr int64_t kSecond = 1'000'000'000;

// One station fed by a Poisson stream of `rate_per_s`; mean work 1 ms.
inline Scenario single_station(double rate_per_s, int32_t servers = 1) {
  Scenario s;
  s.name = "station";
  s.devices.push_back({.name = "station", .servers = servers});
  s.backgrounds.push_back({.name = "stream",
                           .device = 0,
                           .arrivals = {.kind = plan::ArrivalKind::kPoisson, .rate_per_s = rate_per_s},
                           .mean_work_ns = 1 * kMs});
  s.horizon_ns = 200 * kSecond;
  s.warm_up_ns = 5 * kSecond;
  return s;
}

// Mean time in the first device of background jobs, in seconds: its 99.9 % interval over runs with the seeds 1 to
// `replications`.
inline Interval sojourn_of(Scenario scenario, int replications = 10) {
  std::vector<double> means;
  for (int i = 1; i <= replications; ++i) {
    scenario.seed = static_cast<uint64_t>(i);
    const RunResult r = simulate(scenario, "static-cpu").value();
    means.push_back(r.devices[0].others_sojourn.mean() * 1e-9);
  }
  return interval_of(means, 0.999);
}

// A host and an accelerator; a closed training job of `stages` in a chain, forward then backward: 4 ms each
// on the host, 1 ms on the accelerator; activations of 0.5 MB; a link of 0.05 ms and 2 GB/s. Background of
// `load` on the accelerator, jobs of 1 ms.
inline Scenario training(double load, uint32_t stages = 8) {
  Scenario s;
  s.name = "training";
  s.devices.push_back({.name = "cpu"});
  s.devices.push_back({.name = "fpga"});
  s.links.push_back({.from = 0, .to = 1, .latency_ns = 50'000, .bytes_per_s = 2e9});
  if (load > 0) {
    s.backgrounds.push_back({.name = "others",
                             .device = 1,
                             .arrivals = {.kind = plan::ArrivalKind::kPoisson, .rate_per_s = load * 1000},
                             .mean_work_ns = 1 * kMs});
  }
  JobModel job;
  job.name = "train";
  job.program.tensors.push_back({"batch", 500'000, true});
  for (uint32_t i = 0; i < stages; ++i) {
    job.program.tensors.push_back({fmt::format("t{}", i), 500'000, false});
    sched::Stage stage;
    stage.name = fmt::format("stage{}", i);
    stage.nominal_ns = {4 * kMs, 1 * kMs};
    stage.inputs.add(i);
    // The backward half reads what its forward mirror made.
    if (i >= stages / 2) stage.inputs.add(stages - i);
    stage.outputs.add(i + 1);
    job.program.stages.push_back(stage);
  }
  s.jobs.push_back(job);
  s.horizon_ns = 20 * kSecond;
  s.warm_up_ns = 1 * kSecond;
  return s;
}

}  // namespace tandem::sim
