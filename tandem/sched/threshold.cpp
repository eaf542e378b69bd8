// SPDX-License-Identifier: Apache-2.0
// Threshold: the fast device while its line is no longer than the threshold. With `hold` the driver keeps one
// line for all devices and a stage is given away only when it starts: to the fast device as soon as that is
// free, to a slow one when more stages wait than the threshold; that is optimal for two exponential servers
// (Lin and Kumar, IEEE TAC 29, 1984).
#include "tandem/sched/policies.hpp"

namespace tandem::sched {
namespace {

class Threshold final : public Policy {
 public:
  explicit Threshold(const PolicyOptions& options)
      : fast_(options.accelerator), threshold_(options.threshold), hold_(options.hold) {}

  Decision decide(const Situation& situation) override {
    const DeviceObservation& fast = situation.devices[index_of(fast_)];
    const bool free = fast.queue_depth < fast.servers;
    if (free || !can_run(situation, fast_)) return want(situation, fast_, Reason::kBelowThreshold);
    const int32_t line = hold_ ? situation.waiting : fast.queue_depth - fast.servers + 1;
    if (line > threshold_) {
      const Decision other = other_device(situation);
      if (!other.hold() || hold_) return other;
    }
    if (!hold_) return want(situation, fast_, Reason::kBelowThreshold);
    Decision waits;
    waits.reason = Reason::kWaits;
    return waits;
  }

 private:
  // The fastest of the others; one that is busy only where stages may wait at devices.
  Decision other_device(const Situation& situation) const {
    const Stage& stage = situation.program.stages[situation.stage];
    Decision decision;
    decision.reason = Reason::kWaits;
    for (uint32_t d = 0; d < situation.program.device_count; ++d) {
      const DeviceObservation& device = situation.devices[d];
      if (DeviceId{d} == fast_ || !can_run(situation, DeviceId{d})) continue;
      if (hold_ && device.queue_depth >= device.servers) continue;
      if (!decision.hold() && stage.nominal_ns[index_of(decision.device)] <= stage.nominal_ns[d]) continue;
      decision.device = DeviceId{d};
      decision.reason = Reason::kAboveThreshold;
    }
    return decision;
  }

  DeviceId fast_;
  int32_t threshold_;
  bool hold_;
};

}  // namespace

std::unique_ptr<Policy> make_threshold(const PolicyOptions& options, const PolicyContext&) {
  return std::make_unique<Threshold>(options);
}

}  // namespace tandem::sched
