// SPDX-License-Identifier: Apache-2.0
// What all nodes of an export share: names, layouts, constants, fix ops.
#include "tandem/xir_io/export.hpp"

#include <algorithm>
#include <cstring>

#include "tandem/base/file.hpp"
#include "tandem/ir/text.hpp"
#include "tandem/ir/verify.hpp"
#include "tandem/xir_io/helper.hpp"
#include "tandem/xir_io/opaque_attributes.hpp"

namespace tandem::xir_io {
namespace {

const char* xir_type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "FLOAT32";
    case DType::kF64: return "FLOAT64";
    case DType::kF16:
    case DType::kBF16: return "FLOAT16";
    case DType::kI8: return "INT8";
    case DType::kU8:
    case DType::kBool: return "UINT8";
    case DType::kI16: return "INT16";
    case DType::kU16: return "UINT16";
    case DType::kI32: return "INT32";
    case DType::kU32: return "UINT32";
    case DType::kI64: return "INT64";
    case DType::kU64: return "UINT64";
  }
  return "FLOAT32";
}

std::vector<int32_t> narrow(const Shape& shape) { return {shape.begin(), shape.end()}; }

Tensor to_nhwc(const Tensor& from) {
  const Shape& s = from.shape();
  Tensor to(from.dtype(), Shape{s[0], s[2], s[3], s[1]});
  const size_t width = size_of(from.dtype());
  const int64_t area = s[2] * s[3];
  int64_t i = 0;
  for (int64_t n = 0; n < s[0]; ++n) {
    for (int64_t p = 0; p < area; ++p) {
      for (int64_t c = 0; c < s[1]; ++c, ++i) {
        std::memcpy(to.data() + static_cast<size_t>(i) * width,
                    from.data() + static_cast<size_t>((n * s[1] + c) * area + p) * width, width);
      }
    }
  }
  return to;
}

// An input that everyone turns to NCHW first is in NHWC already.
bool is_read_as_nhwc(const ir::Graph& graph, ir::ValueId input) {
  const auto consumers = ir::consumers_of(graph);
  std::vector<ir::ValueId> open{input};
  bool any = false;
  for (size_t i = 0; i < open.size(); ++i) {
    for (const ir::NodeId id : consumers[index_of(open[i])]) {
      const ir::Node& node = graph.node(id);
      if (std::holds_alternative<ir::Requantize>(node.op) || std::holds_alternative<ir::Identity>(node.op)) {
        open.push_back(node.outputs[0]);
        continue;
      }
      const auto* transpose = std::get_if<ir::Transpose>(&node.op);
      if (transpose == nullptr || transpose->perm != std::vector<int64_t>{0, 3, 1, 2}) return false;
      any = true;
    }
  }
  return any;
}

// Constants that are no feature data (axes, sizes, nothing at all) are part of an op's text.
bool is_in_text(const ir::Value& value) {
  constexpr int64_t kElementsMax = 64;
  return value.is_constant() && !value.quant && value.constant->elements() <= kElementsMax &&
         (!is_float(value.dtype) || value.constant->elements() == 0);
}

// The node alone in a graph, so that its text holds everything but its inputs.
std::string text_of(const ir::Graph& graph, const ir::Node& node) {
  ir::Graph alone;
  ir::Node copy;
  copy.op = node.op;
  for (const ir::ValueId id : node.inputs) {
    if (id == ir::kNoValue) {
      copy.inputs.push_back(ir::kNoValue);
      continue;
    }
    if (is_in_text(graph.value(id))) {
      copy.inputs.push_back(
          alone.add_constant(fmt::format("c{}", copy.inputs.size()), graph.value(id).constant));
      continue;
    }
    ir::Value value;
    value.name = fmt::format("i{}", copy.inputs.size());
    value.dtype = graph.value(id).dtype;
    value.shape = graph.value(id).shape;
    copy.inputs.push_back(alone.add_input(std::move(value)));
  }
  for (const ir::ValueId id : node.outputs) {
    if (id == ir::kNoValue) {
      copy.outputs.push_back(ir::kNoValue);
      continue;
    }
    ir::Value value;
    value.name = fmt::format("o{}", copy.outputs.size());
    value.dtype = graph.value(id).dtype;
    value.shape = graph.value(id).shape;
    copy.outputs.push_back(alone.add_value(std::move(value)));
  }
  alone.add_node(std::move(copy));
  return ir::print(alone, {.constant_elements_max = INT64_MAX});
}

