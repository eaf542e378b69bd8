// SPDX-License-Identifier: Apache-2.0
// Elementwise functions into the op before them.
#include "tandem/passes/match.hpp"
#include "tandem/passes/rewrites.hpp"

namespace tandem::passes {
namespace {

ir::Activation* activation_slot(ir::Op& op) {
  if (auto* conv = std::get_if<ir::Conv>(&op)) return &conv->activation;
  if (auto* conv = std::get_if<ir::ConvTranspose>(&op)) return &conv->activation;
  if (auto* gemm = std::get_if<ir::Gemm>(&op)) return &gemm->activation;
  if (auto* binary = std::get_if<ir::Binary>(&op)) {
    return binary->kind == ir::BinaryKind::kAdd || binary->kind == ir::BinaryKind::kMul ? &binary->activation
                                                                                        : nullptr;
  }
  return nullptr;
}

}  // namespace

Status fuse_activation(ir::Graph& graph, PassLog& log) {
  const auto consumers = ir::consumers_of(graph);
  for (ir::NodeId id : graph.live_nodes()) {
    const ir::Node& node = graph.node(id);
    const auto activation = activation_of(graph, node);
    if (!activation) continue;
    const ir::ValueId x = node.inputs[0], y = node.outputs[0];
    const ir::NodeId producer = graph.value(x).producer;
    if (producer == ir::kNoNode || !is_private(graph, consumers, x) || graph.value(x).quant) continue;
    if (graph.value(x).dtype != DType::kF32) continue;
    ir::Activation* slot = activation_slot(graph.node(producer).op);
    if (slot == nullptr || *slot || graph.node(producer).outputs[0] != x) continue;
    *slot = *activation;
    log.note(fmt::format("'{}' fused into '{}'", node.name, graph.node(producer).name));
    graph.remove_node(id);
    graph.node(producer).outputs[0] = y;
    graph.value(y).producer = producer;
    graph.value(x).producer = ir::kNoNode;
  }
  return {};
}

}  // namespace tandem::passes
