// SPDX-License-Identifier: Apache-2.0
// What several policies share: falling back, and the cheapest device.
#include "tandem/sched/policies.hpp"

namespace tandem::sched {

bool can_run(const Situation& situation, DeviceId device) {
  const Stage& stage = situation.program.stages[situation.stage];
  if (!situation.devices[index_of(device)].available) return false;
  if (stage.nominal_ns[index_of(device)] == kCannotRun) return false;
  return expected_transfer_ns(situation.program, stage, situation.locations, situation.links, device) !=
         kCannotRun;
}

Decision want(const Situation& situation, DeviceId wanted, Reason reason) {
  Decision decision;
  if (can_run(situation, wanted)) {
    decision.device = wanted;
    decision.reason = reason;
    return decision;
  }
  for (uint32_t d = 0; d < situation.program.device_count; ++d) {
    if (!can_run(situation, DeviceId{d})) continue;
    decision.device = DeviceId{d};
    decision.reason = Reason::kFallback;
    return decision;
  }
  return decision;
}

Decision cheapest(const Situation& situation, const CostWeights& weights) {
  Decision decision;
  int64_t least_ns = kCannotRun;
  for (uint32_t d = 0; d < situation.program.device_count; ++d) {
    decision.terms[d] = cost_of(situation, DeviceId{d}, weights);
    if (decision.terms[d].total_ns >= least_ns) continue;
    least_ns = decision.terms[d].total_ns;
    decision.device = DeviceId{d};
    decision.reason = Reason::kCheapest;
  }
  return decision;
}

}  // namespace tandem::sched
