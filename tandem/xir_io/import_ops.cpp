// SPDX-License-Identifier: Apache-2.0
// How each type of XIR op is read. Types with "-fix" are the compiled forms: the same op on integers, whose
// output tensor says how it is stored.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "tandem/xir_io/dpu_constants.hpp"
#include "tandem/xir_io/import.hpp"

namespace tandem::xir_io {
namespace {

using Layout = Importer::Layout;

std::string text_of(const XOp& op, std::string_view name, std::string_view fallback) {
  const auto* text = find<std::string>(op.attributes, name);
  return text == nullptr ? std::string(fallback) : *text;
}
bool flag_of(const XOp& op, std::string_view name, bool fallback) {
  const auto* flag = find<bool>(op.attributes, name);
  return flag == nullptr ? fallback : *flag;
}
std::vector<int64_t> list_of(const XOp& op, std::string_view name) {
  const auto* list = find<std::vector<int32_t>>(op.attributes, name);
  return list == nullptr ? std::vector<int64_t>() : std::vector<int64_t>(list->begin(), list->end());
}

// Kernel, strides, dilations and pads of {left, right, top, bottom}.
Result<ir::Window> window_of(const XOp& op) {
  ir::Window window;
  window.kernel = TANDEM_TRY(pair_of(op, "kernel"));
  window.strides = TANDEM_TRY(pair_of(op, "stride", 1));
  window.dilations = TANDEM_TRY(pair_of(op, "dilation", 1));
  const std::string mode = text_of(op, "pad_mode", "FLOOR");
  if (mode == "SAME")
    window.auto_pad = ir::AutoPad::kSameUpper;
  else if (mode == "VALID")
    window.auto_pad = ir::AutoPad::kValid;
  else if (mode != "FLOOR" && mode != "CEIL")
    return unsupported(fmt::format("its pad_mode '{}' is not known", mode));
  std::vector<int64_t> pad = list_of(op, "pad");
  if (pad.empty()) pad.assign(4, 0);
  if (pad.size() != 4) return unsupported("its pad does not have four numbers");
  if (window.auto_pad == ir::AutoPad::kExplicit) window.pads = {pad[2], pad[0], pad[3], pad[1]};
  return window;
}

// What a compiled op has fused.
Result<ir::Activation> nonlinear_of(const XOp& op) {
  const std::string kind = text_of(op, "nonlinear", "NONE");
  if (kind == "NONE" || kind.empty()) return ir::Activation{};
  if (kind == "RELU") return ir::Activation{ir::ActivationKind::kRelu};
  if (kind == "RELU6") return ir::Activation{ir::ActivationKind::kClip, 0, 6};
  if (kind == "LEAKYRELU") return ir::Activation{ir::ActivationKind::kLeakyRelu, kDpuLeakySlope};
  return unsupported(fmt::format("its nonlinear {} is not known", kind));
}

struct Weights {
  ir::ValueId w = ir::kNoValue, bias = ir::kNoValue;
};

// Weights in an order of their own, as a new constant.
template <typename F>
Result<ir::ValueId> rearranged(Importer& in, uint32_t index, const Shape& shape, F&& source_of) {
  const Importer::Constant constant = TANDEM_TRY(in.constant(index));
  const Tensor& from = *constant.tensor;
  Tensor to(from.dtype(), shape);
  if (to.elements() != from.elements()) return unsupported("its weights do not fit its inputs");
  const size_t width = size_of(from.dtype());
  for (int64_t i = 0; i < to.elements(); ++i) {
    std::memcpy(to.data() + static_cast<size_t>(i) * width,
                from.data() + static_cast<size_t>(source_of(i)) * width, width);
  }
  return in.add_constant(constant.name, std::move(to), constant.quant);
}

Status conv_inputs_fit(Importer& in, uint32_t x, uint32_t w) {
  if (!in.rank4(x) || !in.rank4(w)) return unsupported("its input or weights do not have four dimensions");
  return {};
}

Status import_conv(Importer& in, uint32_t index) {
  const XOp& op = in.op(index);
  const uint32_t x = TANDEM_TRY(in.only(op, "input"));
  const uint32_t w = TANDEM_TRY(in.only(op, "weights"));
  TANDEM_TRY(conv_inputs_fit(in, x, w));
  ir::Conv conv;
  conv.window = TANDEM_TRY(window_of(op));
  conv.activation = TANDEM_TRY(nonlinear_of(op));
  const std::vector<int32_t>& s = in.op(w).tensor.shape;
  ir::ValueId weights = ir::kNoValue;
  if (op.type.starts_with("depthwise")) {
    // [multiplier, h, w, channels]: output channel c * multiplier + m is made of input channel c.
    const int64_t m = s[0], area = int64_t{s[1]} * s[2], c = s[3];
    conv.group = c;
    const auto source = [=](int64_t i) {
      const int64_t position = i % area, output = i / area;
      return ((output % m) * area + position) * c + output / m;
    };
    weights = TANDEM_TRY(rearranged(in, w, Shape{c * m, 1, s[1], s[2]}, source));
  } else {
    const int64_t channels = in.op(x).tensor.shape[3];
    if (s[3] <= 0 || channels % s[3] != 0) return unsupported("its weights do not fit its input's channels");
    conv.group = channels / s[3];
    weights = in.nchw_form(w);
  }
  std::vector<ir::ValueId> inputs = {in.nchw_form(x), weights};
  if (!in.argument(op, "bias").empty()) inputs.push_back(in.file_form(TANDEM_TRY(in.only(op, "bias"))));
  return in.emit(index, conv, std::move(inputs), Layout::kNchw);
}

// The file's kernel is turned by 180 degrees, and lies as [outputs, h, w, inputs].
Status import_conv_transpose(Importer& in, uint32_t index) {
  const XOp& op = in.op(index);
  const uint32_t x = TANDEM_TRY(in.only(op, "input"));
  const uint32_t w = TANDEM_TRY(in.only(op, "weights"));
  TANDEM_TRY(conv_inputs_fit(in, x, w));
  ir::ConvTranspose conv;
  conv.window = TANDEM_TRY(window_of(op));
  conv.activation = TANDEM_TRY(nonlinear_of(op));
  const std::vector<int32_t>& s = in.op(w).tensor.shape;
  const int64_t o = s[0], h = s[1], wide = s[2], c = s[3], area = h * wide;
  const bool depthwise = op.type.starts_with("transposed-depthwise");
  if (depthwise && o != 1) return unsupported("it has a channel multiplier");
  const auto source = [=](int64_t i) {
    const int64_t position = area - 1 - i % area, output = i / area % o, input = i / area / o;
    return (output * area + position) * c + input;
  };
  if (depthwise) conv.group = c;
  const ir::ValueId weights = TANDEM_TRY(rearranged(in, w, Shape{c, o, h, wide}, source));
  std::vector<ir::ValueId> inputs = {in.nchw_form(x), weights};
  if (!in.argument(op, "bias").empty()) inputs.push_back(in.file_form(TANDEM_TRY(in.only(op, "bias"))));
  return in.emit(index, conv, std::move(inputs), Layout::kNchw);
}

Status import_pool(Importer& in, uint32_t index) {
  const XOp& op = in.op(index);
  const uint32_t x = TANDEM_TRY(in.only(op, "input"));
  if (!in.rank4(x)) return unsupported("its input does not have four dimensions");
  const bool average = op.type == "avgpool2d" || text_of(op, "type", "") == "AVG";
  const ir::PoolKind kind = average ? ir::PoolKind::kAverage : ir::PoolKind::kMax;
  if (flag_of(op, "global", false))
    return in.emit(index, ir::GlobalPool{.kind = kind}, {in.nchw_form(x)}, Layout::kNchw);
  ir::Pool pool;
  pool.kind = kind;
  pool.window = TANDEM_TRY(window_of(op));
  pool.ceil_mode = text_of(op, "pad_mode", "FLOOR") == "CEIL";
  pool.count_include_pad = average && flag_of(op, "count_include_pad", true);
  return in.emit(index, pool, {in.nchw_form(x)}, Layout::kNchw);
}

// The layout in which an op that does not care is computed: NCHW when an input is there already.
Layout layout_for(Importer& in, const std::vector<uint32_t>& inputs) {
  bool any = false;
  for (const uint32_t i : inputs) {
    if (!in.rank4(i)) return Layout::kFile;
    any = any || in.has_nchw(i);
  }
  return any ? Layout::kNchw : Layout::kFile;
}
ir::ValueId form_of(Importer& in, uint32_t index, Layout layout) {
  return layout == Layout::kNchw ? in.nchw_form(index) : in.file_form(index);
}

// Puts an activation into the op before it, when nobody sees what is between.
bool fuse(Importer& in, uint32_t index, uint32_t input, const ir::Activation& activation) {
  ir::Node* node = in.producer_of(input);
  if (node == nullptr || !in.unseen(input) || in.graph().value(node->outputs[0]).quant) return false;
  ir::Activation* slot = nullptr;
  if (auto* conv = std::get_if<ir::Conv>(&node->op)) slot = &conv->activation;
  if (auto* conv = std::get_if<ir::ConvTranspose>(&node->op)) slot = &conv->activation;
  if (auto* gemm = std::get_if<ir::Gemm>(&node->op)) slot = &gemm->activation;
  if (auto* binary = std::get_if<ir::Binary>(&node->op)) slot = &binary->activation;
  if (slot == nullptr || *slot) return false;
  *slot = activation;
  in.alias(index, input, true);
  return true;
}

Status import_unary(Importer& in, uint32_t index) {
  struct Row {
    std::string_view type;
    ir::Unary op;
    ir::Activation activation;  // when it can be fused
  };
  static const std::array<Row, 17> kRows = {{
      {"relu", {ir::UnaryKind::kRelu}, {ir::ActivationKind::kRelu}},
      {"leaky-relu", {ir::UnaryKind::kLeakyRelu}, {ir::ActivationKind::kLeakyRelu}},
      {"sigmoid", {ir::UnaryKind::kSigmoid}, {}},
      {"tanh", {ir::UnaryKind::kTanh}, {}},
      {"hard-sigmoid", {ir::UnaryKind::kHardSigmoid, 1.0f / 6, 0.5f}, {}},
      {"hard-sigmoid-fix", {ir::UnaryKind::kHardSigmoid, 1.0f / 6, 0.5f}, {}},
      {"hard-swish", {ir::UnaryKind::kHardSwish}, {}},
      {"swish", {ir::UnaryKind::kSilu}, {}},
      {"gelu", {ir::UnaryKind::kGelu}, {}},
      {"elu", {ir::UnaryKind::kElu, 1}, {}},
      {"selu", {ir::UnaryKind::kSelu, 1.67326319f, 1.05070102f}, {}},
      {"celu", {ir::UnaryKind::kCelu, 1}, {}},
      {"exp", {ir::UnaryKind::kExp}, {}},
      {"neg", {ir::UnaryKind::kNeg}, {}},
      {"sqrt", {ir::UnaryKind::kSqrt}, {}},
      {"abs", {ir::UnaryKind::kAbs}, {}},
      {"log", {ir::UnaryKind::kLog}, {}},
  }};
  const XOp& op = in.op(index);
  const uint32_t x = TANDEM_TRY(in.only(op, "input"));
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.type == op.type; });
  ir::Unary unary = row->op;
  ir::Activation activation = row->activation;
  if (const auto* alpha = find<float>(op.attributes, "alpha")) unary.alpha = activation.alpha = *alpha;
  if (activation && fuse(in, index, x, activation)) return {};
  const Layout layout = layout_for(in, {x});
  return in.emit(index, unary, {form_of(in, x, layout)}, layout);
}

