// SPDX-License-Identifier: Apache-2.0
// Finding the last quantized value, and the two parts.
#include "tandem/jobs/head_plan.hpp"

#include <algorithm>
#include <set>

namespace tandem::jobs {
namespace {

// The only input that is no constant; kNoValue when there are several or none.
ir::ValueId only_activation(const ir::Graph& graph, const ir::Node& node) {
  ir::ValueId found = ir::kNoValue;
  for (const ir::ValueId input : node.inputs) {
    if (input == ir::kNoValue || graph.value(input).is_constant()) continue;
    if (found != ir::kNoValue && found != input) return ir::kNoValue;
    found = input;
  }
  return found;
}

}  // namespace

Result<plan::Plan> head_plan(const ir::Graph& graph, const std::string& file, const std::string& file_hash,
                             const std::string& device) {
  if (graph.inputs.size() != 1 || graph.outputs.size() != 1)
    return internal_error("an adapted model has one input and one output");
  std::set<ir::NodeId> host;
  ir::ValueId cut = graph.outputs[0];
  while (!graph.value(cut).quant && graph.value(cut).producer != ir::kNoNode) {
    const ir::NodeId producer = graph.value(cut).producer;
    const ir::ValueId above = only_activation(graph, graph.node(producer));
    if (above == ir::kNoValue || above == graph.inputs[0]) break;
    host.insert(producer);
    cut = above;
  }
  plan::Part backbone{
      "backbone", device, {}, {plan::contract_of(graph, graph.inputs[0])}, {plan::contract_of(graph, cut)}};
  plan::Part head{
      "head", "host", {}, {plan::contract_of(graph, cut)}, {plan::contract_of(graph, graph.outputs[0])}};
  for (const ir::NodeId id : TANDEM_TRY(ir::topological_order(graph))) {
    (host.count(id) > 0 ? head : backbone).nodes.push_back(graph.node(id).name);
  }
  plan::Plan plan{file, file_hash, {std::move(backbone), std::move(head)}};
  TANDEM_TRY(plan::verify(plan));
  return plan;
}

}  // namespace tandem::jobs
