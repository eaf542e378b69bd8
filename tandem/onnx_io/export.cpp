// SPDX-License-Identifier: Apache-2.0
// Names, constants, quantization pairs and activations: what the exporters of ops stand on.
#include "tandem/onnx_io/export.hpp"

#include "tandem/base/check.hpp"

namespace tandem::onnx_io {

using ir::ActivationKind;

Export::Export(const ir::Graph& graph, int64_t opset)
    : graph_(graph), opset_(opset), read_as_(graph.values().size()), write_as_(graph.values().size()) {
  for (const ir::Value& value : graph.values()) names_.insert(value.name);
  for (ir::NodeId id : graph.live_nodes()) node_names_.insert(graph.node(id).name);
  for (size_t i = 0; i < graph.values().size(); ++i) {
    const ir::Value& value = graph.values()[i];
    write_as_[i] = value.name;
    if (value.is_constant()) continue;
    read_as_[i] = value.name;
    if (!value.quant) continue;
    // A pair stands between maker and readers. Who keeps the name: a graph output, or a Requantize, which is
    // the pair.
    const ir::ValueId id{static_cast<uint32_t>(i)};
    const bool made_by_pair = value.producer != ir::kNoNode &&
                              std::holds_alternative<ir::Requantize>(graph.node(value.producer).op);
    if (made_by_pair) continue;
    if (value.producer != ir::kNoNode && graph.is_output(id))
      write_as_[i] = fresh(value.name + "_f");
    else
      read_as_[i] = fresh(value.name + "_dq");
  }
}

void Export::require(int64_t opset, std::string_view why) {
  if (opset <= required_) return;
  required_ = opset;
  required_why_ = why;
}

std::string Export::fresh(const std::string& stem) {
  std::string name = stem;
  for (size_t n = 1; !names_.insert(name).second; ++n) name = fmt::format("{}_{}", stem, n);
  return name;
}

std::string Export::add_initializer(const std::string& stem, Tensor tensor) {
  std::string name = fresh(stem);
  initializers_.emplace_back(name, std::make_shared<const Tensor>(std::move(tensor)));
  return name;
}

const Tensor* Export::constant(size_t i) const {
  if (!has_input(i)) return nullptr;
  const ir::Value& value = graph_.value(node_->inputs[i]);
  return value.quant ? nullptr : value.constant.get();
}

std::optional<std::vector<int64_t>> Export::constant_integers(size_t i) const {
  const Tensor* tensor = constant(i);
  if (tensor == nullptr) return std::nullopt;
  auto values = to_int64s(*tensor);
  if (!values.ok()) return std::nullopt;
  return std::move(values).value();
}

std::optional<Shape> Export::input_shape(size_t i) const {
  if (!has_input(i)) return std::nullopt;
  return graph_.value(node_->inputs[i]).shape;
}

DType Export::input_dtype(size_t i) const {
  return has_input(i) ? graph_.value(node_->inputs[i]).dtype : DType::kF32;
}

std::string Export::input(size_t i) { return has_input(i) ? value_read(node_->inputs[i]) : std::string(); }

std::vector<std::string> Export::inputs_from(size_t first, size_t end) {
  std::vector<std::string> names;
  for (size_t i = first; i < end && i < node_->inputs.size(); ++i) names.push_back(input(i));
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

std::string Export::output(size_t i) const {
  if (i >= node_->outputs.size() || node_->outputs[i] == ir::kNoValue) return "";
  return produced_name(node_->outputs[i]);
}

std::vector<std::string> Export::all_outputs() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < node_->outputs.size(); ++i) names.push_back(output(i));
  return names;
}

std::string Export::produced_name(ir::ValueId id) const { return write_as_[index_of(id)]; }

std::string Export::value_read(ir::ValueId id) {
  std::string& name = read_as_[index_of(id)];
  if (name.empty()) name = constant_read(id);  // others are named from the start
  return name;
}

