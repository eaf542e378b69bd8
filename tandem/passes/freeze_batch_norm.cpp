// SPDX-License-Identifier: Apache-2.0
// BatchNorm by the running statistics instead of those of the batch.
#include "tandem/passes/rewrites.hpp"

namespace tandem::passes {
namespace {

bool is_read(const ir::Graph& graph, const std::vector<std::vector<ir::NodeId>>& consumers, ir::ValueId id) {
  return id != ir::kNoValue && (graph.is_output(id) || !consumers[index_of(id)].empty());
}

}  // namespace

Status freeze_batch_norm(ir::Graph& graph, PassLog& log) {
  const auto consumers = ir::consumers_of(graph);
  for (const ir::NodeId id : graph.live_nodes()) {
    ir::Node& node = graph.node(id);
    auto* op = std::get_if<ir::BatchNorm>(&node.op);
    if (op == nullptr || !op->training) continue;
    bool statistics_read = false;
    for (size_t i = 1; i < node.outputs.size(); ++i)
      statistics_read |= is_read(graph, consumers, node.outputs[i]);
    if (statistics_read) continue;
    op->training = false;
    node.outputs.resize(1);
    log.note(fmt::format("BatchNormalization '{}' was written for training; its running statistics are used",
                         node.name));
  }
  return {};
}

}  // namespace tandem::passes
