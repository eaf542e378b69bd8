// SPDX-License-Identifier: Apache-2.0
// What all ops of an import share: layouts, constants, params, placement.
#include "tandem/xir_io/import.hpp"

#include <algorithm>
#include <cstring>

#include "tandem/base/file.hpp"
#include "tandem/base/hash.hpp"
#include "tandem/base/text.hpp"
#include "tandem/ir/ops/rules.hpp"
#include "tandem/ir/verify.hpp"
#include "tandem/xir_io/helper.hpp"
#include "tandem/xir_io/opaque_attributes.hpp"

namespace tandem::xir_io {
namespace {

// "FLOAT32", "float32", "INT64", "XINT8": the element type as it is stored.
std::optional<DType> dtype_from(std::string_view name) {
  std::string lower = to_lower(name);
  if (lower.starts_with("x")) lower.erase(0, 1);
  static const std::map<std::string, DType> known = {
      {"float32", DType::kF32}, {"float64", DType::kF64}, {"float16", DType::kF16}, {"int8", DType::kI8},
      {"uint8", DType::kU8},    {"int16", DType::kI16},   {"uint16", DType::kU16},  {"int32", DType::kI32},
      {"uint32", DType::kU32},  {"int64", DType::kI64},   {"uint64", DType::kU64}};
  const auto found = known.find(lower);
  return found == known.end() ? std::nullopt : std::optional<DType>(found->second);
}

Result<Tensor> tensor_of(const XOp& op, std::string_view bytes) {
  const std::string* own = find<std::string>(op.attributes, "tandem.dtype");
  const std::optional<DType> dtype = own != nullptr ? dtype_from_string(*own) : dtype_from(op.tensor.dtype);
  if (!dtype) return unsupported(fmt::format("elements of type {} are not known", op.tensor.dtype));
  Shape shape(std::vector<int64_t>(op.tensor.shape.begin(), op.tensor.shape.end()));
  if (find<bool>(op.attributes, "tandem.scalar") != nullptr) shape = Shape{};
  const int64_t elements = TANDEM_TRY(shape.checked_elements());
  if (static_cast<uint64_t>(elements) * size_of(*dtype) != bytes.size()) {
    return bad_input(fmt::format("constant '{}' has {} bytes", op.name, bytes.size()))
        .because(fmt::format("{} of {} need {}", shape.to_string(), op.tensor.dtype,
                             static_cast<uint64_t>(elements) * size_of(*dtype)));
  }
  Tensor tensor = TANDEM_TRY(Tensor::make(*dtype, std::move(shape)));
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

// Numbers inside names count as numbers: input_2 before input_10.
bool natural_less(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      size_t p = i, q = j;
      while (p < a.size() && digit(a[p])) ++p;
      while (q < b.size() && digit(b[q])) ++q;
      std::string_view x = a.substr(i, p - i), y = b.substr(j, q - j);
      while (x.size() > 1 && x[0] == '0') x.remove_prefix(1);
      while (y.size() > 1 && y[0] == '0') y.remove_prefix(1);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      i = p;
      j = q;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

// Attributes that the mapping of ops to nodes reads itself.
bool is_mapped_attribute(std::string_view name) {
  static constexpr std::array<std::string_view, 31> kNames = {
      "kernel", "stride",      "dilation",  "pad",       "pad_mode",          "shape",
      "data",   "data_type",   "axis",      "keep_dims", "fix_point",         "bit_width",
      "order",  "round_mode",  "if_signed", "alpha",     "nonlinear",         "transpose_a",
      "device", "transpose_b", "mode",      "global",    "count_include_pad", "count_include_invalid",
      "begin",  "end",         "strides",   "type",      "start_axis",        "end_axis",
      "scale"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() || name.starts_with("tandem.");
}

struct ToJson {
  Json operator()(bool v) const { return v; }
  Json operator()(int32_t v) const { return int64_t{v}; }
  Json operator()(uint32_t v) const { return v; }
  Json operator()(int64_t v) const { return v; }
  Json operator()(uint64_t v) const { return v; }
  Json operator()(float v) const { return v; }
  Json operator()(double v) const { return v; }
  Json operator()(const std::string& v) const { return v; }
  // What is not text stays in the file: a digest tells two apart.
  Json operator()(const Blob& v) const {
    return fmt::format("{} bytes, sha256 {}", v.bytes.size(), sha256_hex(v.bytes).substr(0, 16));
  }
  template <typename T>
  Json operator()(const std::vector<T>& v) const {
    Json list = Json::array();
    for (const T& item : v) list.push((*this)(item));
    return list;
  }
  template <typename T>
  Json operator()(const std::map<std::string, T>& v) const {
    Json object = Json::object();
    for (const auto& [key, item] : v) object.set(key, (*this)(item));
    return object;
  }
};

Json to_json(const Attribute& attribute) { return std::visit(ToJson(), attribute); }

Json to_json(const XModel& model, const XSubgraph& subgraph) {
  Json json = Json::object({{"name", subgraph.name}});
  Json attributes = Json::object(), ops = Json::array(), children = Json::array();
  for (const auto& [name, value] : subgraph.attributes) attributes.set(name, to_json(value));
  for (const uint32_t index : subgraph.ops) ops.push(model.ops[index].name);
  for (const XSubgraph& child : subgraph.children) children.push(to_json(model, child));
  json.set("attributes", std::move(attributes));
  if (ops.size() > 0) json.set("ops", std::move(ops));
  if (children.size() > 0) json.set("children", std::move(children));
  return json;
}

std::string round_mode(const XOp& op) {
  const auto* mode = find<std::string>(op.attributes, "round_mode");
  return mode == nullptr ? "DPU_ROUND" : *mode;
}

const std::vector<int64_t> kToNchw = {0, 3, 1, 2};
const std::vector<int64_t> kToNhwc = {0, 2, 3, 1};

Tensor permuted(const Tensor& from, const std::vector<int64_t>& perm) {
  std::vector<int64_t> dims;
  for (const int64_t axis : perm) dims.push_back(from.shape()[static_cast<size_t>(axis)]);
  Tensor to(from.dtype(), Shape(dims));
  const std::vector<int64_t> strides = from.shape().strides();
  const size_t width = size_of(from.dtype());
  std::vector<int64_t> at(dims.size(), 0);
  for (int64_t i = 0; i < to.elements(); ++i) {
    int64_t source = 0;
    for (size_t d = 0; d < dims.size(); ++d) source += at[d] * strides[static_cast<size_t>(perm[d])];
    std::memcpy(to.data() + static_cast<size_t>(i) * width, from.data() + static_cast<size_t>(source) * width,
                width);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
  return to;
}

std::string maker_of(const XModel& model, FileKind kind) {
  std::string compiler, device;
  if (const auto* libs = find<std::map<std::string, std::string>>(model.attributes, "libs_info")) {
    for (const auto& [name, value] : *libs) {
      if (name.starts_with("xcompiler")) compiler = name;
    }
  }
  for (const XSubgraph& child : model.root.children) {
    if (const auto* name = find<std::string>(child.attributes, "dpu_name")) device = *name;
  }
  if (kind == FileKind::kCompiled) {
    return fmt::format("Vitis AI compiler{}{}", compiler.empty() ? "" : " " + compiler,
                       device.empty() ? "" : " for " + device);
  }
  if (const auto* own = find<std::string>(model.attributes, "tandem.producer")) return *own;
  return kind == FileKind::kQuantized ? "Vitis AI quantizer" : "XIR";
}

}  // namespace

std::string_view to_string(FileKind kind) {
  switch (kind) {
    case FileKind::kFloat: return "float";
    case FileKind::kQuantized: return "quantized";
    case FileKind::kCompiled: return "compiled";
  }
  return "?";
}

Result<QuantParams> params_from(const Attributes& attributes) {
  const auto* fix_point = find<int32_t>(attributes, "fix_point");
  const auto* bits = find<int32_t>(attributes, "bit_width");
  if (fix_point == nullptr || bits == nullptr)
    return unsupported("it has no fix_point and bit_width of type int32");
  const auto* sign = find<bool>(attributes, "if_signed");
  const bool is_signed = sign == nullptr || *sign;
  if (*bits < 1 || *bits > 32 || *fix_point < -100 || *fix_point > 100 || (*bits > 16 && !is_signed)) {
    return unsupported(fmt::format("fix_point {} with {} bits is out of range", *fix_point, *bits));
  }
  const DType dtype = *bits <= 8    ? (is_signed ? DType::kI8 : DType::kU8)
                      : *bits <= 16 ? (is_signed ? DType::kI16 : DType::kU16)
                                    : DType::kI32;
  return QuantParams::pow2(*fix_point, dtype, *bits);
}

Result<std::vector<int64_t>> pair_of(const XOp& op, std::string_view name, std::optional<int32_t> fallback) {
  const auto* values = find<std::vector<int32_t>>(op.attributes, name);
  if (values == nullptr && fallback) return std::vector<int64_t>{*fallback, *fallback};
  if (values == nullptr || values->size() != 2)
    return unsupported(fmt::format("its attribute '{}' is no pair of numbers", name));
  return std::vector<int64_t>{(*values)[1], (*values)[0]};
}

const std::vector<uint32_t>& Importer::argument(const XOp& op, std::string_view name) const {
  static const std::vector<uint32_t> none;
  const XArgument* found = op.argument(name);
  return found == nullptr ? none : found->ops;
}

Result<uint32_t> Importer::only(const XOp& op, std::string_view name) const {
  const std::vector<uint32_t>& ops = argument(op, name);
  if (ops.size() != 1) return unsupported(fmt::format("it has {} inputs '{}'", ops.size(), name));
  return ops[0];
}

Shape Importer::shape_of(uint32_t index, Layout layout) const {
  const std::vector<int32_t>& s = op(index).tensor.shape;
  if (layout == Layout::kNchw) return Shape{s[0], s[3], s[1], s[2]};
  return Shape(std::vector<int64_t>(s.begin(), s.end()));
}

std::optional<QuantParams> Importer::params_of(const XOp& op) const {
  if (!op.tensor.dtype.starts_with("X")) return std::nullopt;
  Result<QuantParams> params = params_from(op.tensor.attributes);
  return params.ok() ? std::optional<QuantParams>(std::move(params).value()) : std::nullopt;
}

ir::ValueId Importer::transposed(ir::ValueId from, const std::string& name, std::vector<int64_t> perm) {
  const ir::Value& source = graph_.value(from);
  if (source.is_constant())
    return graph_.add_constant(name, std::make_shared<const Tensor>(permuted(*source.constant, perm)),
                               source.quant);
  std::vector<int64_t> dims;
  for (const int64_t axis : perm) dims.push_back((*source.shape)[static_cast<size_t>(axis)]);
  ir::Value value;
  value.name = name;
  value.dtype = source.dtype;
  value.shape = Shape(std::move(dims));
  value.quant = source.quant;
  const ir::ValueId to = graph_.add_value(std::move(value));
  ir::Node node;
  node.name = graph_.value(to).name;
  node.op = ir::Transpose{.perm = std::move(perm)};
  node.inputs = {from};
  node.outputs = {to};
  graph_.add_node(std::move(node));
  return to;
}

ir::ValueId Importer::add_constant(const std::string& name, Tensor tensor, std::optional<QuantParams> quant) {
  return graph_.add_constant(name, std::make_shared<const Tensor>(std::move(tensor)), std::move(quant));
}

ir::ValueId Importer::integers(const XOp& op, const char* stem, const std::vector<int64_t>& values) {
  return add_constant(op.name + "." + stem,
                      Tensor::of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values));
}

ir::ValueId Importer::file_form(uint32_t index) {
  Forms& forms = forms_[index];
  if (forms.file != ir::kNoValue) return forms.file;
  if (const auto found = constants_.find(index); found != constants_.end()) {
    forms.file = graph_.add_constant(found->second.name, found->second.tensor, found->second.quant);
  } else {
    forms.file = transposed(forms.nchw, graph_.value(forms.nchw).name + ".nhwc", kToNhwc);
  }
  return forms.file;
}

ir::ValueId Importer::nchw_form(uint32_t index) {
  Forms& forms = forms_[index];
  if (forms.nchw != ir::kNoValue) return forms.nchw;
  if (const auto found = constants_.find(index); found != constants_.end() && forms.file == ir::kNoValue) {
    forms.nchw = graph_.add_constant(found->second.name,
                                     std::make_shared<const Tensor>(permuted(*found->second.tensor, kToNchw)),
                                     found->second.quant);
  } else {
    forms.nchw = transposed(forms.file, graph_.value(forms.file).name + ".nchw", kToNchw);
  }
  return forms.nchw;
}

Result<Importer::Constant> Importer::constant(uint32_t index) const {
  const auto found = constants_.find(index);
  if (found == constants_.end())
    return unsupported(fmt::format("'{}' ({}) is no constant", op(index).name, op(index).type));
  return found->second;
}

ir::Node* Importer::producer_of(uint32_t index) {
  const Forms& forms = forms_[index];
  const ir::ValueId id = forms.nchw != ir::kNoValue ? forms.nchw : forms.file;
  if (id == ir::kNoValue || graph_.value(id).producer == ir::kNoNode) return nullptr;
  return &graph_.node(graph_.value(id).producer);
}

bool Importer::unseen(uint32_t index) const {
  if (readers_[index] != 1 || std::find(outputs_.begin(), outputs_.end(), index) != outputs_.end())
    return false;
  const auto source = alias_of_.find(index);
  return source == alias_of_.end() || unseen(source->second);
}

void Importer::alias_forms(uint32_t index, uint32_t source, ir::ValueId file, ir::ValueId nchw) {
  forms_[index] = {file, nchw};
  alias_of_[index] = source;
}

void Importer::alias(uint32_t index, uint32_t source, bool rename) {
  alias_forms(index, source, forms_[source].file, forms_[source].nchw);
  const std::string& name = op(index).tensor.name;
  const Forms& forms = forms_[index];
  const ir::ValueId id = forms.nchw != ir::kNoValue ? forms.nchw : forms.file;
  if (rename && graph_.find_value(name) == ir::kNoValue) graph_.rename(id, name);
}

Status Importer::emit(uint32_t index, ir::Op made, std::vector<ir::ValueId> inputs, Layout layout) {
  const XOp& source = op(index);
  std::vector<ir::InputInfo> infos;
  for (const ir::ValueId id : inputs) {
    ir::InputInfo info;
    if (id != ir::kNoValue) {
      const ir::Value& value = graph_.value(id);
      info = {true, true, value.dtype, value.shape, value.quant ? nullptr : value.constant.get(), {}};
      if (info.constant != nullptr && info.constant->dtype() == DType::kI64 &&
          info.constant->shape().rank() <= 1)
        info.ints = *to_int64s(*info.constant);
    }
    infos.push_back(std::move(info));
  }
  auto inferred = ir::infer(made, infos, 1);
  if (!inferred.ok()) return unsupported(inferred.error().what());
  const Shape expected = shape_of(index, layout);
  if ((*inferred)[0].shape && *(*inferred)[0].shape != expected) {
    return unsupported(fmt::format("its result has shape {} by the rules of its operator",
                                   (*inferred)[0].shape->to_string()))
        .because(fmt::format("the file says {}", expected.to_string()));
  }
  ir::Value value;
  value.name = source.tensor.name;
  value.dtype = (*inferred)[0].dtype;
  value.shape = expected;
  value.quant = params_of(source);
  const ir::ValueId id = graph_.add_value(std::move(value));
  ir::Node node;
  const std::string* own = find<std::string>(source.attributes, "tandem.node");
  node.name = own != nullptr ? *own : source.name;
  node.op = std::move(made);
  node.inputs = std::move(inputs);
  node.outputs = {id};
  node_of_[index] = node.name;
  graph_.add_node(std::move(node));
  (layout == Layout::kNchw ? forms_[index].nchw : forms_[index].file) = id;
  return {};
}

Status Importer::import_const(uint32_t index) {
  const XOp& source = op(index);
  const Blob* data = find<Blob>(source.attributes, "data");
  std::string_view bytes = data == nullptr ? std::string_view() : std::string_view(data->bytes);
  Constant made;
  if (source.type == "const-fix") {
    made.quant = params_of(source);
    if (!made.quant) return unsupported("its tensor does not say how it is quantized");
    if (bytes.empty()) {  // the compiler has moved them into the subgraph's parameters
      const auto* address = find<int32_t>(source.tensor.attributes, "ddr_addr");
      const auto found = parameters_.find(index);
      const int64_t elements = TANDEM_TRY(shape_of(index, Layout::kFile).checked_elements());
      const uint64_t length = static_cast<uint64_t>(elements) * size_of(made.quant->dtype);
      if (address == nullptr || found == parameters_.end() || *address < 0 ||
          static_cast<uint64_t>(*address) > found->second.size() ||
          length > found->second.size() - static_cast<uint64_t>(*address)) {
        return unsupported("its values are neither in the op nor in the plain parameters of its subgraph");
      }
      bytes = found->second.substr(static_cast<size_t>(*address), length);
    }
  }
  made.tensor = std::make_shared<const Tensor>(TANDEM_TRY(tensor_of(source, bytes)));
  if (made.quant && made.tensor->dtype() != made.quant->dtype)
    return unsupported("its tensor's type and params disagree");
  made.name = source.tensor.name;
  constants_[index] = std::move(made);
  return {};
}

Status Importer::import_data(uint32_t index) {
  const XOp& source = op(index);
  const auto* own = find<std::string>(source.attributes, "tandem.dtype");
  const std::optional<DType> dtype =
      own != nullptr ? dtype_from_string(*own) : dtype_from(source.tensor.dtype);
  if (!dtype)
    return bad_input(fmt::format("input '{}' has elements of type {}", source.name, source.tensor.dtype));
  const auto* layout = find<std::string>(source.attributes, "tandem.layout");
  const bool nchw = layout != nullptr && *layout == "NCHW" && rank4(index);
  ir::Value value;
  value.name = source.tensor.name;
  value.quant = params_of(source);
  value.dtype = value.quant ? DType::kF32 : *dtype;
  value.shape = shape_of(index, nchw ? Layout::kNchw : Layout::kFile);
  (nchw ? forms_[index].nchw : forms_[index].file) = graph_.add_input(std::move(value));
  return {};
}

Status Importer::import_fix(uint32_t index) {
  const XOp& source = op(index);
  const uint32_t input = TANDEM_TRY(only(source, "input"));
  const QuantParams params = TANDEM_TRY(params_from(source.attributes));
  if (const auto found = constants_.find(input); found != constants_.end() && !found->second.quant) {
    const Tensor& real = *found->second.tensor;
    if (real.dtype() != DType::kF32) return unsupported("it quantizes a constant that is not f32");
    QuantParams rounding = params;  // a constant was rounded by the quantizer, in its way
    if (round_mode(source) == "PY3_ROUND") rounding.scheme = Scheme::kAffine;
    // The pair is one constant here; it has the name of the const op.
    constants_[index] = {std::make_shared<const Tensor>(quantize(real, rounding)), params, op(input).name};
    return {};
  }
  if (round_mode(source) != "DPU_ROUND" && !told_rounding_) {
    told_rounding_ = true;
    notice(fmt::format(
        "'{}' and perhaps others were quantized with {}; here they round as the DPU does, half up",
        source.name, round_mode(source)));
  }
  const Forms forms = forms_[input];
  const bool one_form = (forms.file == ir::kNoValue) != (forms.nchw == ir::kNoValue);
  if (one_form && unseen(input)) {
    ir::Value& value = graph_.value(forms.nchw != ir::kNoValue ? forms.nchw : forms.file);
    if (value.producer != ir::kNoNode && !value.quant && value.dtype == DType::kF32) {
      value.quant = params;
      alias(index, input, true);
      return {};
    }
  }
  const Layout layout = forms.nchw != ir::kNoValue ? Layout::kNchw : Layout::kFile;
  const ir::ValueId from = layout == Layout::kNchw ? nchw_form(input) : file_form(input);
  TANDEM_TRY(emit(index, ir::Requantize{}, {from}, layout));
  graph_.value(layout == Layout::kNchw ? forms_[index].nchw : forms_[index].file).quant = params;
  return {};
}

Status Importer::make_opaque(uint32_t index, const std::string& reason) {
  const XOp& source = op(index);
  ir::Opaque opaque;
  opaque.domain = "xir";
  opaque.op_type = source.type;
  std::vector<std::string> names, types;
  std::vector<ir::ValueId> inputs;
  for (const XArgument& argument : source.arguments) {
    for (const uint32_t input : argument.ops) {
      names.push_back(argument.name);
      inputs.push_back(file_form(input));
    }
  }
  opaque.attributes = to_opaque(source.attributes, types);
  if (!names.empty()) opaque.attributes["xir.arguments"] = names;
  if (!types.empty()) opaque.attributes["xir.types"] = types;
  ir::Value value;
  value.name = source.tensor.name;
  value.quant = params_of(source);
  const std::optional<DType> dtype = dtype_from(source.tensor.dtype);
  value.dtype = value.quant ? DType::kF32 : dtype.value_or(DType::kF32);
  value.shape = shape_of(index, Layout::kFile);
  const ir::ValueId id = graph_.add_value(std::move(value));
  ir::Node node;
  node.name = source.name;
  node.op = std::move(opaque);
  node.inputs = std::move(inputs);
  node.outputs = {id};
  graph_.add_node(std::move(node));
  forms_[index].file = id;
  node_of_[index] = source.name;
  report_.opaque_ops.push_back(fmt::format("xir::{} (node '{}'): {}", source.type, source.name, reason));
  return {};
}

Status Importer::import_op(uint32_t index) {
  const XOp& source = op(index);
  const ImportFunction import = find_importer(source.type);
  if (import == nullptr) return make_opaque(index, "no operator of that type is known");
  const Status done = import(*this, index);
  if (done.ok()) {
    keep_attributes(index);
    return {};
  }
  if (done.error().code() != ErrorCode::kUnsupported) return done;
  std::string reason = done.error().what();
  if (!done.error().because_text().empty()) reason += ", but " + done.error().because_text();
  return make_opaque(index, reason);
}

void Importer::keep_attributes(uint32_t index) {
  const auto node = node_of_.find(index);
  if (node == node_of_.end()) return;
  Json kept = Json::object();
  for (const auto& [name, value] : op(index).attributes) {
    if (!is_mapped_attribute(name)) kept.set(name, to_json(value));
  }
  if (kept.size() > 0) kept_[node->second] = std::move(kept);
}

Status Importer::check_shapes() const {
  for (const XOp& source : model_.ops) {
    const Shape shape(std::vector<int64_t>(source.tensor.shape.begin(), source.tensor.shape.end()));
    for (const int64_t d : shape) {
      if (d < 0) return bad_input(fmt::format("op '{}' has shape {}", source.name, shape.to_string()));
    }
    TANDEM_TRY(ir::rules::check_size(shape).context(fmt::format("op '{}'", source.name)));
  }
  return {};
}

void Importer::collect_outputs() {
  readers_.assign(model_.ops.size(), 0);
  for (const XOp& source : model_.ops) {
    for (const XArgument& argument : source.arguments) {
      for (const uint32_t input : argument.ops) ++readers_[input];
    }
  }
  std::map<std::string_view, uint32_t> by_name;
  for (uint32_t i = 0; i < model_.ops.size(); ++i) {
    by_name.emplace(op(i).tensor.name, i);
    by_name[op(i).name] = i;
  }
  for (const char* key : {"tandem.outputs", "return_ops"}) {
    const auto* names = find<std::vector<std::string>>(model_.attributes, key);
    if (names == nullptr || !outputs_.empty()) continue;
    for (const std::string& name : *names) {
      const auto found = by_name.find(name);
      if (found == by_name.end()) continue;
      // In a compiled file what is behind the returned tensor (its conversion to float) is what a user gets.
      if (readers_[found->second] == 0)
        outputs_.push_back(found->second);
      else if (std::string_view(key) == "tandem.outputs" || report_.kind != FileKind::kCompiled)
        outputs_.push_back(found->second);
    }
  }
  std::vector<uint32_t> tails;
  for (uint32_t i = 0; i < model_.ops.size(); ++i) {
    if (readers_[i] == 0 && std::find(outputs_.begin(), outputs_.end(), i) == outputs_.end())
      tails.push_back(i);
  }
  std::stable_sort(tails.begin(), tails.end(), [&](uint32_t a, uint32_t b) {
    return natural_less(op(a).tensor.name, op(b).tensor.name);
  });
  if (outputs_.empty() || report_.kind == FileKind::kCompiled)
    outputs_.insert(outputs_.end(), tails.begin(), tails.end());
}

Status Importer::choose_outputs() {
  const auto* nchw = find<std::vector<std::string>>(model_.attributes, "tandem.nchw_outputs");
  std::set<ir::ValueId> used;
  for (const uint32_t index : outputs_) {
    const bool wanted = nchw != nullptr && rank4(index) &&
                        std::find(nchw->begin(), nchw->end(), op(index).name) != nchw->end();
    ir::ValueId id = wanted ? nchw_form(index) : file_form(index);
    const bool inner = graph_.value(id).is_constant() || !used.insert(id).second;
    if (inner) return unsupported(fmt::format("output '{}' is a constant, or given twice", op(index).name));
    const std::string& name = op(index).tensor.name;
    if (graph_.value(id).name != name && graph_.value(id).producer != ir::kNoNode) {
      // The other layout of the same result has the name so far.
      const ir::ValueId holder = graph_.find_value(name);
      if (holder != ir::kNoValue) graph_.rename(holder, name + (wanted ? ".inner_nhwc" : ".inner"));
      graph_.rename(id, name);
    }
    graph_.outputs.push_back(id);
  }
  std::vector<std::string> order;
  if (const auto* names = find<std::vector<std::string>>(model_.attributes, "tandem.inputs")) order = *names;
  const auto place = [&](ir::ValueId id) {
    return std::find(order.begin(), order.end(), graph_.value(id).name) - order.begin();
  };
  std::stable_sort(graph_.inputs.begin(), graph_.inputs.end(), [&](ir::ValueId a, ir::ValueId b) {
    if (place(a) != place(b)) return place(a) < place(b);
    return natural_less(graph_.value(a).name, graph_.value(b).name);
  });
  return {};
}

void Importer::read_parameters(const XSubgraph& subgraph) {
  const auto* registers = find<std::map<std::string, Blob>>(subgraph.attributes, "reg_id_to_parameter_value");
  const auto* device = find<std::string>(subgraph.attributes, "dpu_name");
  // Other DPUs have their weights in an order of their own.
  if (registers != nullptr && registers->count("REG_0") > 0 && device != nullptr &&
      device->starts_with("DPUCZDX8G")) {
    std::vector<const XSubgraph*> all{&subgraph};
    for (size_t i = 0; i < all.size(); ++i) {
      for (const uint32_t index : all[i]->ops) parameters_[index] = registers->at("REG_0").bytes;
      for (const XSubgraph& child : all[i]->children) all.push_back(&child);
    }
  }
  for (const XSubgraph& child : subgraph.children) read_parameters(child);
}

void Importer::keep_placement() {
  if (!kept_.empty()) {
    Json all = Json::object();
    for (auto& [node, attributes] : kept_) all.set(node, std::move(attributes));
    graph_.metadata[kAttributesKey] = all.dump();
  }
  if (model_.root.children.empty()) return;
  graph_.metadata[kSubgraphsKey] = to_json(model_, model_.root).dump();
  std::map<uint32_t, std::string> devices;
  for (const XSubgraph& top : model_.root.children) {
    const auto* device = find<std::string>(top.attributes, "device");
    if (device == nullptr) continue;
    std::vector<const XSubgraph*> all{&top};
    for (size_t i = 0; i < all.size(); ++i) {
      for (const uint32_t index : all[i]->ops) devices[index] = *device;
      for (const XSubgraph& child : all[i]->children) all.push_back(&child);
    }
  }
  for (const auto& [index, node] : node_of_) {
    const auto found = devices.find(index);
    if (found != devices.end()) report_.devices[node] = found->second;
  }
}

Result<LoadedModel> Importer::run() {
  TANDEM_TRY(check_shapes());
  for (const XOp& source : model_.ops) {
    if (source.type == "fix" && report_.kind == FileKind::kFloat) report_.kind = FileKind::kQuantized;
    if (source.type == "fix2float" || source.type == "const-fix") report_.kind = FileKind::kCompiled;
  }
  report_.producer = maker_of(model_, report_.kind);
  report_.content_hash = content_hash(model_);
  report_.notices = model_.notices;
  graph_.name = model_.name;
  if (const auto* metadata = find<std::map<std::string, std::string>>(model_.attributes, "tandem.metadata"))
    graph_.metadata = *metadata;
  forms_.resize(model_.ops.size());
  collect_outputs();
  read_parameters(model_.root);
  for (uint32_t i = 0; i < model_.ops.size(); ++i) {
    TANDEM_TRY(import_op(i).context(fmt::format("importing op '{}' ({})", op(i).name, op(i).type)));
  }
  if (outputs_.empty()) return bad_input("the model has no ops");
  TANDEM_TRY(choose_outputs());
  keep_placement();
  TANDEM_TRY(graph_.compact());
  TANDEM_TRY(ir::infer_shapes(graph_));
  TANDEM_TRY(ir::verify(graph_));
  return LoadedModel{std::move(graph_), std::move(report_)};
}

Result<LoadedModel> import_model(const XModel& model) { return Importer(model).run(); }

Result<LoadedModel> load_model_bytes(std::string_view bytes) {
  const XModel model = TANDEM_TRY(read_xmodel(bytes));
  return import_model(model);
}

Result<LoadedModel> load_model(const std::string& path) {
  const MappedFile file = TANDEM_TRY(MappedFile::open(path));
  return load_model_bytes(file.text()).context(fmt::format("cannot read model '{}'", path));
}

}  // namespace tandem::xir_io
