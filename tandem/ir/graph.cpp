// SPDX-License-Identifier: Apache-2.0
// Construction, deletion and ordering of graphs; shape rules live in infer.cpp and ops/.
#include "tandem/ir/graph.hpp"

#include <algorithm>
#include <queue>

#include "tandem/base/check.hpp"

namespace tandem::ir {

ValueId Graph::add_value(Value value) {
  const ValueId id{static_cast<uint32_t>(values_.size())};
  if (value.name.empty()) value.name = "v" + std::to_string(values_.size());
  if (names_.count(value.name) > 0) {
    // Counting up from the number of values finds a free name at once, except among hostile names.
    for (size_t n = values_.size();; ++n) {
      std::string candidate = value.name + "_" + std::to_string(n);
      if (names_.count(candidate) == 0) {
        value.name = std::move(candidate);
        break;
      }
    }
  }
  names_.emplace(value.name, id);
  values_.push_back(std::move(value));
  return id;
}

NodeId Graph::add_node(Node node) {
  const NodeId id{static_cast<uint32_t>(nodes_.size())};
  for (ValueId input : node.inputs)
    TANDEM_CHECK(input == kNoValue || index_of(input) < values_.size(), "unknown input");
  for (ValueId output : node.outputs) {
    if (output == kNoValue) continue;
    TANDEM_CHECK(index_of(output) < values_.size(), "unknown output");
    TANDEM_CHECK(value(output).producer == kNoNode && !value(output).is_constant(),
                 "output has a producer already");
    value(output).producer = id;
  }
  nodes_.push_back(std::move(node));
  return id;
}

ValueId Graph::add_input(Value value) {
  const ValueId id = add_value(std::move(value));
  inputs.push_back(id);
  return id;
}

ValueId Graph::add_constant(std::string constant_name, Tensor tensor) {
  return add_constant(std::move(constant_name), std::make_shared<const Tensor>(std::move(tensor)));
}

ValueId Graph::add_constant(std::string constant_name, ConstTensor tensor, std::optional<QuantParams> quant) {
  Value value;
  value.name = std::move(constant_name);
  value.dtype = quant ? DType::kF32 : tensor->dtype();
  value.shape = tensor->shape();
  value.quant = std::move(quant);
  value.constant = std::move(tensor);
  return add_value(std::move(value));
}

std::vector<NodeId> Graph::live_nodes() const {
  std::vector<NodeId> ids;
  ids.reserve(nodes_.size());
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].dead) ids.push_back(NodeId{i});
  }
  return ids;
}

ValueId Graph::find_value(std::string_view wanted) const {
  const auto found = names_.find(wanted);
  return found == names_.end() ? kNoValue : found->second;
}

NodeId Graph::find_node(std::string_view wanted) const {
  for (NodeId id : live_nodes()) {
    if (node(id).name == wanted) return id;
  }
  return kNoNode;
}

bool Graph::is_output(ValueId id) const {
  return std::find(outputs.begin(), outputs.end(), id) != outputs.end();
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (Node& n : nodes_) {
    if (!n.dead) std::replace(n.inputs.begin(), n.inputs.end(), from, to);
  }
  std::replace(outputs.begin(), outputs.end(), from, to);
}

void Graph::remove_node(NodeId id) {
  Node& n = node(id);
  n.dead = true;
  for (ValueId output : n.outputs) {
    if (output != kNoValue && value(output).producer == id) value(output).producer = kNoNode;
  }
}

void Graph::rename(ValueId id, std::string new_name) {
  Value& v = value(id);
  if (v.name == new_name) return;
  TANDEM_CHECK(names_.count(new_name) == 0 && !new_name.empty(), "name '" + new_name + "' is taken");
  names_.erase(v.name);
  v.name = std::move(new_name);
  names_.emplace(v.name, id);
}

