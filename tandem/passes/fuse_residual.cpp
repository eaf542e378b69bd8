// SPDX-License-Identifier: Apache-2.0
// Conv + Add to Conv with a residual.
#include "tandem/passes/match.hpp"
#include "tandem/passes/rewrites.hpp"

namespace tandem::passes {
namespace {

bool is_pow2(const ir::Graph& graph, ir::ValueId id) {
  const auto& quant = graph.value(id).quant;
  return quant && quant->scheme == Scheme::kPow2;
}

}  // namespace

Status fuse_residual(ir::Graph& graph, PassLog& log) {
  const auto consumers = ir::consumers_of(graph);
  std::vector<size_t> position(graph.nodes().size(), 0);
  const auto order = TANDEM_TRY(ir::topological_order(graph));
  for (size_t i = 0; i < order.size(); ++i) position[index_of(order[i])] = i;
  for (ir::NodeId id : order) {
    const auto* add = std::get_if<ir::Binary>(&graph.node(id).op);
    if (add == nullptr || add->kind != ir::BinaryKind::kAdd) continue;
    const ir::ValueId y = graph.node(id).outputs[0];
    ir::NodeId chosen = ir::kNoNode;
    ir::ValueId skip = ir::kNoValue;
    for (size_t side = 0; side < 2; ++side) {
      const ir::ValueId x = graph.node(id).inputs[side], other = graph.node(id).inputs[1 - side];
      const auto* conv = producer_as<ir::Conv>(graph, x);
      if (conv == nullptr || conv->activation || !is_private(graph, consumers, x)) continue;
      const ir::NodeId producer = graph.value(x).producer;
      const ir::Node& conv_node = graph.node(producer);
      if (conv_node.inputs.size() > 3 && conv_node.inputs[3] != ir::kNoValue) continue;
      const auto& shape = graph.value(x).shape;
      const bool same = shape && graph.value(other).shape == shape && graph.value(y).shape == shape;
      if (!same || graph.value(other).is_constant() || graph.value(x).dtype != DType::kF32) continue;
      if (is_pow2(graph, x) || is_pow2(graph, y) || is_pow2(graph, other)) continue;
      // Of two convs the later one takes the sum: the earlier one's result exists by then, and no cycle can
      // arise.
      if (chosen == ir::kNoNode || position[index_of(producer)] > position[index_of(chosen)]) {
        chosen = producer;
        skip = other;
      }
    }
    if (chosen == ir::kNoNode) continue;
    // The skip value must not depend on the conv: it is produced before it.
    const ir::NodeId skip_producer = graph.value(skip).producer;
    if (skip_producer != ir::kNoNode && position[index_of(skip_producer)] > position[index_of(chosen)])
      continue;
    const ir::Activation activation = std::get<ir::Binary>(graph.node(id).op).activation;
    const ir::ValueId x = graph.node(chosen).outputs[0];
    log.note(fmt::format("'{}' added inside '{}'{}", graph.node(id).name, graph.node(chosen).name,
                         graph.value(x).quant ? ", the rounding between them is dropped" : ""));
    graph.remove_node(id);
    ir::Node& conv_node = graph.node(chosen);
    conv_node.inputs.resize(4, ir::kNoValue);
    conv_node.inputs[3] = skip;
    std::get<ir::Conv>(conv_node.op).activation = activation;
    conv_node.outputs[0] = y;
    graph.value(y).producer = chosen;
    graph.value(x).producer = ir::kNoNode;
  }
  return {};
}

}  // namespace tandem::passes
