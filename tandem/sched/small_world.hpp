// SPDX-License-Identifier: Apache-2.0
// A small program, links and observations with round numbers, for the tests and benchmarks of sched.
#pragma once

#include <vector>

#include "tandem/sched/policy.hpp"

namespace tandem::sched {

inline constexpr int64_t kMs = 1'000'000;

// Three stages in a chain: x (fresh) -> a -> b -> y. 10 ms each on the host, 2 ms on the accelerator; every
// tensor has 1 MB, and the link takes 1 ms + 1 ns per byte: 2 ms a tensor.
struct SmallWorld {
  Program program;
  LinkTable links{};
  std::vector<DeviceObservation> devices{2};
  Locations locations;

  explicit SmallWorld(uint32_t stage_count = 3) {
    program.tensors.push_back({"t0", 1'000'000, true});
    for (uint32_t i = 0; i < stage_count; ++i) {
      program.tensors.push_back({fmt::format("t{}", i + 1), 1'000'000, false});
      Stage stage;
      stage.name = fmt::format("stage{}", i);
      stage.nominal_ns = {10 * kMs, 2 * kMs};
      stage.inputs.add(i);
      stage.outputs.add(i + 1);
      program.stages.push_back(stage);
    }
    for (const uint32_t at : {uint32_t{1}, kDevicesMax}) links[at] = {1 * kMs, 1.0, 0, true};
    locations = at_start(program);
    begin_step(program, locations);
  }
  Situation at(uint32_t stage, DeviceId last = kNoDevice) const {
    return {.now_ns = 1000 * kMs,
            .program = program,
            .stage = stage,
            .locations = locations,
            .devices = devices,
            .links = links,
            .last_device = last};
  }
  std::unique_ptr<Policy> make(std::string_view name, const PolicyOptions& options = {}) const {
    return make_policy(name, options, {program, links}).value();
  }
};

}  // namespace tandem::sched
