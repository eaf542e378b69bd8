// SPDX-License-Identifier: Apache-2.0
// Computed Reshape targets become constants.
#include <algorithm>

#include "tandem/passes/rewrites.hpp"

namespace tandem::passes {

Status simplify_reshapes(ir::Graph& graph, PassLog& log) {
  for (ir::NodeId id : graph.live_nodes()) {
    ir::Node& node = graph.node(id);
    auto* reshape = std::get_if<ir::Reshape>(&node.op);
    if (reshape == nullptr || graph.value(node.inputs[1]).is_constant()) continue;
    const auto& shape = graph.value(node.outputs[0]).shape;
    if (!shape) continue;
    const auto unknown = std::count(shape->begin(), shape->end(), kDynamic);
    const auto zeros = std::count(shape->begin(), shape->end(), 0);
    if (unknown > 1 || zeros > 0) continue;  // 0 would mean "copy", and -1 beside 0 is not defined.
    const Tensor target = Tensor::of<int64_t>(Shape{static_cast<int64_t>(shape->rank())}, shape->dims());
    reshape->allowzero = false;
    const ir::ValueId constant = graph.add_constant(node.name + ".shape", target.clone());
    graph.node(id).inputs[1] = constant;
    log.note(fmt::format("'{}' reshapes to {}", graph.node(id).name, shape->to_string()));
  }
  return {};
}

}  // namespace tandem::passes