std::string own_type(const ir::Op& op) {
  if (const auto* unary = std::get_if<ir::Unary>(&op))
    return "tandem." + std::string(ir::enum_name(unary->kind));
  if (const auto* binary = std::get_if<ir::Binary>(&op))
    return "tandem." + std::string(ir::enum_name(binary->kind));
  return std::visit([](const auto& o) { return "tandem." + std::string(std::decay_t<decltype(o)>::kName); },
                    static_cast<const ir::AnyOp&>(op));
}

std::optional<Attribute> from_json(const Json& json) {
  if (json.is_bool()) return Attribute(json.as_bool());
  if (json.is_int()) {
    const int64_t n = json.as_int();
    if (n < INT32_MIN || n > INT32_MAX) return Attribute(n);
    return Attribute(static_cast<int32_t>(n));
  }
  if (json.is_number()) return Attribute(static_cast<float>(json.as_number()));
  if (json.is_string()) return Attribute(json.as_string());
  if (!json.is_array() || json.size() == 0) return std::nullopt;
  std::vector<int32_t> ints;
  std::vector<std::string> texts;
  for (const Json& item : json.items()) {
    if (item.is_int()) ints.push_back(static_cast<int32_t>(item.as_int()));
    if (item.is_string()) texts.push_back(item.as_string());
  }
  if (ints.size() == json.size()) return Attribute(std::move(ints));
  if (texts.size() == json.size()) return Attribute(std::move(texts));
  return std::nullopt;
}

}  // namespace

const Tensor* Exporter::constant(size_t i) const {
  if (!has_input(i) || input(i).quant) return nullptr;
  return input(i).constant.get();
}

std::vector<int32_t> Exporter::shape(ir::ValueId id, Layout layout) const {
  const Shape& s = *graph_.value(id).shape;
  if (layout == Layout::kNhwc) return narrow(Shape{s[0], s[2], s[3], s[1]});
  return narrow(s);
}

std::string Exporter::fresh(const std::string& stem) {
  std::string name = stem;
  for (int i = 1; !names_.insert(name).second; ++i) name = fmt::format("{}~{}", stem, i);
  return name;
}

uint32_t Exporter::add(XOp op) {
  op.tensor.name = op.name;
  if (op.tensor.dtype.empty()) op.tensor.dtype = "FLOAT32";
  model_.ops.push_back(std::move(op));
  return static_cast<uint32_t>(model_.ops.size() - 1);
}

Attributes Exporter::fix_attributes(const QuantParams& params) {
  return {{"fix_point", static_cast<int32_t>(params.fix_point())},
          {"bit_width", static_cast<int32_t>(params.bits)},
          {"if_signed", params.dtype != DType::kU8 && params.dtype != DType::kU16},
          {"round_mode", std::string("DPU_ROUND")}};
}

uint32_t Exporter::add_const_op(const std::string& name, const Tensor& real,
                                const std::vector<int32_t>& dims) {
  XOp op;
  op.name = name;
  op.type = "const";
  op.tensor.dtype = xir_type_of(real.dtype());
  op.tensor.shape = dims;
  if (dims.empty()) {  // libxir has no scalars
    op.tensor.shape = {1};
    op.attributes["tandem.scalar"] = true;
  }
  if (real.dtype() == DType::kBool || real.dtype() == DType::kBF16)
    op.attributes["tandem.dtype"] = std::string(to_string(real.dtype()));
  op.attributes["shape"] = op.tensor.shape;
  op.attributes["data_type"] = op.tensor.dtype;
  op.attributes["data"] = Blob{std::string(reinterpret_cast<const char*>(real.data()), real.size_bytes())};
  return add(std::move(op));
}

uint32_t Exporter::add_constant(const std::string& stem, const Tensor& stored, const ir::Value& like) {
  // The value's own name is reserved for the first of its forms.
  const bool own = names_.count(stem) > 0 && taken_.insert(stem).second;
  const std::string name = own ? stem : fresh(stem);
  const std::vector<int32_t> dims = narrow(stored.shape());
  if (!like.quant) return add_const_op(name, stored, dims);
  const uint32_t from = add_const_op(name, dequantize(stored, *like.quant), dims);
  XOp fix;
  fix.name = fresh(name + "_fix");
  fix.type = "fix";
  fix.arguments = {{"input", {from}}};
  fix.attributes = fix_attributes(*like.quant);
  fix.tensor.shape = model_.ops[from].tensor.shape;
  return add(std::move(fix));
}

uint32_t Exporter::add_number(const std::string& stem, float number) {
  return add_const_op(fresh(stem), Tensor::of<float>(Shape{1}, {number}), {1});
}