Status import_relu6(Importer& in, uint32_t index) {
  const XOp& op = in.op(index);
  const uint32_t x = TANDEM_TRY(in.only(op, "input"));
  if (fuse(in, index, x, {ir::ActivationKind::kClip, 0, 6})) return {};
  const Layout layout = layout_for(in, {x});
  const ir::ValueId low = in.add_constant(op.name + ".min", Tensor::scalar<float>(0));
  const ir::ValueId high = in.add_constant(op.name + ".max", Tensor::scalar<float>(6));
  return in.emit(index, ir::Clip{}, {form_of(in, x, layout), low, high}, layout);
}

// A `mul` by the constant that the quantizer writes behind an op which the DPU computes with an approximated
// factor: the op's fixed-point form has that factor already.
bool is_dpu_factor(Importer& in, uint32_t op_index, uint32_t factor) {
  const Result<Importer::Constant> constant = in.constant(factor);
  const ir::Node* node = in.producer_of(op_index);
  if (!constant.ok() || node == nullptr || constant->tensor->elements() != 1 || !in.unseen(op_index))
    return false;
  const Tensor real =
      constant->quant ? dequantize(*constant->tensor, *constant->quant) : constant->tensor->clone();
  if (real.dtype() != DType::kF32) return false;
  const double given = static_cast<double>(real.as<float>()[0]);
  double expected = 0;
  const std::vector<int32_t>& x = in.op(op_index).arguments.empty()
                                      ? in.op(op_index).tensor.shape
                                      : in.op(in.op(op_index).arguments[0].ops[0]).tensor.shape;
  if (const auto* pool = std::get_if<ir::Pool>(&node->op)) {
    if (pool->kind != ir::PoolKind::kAverage) return false;
    expected = average_pool_factor(pool->window.kernel[0], pool->window.kernel[1]);
  } else if (const auto* global = std::get_if<ir::GlobalPool>(&node->op)) {
    if (global->kind != ir::PoolKind::kAverage || x.size() != 4) return false;
    expected = average_pool_factor(x[1], x[2]);
  } else if (const auto* unary = std::get_if<ir::Unary>(&node->op)) {
    if (unary->kind != ir::UnaryKind::kHardSigmoid) return false;
    expected = kHardSigmoidFactor;
  } else {
    return false;
  }
  return std::abs(given - expected) <= 1e-6 * expected;
}

