// SPDX-License-Identifier: Apache-2.0
// The invariants of a Graph, cheapest first, so that later checks can rely on earlier ones.
#include "tandem/ir/verify.hpp"

#include <algorithm>

namespace tandem::ir {
namespace {

std::string called(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return fmt::format("node {} '{}' ({})", index_of(id), node.name, op_name(node.op));
}

Status verify_ids(const Graph& graph) {
  const size_t count = graph.values().size();
  const auto in_range = [count](ValueId id) { return index_of(id) < count; };
  for (const auto* list : {&graph.inputs, &graph.outputs}) {
    for (ValueId id : *list) {
      if (in_range(id)) continue;
      return bad_input(
          fmt::format("a graph {} is no value of the graph", list == &graph.inputs ? "input" : "output"));
    }
  }
  for (NodeId id : graph.live_nodes()) {
    for (const auto* list : {&graph.node(id).inputs, &graph.node(id).outputs}) {
      for (ValueId value : *list) {
        if (value == kNoValue || in_range(value)) continue;
        return bad_input(fmt::format("{} names value {} of {}", called(graph, id), index_of(value), count));
      }
    }
  }
  return {};
}

Status verify_names(const Graph& graph) {
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    const std::string& name = graph.values()[i].name;
    if (name.empty()) return bad_input(fmt::format("value {} has no name", i));
    if (graph.find_value(name) != ValueId{i}) {
      return bad_input(fmt::format("the name '{}' of value {} is not its own or not registered", name, i));
    }
  }
  return {};
}

// Every value has at most one source: a node that lists it once, the graph's inputs, or a constant.
Status verify_producers(const Graph& graph) {
  std::vector<NodeId> listed(graph.values().size(), kNoNode);
  for (NodeId id : graph.live_nodes()) {
    for (ValueId output : graph.node(id).outputs) {
      if (output == kNoValue) continue;
      NodeId& producer = listed[index_of(output)];
      if (producer != kNoNode)
        return bad_input(fmt::format("value '{}' has two producers", graph.value(output).name));
      producer = id;
    }
  }
  std::vector<bool> is_input(graph.values().size(), false);
  for (ValueId id : graph.inputs) {
    if (is_input[index_of(id)])
      return bad_input(fmt::format("value '{}' is a graph input twice", graph.value(id).name));
    is_input[index_of(id)] = true;
  }
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    if (value.producer != listed[i]) {
      return bad_input(fmt::format("value '{}' and the nodes disagree about its producer", value.name));
    }
    const int sources = (value.producer != kNoNode) + value.is_constant() + is_input[i];
    if (sources > 1)
      return bad_input(fmt::format("value '{}' has more than one source", value.name))
          .because("it is two of: output of a node, constant, graph input");
  }
  return {};
}

// Everything that is read is there before: values have a source, and nodes stand behind their producers.
Status verify_order(const Graph& graph) {
  std::vector<bool> available(graph.values().size(), false);
  for (ValueId id : graph.inputs) available[index_of(id)] = true;
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    if (graph.values()[i].is_constant()) available[i] = true;
  }
  for (NodeId id : graph.live_nodes()) {
    for (ValueId input : graph.node(id).inputs) {
      if (input == kNoValue || available[index_of(input)]) continue;
      const Value& value = graph.value(input);
      return bad_input(fmt::format("{} reads value '{}' before it is there", called(graph, id), value.name))
          .because(value.producer == kNoNode
                       ? std::string("nothing produces it")
                       : fmt::format("it is produced by {}", called(graph, value.producer)));
    }
    for (ValueId output : graph.node(id).outputs) {
      if (output != kNoValue) available[index_of(output)] = true;
    }
  }
  for (ValueId id : graph.outputs) {
    if (!available[index_of(id)]) {
      return bad_input(fmt::format("nothing produces the graph output '{}'", graph.value(id).name));
    }
  }
  return {};
}

Status verify_quant(const Value& value) {
  const QuantParams& quant = *value.quant;
  if (value.dtype != DType::kF32) {
    return bad_input(fmt::format("it is quantized, so its real type is f32, not {}", to_string(value.dtype)));
  }
  int64_t channels = kDynamic;
  if (!quant.per_tensor() && value.shape) {
    if (quant.axis >= static_cast<int64_t>(value.shape->rank())) {
      return bad_input(
          fmt::format("axis {} of its scales is outside of shape {}", quant.axis, value.shape->to_string()));
    }
    channels = (*value.shape)[static_cast<size_t>(quant.axis)];
  }
  return tandem::verify(quant, channels);
}

Status verify_value(const Value& value) {
  if (value.quant) TANDEM_TRY(verify_quant(value));
  if (!value.constant) return {};
  if (!value.shape || *value.shape != value.constant->shape()) {
    return bad_input(fmt::format("its shape is {} and that of its constant {}",
                                 value.shape ? value.shape->to_string() : "unknown",
                                 value.constant->shape().to_string()));
  }
  if (value.constant->dtype() != value.storage()) {
    return bad_input(fmt::format("it is stored as {} and its constant is {}", to_string(value.storage()),
                                 to_string(value.constant->dtype())));
  }
  return {};
}

// infer_shapes() itself refuses arity, attributes and shapes that contradict; what is left are types.
Status verify_inference(const Graph& graph) {
  Graph inferred = graph;
  TANDEM_TRY(infer_shapes(inferred));
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    const Value &stated = graph.values()[i], &found = inferred.values()[i];
    if (stated.dtype == found.dtype) continue;
    return bad_input(fmt::format("value '{}' is {}, but {} gives {}", stated.name, to_string(stated.dtype),
                                 called(graph, stated.producer), to_string(found.dtype)));
  }
  return {};
}

}  // namespace

Status verify(const Graph& graph) {
  TANDEM_TRY(verify_ids(graph));
  TANDEM_TRY(verify_names(graph));
  TANDEM_TRY(verify_producers(graph));
  TANDEM_TRY(verify_order(graph));
  for (const Value& value : graph.values()) {
    TANDEM_TRY(verify_value(value).context(fmt::format("value '{}'", value.name)));
  }
  return verify_inference(graph);
}

}  // namespace tandem::ir