uint32_t Exporter::constant_form(ir::ValueId id, Layout layout) {
  const ir::Value& value = graph_.value(id);
  if (layout == Layout::kPlain) return add_constant(value.name, *value.constant, value);
  return add_constant(value.name, to_nhwc(*value.constant), value);
}

uint32_t Exporter::add_transpose(uint32_t from, const std::string& stem, const std::vector<int32_t>& order) {
  XOp op;
  op.name = fresh(stem);
  op.type = "transpose";
  op.arguments = {{"input", {from}}};
  op.attributes["order"] = order;
  for (const int32_t axis : order)
    op.tensor.shape.push_back(model_.ops[from].tensor.shape[static_cast<size_t>(axis)]);
  op.tensor.dtype = model_.ops[from].tensor.dtype;
  return add(std::move(op));
}

uint32_t Exporter::plain(ir::ValueId id) {
  Forms& forms = forms_[index_of(id)];
  if (!forms.plain) {
    forms.plain = value(id).is_constant()
                      ? constant_form(id, Layout::kPlain)
                      : add_transpose(*forms.nhwc, value(id).name + ".nchw", {0, 3, 1, 2});
  }
  return *forms.plain;
}

uint32_t Exporter::nhwc(ir::ValueId id) {
  Forms& forms = forms_[index_of(id)];
  if (!forms.nhwc) {
    forms.nhwc = value(id).is_constant()
                     ? constant_form(id, Layout::kNhwc)
                     : add_transpose(*forms.plain, value(id).name + ".nhwc", {0, 2, 3, 1});
  }
  return *forms.nhwc;
}

void Exporter::add_activation(std::vector<Link>& chain, const ir::Activation& activation) const {
  if (!activation) return;
  Link link;
  link.shape = chain.back().shape;
  link.type = activation.kind == ir::ActivationKind::kRelu   ? "relu"
              : activation.kind == ir::ActivationKind::kClip ? "relu6"
                                                             : "leaky-relu";
  if (activation.kind == ir::ActivationKind::kLeakyRelu) link.attributes["alpha"] = activation.alpha;
  chain.push_back(std::move(link));
}

Attributes Exporter::kept_attributes() const {
  Attributes attributes;
  for (const auto& [name, json] : kept_[node_->name].members()) {
    if (const std::optional<Attribute> attribute = from_json(json)) attributes[name] = *attribute;
  }
  return attributes;
}

Status Exporter::finish(std::vector<Link> chain, Layout layout) {
  const ir::ValueId id = node_->outputs[0];
  const ir::Value& made = value(id);
  const std::vector<int32_t> wanted = shape(id, layout);
  if (chain.back().shape.empty()) chain.back().shape = wanted;
  if (made.quant) chain.push_back({"fix", {}, fix_attributes(*made.quant), wanted});
  uint32_t last = 0;
  for (size_t i = 0; i < chain.size(); ++i) {
    Link& link = chain[i];
    XOp op;
    op.type = link.type;
    op.arguments = std::move(link.arguments);
    op.attributes = std::move(link.attributes);
    op.tensor.shape = link.shape.empty() ? wanted : link.shape;
    if (i > 0) {
      if (!op.arguments.empty() && op.arguments[0].name == "input")
        op.arguments[0].ops.insert(op.arguments[0].ops.begin(), last);
      else
        op.arguments.push_back({"input", {last}});
    }
    const bool ends = i + 1 == chain.size();
    if (ends)
      op.name = made.name;
    else if (i == 0)
      op.name = fresh(node_->name.empty() || node_->name == made.name ? made.name + ".op" : node_->name);
    else
      op.name = fresh(made.name + "." + link.type);
    if (i == 0) {
      for (auto& [name, attribute] : kept_attributes()) op.attributes.emplace(name, attribute);
      if (op.name != node_->name) op.attributes["tandem.node"] = node_->name;
    }
    last = add(std::move(op));
  }
  Forms& forms = forms_[index_of(id)];
  (layout == Layout::kNhwc ? forms.nhwc : forms.plain) = last;
  return {};
}

Status Exporter::finish_fix(Layout layout) {
  const ir::ValueId id = node_->outputs[0];
  XOp fix;
  fix.name = value(id).name;
  fix.type = "fix";
  fix.arguments = {{"input", {form(node_->inputs[0], layout)}}};
  fix.attributes = fix_attributes(*value(id).quant);
  fix.tensor.shape = shape(id, layout);
  if (fix.name != node_->name) fix.attributes["tandem.node"] = node_->name;
  const uint32_t made = add(std::move(fix));
  Forms& forms = forms_[index_of(id)];
  (layout == Layout::kNhwc ? forms.nhwc : forms.plain) = made;
  return {};
}