ir::BinaryKind binary_kind_of(const XOp& op) {
  if (op.type == "eltwise-fix" || op.type == "depthwise-fix")
    return text_of(op, "type", op.type == "eltwise-fix" ? "ADD" : "MUL") == "MUL" ? ir::BinaryKind::kMul
                                                                                  : ir::BinaryKind::kAdd;
  if (op.type == "mul") return ir::BinaryKind::kMul;
  if (op.type == "sub") return ir::BinaryKind::kSub;
  if (op.type == "div") return ir::BinaryKind::kDiv;
  return ir::BinaryKind::kAdd;
}

// Inputs of an op with broadcasting. A vector over the channels counts as rank 4 when it is constant.
Result<std::vector<ir::ValueId>> broadcast_inputs(Importer& in, const std::vector<uint32_t>& inputs,
                                                  Layout& layout) {
  bool any_nchw = false, all_fit = true;
  for (const uint32_t i : inputs) {
    any_nchw = any_nchw || (in.rank4(i) && in.has_nchw(i));
    const size_t rank = in.op(i).tensor.shape.size();
    all_fit = all_fit && (rank == 4 || (rank <= 1 && in.is_constant(i)));
  }
  layout = any_nchw && all_fit ? Layout::kNchw : Layout::kFile;
  std::vector<ir::ValueId> forms;
  for (const uint32_t i : inputs) {
    if (layout == Layout::kFile || in.rank4(i)) {
      forms.push_back(form_of(in, i, layout));
      continue;
    }
    const Importer::Constant constant = TANDEM_TRY(in.constant(i));
    const int64_t n = constant.tensor->elements();
    forms.push_back(n == 1 ? in.file_form(i)
                           : in.add_constant(constant.name, constant.tensor->clone().reshaped(Shape{n, 1, 1}),
                                             constant.quant));
  }
  return forms;
}

