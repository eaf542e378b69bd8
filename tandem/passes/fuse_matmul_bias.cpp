// SPDX-License-Identifier: Apache-2.0
// MatMul + Add to Gemm.
#include "tandem/passes/match.hpp"
#include "tandem/passes/rewrites.hpp"

namespace tandem::passes {

Status fuse_matmul_bias(ir::Graph& graph, PassLog& log) {
  const auto consumers = ir::consumers_of(graph);
  for (ir::NodeId id : graph.live_nodes()) {
    const auto* add = std::get_if<ir::Binary>(&graph.node(id).op);
    if (add == nullptr || add->kind != ir::BinaryKind::kAdd || add->activation) continue;
    for (size_t side = 0; side < 2; ++side) {
      const ir::ValueId product = graph.node(id).inputs[side];
      const ir::ValueId bias = graph.node(id).inputs[1 - side];
      if (producer_as<ir::MatMul>(graph, product) == nullptr || !is_private(graph, consumers, product))
        continue;
      if (graph.value(product).quant || !graph.value(bias).is_constant()) continue;
      const ir::Node matmul = graph.node(graph.value(product).producer);
      const auto& x = graph.value(matmul.inputs[0]).shape;
      const ir::Value& w = graph.value(matmul.inputs[1]);
      const auto& b = graph.value(bias).shape;
      const bool fits = x && x->rank() == 2 && w.is_constant() && w.shape->rank() == 2 && b &&
                        b->rank() == 1 && ((*b)[0] == (*w.shape)[1] || (*b)[0] == 1);
      if (!fits || w.dtype != DType::kF32) continue;
      ir::Node gemm;
      gemm.name = matmul.name;
      gemm.op = ir::Gemm{};
      gemm.inputs = {matmul.inputs[0], matmul.inputs[1], bias};
      gemm.outputs = graph.node(id).outputs;
      log.note(fmt::format("'{}' and '{}' became Gemm", matmul.name, graph.node(id).name));
      graph.remove_node(graph.value(product).producer);
      graph.remove_node(id);
      graph.add_node(std::move(gemm));
      break;
    }
  }
  return {};
}

}  // namespace tandem::passes
