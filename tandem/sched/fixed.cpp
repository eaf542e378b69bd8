// SPDX-License-Identifier: Apache-2.0
// Static placements: the host, the accelerator, or one run of stages on the accelerator chosen beforehand.
#include "tandem/sched/policies.hpp"

namespace tandem::sched {
namespace {

class Fixed final : public Policy {
 public:
  explicit Fixed(std::vector<DeviceId> placement) : placement_(std::move(placement)) {}
  Decision decide(const Situation& situation) override {
    return want(situation, placement_[situation.stage], Reason::kFixed);
  }

 private:
  std::vector<DeviceId> placement_;
};

std::unique_ptr<Policy> everywhere(DeviceId device, const PolicyContext& context) {
  return std::make_unique<Fixed>(std::vector<DeviceId>(context.program.stages.size(), device));
}

// The time of the second of two steps on idle devices: by then the weights lie where the placement wants
// them.
int64_t steady_step_ns(const PolicyContext& context, const std::vector<DeviceId>& placement) {
  const Program& program = context.program;
  Locations locations = at_start(program);
  int64_t step_ns = 0;
  for (int step = 0; step < 2; ++step) {
    begin_step(program, locations);
    step_ns = 0;
    for (size_t i = 0; i < program.stages.size(); ++i) {
      const Stage& stage = program.stages[i];
      const int64_t service_ns = stage.nominal_ns[index_of(placement[i])];
      const int64_t transfer_ns =
          expected_transfer_ns(program, stage, locations, context.links, placement[i]);
      if (service_ns == kCannotRun || transfer_ns == kCannotRun) return kCannotRun;
      step_ns += service_ns + transfer_ns;
      after_stage(stage, program.device_count, placement[i], locations);
    }
  }
  return step_ns;
}

}  // namespace

std::unique_ptr<Policy> make_static_cpu(const PolicyOptions&, const PolicyContext& context) {
  return everywhere(kHost, context);
}

std::unique_ptr<Policy> make_static_accelerator(const PolicyOptions& options, const PolicyContext& context) {
  return everywhere(options.accelerator, context);
}

std::unique_ptr<Policy> make_static_split(const PolicyOptions& options, const PolicyContext& context) {
  const size_t count = context.program.stages.size();
  std::vector<DeviceId> best(count, kHost);
  int64_t best_ns = steady_step_ns(context, best);
  for (size_t begin = 0; begin < count; ++begin) {
    std::vector<DeviceId> placement(count, kHost);
    for (size_t end = begin; end < count; ++end) {
      placement[end] = options.accelerator;
      const int64_t ns = steady_step_ns(context, placement);
      if (ns >= best_ns) continue;
      best_ns = ns;
      best = placement;
    }
  }
  return std::make_unique<Fixed>(std::move(best));
}

}  // namespace tandem::sched
