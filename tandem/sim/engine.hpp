// SPDX-License-Identifier: Apache-2.0
// simulate(): runs a scenario under one policy on a virtual clock. The policies, estimators and queues are
// those of sched, the same objects that the live runtime drives. A seed replays byte for byte; streams of
// randomness belong to things, not to the order of events, so that two policies meet the same arrivals and
// the same service times.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/cancel.hpp"
#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/base/trace.hpp"
#include "tandem/sim/model.hpp"
#include "tandem/sim/station.hpp"
#include "tandem/sim/statistics.hpp"

namespace tandem::sim {

struct RunOptions {
  uint64_t seed = 0;                    // 0: the scenario's
  const CancelToken* cancel = nullptr;  // looked at every some ten thousand events
  TraceWriter* trace = nullptr;         // timeline of stages, transfers, queues
  int64_t explain_step = -1;            // every decision of this step of the first job, in words
  bool timeline = false;                // keep about 1000 points of queue depth and placement
  size_t keep_steps = 0;                // keep the end times of the first steps
};

struct DeviceTotals {
  StationTotals station;
  uint64_t stage_count = 0;               // of ours that finished here
  uint64_t stall_count = 0;               // of these, how many waited longer than they were served
  double number_mean = 0;                 // jobs there, time average
  double utilization = 0, own_share = 0;  // of server time: all, ours
  double energy_j = 0;
  Moments others_sojourn, others_wait;
  QuantileSketch others_sketch;
  BatchSeries others_series;
  sched::EstimatorErrors estimator;
};

// Means over decisions: what the policy expected and what came.
struct TermMeans {
  uint64_t count = 0;
  double wait_ns = 0, service_ns = 0, transfer_ns = 0, switching_ns = 0, uncertainty_ns = 0;
  double real_wait_ns = 0, real_service_ns = 0, real_transfer_ns = 0;
};

struct TimelinePoint {
  int64_t at_ns = 0;
  int32_t queue = 0;             // at the policy's accelerator
  double accelerator_share = 0;  // of our stages that ended since the last point
};

struct RunResult {
  std::string policy;
  uint64_t seed = 0;
  int64_t window_ns = 0;  // of the statistics: after the warm-up
  Moments step_time;
  QuantileSketch step_sketch;
  BatchSeries step_series;
  Moments stage_wait;  // of all our stages
  std::vector<DeviceTotals> devices;
  std::vector<StationTotals> channels;  // link directions
  TermMeans terms;
  uint64_t decision_count = 0, hold_count = 0, switch_count = 0, failure_count = 0;
  int64_t transfer_bytes = 0, transfer_count = 0;
  double congestion_exposure = 0;  // share of our time in steps that was spent waiting for a device
  double mean_in_progress = 0;     // steps in progress, time average
  uint64_t arrival_count = 0, start_count = 0, completion_count = 0;
  uint64_t event_count = 0;  // taken from the event queue and not stale
  std::vector<int64_t> step_end_ns;
  std::vector<TimelinePoint> timeline;
  std::string explanation;
  std::vector<std::string> notes;  // unstable, refused, ended early: what a reader must know

  double steps_per_s() const;
  double accelerator_stage_share(uint32_t accelerator) const;
};

// Errors: a scenario that verify() refuses, an unknown policy, a policy that holds for ever, an account that
// does not balance (kInternal).
Result<RunResult> simulate(const Scenario& scenario, std::string_view policy, const RunOptions& options = {});

}  // namespace tandem::sim
