// SPDX-License-Identifier: Apache-2.0
// Folding of quantize/dequantize pairs. The metadata it consumes is JSON:
//   {"pow2": [value names], "bits": {value name: bits, where fewer than the dtype has}, "inputs": [graph
//   input names]}
#include "tandem/onnx_io/fold_quantization.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "tandem/base/json.hpp"

namespace tandem::onnx_io {
namespace {

using ir::NodeId;
using ir::ValueId;

bool quantizable(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kU8 || dtype == DType::kI16 || dtype == DType::kU16 ||
         dtype == DType::kI32;
}

class Folder {
 public:
  Folder(ir::Graph& graph, LoadReport& report)
      : graph_(graph), report_(report), consumers_(ir::consumers_of(graph)) {}

  void run() {
    const auto found = graph_.metadata.find(kQuantMetadata);
    if (found != graph_.metadata.end()) {
      auto parsed = Json::parse(found->second);
      if (parsed.ok())
        metadata_ = std::move(parsed).value();
      else
        report_.notices.push_back(fmt::format("metadata '{}' is no JSON and is ignored", kQuantMetadata));
      graph_.metadata.erase(found);
    }
    for (const Json& name : metadata_["inputs"].items()) quantized_inputs_.insert(name.as_string());
    for (NodeId id : graph_.live_nodes()) {
      if (std::holds_alternative<ir::DequantizeLinear>(graph_.node(id).op)) fold_constant(id);
    }
    for (NodeId id : graph_.live_nodes()) {
      if (!graph_.node(id).dead && std::holds_alternative<ir::QuantizeLinear>(graph_.node(id).op))
        fold_pair(id);
    }
    restore();
  }

 private:
  const ir::Value* input(const ir::Node& node, size_t i) const {
    return i < node.inputs.size() && node.inputs[i] != ir::kNoValue ? &graph_.value(node.inputs[i]) : nullptr;
  }

  // The parameters a Quantize or Dequantize states, or nothing when they are not constant or not valid.
  std::optional<QuantParams> parameters(const ir::Node& node, int64_t axis, DType integer,
                                        const std::optional<Shape>& shape) {
    const ir::Value* scale = input(node, 1);
    const ir::Value* zero = input(node, 2);
    if (scale == nullptr || !scale->is_constant() || scale->quant || scale->dtype != DType::kF32)
      return std::nullopt;
    if (node.inputs.size() > 2 && zero != nullptr && (!zero->is_constant() || zero->quant))
      return std::nullopt;
    if (scale->constant->shape().rank() > 1) return std::nullopt;
    QuantParams params;
    params.dtype = zero != nullptr ? zero->dtype : integer;
    if (!quantizable(params.dtype)) return std::nullopt;
    params.bits = static_cast<int>(8 * size_of(params.dtype));
    const auto scales = scale->constant->as<float>();
    params.scale.assign(scales.begin(), scales.end());
    params.zero_point.assign(params.scale.size(), 0);
    if (zero != nullptr) {
      const auto values = to_int64s(*zero->constant);
      if (!values.ok() || values->size() != params.scale.size()) return std::nullopt;
      for (size_t i = 0; i < values->size(); ++i) {
        // An int32 holds every zero point that the types above can have.
        params.zero_point[i] = static_cast<int32_t>((*values)[i]);
      }
    }
    int64_t channels = kDynamic;
    if (params.scale.size() != 1) {
      if (!shape) return std::nullopt;
      const auto positive = normalize_axis(axis, shape->rank());
      if (!positive.ok()) return std::nullopt;
      params.axis = static_cast<int64_t>(*positive);
      channels = (*shape)[*positive];
    }
    if (!verify(params, channels).ok()) return std::nullopt;
    return params;
  }

  std::optional<QuantParams> quantize_parameters(const ir::Node& node) {
    const ir::Value* x = input(node, 0);
    if (x == nullptr || x->dtype != DType::kF32) return std::nullopt;
    return parameters(node, std::get<ir::QuantizeLinear>(node.op).axis, DType::kU8, x->shape);
  }

  std::optional<QuantParams> dequantize_parameters(const ir::Node& node) {
    const ir::Value* q = input(node, 0);
    if (q == nullptr || q->quant) return std::nullopt;
    auto params = parameters(node, std::get<ir::DequantizeLinear>(node.op).axis, q->dtype, q->shape);
    if (params && params->dtype != q->dtype) return std::nullopt;
    return params;
  }

  void note_unfolded(const ir::Node& node) {
    report_.notices.push_back(
        fmt::format("node '{}' ({}) stays explicit: its scale or zero point is not constant, not valid, or "
                    "not the same on both sides",
                    node.name, ir::op_name(node.op)));
  }

  void make_constant(NodeId id, ConstTensor tensor, const QuantParams& params) {
    const ValueId output = graph_.node(id).outputs[0];
    graph_.remove_node(id);
    ir::Value& value = graph_.value(output);
    value.dtype = DType::kF32;
    value.shape = tensor->shape();
    value.constant = std::move(tensor);
    value.quant = params;
  }

  void fold_constant(NodeId id) {
    const ir::Node& node = graph_.node(id);
    const ir::Value* q = input(node, 0);
    if (q == nullptr || !q->is_constant() || node.outputs.empty() || node.outputs[0] == ir::kNoValue) return;
    const auto params = dequantize_parameters(node);
    if (!params) return note_unfolded(node);
    make_constant(id, q->constant, *params);
  }

