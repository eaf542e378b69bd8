// SPDX-License-Identifier: Apache-2.0
// simulate(): policies compared on one scenario, each over the same seeded replications. sweep(): the same
// over a grid of settings, resumable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/jobs/hooks.hpp"
#include "tandem/report/document.hpp"
#include "tandem/sim/engine.hpp"
#include "tandem/sim/optimum.hpp"

namespace tandem::jobs {

struct SimulateOptions {
  std::string scenario;               // TOML file
  std::vector<std::string> policies;  // names; "all": every one; empty: a telling handful
  std::vector<std::string> settings;  // "key.path=value", over what the file says
  uint64_t replications = 5;          // seeds: the scenario's, and the ones after it
  uint64_t seed = 0;                  // 0: the scenario's
  uint64_t optimum_steps = 50;  // compared with the clairvoyant optimum over so many first steps; 0: not
  int64_t explain_step = -1;
  std::string trace;   // file; of the first policy's first replication
  size_t threads = 0;  // 0: all cores. Results do not depend on it.
};

struct PolicySummary {
  std::string policy;
  sim::RunResult first;          // of the first replication, with its time line
  sim::Interval step_s;          // mean step time; half width infinite with one replication
  sim::Interval versus_first_s;  // paired difference of the mean step time to the first policy
  double step_deviation_s = 0, step_p50_s = 0, step_p99_s = 0, step_p999_s = 0;
  double steps_per_s = 0;
  double accelerator_share = 0;  // of stages
  double queue_mean = 0;
  int32_t queue_max = 0;  // jobs at the accelerator
  double exposure = 0;    // share of step time spent waiting for devices
  uint64_t stage_count = 0, stall_count = 0;
  std::optional<double> stalls_avoided;  // against static-accelerator; none when that has no stalls
  double switches_per_step = 0, bytes_per_step = 0, joules_per_step = 0;
  std::optional<double> optimum_ratio;  // time of the first steps over the optimum's; first replication
  uint64_t event_count = 0;
};

struct SimulateResult {
  sim::Scenario scenario;
  std::vector<PolicySummary> policies;
  std::optional<sim::Optimum> optimum;
  uint64_t optimum_steps = 0;
  std::string no_optimum;  // why there is none
  std::vector<std::string> notes;
  double events_per_s = 0;  // of this machine, all threads; not part of to_json()
};

Result<SimulateResult> simulate(const SimulateOptions& options, const JobHooks& hooks = {});
Json to_json(const SimulateResult& result);
report::Document simulation_report(const SimulateResult& result, const std::string& command);
// What each column of the table means.
std::vector<std::pair<std::string, std::string>> simulation_metrics();

struct SweepOptions {
  SimulateOptions base;           // its settings come first
  std::vector<std::string> axes;  // "key.path=0..0.9:10" or "key.path=a,b,c"
  std::string csv;                // appended to; rows that are there are not computed again
};

struct SweepRow {
  std::vector<std::string> values;  // one per axis
  std::string policy;
  double step_s = 0, half_width_s = 0, p99_s = 0, steps_per_s = 0, queue_mean = 0, accelerator_share = 0;
  int64_t queue_max = 0;
};

struct SweepResult {
  std::vector<std::string> axes;  // key paths
  std::vector<SweepRow> rows;     // in grid order
  uint64_t reused_count = 0;
};

Result<SweepResult> sweep(const SweepOptions& options, const JobHooks& hooks = {});
report::Document sweep_report(const SweepResult& result, const std::string& command);

// The values of an axis: "0..1:5" is 0, 0.25, 0.5, 0.75, 1; "1ms..3ms:3" keeps the unit. Error kUsage.
Result<std::vector<std::string>> axis_values(const std::string& text);

}  // namespace tandem::jobs