Status import_binary(Importer& in, uint32_t index) {
  const XOp& op = in.op(index);
  const std::vector<uint32_t>& inputs = in.argument(op, "input");
  if (op.type == "mul" && inputs.size() == 2) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (!is_dpu_factor(in, inputs[i], inputs[1 - i])) continue;
      in.alias(index, inputs[i], true);
      return {};
    }
  }
  Layout layout = Layout::kFile;
  std::vector<ir::ValueId> forms = TANDEM_TRY(broadcast_inputs(in, inputs, layout));
  if (op.type == "max" || op.type == "min") {
    return in.emit(index, ir::Variadic{op.type == "max" ? ir::VariadicKind::kMax : ir::VariadicKind::kMin},
                   std::move(forms), layout);
  }
  ir::Binary binary;
  binary.kind = binary_kind_of(op);
  binary.activation = TANDEM_TRY(nonlinear_of(op));
  if (forms.size() == 2) return in.emit(index, binary, std::move(forms), layout);
  if (binary.kind != ir::BinaryKind::kAdd || binary.activation)
    return unsupported(fmt::format("it has {} inputs", forms.size()));
  return in.emit(index, ir::Variadic{ir::VariadicKind::kSum}, std::move(forms), layout);
}

Result<int64_t> positive_axis(const XOp& op, int64_t axis, size_t rank) {
  const auto positive = normalize_axis(axis, rank);
  if (!positive.ok()) return unsupported(fmt::format("its axis {} is out of range", axis));
  (void)op;
  return static_cast<int64_t>(*positive);
}

