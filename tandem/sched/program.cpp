// SPDX-License-Identifier: Apache-2.0
// Checks of programs and the movement of tensors.
#include "tandem/sched/program.hpp"

namespace tandem::sched {
namespace {

Status verify_stage(const Program& program, const Stage& stage) {
  const auto bad = [&](const char* because) {
    return bad_input(fmt::format("stage '{}' is not usable", stage.name)).because(because);
  };
  bool runs_somewhere = false;
  for (uint32_t device = 0; device < program.device_count; ++device) {
    const int64_t ns = stage.nominal_ns[device];
    if (ns < 0) return bad("its service time is negative");
    if (ns != kCannotRun && ns > kTimeMaxNs) return bad("its service time exceeds a year");
    runs_somewhere = runs_somewhere || ns != kCannotRun;
  }
  if (!runs_somewhere) return bad("no device can run it");
  for (uint32_t tensor = static_cast<uint32_t>(program.tensors.size()); tensor < kTensorsMax; ++tensor) {
    if (stage.inputs.has(tensor) || stage.outputs.has(tensor))
      return bad("it names a tensor that is not there");
  }
  return {};
}

}  // namespace

const char* to_string(StageKind kind) {
  switch (kind) {
    case StageKind::kForward: return "forward";
    case StageKind::kBackward: return "backward";
    case StageKind::kUpdate: return "update";
    case StageKind::kOther: return "other";
  }
  return "?";
}

Status verify(const Program& program) {
  if (program.device_count < 1 || program.device_count > kDevicesMax) {
    return bad_input(fmt::format("{} devices", program.device_count))
        .because(fmt::format("a program may use 1 to {}", kDevicesMax));
  }
  if (program.stages.empty() || program.stages.size() > kStagesMax) {
    return bad_input(fmt::format("{} stages", program.stages.size()))
        .because(fmt::format("a step has 1 to {}", kStagesMax));
  }
  if (program.tensors.size() > kTensorsMax) {
    return bad_input(fmt::format("{} tensors", program.tensors.size()))
        .because(fmt::format("a step has at most {}", kTensorsMax));
  }
  for (const Tensor& tensor : program.tensors) {
    if (tensor.bytes < 0 || tensor.bytes > int64_t{1} << 50) {
      return bad_input(fmt::format("tensor '{}' has {} bytes", tensor.name, tensor.bytes))
          .because("a size lies between 0 and 1 PiB");
    }
  }
  for (const Stage& stage : program.stages) {
    Status status = verify_stage(program, stage);
    if (!status.ok()) return status;
  }
  return {};
}

Locations at_start(const Program& program) {
  Locations locations;
  for (uint32_t tensor = 0; tensor < program.tensors.size(); ++tensor) locations.present[0].add(tensor);
  return locations;
}

void begin_step(const Program& program, Locations& locations) {
  TensorSet fresh;
  for (uint32_t tensor = 0; tensor < program.tensors.size(); ++tensor) {
    if (program.tensors[tensor].fresh) fresh.add(tensor);
  }
  for (TensorSet& present : locations.present) present = present - fresh;
  locations.present[0] = locations.present[0] | fresh;
}

}  // namespace tandem::sched
