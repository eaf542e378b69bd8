// SPDX-License-Identifier: Apache-2.0
// Pad + Conv to Conv.
#include <algorithm>

#include "tandem/passes/match.hpp"
#include "tandem/passes/rewrites.hpp"

namespace tandem::passes {
namespace {

// Pads of the spatial dimensions, all begins then all ends, when the node is a Pad that a Conv can take over.
std::optional<std::vector<int64_t>> spatial_pads(const ir::Graph& graph, const ir::Node& node) {
  const auto* pad = std::get_if<ir::Pad>(&node.op);
  const auto& shape = graph.value(node.inputs[0]).shape;
  if (pad == nullptr || pad->mode != ir::PadMode::kConstant || !shape || shape->rank() < 3)
    return std::nullopt;
  if (node.inputs.size() > 2 && node.inputs[2] != ir::kNoValue &&
      scalar_constant(graph, node.inputs[2]) != 0.0) {
    return std::nullopt;
  }
  if (node.inputs.size() > 3 && node.inputs[3] != ir::kNoValue) return std::nullopt;
  const ir::Value& pads = graph.value(node.inputs[1]);
  if (!pads.is_constant()) return std::nullopt;
  const auto values = to_int64s(*pads.constant);
  const size_t rank = shape->rank();
  if (!values || values->size() != 2 * rank) return std::nullopt;
  if (std::any_of(values->begin(), values->end(), [](int64_t p) { return p < 0; })) return std::nullopt;
  if ((*values)[0] != 0 || (*values)[1] != 0 || (*values)[rank] != 0 || (*values)[rank + 1] != 0)
    return std::nullopt;
  std::vector<int64_t> spatial(values->begin() + 2, values->begin() + static_cast<int64_t>(rank));
  spatial.insert(spatial.end(), values->begin() + static_cast<int64_t>(rank) + 2, values->end());
  return spatial;
}

}  // namespace

Status fold_padding(ir::Graph& graph, PassLog& log) {
  for (ir::NodeId id : graph.live_nodes()) {
    ir::Node& node = graph.node(id);
    auto* conv = std::get_if<ir::Conv>(&node.op);
    if (conv == nullptr || producer_as<ir::Pad>(graph, node.inputs[0]) == nullptr) continue;
    const ir::Window& window = conv->window;
    if (window.auto_pad != ir::AutoPad::kExplicit && window.auto_pad != ir::AutoPad::kValid) continue;
    const ir::Node& pad_node = graph.node(graph.value(node.inputs[0]).producer);
    // Zeros stay zeros in the quantized form too, as every zero point stands for 0; but a rounding must not
    // vanish.
    const auto& quant_in = graph.value(pad_node.inputs[0]).quant;
    const auto& quant_out = graph.value(pad_node.outputs[0]).quant;
    if (quant_out && quant_in != quant_out) continue;
    const auto pads = spatial_pads(graph, pad_node);
    if (!pads) continue;
    std::vector<int64_t> sum = *pads;
    for (size_t i = 0; i < window.pads.size() && i < sum.size() && window.auto_pad == ir::AutoPad::kExplicit;
         ++i) {
      sum[i] += window.pads[i];
    }
    log.note(fmt::format("'{}' moved into '{}'", pad_node.name, node.name));
    conv->window.pads = std::move(sum);
    conv->window.auto_pad = ir::AutoPad::kExplicit;
    node.inputs[0] = pad_node.inputs[0];
  }
  return {};
}

}  // namespace tandem::passes
