// SPDX-License-Identifier: Apache-2.0
// Lookahead: the placement of this stage decides which tensors the next ones must fetch, so the cheapest path
// over the stages ahead is found by dynamic programming and its first step taken. Today's waits count in full
// for the stage at hand; for those ahead the work seen now has drained by the time they arrive, and the usual
// wait of the device's utilization (M/M/1) takes its place.
#include <algorithm>

#include "tandem/sched/policies.hpp"

namespace tandem::sched {
namespace {

struct Label {
  int64_t total_ns = kCannotRun;
  DeviceId first_device = kNoDevice;
  Locations locations;
};

// The waits of a device: for a job that comes now, and for one that comes when all seen now is done.
struct Waits {
  int64_t now_ns = 0;
  int64_t usual_ns = 0;
};

Waits waits_of(const DeviceObservation& device) {
  const double busy = std::clamp(device.utilization, 0.0, 0.95);
  const double usual = busy / (1 - busy) * static_cast<double>(device.mean_job_ns) * device.slowdown;
  return {expected_wait_ns(device), static_cast<int64_t>(usual)};
}

}  // namespace

PathPlan cheapest_path(const Situation& situation, uint32_t last, const CostWeights& weights) {
  const Program& program = situation.program;
  const uint32_t count = program.device_count;
  std::array<Label, kDevicesMax> labels;
  std::array<Label, kDevicesMax> next;
  std::array<Waits, kDevicesMax> waits;
  for (uint32_t d = 0; d < count; ++d) {
    waits[d] = waits_of(situation.devices[d]);
    const CostTerms terms = cost_of(situation, DeviceId{d}, weights);
    if (!terms.possible()) continue;
    labels[d] = {terms.total_ns, DeviceId{d}, situation.locations};
    after_stage(program.stages[situation.stage], count, DeviceId{d}, labels[d].locations);
  }
  for (uint32_t i = situation.stage + 1; i < last; ++i) {
    const Stage& stage = program.stages[i];
    for (uint32_t to = 0; to < count; ++to) {
      next[to].total_ns = kCannotRun;
      if (!situation.devices[to].available || stage.nominal_ns[to] == kCannotRun) continue;
      const int64_t service_ns = expected_service_ns(situation.devices[to], stage.nominal_ns[to]);
      uint32_t best = kDevicesMax;
      for (uint32_t from = 0; from < count; ++from) {
        if (labels[from].total_ns == kCannotRun) continue;
        const int64_t transfer_ns =
            expected_transfer_ns(program, stage, labels[from].locations, situation.links, DeviceId{to});
        if (transfer_ns == kCannotRun) continue;
        const int64_t total_ns = labels[from].total_ns + transfer_ns + service_ns +
                                 std::max(waits[to].now_ns - labels[from].total_ns, waits[to].usual_ns) +
                                 (from == to ? 0 : weights.switch_ns);
        if (total_ns >= next[to].total_ns) continue;
        next[to].total_ns = total_ns;
        best = from;
      }
      if (best == kDevicesMax) continue;
      next[to].first_device = labels[best].first_device;
      next[to].locations = labels[best].locations;
      after_stage(stage, count, DeviceId{to}, next[to].locations);
    }
    std::swap(labels, next);
  }
  PathPlan plan;
  for (uint32_t d = 0; d < count; ++d) {
    if (labels[d].total_ns < plan.total_ns) plan = {labels[d].total_ns, labels[d].first_device};
  }
  return plan;
}

namespace {

class Lookahead final : public Policy {
 public:
  explicit Lookahead(const PolicyOptions& options)
      : weights_{options.switch_ns, options.risk}, horizon_(options.horizon) {}

  Decision decide(const Situation& situation) override {
    const auto count = static_cast<uint32_t>(situation.program.stages.size());
    const uint32_t last = std::min(count, situation.stage + horizon_);
    const PathPlan plan = cheapest_path(situation, last, weights_);
    Decision decision = cheapest(situation, weights_);
    // Where a later stage can run nowhere now, the stage at hand still gets its cheapest device.
    if (plan.first_device == kNoDevice) return decision;
    decision.device = plan.first_device;
    decision.reason = Reason::kPath;
    return decision;
  }

 private:
  CostWeights weights_;
  uint32_t horizon_;
};

}  // namespace

std::unique_ptr<Policy> make_lookahead(const PolicyOptions& options, const PolicyContext&) {
  return std::make_unique<Lookahead>(options);
}

}  // namespace tandem::sched
