// SPDX-License-Identifier: Apache-2.0
// The walk from the output up to the classifier.
#include "tandem/partition/classifier.hpp"

#include <algorithm>

#include "tandem/base/text.hpp"

namespace tandem::partition {
namespace {

using ir::Graph;
using ir::kNoNode;
using ir::kNoValue;
using ir::Node;
using ir::ValueId;

constexpr const char* kHint = "name the value with --features VALUE; `tandem inspect MODEL` lists the values";

bool constant_weights(const Graph& graph, const Node& node) {
  return node.inputs.size() > 1 && node.inputs[1] != kNoValue && graph.value(node.inputs[1]).is_constant() &&
         !graph.value(node.inputs[0]).is_constant();
}

// Inputs of a node that computes nothing new, else kNoValue.
ValueId passed_through(const Graph& graph, const Node& node) {
  const bool elementwise =
      std::holds_alternative<ir::Unary>(node.op) || std::holds_alternative<ir::Clip>(node.op) ||
      std::holds_alternative<ir::Softmax>(node.op) || std::holds_alternative<ir::Identity>(node.op) ||
      std::holds_alternative<ir::Dropout>(node.op) || std::holds_alternative<ir::Cast>(node.op) ||
      std::holds_alternative<ir::Requantize>(node.op) ||
      std::holds_alternative<ir::DequantizeLinear>(node.op) ||
      std::holds_alternative<ir::QuantizeLinear>(node.op);
  const bool reshapes =
      std::holds_alternative<ir::Flatten>(node.op) || std::holds_alternative<ir::Reshape>(node.op) ||
      std::holds_alternative<ir::Squeeze>(node.op) || std::holds_alternative<ir::Transpose>(node.op);
  const auto* reduce = std::get_if<ir::Reduce>(&node.op);
  const bool pools = std::holds_alternative<ir::GlobalPool>(node.op) ||
                     std::holds_alternative<ir::Pool>(node.op) ||
                     (reduce != nullptr && reduce->kind == ir::ReduceKind::kMean);
  if (elementwise || reshapes || pools) return node.inputs[0];
  if (std::holds_alternative<ir::Binary>(node.op)) {
    // A bias or a scale.
    if (graph.value(node.inputs[1]).is_constant()) return node.inputs[0];
    if (graph.value(node.inputs[0]).is_constant()) return node.inputs[1];
  }
  return kNoValue;
}

bool pools_over_space(const Node& node) {
  const auto* reduce = std::get_if<ir::Reduce>(&node.op);
  return std::holds_alternative<ir::GlobalPool>(node.op) || std::holds_alternative<ir::Pool>(node.op) ||
         (reduce != nullptr && reduce->kind == ir::ReduceKind::kMean);
}

bool is_point(const Shape& shape) { return shape.rank() == 4 && shape[2] == 1 && shape[3] == 1; }

int64_t output_channels(const Graph& graph, const Node& node) {
  const Shape& w = *graph.value(node.inputs[1]).shape;
  if (std::holds_alternative<ir::Conv>(node.op)) return w[0];
  const auto* gemm = std::get_if<ir::Gemm>(&node.op);
  return gemm != nullptr && gemm->trans_b ? w[0] : w[w.rank() - 1];
}

Result<ClassifierCut> with_features(const Graph& graph, ClassifierCut cut) {
  const ir::Value& value = graph.value(cut.features);
  const auto& shape = value.shape;
  const bool flat = shape && shape->rank() == 2 && (*shape)[1] > 0;
  const bool map = shape && shape->rank() == 4 && (*shape)[1] > 0;
  if (!flat && !map) {
    return unsupported(fmt::format("'{}' cannot be features: its shape is {}", value.name,
                                   shape ? shape->to_string() : "unknown"))
        .because("a head needs [N,C], or [N,C,H,W] to average over H and W")
        .hint(kHint);
  }
  cut.feature_count = (*shape)[1];
  cut.needs_global_average = map;
  return cut;
}

std::vector<std::string> activation_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Value& value : graph.values()) {
    if (!value.is_constant()) names.push_back(value.name);
  }
  return names;
}

}  // namespace

Result<ClassifierCut> find_classifier(const Graph& graph, const std::string& features) {
  ClassifierCut cut;
  if (!features.empty()) {
    cut.features = graph.find_value(features);
    if (cut.features == kNoValue || graph.value(cut.features).is_constant()) {
      return usage_error(fmt::format("the model has no value '{}'", features))
          .hint(did_you_mean(features, activation_names(graph)));
    }
    return with_features(graph, cut);
  }
  if (graph.outputs.size() != 1) {
    return unsupported(fmt::format("the model has {} outputs, a classifier has one", graph.outputs.size()))
        .hint(kHint);
  }
  ValueId at = graph.outputs[0];
  bool pooled = false;
  while (graph.value(at).producer != kNoNode) {
    const Node& node = graph.node(graph.value(at).producer);
    const bool product =
        (std::holds_alternative<ir::Gemm>(node.op) || std::holds_alternative<ir::MatMul>(node.op)) &&
        constant_weights(graph, node);
    const auto* conv = std::get_if<ir::Conv>(&node.op);
    bool point_conv = false;
    if (conv != nullptr && constant_weights(graph, node) && conv->group == 1) {
      const Shape& w = *graph.value(node.inputs[1]).shape;
      const auto& y = graph.value(at).shape;
      point_conv = w.rank() == 4 && w[2] == 1 && w[3] == 1 && (pooled || (y && is_point(*y)));
    }
    if (product || point_conv) {
      cut.features = node.inputs[0];
      cut.class_count = output_channels(graph, node);
      cut.classifier = node.name;
      return with_features(graph, cut);
    }
    const ValueId above = passed_through(graph, node);
    if (above == kNoValue) {
      return unsupported(fmt::format("found no classifier: '{}' ({}) stands between it and the output",
                                     node.name, ir::describe(node.op)))
          .hint(kHint);
    }
    pooled = pooled || pools_over_space(node);
    at = above;
  }
  return unsupported("found no classifier: the output comes straight from the input").hint(kHint);
}

}  // namespace tandem::partition
