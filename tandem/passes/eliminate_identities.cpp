// SPDX-License-Identifier: Apache-2.0
// Removal of nodes that pass their input through.
#include <algorithm>

#include "tandem/passes/match.hpp"
#include "tandem/passes/rewrites.hpp"

namespace tandem::passes {
namespace {

using ir::kNoValue;

std::optional<std::vector<int64_t>> integer_constant(const ir::Graph& graph, const ir::Node& node, size_t i) {
  if (i >= node.inputs.size() || node.inputs[i] == kNoValue) return std::nullopt;
  const ir::Value& value = graph.value(node.inputs[i]);
  if (!value.is_constant() || value.quant || value.constant->elements() > 1024) return std::nullopt;
  auto ints = to_int64s(*value.constant);
  if (!ints) return std::nullopt;
  return std::move(*ints);
}

bool same_known_shape(const ir::Graph& graph, const ir::Node& node) {
  const auto& in = graph.value(node.inputs[0]).shape;
  const auto& out = graph.value(node.outputs[0]).shape;
  // One dynamic extent (the batch) is the same on both sides when the others agree; two could trade places.
  return in && out && *in == *out && std::count(in->begin(), in->end(), kDynamic) <= 1;
}

bool passes_through(const ir::Graph& graph, const ir::Node& node) {
  if (std::holds_alternative<ir::Identity>(node.op)) return true;
  if (std::holds_alternative<ir::Dropout>(node.op)) {
    const bool mask_used = node.outputs.size() > 1 && node.outputs[1] != kNoValue;
    const bool may_train = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
    return !mask_used && (!may_train || scalar_constant(graph, node.inputs[2]) == 0.0);
  }
  if (const auto* cast = std::get_if<ir::Cast>(&node.op))
    return graph.value(node.inputs[0]).dtype == cast->to;
  const bool reshapes = std::holds_alternative<ir::Reshape>(node.op) ||
                        std::holds_alternative<ir::Flatten>(node.op) ||
                        std::holds_alternative<ir::Expand>(node.op);
  if (reshapes) return same_known_shape(graph, node);
  if (const auto* transpose = std::get_if<ir::Transpose>(&node.op)) {
    return !transpose->perm.empty() && std::is_sorted(transpose->perm.begin(), transpose->perm.end());
  }
  if (std::holds_alternative<ir::Concat>(node.op)) return node.inputs.size() == 1;
  if (std::holds_alternative<ir::Variadic>(node.op)) return node.inputs.size() == 1;
  if (std::holds_alternative<ir::Pad>(node.op)) {
    const auto pads = integer_constant(graph, node, 1);
    return pads && std::all_of(pads->begin(), pads->end(), [](int64_t p) { return p == 0; });
  }
  if (std::holds_alternative<ir::Slice>(node.op)) {
    const auto steps = integer_constant(graph, node, 4);
    const bool forward =
        node.inputs.size() < 5 || node.inputs[4] == kNoValue ||
        (steps && std::all_of(steps->begin(), steps->end(), [](int64_t s) { return s == 1; }));
    const auto& shape = graph.value(node.inputs[0]).shape;
    return forward && shape && shape->is_static() && same_known_shape(graph, node);
  }
  return false;
}

}  // namespace

Status eliminate_identities(ir::Graph& graph, PassLog& log) {
  for (ir::NodeId id : graph.live_nodes()) {
    if (!passes_through(graph, graph.node(id))) continue;
    const ir::ValueId x = graph.node(id).inputs[0];
    const ir::ValueId y = graph.node(id).outputs[0];
    const std::optional<QuantParams> quant_x = graph.value(x).quant, quant_y = graph.value(y).quant;
    if (quant_y && quant_x != quant_y) continue;  // It rounds: not an identity.
    if (graph.is_output(y)) {
      // The output's name is a promise. x can take its place when nobody was promised x.
      const ir::NodeId producer = graph.value(x).producer;
      if (producer == ir::kNoNode || graph.is_output(x) || quant_x != quant_y) continue;
      const std::string node_name = graph.node(id).name;
      graph.remove_node(id);
      for (ir::ValueId& output : graph.node(producer).outputs) {
        if (output == x) output = y;
      }
      graph.value(y).producer = producer;
      graph.value(x).producer = ir::kNoNode;
      graph.replace_uses(x, y);
      log.note(fmt::format("'{}' removed", node_name));
      continue;
    }
    log.note(fmt::format("'{}' removed", graph.node(id).name));
    graph.replace_uses(y, x);
    graph.remove_node(id);
  }
  return {};
}

}  // namespace tandem::passes