std::string Export::constant_read(ir::ValueId id) {
  const ir::Value& value = graph_.value(id);
  if (!value.quant) {
    initializers_.emplace_back(value.name, value.constant);
    return value.name;
  }
  const std::string integers = fresh(value.name + "_q");
  initializers_.emplace_back(integers, value.constant);
  const Parameters parameters = write_parameters(value);
  std::vector<std::string> inputs = {integers, parameters.scale};
  if (!parameters.zero_point.empty()) inputs.push_back(parameters.zero_point);
  write({value.name, "", "DequantizeLinear", std::move(inputs), {value.name}, parameters.attributes});
  return value.name;
}

// Scale and zero point as initializers, shared by both halves of a pair.
Export::Parameters Export::write_parameters(const ir::Value& value) {
  const QuantParams& params = *value.quant;
  Parameters written;
  const Shape shape = params.per_tensor() ? Shape{} : Shape{static_cast<int64_t>(params.scale.size())};
  written.scale = add_initializer(value.name + "_scale", Tensor::of<float>(shape, params.scale));
  if (params.dtype == DType::kI16 || params.dtype == DType::kU16) require(21, "quantization to 16 bits");
  if (!params.per_tensor()) written.attributes["axis"] = params.axis;
  if (params.dtype == DType::kI32) return written;  // accumulators have no zero point
  written.zero_point = add_initializer(value.name + "_zero",
                                       cast(Tensor::of<int32_t>(shape, params.zero_point), params.dtype));
  return written;
}

void Export::write_pair(const std::string& from, ir::ValueId id, const std::string& to,
                        const std::optional<std::string>& node_name) {
  const ir::Value& value = graph_.value(id);
  const std::string integers = fresh(value.name + "_q");
  const Parameters parameters = write_parameters(value);
  const auto inputs = [&](const std::string& x) {
    std::vector<std::string> names = {x, parameters.scale};
    if (!parameters.zero_point.empty()) names.push_back(parameters.zero_point);
    return names;
  };
  FileNode quantize{node_name.value_or(value.name + "_q"),
                    "",
                    "QuantizeLinear",
                    inputs(from),
                    {integers},
                    parameters.attributes};
  if (node_name && !node_name->empty())
    nodes_.push_back(std::move(quantize));
  else
    write(std::move(quantize));
  write({to, "", "DequantizeLinear", inputs(integers), {to}, parameters.attributes});
}

Status Export::check_quantization(ir::ValueId id) const {
  const QuantParams& params = *graph_.value(id).quant;
  if (params.dtype == DType::kI32) {
    return unsupported(fmt::format("value '{}' is quantized to i32, which QuantizeLinear cannot make",
                                   graph_.value(id).name));
  }
  if (params.bits != static_cast<int>(8 * size_of(params.dtype))) {
    return unsupported(fmt::format("value '{}' saturates at {} bits of {}, which QuantizeLinear cannot say",
                                   graph_.value(id).name, params.bits, to_string(params.dtype)));
  }
  return {};
}

Status Export::write_quantization(ir::ValueId id) {
  const ir::Value& value = graph_.value(id);
  if (!value.quant || value.is_constant()) return {};
  if (value.producer != ir::kNoNode && std::holds_alternative<ir::Requantize>(graph_.node(value.producer).op))
    return {};
  TANDEM_TRY(check_quantization(id));
  write_pair(produced_name(id), id, value_read(id), std::nullopt);
  return {};
}

Status export_op(Export& out, const ir::Requantize&) { return out.write_requantize(); }

Status Export::write_requantize() {
  const ir::ValueId id = node_->outputs[0];
  if (!graph_.value(id).quant) {  // to real: nothing happens
    emit("Identity", {input(0)}, {output(0)});
    return {};
  }
  TANDEM_TRY(check_quantization(id));
  const std::string from = input(0);
  write_pair(from, id, value_read(id), node_->name);
  return {};
}

// The last word on node names: unique, and not empty.
void Export::write(FileNode node) {
  if (node.name.empty() && !node.outputs.empty()) node.name = node.outputs[0];
  if (node.name.empty()) node.name = node.op_type;
  const std::string stem = node.name;
  for (size_t n = 1; !node_names_.insert(node.name).second; ++n) node.name = fmt::format("{}_{}", stem, n);
  nodes_.push_back(std::move(node));
}

