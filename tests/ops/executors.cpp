// SPDX-License-Identifier: Apache-2.0
// One row per executor.
#include "tests/ops/executors.hpp"

#include "tandem/ref/ref.hpp"

namespace tandem::ops {

const std::vector<Executor>& executors() {
  static const std::vector<Executor> all = {
      {"ref", [](const ir::Graph& graph, std::span<const Tensor> inputs) { return ref::run(graph, inputs); }},
  };
  return all;
}

}  // namespace tandem::ops