// Where a dimension of the file's layout is in NCHW.
int64_t nchw_axis(int64_t axis) {
  static constexpr std::array<int64_t, 4> kAxis = {0, 2, 3, 1};
  return kAxis[static_cast<size_t>(axis)];
}

Status import_concat(Importer& in, uint32_t index) {
  const XOp& op = in.op(index);
  const std::vector<uint32_t>& inputs = in.argument(op, "input");
  const auto* axis = find<int32_t>(op.attributes, "axis");
  if (axis == nullptr) return unsupported("it has no axis");
  const int64_t file_axis = TANDEM_TRY(positive_axis(op, *axis, op.tensor.shape.size()));
  const Layout layout = layout_for(in, inputs);
  std::vector<ir::ValueId> forms;
  for (const uint32_t i : inputs) forms.push_back(form_of(in, i, layout));
  return in.emit(index, ir::Concat{layout == Layout::kNchw ? nchw_axis(file_axis) : file_axis},
                 std::move(forms), layout);
}

// Reshape, flatten, squeeze: the result's shape says it all.
Status import_reshape(Importer& in, uint32_t index) {
  const XOp& op = in.op(index);
  const uint32_t x = TANDEM_TRY(in.only(op, "input"));
  const std::vector<int32_t>& from = in.op(x).tensor.shape;
  const std::vector<int32_t>& to = op.tensor.shape;
  const bool pixel = from.size() == 4 && from[1] == 1 && from[2] == 1;  // both layouts lie the same
  const ir::ValueId input = pixel && in.has_nchw(x) ? in.nchw_form(x) : in.file_form(x);
  const bool same_batch = !from.empty() && !to.empty() && from[0] == to[0] && from[0] != 0;
  if (to.size() == 2 && same_batch) return in.emit(index, ir::Flatten{1}, {input}, Layout::kFile);
  std::vector<int64_t> shape(to.begin(), to.end());
  if (same_batch) shape[0] = 0;  // whatever the batch is
  return in.emit(index, ir::Reshape{}, {input, in.integers(op, "shape", shape)}, Layout::kFile);
}

Status import_transpose(Importer& in, uint32_t index) {
  const XOp& op = in.op(index);
  const uint32_t x = TANDEM_TRY(in.only(op, "input"));
  const std::vector<int64_t> order = list_of(op, "order");
  // Between the two layouts there is nothing to do.
  if (order == std::vector<int64_t>{0, 3, 1, 2} && in.has_nchw(x) && !in.is_constant(x)) {
    in.alias_forms(index, x, in.nchw_form(x), ir::kNoValue);
    return {};
  }
  if (order == std::vector<int64_t>{0, 2, 3, 1} && in.rank4(x) && !in.is_constant(x)) {
    in.alias_forms(index, x, ir::kNoValue, in.file_form(x));
    return {};
  }
  return in.emit(index, ir::Transpose{order}, {in.file_form(x)}, Layout::kFile);
}