Status Exporter::alias(std::optional<uint32_t> plain_form, std::optional<uint32_t> nhwc_form) {
  const ir::ValueId id = node_->outputs[0], from = node_->inputs[0];
  if (value(from).quant != value(id).quant) return unsupported("its params change");
  if (graph_.is_output(id)) {
    // The op of an output has its name; an inner value can give its own up.
    const bool inner = value(from).producer != ir::kNoNode && !graph_.is_output(from);
    XOp& op = model_.ops[plain_form ? *plain_form : *nhwc_form];
    if (!inner || op.name != value(from).name) return unsupported("its name is an output's");
    op.name = op.tensor.name = value(id).name;
  }
  forms_[index_of(id)] = {plain_form, nhwc_form};
  return {};
}

Status Exporter::write_own() {
  std::vector<uint32_t> inputs;
  for (const ir::ValueId id : node_->inputs) {
    if (id != ir::kNoValue && !is_in_text(value(id))) inputs.push_back(plain(id));
  }
  const std::string text = text_of(graph_, *node_);
  for (size_t i = 0; i < node_->outputs.size(); ++i) {
    const ir::ValueId id = node_->outputs[i];
    if (id == ir::kNoValue) continue;
    const ir::Value& made = value(id);
    if (made.shape->rank() == 0) {
      return unsupported(fmt::format("'{}' is a scalar, which XIR has not", made.name));
    }
    XOp op;
    op.name = made.quant ? fresh(made.name + ".op") : made.name;
    op.type = own_type(node_->op);
    if (!inputs.empty()) op.arguments = {{"input", inputs}};
    op.tensor.shape = shape(id, Layout::kPlain);
    op.tensor.dtype = xir_type_of(made.dtype);
    op.attributes = {{"shape", op.tensor.shape},
                     {"data_type", op.tensor.dtype},
                     {"tandem.text", text},
                     {"tandem.node", node_->name},
                     {"tandem.output", static_cast<int32_t>(i)}};
    uint32_t last = add(std::move(op));
    if (made.quant) {
      XOp fix;
      fix.name = made.name;
      fix.type = "fix";
      fix.arguments = {{"input", {last}}};
      fix.attributes = fix_attributes(*made.quant);
      fix.tensor.shape = shape(id, Layout::kPlain);
      last = add(std::move(fix));
    }
    forms_[index_of(id)].plain = last;
  }
  return {};
}

Status Exporter::write_opaque(const ir::Opaque& opaque) {
  const auto texts = [&](const char* key) {
    const auto found = opaque.attributes.find(key);
    const auto* list =
        found == opaque.attributes.end() ? nullptr : std::get_if<std::vector<std::string>>(&found->second);
    return list == nullptr ? std::vector<std::string>() : *list;
  };
  const std::vector<std::string> names = texts("xir.arguments");
  if (names.size() != node_->inputs.size() || node_->outputs.size() != 1)
    return unsupported("it has lost the names of its inputs");
  Link link;
  link.type = opaque.op_type;
  link.attributes = TANDEM_TRY(from_opaque(opaque.attributes, texts("xir.types")));
  for (size_t i = 0; i < names.size(); ++i) {
    auto found = std::find_if(link.arguments.begin(), link.arguments.end(),
                              [&](const XArgument& a) { return a.name == names[i]; });
    if (found == link.arguments.end()) found = link.arguments.insert(found, {names[i], {}});
    found->ops.push_back(plain(node_->inputs[i]));
  }
  return finish({std::move(link)}, Layout::kPlain);
}

Status Exporter::check_values() const {
  for (const ir::Value& value : graph_.values()) {
    if (value.quant && value.quant->scheme != Scheme::kPow2) {
      return unsupported(fmt::format("value '{}' is quantized as {}", value.name, value.quant->to_string()))
          .because("XIR has scales that are powers of two only")
          .hint("quantize the model with --scheme pow2");
    }
    if (!value.shape || !value.shape->is_static()) {
      return unsupported(fmt::format("value '{}' has shape {}", value.name,
                                     value.shape ? value.shape->to_string() : "unknown"))
          .because("XIR has static shapes only");
    }
    for (const int64_t d : *value.shape) {
      if (d > INT32_MAX) return unsupported(fmt::format("value '{}' has a dimension of {}", value.name, d));
    }
  }
  return {};
}

