// SPDX-License-Identifier: Apache-2.0
// Answers to the questions of match.hpp.
#include "tandem/passes/match.hpp"

#include <algorithm>
#include <limits>

namespace tandem::passes {

std::optional<double> scalar_constant(const ir::Graph& graph, ir::ValueId id) {
  if (id == ir::kNoValue) return std::nullopt;
  const ir::Value& value = graph.value(id);
  if (!value.is_constant() || value.quant || value.constant->elements() != 1) return std::nullopt;
  return element_as_double(*value.constant, 0);
}

std::optional<std::vector<float>> float_constant(const ir::Graph& graph, ir::ValueId id) {
  if (id == ir::kNoValue) return std::nullopt;
  const ir::Value& value = graph.value(id);
  if (!value.is_constant() || value.quant || value.dtype != DType::kF32) return std::nullopt;
  const auto elements = value.constant->as<float>();
  return std::vector<float>(elements.begin(), elements.end());
}

bool is_private(const ir::Graph& graph, const std::vector<std::vector<ir::NodeId>>& consumers,
                ir::ValueId id) {
  if (consumers[index_of(id)].size() != 1 || graph.is_output(id)) return false;
  const auto& inputs = graph.node(consumers[index_of(id)][0]).inputs;
  return std::count(inputs.begin(), inputs.end(), id) == 1;
}

std::optional<ir::Activation> activation_of(const ir::Graph& graph, const ir::Node& node) {
  using ir::ActivationKind;
  using ir::UnaryKind;
  if (const auto* unary = std::get_if<ir::Unary>(&node.op)) {
    switch (unary->kind) {
      case UnaryKind::kRelu: return ir::Activation{ActivationKind::kRelu, 0, 0};
      case UnaryKind::kLeakyRelu: return ir::Activation{ActivationKind::kLeakyRelu, unary->alpha, 0};
      case UnaryKind::kHardSigmoid:
        return ir::Activation{ActivationKind::kHardSigmoid, unary->alpha, unary->beta};
      case UnaryKind::kHardSwish: return ir::Activation{ActivationKind::kHardSwish, 0, 0};
      case UnaryKind::kSigmoid: return ir::Activation{ActivationKind::kSigmoid, 0, 0};
      case UnaryKind::kSilu: return ir::Activation{ActivationKind::kSilu, 0, 0};
      case UnaryKind::kTanh: return ir::Activation{ActivationKind::kTanh, 0, 0};
      case UnaryKind::kGelu: return ir::Activation{ActivationKind::kGelu, 0, 0};
      case UnaryKind::kGeluTanh: return ir::Activation{ActivationKind::kGeluTanh, 0, 0};
      default: return std::nullopt;
    }
  }
  if (!std::holds_alternative<ir::Clip>(node.op)) return std::nullopt;
  const auto bound = [&](size_t i, double otherwise) -> std::optional<double> {
    if (i >= node.inputs.size() || node.inputs[i] == ir::kNoValue) return otherwise;
    return scalar_constant(graph, node.inputs[i]);
  };
  const auto low = bound(1, std::numeric_limits<float>::lowest());
  const auto high = bound(2, std::numeric_limits<float>::max());
  if (!low || !high || graph.value(node.outputs[0]).dtype != DType::kF32) return std::nullopt;
  if (*low == 0 && *high >= std::numeric_limits<float>::max())
    return ir::Activation{ActivationKind::kRelu, 0, 0};
  return ir::Activation{ActivationKind::kClip, static_cast<float>(*low), static_cast<float>(*high)};
}

}  // namespace tandem::passes