Status import_softmax(Importer& in, uint32_t index) {
  const XOp& op = in.op(index);
  const uint32_t x = TANDEM_TRY(in.only(op, "input"));
  const auto* axis = find<int32_t>(op.attributes, "axis");
  const int64_t wanted = axis == nullptr ? -1 : *axis;
  const int64_t file_axis = TANDEM_TRY(positive_axis(op, wanted, op.tensor.shape.size()));
  const Layout layout = layout_for(in, {x});
  return in.emit(index, ir::Softmax{.axis = layout == Layout::kNchw ? nchw_axis(file_axis) : file_axis},
                 {form_of(in, x, layout)}, layout);
}

Status import_reduce(Importer& in, uint32_t index) {
  const XOp& op = in.op(index);
  const uint32_t x = TANDEM_TRY(in.only(op, "input"));
  ir::Reduce reduce;
  reduce.keepdims = flag_of(op, "keep_dims", false);
  reduce.kind = op.type == "reduction_mean"  ? ir::ReduceKind::kMean
                : op.type == "reduction_max" ? ir::ReduceKind::kMax
                : op.type == "reduction_min" ? ir::ReduceKind::kMin
                : op.type == "reduction_sum" ? ir::ReduceKind::kSum
                                             : ir::ReduceKind::kProd;
  std::vector<int64_t> axes;
  for (const int64_t axis : list_of(op, "axis"))
    axes.push_back(TANDEM_TRY(positive_axis(op, axis, in.op(x).tensor.shape.size())));
  const bool spatial = axes == std::vector<int64_t>{1, 2};
  const bool nchw = in.rank4(x) && in.has_nchw(x) && (reduce.keepdims || spatial);
  if (nchw) {
    for (int64_t& axis : axes) axis = nchw_axis(axis);
  }
  const ir::ValueId input = nchw ? in.nchw_form(x) : in.file_form(x);
  const Layout layout = nchw && reduce.keepdims ? Layout::kNchw : Layout::kFile;
  return in.emit(index, reduce, {input, in.integers(op, "axes", axes)}, layout);
}

Status import_matmul(Importer& in, uint32_t index) {
  const XOp& op = in.op(index);
  const std::vector<uint32_t>& inputs = in.argument(op, "input");
  if (inputs.size() != 2) return unsupported(fmt::format("it has {} inputs", inputs.size()));
  const size_t rank_a = in.op(inputs[0]).tensor.shape.size(), rank_b = in.op(inputs[1]).tensor.shape.size();
  const bool ta = flag_of(op, "transpose_a", false), tb = flag_of(op, "transpose_b", false);
  std::vector<ir::ValueId> forms = {in.file_form(inputs[0]), in.file_form(inputs[1])};
  const bool biased = !in.argument(op, "bias").empty();
  if (rank_a == 2 && rank_b == 2) {
    if (biased) forms.push_back(in.file_form(TANDEM_TRY(in.only(op, "bias"))));
    ir::Gemm gemm;
    gemm.trans_a = ta;
    gemm.trans_b = tb;
    return in.emit(index, gemm, std::move(forms), Layout::kFile);
  }
  if (ta || tb || biased)
    return unsupported("it transposes, or adds a bias to, inputs of more than two dimensions");
  return in.emit(index, ir::MatMul{}, std::move(forms), Layout::kFile);
}

Status import_identity(Importer& in, uint32_t index) {
  const uint32_t x = TANDEM_TRY(in.only(in.op(index), "input"));
  const Layout layout = layout_for(in, {x});
  return in.emit(index, ir::Identity{}, {form_of(in, x, layout)}, layout);
}

// fix2float and float2fix: the same reals, stored otherwise.
Status import_requantize(Importer& in, uint32_t index) {
  const uint32_t x = TANDEM_TRY(in.only(in.op(index), "input"));
  const Layout layout = layout_for(in, {x});
  return in.emit(index, ir::Requantize{}, {form_of(in, x, layout)}, layout);
}

