// SPDX-License-Identifier: Apache-2.0
// BatchNorm into the weights before it.
#include <cmath>

#include "tandem/passes/match.hpp"
#include "tandem/passes/rewrites.hpp"

namespace tandem::passes {
namespace {

// y = x * factor[c] + offset[c].
struct ChannelAffine {
  std::vector<double> factor, offset;
};

std::optional<ChannelAffine> inference_affine(const ir::Graph& graph, const ir::Node& node,
                                              const ir::BatchNorm& op) {
  if (op.training || node.inputs.size() != 5) return std::nullopt;
  std::vector<std::vector<float>> p;
  for (size_t i = 1; i < 5; ++i) {
    auto values = float_constant(graph, node.inputs[i]);
    if (!values || (i > 1 && values->size() != p[0].size())) return std::nullopt;
    p.push_back(std::move(*values));
  }
  ChannelAffine affine;
  for (size_t c = 0; c < p[0].size(); ++c) {
    const double factor = double{p[0][c]} / std::sqrt(double{p[3][c]} + double{op.epsilon});
    affine.factor.push_back(factor);
    affine.offset.push_back(double{p[1][c]} - double{p[2][c]} * factor);
  }
  return affine;
}

// Where the output channels of a producer's weights lie: `outer` blocks of [channels][inner] elements.
struct WeightLayout {
  int64_t outer = 1, channels = 0, inner = 1;
};

std::optional<WeightLayout> weight_layout(const ir::Node& node, const Shape& w) {
  if (std::holds_alternative<ir::Conv>(node.op)) {
    if (w.rank() < 3 || w[0] == 0) return std::nullopt;
    return WeightLayout{1, w[0], w.elements() / w[0]};
  }
  if (const auto* op = std::get_if<ir::ConvTranspose>(&node.op)) {
    // [C, O/group, k...]: with one group the channels are the second dimension. More groups interleave: left
    // alone.
    if (op->group != 1 || w.rank() < 3 || w[0] == 0 || w[1] == 0) return std::nullopt;
    return WeightLayout{w[0], w[1], w.elements() / w[0] / w[1]};
  }
  if (const auto* op = std::get_if<ir::Gemm>(&node.op)) {
    if (w.rank() != 2 || op->alpha != 1 || op->beta != 1) return std::nullopt;
    return op->trans_b ? WeightLayout{1, w[0], w[1]} : WeightLayout{w[0], w[1], 1};
  }
  return std::nullopt;
}

bool has_activation(const ir::Node& node) {
  return std::visit(
      [](const auto& op) {
        if constexpr (requires { op.activation; })
          return static_cast<bool>(op.activation);
        else
          return false;
      },
      node.op);
}

Status fold_one(ir::Graph& graph, ir::NodeId bn, ir::NodeId producer, const ChannelAffine& affine,
                const WeightLayout& layout, PassLog& log) {
  const ir::Node& before = graph.node(producer);
  const Tensor& old_w = *graph.value(before.inputs[1]).constant;
  Tensor w = old_w.clone();
  auto elements = w.as<float>();
  for (int64_t i = 0; i < w.elements(); ++i) {
    const size_t c = static_cast<size_t>(i / layout.inner % layout.channels);
    elements[static_cast<size_t>(i)] =
        static_cast<float>(double{elements[static_cast<size_t>(i)]} * affine.factor[c]);
  }
  Tensor bias(DType::kF32, Shape{layout.channels});
  const bool has_bias = before.inputs.size() > 2 && before.inputs[2] != ir::kNoValue;
  const auto old_bias = has_bias ? *float_constant(graph, before.inputs[2]) : std::vector<float>{};
  for (size_t c = 0; c < affine.factor.size(); ++c) {
    const double b = has_bias ? double{old_bias[old_bias.size() == 1 ? 0 : c]} : 0.0;
    bias.as<float>()[c] = static_cast<float>(b * affine.factor[c] + affine.offset[c]);
  }
  const std::string name = before.name;
  const ir::ValueId new_w = graph.add_constant(name + ".folded_weight", std::move(w));
  const ir::ValueId new_b = graph.add_constant(name + ".folded_bias", std::move(bias));
  const ir::ValueId y = graph.node(bn).outputs[0];
  const ir::ValueId old_y = graph.node(producer).outputs[0];
  log.note(fmt::format("'{}' folded into '{}'", graph.node(bn).name, name));
  graph.remove_node(bn);
  ir::Node& node = graph.node(producer);
  node.inputs.resize(std::max<size_t>(node.inputs.size(), 3), ir::kNoValue);
  node.inputs[1] = new_w;
  node.inputs[2] = new_b;
  node.outputs[0] = y;
  graph.value(y).producer = producer;
  graph.value(old_y).producer = ir::kNoNode;
  return {};
}

}  // namespace

Status fold_batch_norm(ir::Graph& graph, PassLog& log) {
  const auto consumers = ir::consumers_of(graph);
  for (ir::NodeId id : graph.live_nodes()) {
    const ir::Node& node = graph.node(id);
    const auto* op = std::get_if<ir::BatchNorm>(&node.op);
    if (op == nullptr) continue;
    bool other_outputs = false;
    for (size_t i = 1; i < node.outputs.size(); ++i) {
      const ir::ValueId extra = node.outputs[i];
      // Values added by earlier folds are constants and never outputs of a BatchNorm, so the old list covers
      // them.
      if (extra != ir::kNoValue && (!consumers[index_of(extra)].empty() || graph.is_output(extra)))
        other_outputs = true;
    }
    const ir::NodeId producer = graph.value(node.inputs[0]).producer;
    if (other_outputs || producer == ir::kNoNode || !is_private(graph, consumers, node.inputs[0])) continue;
    const ir::Node& before = graph.node(producer);
    if (graph.value(node.inputs[0]).quant || has_activation(before)) continue;
    if (before.inputs.size() > 3 && before.inputs[3] != ir::kNoValue)
      continue;  // a residual is not scaled by weights
    const auto affine = inference_affine(graph, node, *op);
    if (!affine || before.inputs.size() < 2 || !float_constant(graph, before.inputs[1])) continue;
    const auto layout = weight_layout(before, *graph.value(before.inputs[1]).shape);
    if (!layout || layout->channels != static_cast<int64_t>(affine->factor.size())) continue;
    if (before.inputs.size() > 2 && before.inputs[2] != ir::kNoValue) {
      const auto bias = float_constant(graph, before.inputs[2]);
      if (!bias || (bias->size() != affine->factor.size() && bias->size() != 1)) continue;
    }
    TANDEM_TRY(fold_one(graph, id, producer, *affine, *layout, log));
  }
  return {};
}

}  // namespace tandem::passes