  // The Dequantizes behind a Quantize, when they are all that reads it and state the same parameters.
  std::vector<NodeId> matching_dequantizes(const ir::Node& quantize, const QuantParams& params) {
    const ValueId integers = quantize.outputs[0];
    if (integers == ir::kNoValue || graph_.is_output(integers)) return {};
    std::vector<NodeId> found;
    for (NodeId id : consumers_[index_of(integers)]) {
      const ir::Node& node = graph_.node(id);
      if (node.dead || !std::holds_alternative<ir::DequantizeLinear>(node.op) || node.inputs[0] != integers)
        return {};
      if (std::count(node.inputs.begin(), node.inputs.end(), integers) != 1) return {};
      if (node.outputs.empty() || node.outputs[0] == ir::kNoValue) return {};
      const auto theirs = dequantize_parameters(node);
      if (!theirs || !(*theirs == params)) return {};
      found.push_back(id);
    }
    return found;
  }

  // x itself can carry the parameters: a node makes it, and only quantizes of these parameters read it.
  bool can_carry(ValueId x, NodeId quantize) {
    const ir::Value& value = graph_.value(x);
    if (value.quant || graph_.is_output(x)) return false;
    const auto& readers = consumers_[index_of(x)];
    if (readers.size() != 1 || readers[0] != quantize) return false;
    if (value.producer == ir::kNoNode) return quantized_inputs_.count(value.name) > 0;
    return !std::holds_alternative<ir::DequantizeLinear>(graph_.node(value.producer).op);
  }

  void fold_pair(NodeId id) {
    const ir::Node& node = graph_.node(id);
    if (node.outputs.empty() || node.outputs[0] == ir::kNoValue || input(node, 0) == nullptr) return;
    const auto params = quantize_parameters(node);
    if (!params) return note_unfolded(node);
    const std::vector<NodeId> dequantizes = matching_dequantizes(node, *params);
    if (dequantizes.empty()) return;
    const ValueId x = node.inputs[0];
    if (graph_.value(x).is_constant() && !graph_.value(x).quant) {
      const auto tensor = std::make_shared<const Tensor>(quantize(*graph_.value(x).constant, *params));
      graph_.remove_node(id);
      for (NodeId dequantize : dequantizes) make_constant(dequantize, tensor, *params);
      return;
    }
    const bool carries = can_carry(x, id);
    // A graph output keeps its name, so it is served first.
    std::vector<NodeId> order = dequantizes;
    std::stable_partition(order.begin(), order.end(),
                          [&](NodeId d) { return graph_.is_output(graph_.node(d).outputs[0]); });
    const ValueId first = graph_.node(order[0]).outputs[0];
    graph_.remove_node(order[0]);
    const bool renames = carries && graph_.is_output(first);
    if (carries) {
      graph_.remove_node(id);
      graph_.value(x).quant = params;
      graph_.replace_uses(first, x);
      if (renames) exchange_names(x, first);
    } else {
      ir::Node& requantize = graph_.node(id);
      const ValueId integers = requantize.outputs[0];
      graph_.value(integers).producer = ir::kNoNode;
      requantize.op = ir::Requantize{};
      requantize.inputs.resize(1);
      requantize.outputs = {first};
      ir::Value& value = graph_.value(first);
      value.producer = id;
      value.quant = params;
    }
    const ValueId carrier = carries ? x : first;
    for (size_t i = 1; i < order.size(); ++i) merge(order[i], carrier, *params);
  }

  // A further Dequantize of the same integers.
  void merge(NodeId dequantize, ValueId carrier, const QuantParams& params) {
    const ValueId output = graph_.node(dequantize).outputs[0];
    if (!graph_.is_output(output)) {
      graph_.remove_node(dequantize);
      graph_.replace_uses(output, carrier);
      return;
    }
    // Two graph outputs of one value: each keeps its name.
    ir::Node& node = graph_.node(dequantize);
    node.op = ir::Identity{};
    node.inputs = {carrier};
    graph_.value(output).quant = params;
  }

  void exchange_names(ValueId a, ValueId b) {
    const std::string name_a = graph_.value(a).name;
    const std::string name_b = graph_.value(b).name;
    std::string spare = name_b + "~";
    while (graph_.find_value(spare) != ir::kNoValue) spare += "~";
    graph_.rename(b, spare);
    graph_.rename(a, name_b);
    graph_.rename(b, name_a);
  }

  // What the metadata says of values by name. Claims that do not hold are ignored with a notice.
  void restore() {
    for (const Json& entry : metadata_["pow2"].items()) {
      const ValueId id = graph_.find_value(entry.as_string());
      if (id == ir::kNoValue || !graph_.value(id).quant) continue;
      QuantParams& params = *graph_.value(id).quant;
      int exponent = 0;
      const bool power =
          params.per_tensor() && params.zero_point[0] == 0 && std::frexp(params.scale[0], &exponent) == 0.5f;
      if (power && exponent >= -99 && exponent <= 101)
        params.scheme = Scheme::kPow2;
      else
        report_.notices.push_back(fmt::format(
            "value '{}' is said to be pow2, but its scale is no power of two", entry.as_string()));
    }
    for (const auto& [name, bits] : metadata_["bits"].members()) {
      const ValueId id = graph_.find_value(name);
      if (id == ir::kNoValue || !graph_.value(id).quant) continue;
      QuantParams narrow = *graph_.value(id).quant;
      narrow.bits = static_cast<int>(std::clamp<int64_t>(bits.as_int(), 0, 64));
      if (verify(narrow, kDynamic).ok()) graph_.value(id).quant = narrow;
    }
  }

  ir::Graph& graph_;
  LoadReport& report_;
  std::vector<std::vector<NodeId>> consumers_;
  Json metadata_;
  std::set<std::string> quantized_inputs_;
};

}  // namespace

void fold_quantization(ir::Graph& graph, LoadReport& report) { Folder(graph, report).run(); }

}  // namespace tandem::onnx_io
