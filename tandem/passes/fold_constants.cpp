// SPDX-License-Identifier: Apache-2.0
// Constant folding by the reference interpreter.
#include <algorithm>

#include "tandem/passes/rewrites.hpp"
#include "tandem/ref/ref.hpp"

namespace tandem::passes {
namespace {

constexpr int64_t kFoldedBytesMax = int64_t{64} << 20;

// A ShapeOf or Size of a value with a static shape is constant although its input is not.
std::optional<Tensor> constant_of_shape(const ir::Graph& graph, const ir::Node& node) {
  const bool shape_of = std::holds_alternative<ir::ShapeOf>(node.op);
  if (!shape_of && !std::holds_alternative<ir::Size>(node.op)) return std::nullopt;
  const auto& shape = graph.value(node.inputs[0]).shape;
  if (!shape || !shape->is_static()) return std::nullopt;
  if (!shape_of) return Tensor::scalar<int64_t>(shape->elements());
  const auto& op = std::get<ir::ShapeOf>(node.op);
  const int64_t rank = static_cast<int64_t>(shape->rank());
  const auto clamp = [rank](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  std::vector<int64_t> dims;
  for (int64_t i = clamp(op.start); i < clamp(op.end); ++i) dims.push_back((*shape)[static_cast<size_t>(i)]);
  return Tensor::of<int64_t>(Shape{static_cast<int64_t>(dims.size())}, dims);
}

bool foldable(const ir::Graph& graph, const ir::Node& node) {
  if (std::holds_alternative<ir::Opaque>(node.op) || std::holds_alternative<ir::Requantize>(node.op))
    return false;
  for (ir::ValueId input : node.inputs) {
    if (input == ir::kNoValue) continue;
    if (!graph.value(input).is_constant() || graph.value(input).quant) return false;
  }
  for (ir::ValueId output : node.outputs) {
    if (output == ir::kNoValue) continue;
    const ir::Value& value = graph.value(output);
    if (value.quant) return false;
    if (!value.shape || !value.shape->is_static()) continue;
    const auto elements = value.shape->checked_elements();
    if (!elements || *elements > kFoldedBytesMax / static_cast<int64_t>(size_of(value.dtype))) return false;
  }
  return true;
}

}  // namespace

Status fold_constants(ir::Graph& graph, PassLog& log) {
  for (ir::NodeId id : TANDEM_TRY(ir::topological_order(graph))) {
    const ir::Node& node = graph.node(id);
    std::vector<Tensor> results;
    if (auto shape = constant_of_shape(graph, node)) {
      results.push_back(std::move(*shape));
    } else {
      if (!foldable(graph, node)) continue;
      std::vector<const Tensor*> inputs;
      for (ir::ValueId input : node.inputs) {
        inputs.push_back(input == ir::kNoValue ? nullptr : graph.value(input).constant.get());
      }
      auto computed = ref::run_node(node.op, inputs, node.outputs.size());
      // What the reference refuses stays in the graph: whoever runs it reports the reason.
      if (!computed) continue;
      results = std::move(*computed);
    }
    const std::vector<ir::ValueId> outputs = node.outputs;
    log.note(fmt::format("'{}' ({}) is constant", node.name, ir::describe(node.op)));
    graph.remove_node(id);
    for (size_t i = 0; i < outputs.size() && i < results.size(); ++i) {
      if (outputs[i] == ir::kNoValue) continue;
      ir::Value& value = graph.value(outputs[i]);
      value.dtype = results[i].dtype();
      value.shape = results[i].shape();
      value.constant = std::make_shared<const Tensor>(std::move(results[i]));
    }
  }
  return {};
}

}  // namespace tandem::passes