void Export::emit(std::string op_type, std::vector<std::string> inputs, std::vector<std::string> outputs,
                  ir::AttributeMap attributes, std::string domain) {
  // One stays even when nobody reads any: operators have at least one.
  while (outputs.size() > 1 && outputs.back().empty()) outputs.pop_back();
  FileNode file_node{node_->name,       std::move(domain),  std::move(op_type),
                     std::move(inputs), std::move(outputs), std::move(attributes)};
  if (emitted_++ > 0) return write(std::move(file_node));
  // The first carries the node's own name, which is reserved for it.
  if (file_node.name.empty()) return write(std::move(file_node));
  nodes_.push_back(std::move(file_node));
}

void Export::emit(std::string op_type, ir::AttributeMap attributes) {
  emit(std::move(op_type), all_inputs(), all_outputs(), std::move(attributes));
}

std::string Export::before_activation(const ir::Activation& activation) {
  return activation ? fresh(output(0) + "_pre") : output(0);
}

void Export::emit_silu(const std::string& from, const std::string& to) {
  const std::string gate = fresh(to + "_gate");
  emit("Sigmoid", {from}, {gate});
  emit("Mul", {from, gate}, {to});
}

void Export::emit_activation(const ir::Activation& activation, const std::string& from) {
  const std::string to = output(0);
  const auto bound = [&](const char* suffix, float value) {
    return add_initializer(to + suffix, Tensor::scalar<float>(value));
  };
  switch (activation.kind) {
    case ActivationKind::kNone: break;
    case ActivationKind::kRelu: emit("Relu", {from}, {to}); break;
    case ActivationKind::kClip: {
      std::string low = bound(".min", activation.alpha);
      std::string high = bound(".max", activation.beta);
      emit("Clip", {from, std::move(low), std::move(high)}, {to});
      break;
    }
    case ActivationKind::kLeakyRelu:
      emit("LeakyRelu", {from}, {to}, {{"alpha", double{activation.alpha}}});
      break;
    case ActivationKind::kHardSigmoid:
      emit("HardSigmoid", {from}, {to},
           {{"alpha", double{activation.alpha}}, {"beta", double{activation.beta}}});
      break;
    case ActivationKind::kHardSwish:
      require(14, "HardSwish");
      emit("HardSwish", {from}, {to});
      break;
    case ActivationKind::kSigmoid: emit("Sigmoid", {from}, {to}); break;
    case ActivationKind::kSilu: emit_silu(from, to); break;
    case ActivationKind::kTanh: emit("Tanh", {from}, {to}); break;
    case ActivationKind::kGelu:
    case ActivationKind::kGeluTanh: {
      require(20, "Gelu");
      ir::AttributeMap attributes;
      if (activation.kind == ActivationKind::kGeluTanh) attributes["approximate"] = std::string("tanh");
      emit("Gelu", {from}, {to}, std::move(attributes));
      break;
    }
  }
}

Status Export::write_node(ir::NodeId id) {
  node_ = &graph_.node(id);
  emitted_ = 0;
  return std::visit([&](const auto& op) { return export_op(*this, op); }, node_->op);
}

Status export_op(Export& out, const ir::Opaque& op) {
  ir::AttributeMap attributes = op.attributes;
  std::vector<std::string> inputs = out.all_inputs();
  inputs.resize(out.input_count());
  const auto captured = attributes.find("tandem.captures");
  if (captured != attributes.end()) {
    const auto* names = std::get_if<std::vector<std::string>>(&captured->second);
    if (names == nullptr || names->size() > inputs.size())
      return internal_error("the captures of an Opaque are damaged");
    const size_t own = inputs.size() - names->size();
    for (size_t i = 0; i < names->size(); ++i) {
      // The sub-graph reads it by this name and no other.
      if (inputs[own + i] != (*names)[i]) out.emit("Identity", {inputs[own + i]}, {(*names)[i]});
    }
    inputs.resize(own);
    attributes.erase(captured);
  }
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  out.emit(op.op_type, std::move(inputs), out.all_outputs(), std::move(attributes), op.domain);
  return {};
}

}  // namespace tandem::onnx_io