Status Graph::compact() {
  const std::vector<NodeId> order = TANDEM_TRY(topological_order(*this));
  std::vector<bool> used(values_.size(), false);
  const auto mark = [&](ValueId id) {
    if (id != kNoValue) used[index_of(id)] = true;
  };
  for (ValueId id : inputs) mark(id);
  for (ValueId id : outputs) mark(id);
  for (NodeId id : order) {
    for (ValueId input : node(id).inputs) mark(input);
    for (ValueId output : node(id).outputs) mark(output);
  }

  std::vector<ValueId> new_ids(values_.size(), kNoValue);
  std::vector<Value> values;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!used[i]) continue;
    new_ids[i] = ValueId{static_cast<uint32_t>(values.size())};
    values.push_back(std::move(values_[i]));
    values.back().producer = kNoNode;
  }
  const auto renumber = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      if (id != kNoValue) id = new_ids[index_of(id)];
    }
  };
  std::vector<Node> nodes;
  for (NodeId id : order) {
    nodes.push_back(std::move(node(id)));
    Node& moved = nodes.back();
    renumber(moved.inputs);
    renumber(moved.outputs);
    for (ValueId output : moved.outputs) {
      if (output != kNoValue)
        values[index_of(output)].producer = NodeId{static_cast<uint32_t>(nodes.size() - 1)};
    }
  }
  renumber(inputs);
  renumber(outputs);
  values_ = std::move(values);
  nodes_ = std::move(nodes);
  names_.clear();
  for (size_t i = 0; i < values_.size(); ++i)
    names_.emplace(values_[i].name, ValueId{static_cast<uint32_t>(i)});
  return {};
}

std::vector<std::vector<NodeId>> consumers_of(const Graph& graph) {
  std::vector<std::vector<NodeId>> consumers(graph.values().size());
  for (NodeId id : graph.live_nodes()) {
    for (ValueId input : graph.node(id).inputs) {
      if (input == kNoValue) continue;
      auto& list = consumers[index_of(input)];
      if (list.empty() || list.back() != id) list.push_back(id);
    }
  }
  return consumers;
}

Result<std::vector<NodeId>> topological_order(const Graph& graph) {
  const auto consumers = consumers_of(graph);
  std::vector<int> missing(graph.nodes().size(), 0);  // distinct inputs that are still to be produced
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  const std::vector<NodeId> live = graph.live_nodes();
  for (NodeId id : live) {
    std::vector<ValueId> distinct = graph.node(id).inputs;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (ValueId input : distinct) {
      if (input != kNoValue && graph.value(input).producer != kNoNode) ++missing[index_of(id)];
    }
    if (missing[index_of(id)] == 0) ready.push(id);
  }
  std::vector<NodeId> order;
  order.reserve(live.size());
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    order.push_back(id);
    for (ValueId output : graph.node(id).outputs) {
      if (output == kNoValue) continue;
      for (NodeId consumer : consumers[index_of(output)]) {
        if (--missing[index_of(consumer)] == 0) ready.push(consumer);
      }
    }
  }
  if (order.size() == live.size()) return order;
  for (NodeId id : live) {
    if (missing[index_of(id)] > 0) {
      return bad_input("the graph has a cycle")
          .because(fmt::format("node '{}' ({}) needs a value that depends on its own output",
                               graph.node(id).name, op_name(graph.node(id).op)));
    }
  }
  return internal_error("topological order lost a node");
}

std::vector<InputInfo> input_infos(const Graph& graph, const Node& node) {
  std::vector<InputInfo> infos(node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const Value& value = graph.value(node.inputs[i]);
    InputInfo& info = infos[i];
    info.present = true;
    info.dtype = value.dtype;
    info.shape = value.shape;
    info.constant = value.constant.get();
    info.dtype_known = value.shape || value.producer == kNoNode ||
                       !std::holds_alternative<Opaque>(graph.node(value.producer).op);
    const bool small =
        value.constant && value.constant->shape().rank() <= 1 && value.constant->elements() <= 64;
    if (small && !is_float(value.constant->dtype()) && !value.quant) {
      info.ints = *to_int64s(*value.constant);
      for (int64_t& element : *info.ints) element = std::max(element, kLowestKnownInt);
    }
  }
  return infos;
}

}  // namespace tandem::ir
