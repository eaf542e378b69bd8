// SPDX-License-Identifier: Apache-2.0
// The discrete latency cost of running a stage on a device, term by term:
//   cost = wait + service + transfer + switching + uncertainty      (integer nanoseconds each)
// wait        = work_ahead * slowdown / servers
// service     = nominal * slowdown / (1 - contention_share)
// transfer    = for each device that must send: link backlog + latency + missing bytes * ns_per_byte
// switching   = switch_ns if the previous stage ran elsewhere
// uncertainty = risk * standard deviation of (wait + service)
// docs/scheduling.md derives them.
#pragma once

#include <array>
#include <cstdint>

#include "tandem/sched/situation.hpp"

namespace tandem::sched {

struct CostWeights {
  int64_t switch_ns = 0;
  double risk = 0;  // 0: means only; 1.645: about the 95 % quantile of a normal law
};

struct CostTerms {
  int64_t wait_ns = 0;
  int64_t service_ns = 0;
  int64_t transfer_ns = 0;
  int64_t switching_ns = 0;
  int64_t uncertainty_ns = 0;
  int64_t total_ns = kCannotRun;  // kCannotRun: the device is lost, unreachable, or cannot run the stage
  bool possible() const { return total_ns != kCannotRun; }
};

CostTerms cost_of(const Situation& situation, DeviceId device, const CostWeights& weights);

// The parts of it that lookahead needs alone.
int64_t expected_wait_ns(const DeviceObservation& device);
int64_t expected_service_ns(const DeviceObservation& device, int64_t nominal_ns);
// kCannotRun when a tensor is held by no device that a link reaches.
int64_t expected_transfer_ns(const Program& program, const Stage& stage, const Locations& locations,
                             const LinkTable& links, DeviceId device);

}  // namespace tandem::sched
