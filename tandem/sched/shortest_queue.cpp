// SPDX-License-Identifier: Apache-2.0
// Join the shortest queue (Winston 1977): fewest jobs per server; of equals the one that serves the stage
// faster.
#include "tandem/sched/policies.hpp"

namespace tandem::sched {
namespace {

class JoinShortestQueue final : public Policy {
 public:
  Decision decide(const Situation& situation) override {
    const Stage& stage = situation.program.stages[situation.stage];
    Decision decision;
    for (uint32_t d = 0; d < situation.program.device_count; ++d) {
      if (!can_run(situation, DeviceId{d})) continue;
      if (decision.hold() || shorter(situation, stage, d, index_of(decision.device))) {
        decision.device = DeviceId{d};
        decision.reason = Reason::kShortest;
      }
    }
    return decision;
  }

 private:
  static bool shorter(const Situation& situation, const Stage& stage, uint32_t a, uint32_t b) {
    const int64_t a_scaled = int64_t{situation.devices[a].queue_depth} * situation.devices[b].servers;
    const int64_t b_scaled = int64_t{situation.devices[b].queue_depth} * situation.devices[a].servers;
    return a_scaled < b_scaled || (a_scaled == b_scaled && stage.nominal_ns[a] < stage.nominal_ns[b]);
  }
};

}  // namespace

std::unique_ptr<Policy> make_join_shortest_queue(const PolicyOptions&, const PolicyContext&) {
  return std::make_unique<JoinShortestQueue>();
}

}  // namespace tandem::sched