Status Exporter::add_inputs() {
  for (const ir::ValueId id : graph_.inputs) {
    const ir::Value& input = value(id);
    if (input.shape->rank() == 0)
      return unsupported(fmt::format("input '{}' is a scalar, which XIR has not", input.name));
    const bool turn = input.shape->rank() == 4 && !is_read_as_nhwc(graph_, id);
    XOp op;
    op.name = input.quant ? fresh(input.name + ".real") : input.name;
    op.type = "data";
    op.tensor.shape = shape(id, turn ? Layout::kNhwc : Layout::kPlain);
    op.tensor.dtype = xir_type_of(input.dtype);
    op.attributes = {{"shape", op.tensor.shape}, {"data_type", op.tensor.dtype}};
    if (turn) op.attributes["tandem.layout"] = std::string("NCHW");
    if (input.dtype == DType::kBool || input.dtype == DType::kBF16)
      op.attributes["tandem.dtype"] = std::string(to_string(input.dtype));
    uint32_t last = add(std::move(op));
    if (input.quant) {
      XOp fix;
      fix.name = input.name;
      fix.type = "fix";
      fix.arguments = {{"input", {last}}};
      fix.attributes = fix_attributes(*input.quant);
      fix.tensor.shape = model_.ops[last].tensor.shape;
      last = add(std::move(fix));
    }
    (turn ? forms_[index_of(id)].nhwc : forms_[index_of(id)].plain) = last;
  }
  return {};
}

void Exporter::finish_model() {
  std::vector<std::string> inputs, outputs, turned;
  for (const ir::ValueId id : graph_.inputs) inputs.push_back(value(id).name);
  for (const ir::ValueId id : graph_.outputs) {
    outputs.push_back(value(id).name);
    const Forms& forms = forms_[index_of(id)];
    if (forms.nhwc && model_.ops[*forms.nhwc].name == value(id).name) turned.push_back(value(id).name);
  }
  model_.name = graph_.name.empty() ? "model" : graph_.name;
  model_.attributes["return_ops"] = outputs;
  model_.attributes["tandem.outputs"] = outputs;
  model_.attributes["tandem.inputs"] = inputs;
  model_.attributes["tandem.producer"] = std::string("Tandem");
  if (!turned.empty()) model_.attributes["tandem.nchw_outputs"] = turned;
  std::map<std::string, std::string> metadata = graph_.metadata;
  metadata.erase(kAttributesKey);
  metadata.erase(kSubgraphsKey);
  if (!metadata.empty()) model_.attributes["tandem.metadata"] = std::move(metadata);
  model_.root.name = "root";
  for (uint32_t i = 0; i < model_.ops.size(); ++i) model_.root.ops.push_back(i);
}

Result<XModel> Exporter::run() {
  const bool open = std::any_of(graph_.inputs.begin(), graph_.inputs.end(), [&](ir::ValueId id) {
    return value(id).shape && !value(id).shape->is_static();
  });
  if (open) graph_ = TANDEM_TRY(ir::bind_batch(graph_, 1));
  TANDEM_TRY(graph_.compact());
  TANDEM_TRY(check_values());
  const auto found = graph_.metadata.find(kAttributesKey);
  if (found != graph_.metadata.end()) kept_ = Json::parse(found->second).value_or(Json());
  for (const ir::Value& value : graph_.values()) names_.insert(value.name);
  forms_.resize(graph_.values().size());
  TANDEM_TRY(add_inputs());
  for (const ir::NodeId id : TANDEM_TRY(ir::topological_order(graph_))) {
    node_ = &graph_.node(id);
    Status written = export_node(*this);
    if (!written.ok() && written.error().code() == ErrorCode::kUnsupported) written = write_own();
    TANDEM_TRY(
        std::move(written).context(fmt::format("node '{}' ({})", node_->name, ir::describe(node_->op))));
  }
  finish_model();
  return std::move(model_);
}

Result<XModel> export_model(const ir::Graph& graph) { return Exporter(graph).run(); }

Result<std::string> to_bytes(const ir::Graph& graph) {
  const XModel model = TANDEM_TRY(export_model(graph).context("writing an XIR model"));
  return write_xmodel(model);
}

Status save(const ir::Graph& graph, const std::string& path) {
  const std::string bytes = TANDEM_TRY(to_bytes(graph).context(fmt::format("cannot write '{}'", path)));
  return write_file(path, bytes);
}

}  // namespace tandem::xir_io
