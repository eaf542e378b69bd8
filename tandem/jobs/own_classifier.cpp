// SPDX-License-Identifier: Apache-2.0
// From a node with constant weights to a head.
#include "tandem/jobs/own_classifier.hpp"

#include <algorithm>

namespace tandem::jobs {
namespace {

// Changes neither which class is the largest nor what a linear layer before it may be exchanged with.
bool keeps_order(const ir::Node& node) {
  const auto* pool = std::get_if<ir::GlobalPool>(&node.op);
  return std::holds_alternative<ir::Softmax>(node.op) || std::holds_alternative<ir::Flatten>(node.op) ||
         std::holds_alternative<ir::Reshape>(node.op) || std::holds_alternative<ir::Squeeze>(node.op) ||
         std::holds_alternative<ir::Identity>(node.op) || std::holds_alternative<ir::Dropout>(node.op) ||
         (pool != nullptr && pool->kind == ir::PoolKind::kAverage);
}

const Tensor* plain_constant(const ir::Graph& graph, const ir::Node& node, size_t input) {
  if (node.inputs.size() <= input || node.inputs[input] == ir::kNoValue) return nullptr;
  const ir::Value& value = graph.value(node.inputs[input]);
  return value.is_constant() && !value.quant && value.dtype == DType::kF32 ? value.constant.get() : nullptr;
}

// True when the weights lie as [classes, features], false when transposed; nothing when it is no plain dense
// layer.
std::optional<bool> rows_are_classes(const ir::Graph& graph, const ir::Node& node) {
  const Tensor* weights = plain_constant(graph, node, 1);
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != ir::kNoValue;
  if (weights == nullptr || (has_bias && plain_constant(graph, node, 2) == nullptr)) return std::nullopt;
  if (const auto* gemm = std::get_if<ir::Gemm>(&node.op)) {
    if (gemm->trans_a || gemm->alpha != 1 || gemm->beta != 1 || !(gemm->activation == ir::Activation{}))
      return std::nullopt;
    return gemm->trans_b;
  }
  const auto* conv = std::get_if<ir::Conv>(&node.op);
  const Shape& w = weights->shape();
  if (conv == nullptr || w.rank() != 4 || w[2] != 1 || w[3] != 1 || conv->group != 1 ||
      node.inputs.size() > 3 || !(conv->activation == ir::Activation{})) {
    return std::nullopt;
  }
  const auto all = [](const std::vector<int64_t>& values, int64_t wanted) {
    return std::all_of(values.begin(), values.end(), [wanted](int64_t v) { return v == wanted; });
  };
  if (!all(conv->window.pads, 0) || !all(conv->window.strides, 1)) return std::nullopt;
  return true;
}

}  // namespace

std::optional<train::Head> own_classifier(const ir::Graph& graph, const std::string& classifier) {
  const std::vector<std::string> names = train::labels_of(graph);
  if (classifier.empty() || names.empty() || graph.outputs.size() != 1) return std::nullopt;
  ir::NodeId at = graph.value(graph.outputs[0]).producer;
  while (at != ir::kNoNode && graph.node(at).name != classifier) {
    if (!keeps_order(graph.node(at))) return std::nullopt;
    at = graph.value(graph.node(at).inputs[0]).producer;
  }
  if (at == ir::kNoNode) return std::nullopt;
  const ir::Node& node = graph.node(at);
  const std::optional<bool> by_class = rows_are_classes(graph, node);
  if (!by_class) return std::nullopt;
  const Tensor& weights = *plain_constant(graph, node, 1);
  const Tensor* bias = plain_constant(graph, node, 2);
  const Shape& shape = weights.shape();
  train::DenseLayer layer;
  layer.outputs = *by_class ? shape[0] : shape[shape.rank() - 1];
  layer.inputs = weights.elements() / layer.outputs;
  if (layer.outputs != static_cast<int64_t>(names.size())) return std::nullopt;
  if (bias != nullptr && bias->elements() != layer.outputs) return std::nullopt;
  const auto from = weights.as<float>();
  layer.weights.resize(from.size());
  for (int64_t o = 0; o < layer.outputs; ++o) {
    for (int64_t i = 0; i < layer.inputs; ++i) {
      const int64_t source = *by_class ? o * layer.inputs + i : i * layer.outputs + o;
      layer.weights[static_cast<size_t>(o * layer.inputs + i)] = from[static_cast<size_t>(source)];
    }
  }
  layer.bias.assign(static_cast<size_t>(layer.outputs), 0);
  if (bias != nullptr) std::copy(bias->as<float>().begin(), bias->as<float>().end(), layer.bias.begin());
  train::Head head;
  head.layers.push_back(std::move(layer));
  head.class_names = names;
  return head;
}

std::optional<train::Head> restricted_to(const train::Head& head,
                                         const std::vector<std::string>& class_names) {
  const train::DenseLayer& all = head.layers.front();
  train::DenseLayer some;
  some.inputs = all.inputs;
  some.outputs = static_cast<int64_t>(class_names.size());
  for (const std::string& name : class_names) {
    const auto found = std::find(head.class_names.begin(), head.class_names.end(), name);
    if (found == head.class_names.end()) return std::nullopt;
    const auto row = found - head.class_names.begin();
    const auto first = all.weights.begin() + row * all.inputs;
    some.weights.insert(some.weights.end(), first, first + all.inputs);
    some.bias.push_back(all.bias[static_cast<size_t>(row)]);
  }
  train::Head restricted;
  restricted.layers.push_back(std::move(some));
  restricted.class_names = class_names;
  return restricted;
}

}  // namespace tandem::jobs