Status import_resize(Importer& in, uint32_t index) {
  const XOp& op = in.op(index);
  const uint32_t x = TANDEM_TRY(in.only(op, "input"));
  const std::string mode = text_of(op, "mode", "");
  if (!in.rank4(x)) return unsupported("its input does not have four dimensions");
  if (mode != "NEAREST" && mode != "BILINEAR")
    return unsupported(fmt::format("its mode '{}' is not known", mode));
  ir::Resize resize;
  resize.mode = mode == "NEAREST" ? ir::ResizeMode::kNearest : ir::ResizeMode::kLinear;
  resize.nearest = ir::NearestRule::kFloor;
  resize.coordinates = flag_of(op, "align_corners", false)        ? ir::CoordinateRule::kAlignCorners
                       : flag_of(op, "half_pixel_centers", false) ? ir::CoordinateRule::kHalfPixel
                                                                  : ir::CoordinateRule::kAsymmetric;
  if (resize.mode == ir::ResizeMode::kNearest && resize.coordinates != ir::CoordinateRule::kAsymmetric)
    return unsupported("nearest neighbours at pixel centres or aligned corners are not known for certain");
  const std::vector<int32_t>& s = op.tensor.shape;
  const ir::ValueId sizes = in.integers(op, "sizes", {s[0], s[3], s[1], s[2]});
  return in.emit(index, resize, {in.nchw_form(x), ir::kNoValue, ir::kNoValue, sizes}, Layout::kNchw);
}

}  // namespace

ImportFunction find_importer(std::string_view type) {
  struct Row {
    std::string_view type;
    ImportFunction import;
  };
  static constexpr std::array<Row, 61> kTable = {{
      {"add", import_binary},
      {"avgpool2d", import_pool},
      {"celu", import_unary},
      {"concat", import_concat},
      {"concat-fix", import_concat},
      {"const", [](Importer& in, uint32_t i) { return in.import_const(i); }},
      {"const-fix", [](Importer& in, uint32_t i) { return in.import_const(i); }},
      {"conv2d", import_conv},
      {"conv2d-fix", import_conv},
      {"data", [](Importer& in, uint32_t i) { return in.import_data(i); }},
      {"data-fix", [](Importer& in, uint32_t i) { return in.import_data(i); }},
      {"depthwise-conv2d", import_conv},
      {"depthwise-conv2d-fix", import_conv},
      {"depthwise-fix", import_binary},
      {"div", import_binary},
      {"download", import_identity},
      {"eltwise-fix", import_binary},
      {"elu", import_unary},
      {"exp", import_unary},
      {"fix", [](Importer& in, uint32_t i) { return in.import_fix(i); }},
      {"fix2float", import_requantize},
      {"flatten", import_reshape},
      {"float2fix", import_requantize},
      {"gelu", import_unary},
      {"hard-sigmoid", import_unary},
      {"hard-sigmoid-fix", import_unary},
      {"hard-swish", import_unary},
      {"identity", import_identity},
      {"leaky-relu", import_unary},
      {"matmul", import_matmul},
      {"max", import_binary},
      {"maxpool2d", import_pool},
      {"min", import_binary},
      {"mul", import_binary},
      {"neg", import_unary},
      {"pool-fix", import_pool},
      {"reduction_max", import_reduce},
      {"reduction_mean", import_reduce},
      {"reduction_min", import_reduce},
      {"reduction_product", import_reduce},
      {"reduction_sum", import_reduce},
      {"relu", import_unary},
      {"relu6", import_relu6},
      {"reshape", import_reshape},
      {"reshape-fix", import_reshape},
      {"resize", import_resize},
      {"selu", import_unary},
      {"sigmoid", import_unary},
      {"softmax", import_softmax},
      {"squeeze", import_reshape},
      {"sub", import_binary},
      {"swish", import_unary},
      {"tanh", import_unary},
      {"transpose", import_transpose},
      {"transposed-conv2d", import_conv_transpose},
      {"transposed-conv2d-fix", import_conv_transpose},
      {"transposed-depthwise-conv2d", import_conv_transpose},
      {"transposed-depthwise-conv2d-fix", import_conv_transpose},
      {"upload", import_identity},
      {"abs", import_unary},
      {"sqrt", import_unary},
  }};
  if (type.starts_with("tandem.")) return [](Importer& in, uint32_t i) { return in.import_own(i); };
  for (const Row& row : kTable) {
    if (row.type == type) return row.import;
  }
  return nullptr;
}

}  // namespace tandem::xir_io
