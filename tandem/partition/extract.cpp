// SPDX-License-Identifier: Apache-2.0
// Sub-graph extraction by a walk from the outputs.
#include "tandem/partition/extract.hpp"

#include <set>

namespace tandem::partition {

using ir::kNoNode;
using ir::kNoValue;
using ir::NodeId;
using ir::ValueId;

Result<ir::Graph> extract(const ir::Graph& graph, const std::vector<ValueId>& inputs,
                          const std::vector<ValueId>& outputs) {
  const std::set<ValueId> boundary(inputs.begin(), inputs.end());
  std::set<NodeId> needed;
  std::vector<ValueId> work(outputs.begin(), outputs.end());
  std::set<ValueId> visited;
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    if (boundary.count(id) > 0 || !visited.insert(id).second) continue;
    const ir::Value& value = graph.value(id);
    if (value.is_constant()) continue;
    if (value.producer == kNoNode) {
      return bad_input(fmt::format("the part needs the input '{}'", value.name))
          .because("a value outside of the cut reaches it on another path");
    }
    needed.insert(value.producer);
    for (ValueId input : graph.node(value.producer).inputs) {
      if (input != kNoValue) work.push_back(input);
    }
  }

  ir::Graph part;
  part.name = graph.name;
  part.metadata = graph.metadata;
  std::vector<ValueId> map(graph.values().size(), kNoValue);
  const auto copy_value = [&](ValueId id) {
    if (map[index_of(id)] != kNoValue) return map[index_of(id)];
    ir::Value value = graph.value(id);
    value.producer = kNoNode;
    return map[index_of(id)] = part.add_value(std::move(value));
  };
  for (ValueId id : inputs) part.inputs.push_back(copy_value(id));
  for (NodeId id : TANDEM_TRY(ir::topological_order(graph))) {
    if (needed.count(id) == 0) continue;
    ir::Node node = graph.node(id);
    for (ValueId& input : node.inputs) {
      if (input != kNoValue) input = copy_value(input);
    }
    for (ValueId& output : node.outputs) {
      if (output == kNoValue) continue;
      // A boundary value that is made inside too (a second output of a needed node) stays with the outside.
      output = boundary.count(output) > 0 ? kNoValue : copy_value(output);
    }
    part.add_node(std::move(node));
  }
  for (ValueId id : outputs) part.outputs.push_back(copy_value(id));
  return part;
}

}  // namespace tandem::partition
