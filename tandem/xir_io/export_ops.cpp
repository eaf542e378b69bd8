// SPDX-License-Identifier: Apache-2.0
// How each op of the IR is written where XIR has one like it. Everything that can refuse refuses before the
// first op is added; what is refused is written in text form instead (Exporter::write_own).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "tandem/base/overload.hpp"
#include "tandem/xir_io/dpu_constants.hpp"
#include "tandem/xir_io/export.hpp"

namespace tandem::xir_io {
namespace {

using Form = Exporter::Layout;
using Link = Exporter::Link;

Error no_form(std::string_view why) { return unsupported(std::string(why)); }

// Activations that are ops of XIR.
bool is_writable(const ir::Activation& a) {
  return a.kind == ir::ActivationKind::kNone || a.kind == ir::ActivationKind::kRelu ||
         a.kind == ir::ActivationKind::kLeakyRelu ||
         (a.kind == ir::ActivationKind::kClip && a.alpha == 0 && a.beta == 6);
}

std::vector<int32_t> swapped(const std::vector<int64_t>& height_width) {
  return {static_cast<int32_t>(height_width[1]), static_cast<int32_t>(height_width[0])};
}

// kernel, stride, dilation and pad as XIR orders them: width before height, {left, right, top, bottom}.
Attributes window_attributes(const ir::Window& window, const std::vector<int64_t>& kernel,
                             const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
                             bool dilation) {
  Attributes attributes;
  attributes["kernel"] = swapped(kernel);
  attributes["stride"] = swapped({window.stride(0), window.stride(1)});
  if (dilation) attributes["dilation"] = swapped({window.dilation(0), window.dilation(1)});
  attributes["pad"] = std::vector<int32_t>{static_cast<int32_t>(begin[1]), static_cast<int32_t>(end[1]),
                                           static_cast<int32_t>(begin[0]), static_cast<int32_t>(end[0])};
  attributes["pad_mode"] = std::string("FLOOR");
  return attributes;
}

bool any_negative(const std::vector<int64_t>& pads) {
  return std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p < 0; });
}

std::vector<int64_t> spatial(const Shape& shape) { return {shape[2], shape[3]}; }

// weights [C*m,1,h,w] as [m,h,w,C].
Tensor depthwise_order(const Tensor& from, int64_t channels) {
  const Shape& s = from.shape();
  const int64_t m = s[0] / channels, area = s[2] * s[3];
  Tensor to(from.dtype(), Shape{m, s[2], s[3], channels});
  const size_t width = size_of(from.dtype());
  for (int64_t o = 0; o < s[0]; ++o) {
    for (int64_t p = 0; p < area; ++p) {
      const int64_t target = ((o % m) * area + p) * channels + o / m;
      std::memcpy(to.data() + static_cast<size_t>(target) * width,
                  from.data() + static_cast<size_t>(o * area + p) * width, width);
    }
  }
  return to;
}

// weights [C,O,h,w] as [O,h,w,C] with the kernel turned by 180 degrees.
Tensor transposed_order(const Tensor& from) {
  const Shape& s = from.shape();
  const int64_t area = s[2] * s[3];
  Tensor to(from.dtype(), Shape{s[1], s[2], s[3], s[0]});
  const size_t width = size_of(from.dtype());
  for (int64_t c = 0; c < s[0]; ++c) {
    for (int64_t o = 0; o < s[1]; ++o) {
      for (int64_t p = 0; p < area; ++p) {
        const int64_t target = (o * area + area - 1 - p) * s[0] + c;
        std::memcpy(to.data() + static_cast<size_t>(target) * width,
                    from.data() + static_cast<size_t>((c * s[1] + o) * area + p) * width, width);
      }
    }
  }
  return to;
}

// What every form of convolution ends with: its inputs, its shape, its activation.
Status finish_convolution(Exporter& out, Link link, uint32_t weights, const ir::Activation& activation) {
  const ir::Node& node = out.node();
  link.arguments = {{"input", {out.nhwc(node.inputs[0])}}, {"weights", {weights}}};
  if (out.has_input(2)) link.arguments.push_back({"bias", {out.plain(node.inputs[2])}});
  link.shape = out.shape(node.outputs[0], Form::kNhwc);
  std::vector<Link> chain{std::move(link)};
  out.add_activation(chain, activation);
  return out.finish(std::move(chain), Form::kNhwc);
}

Status write_op(Exporter& out, const ir::Conv& conv) {
  const ir::Node& node = out.node();
  if (out.has_input(3)) return no_form("a fused addition");
  if (out.input(0).shape->rank() != 4 || !is_writable(conv.activation)) return no_form("not two-dimensional");
  const Shape& x = *out.input(0).shape;
  const Shape& w = *out.input(1).shape;
  ir::Window window = conv.window;
  window.kernel = {w[2], w[3]};
  const ir::ResolvedWindow resolved = TANDEM_TRY(ir::resolve(window, spatial(x), false));
  if (any_negative(resolved.pad_begin) || any_negative(resolved.pad_end)) return no_form("negative pads");
  const bool depthwise = conv.group > 1 && conv.group == x[1];
  if (depthwise && !out.input(1).is_constant()) return no_form("computed depthwise weights");
  Link link;
  link.type = depthwise ? "depthwise-conv2d" : "conv2d";
  link.attributes = window_attributes(window, window.kernel, resolved.pad_begin, resolved.pad_end, true);
  if (!depthwise) link.attributes["group"] = static_cast<int32_t>(conv.group);
  const uint32_t weights =
      depthwise
          ? out.add_constant(out.input(1).name, depthwise_order(*out.input(1).constant, x[1]), out.input(1))
          : out.nhwc(node.inputs[1]);
  return finish_convolution(out, std::move(link), weights, conv.activation);
}

Status write_op(Exporter& out, const ir::ConvTranspose& conv) {
  if (out.input(0).shape->rank() != 4 || !is_writable(conv.activation)) return no_form("not two-dimensional");
  const Shape& w = *out.input(1).shape;
  const bool depthwise = conv.group > 1 && conv.group == w[0] && w[1] == 1;
  if (!out.input(1).is_constant() || (conv.group != 1 && !depthwise)) return no_form("groups");
  for (const int64_t p : conv.output_padding) {
    if (p != 0) return no_form("output padding");
  }
  ir::ConvTranspose resolved_op = conv;
  resolved_op.window.kernel = {w[2], w[3]};
  const ir::ResolvedWindow resolved =
      TANDEM_TRY(ir::resolve_transpose(resolved_op, spatial(*out.input(0).shape)));
  if (any_negative(resolved.pad_begin) || any_negative(resolved.pad_end)) return no_form("negative pads");
  Link link;
  link.type = depthwise ? "transposed-depthwise-conv2d" : "transposed-conv2d";
  link.attributes = window_attributes(resolved_op.window, resolved_op.window.kernel, resolved.pad_begin,
                                      resolved.pad_end, true);
  const uint32_t weights =
      out.add_constant(out.input(1).name, transposed_order(*out.input(1).constant), out.input(1));
  return finish_convolution(out, std::move(link), weights, conv.activation);
}

// The DPU's factor behind an average, where fixed-point arithmetic will use it.
void add_factor(Exporter& out, std::vector<Link>& chain, double factor) {
  const ir::Node& node = out.node();
  if (!out.value(node.outputs[0]).quant || !out.value(node.inputs[0]).quant || factor == 1) return;
  const uint32_t number =
      out.add_number(out.value(node.outputs[0]).name + ".factor", static_cast<float>(factor));
  chain.push_back({"mul", {{"input", {number}}}, {}, chain.back().shape});
}

Status write_op(Exporter& out, const ir::Pool& pool) {
  const ir::Node& node = out.node();
  if (pool.kind == ir::PoolKind::kLp || node.outputs.size() != 1 || out.input(0).shape->rank() != 4)
    return no_form("its kind");
  if (pool.window.dilation(0) != 1 || pool.window.dilation(1) != 1) return no_form("dilation");
  const bool average = pool.kind == ir::PoolKind::kAverage;
  ir::ResolvedWindow resolved =
      TANDEM_TRY(ir::resolve(pool.window, spatial(*out.input(0).shape), pool.ceil_mode));
  if (any_negative(resolved.pad_begin)) return no_form("negative pads");
  const Shape& y = *out.value(node.outputs[0]).shape;
  for (size_t i = 0; i < 2; ++i) {
    // Rounding up is padding at the end.
    const int64_t needed = (y[i + 2] - 1) * pool.window.stride(i) + pool.window.kernel[i] -
                           (*out.input(0).shape)[i + 2] - resolved.pad_begin[i];
    if (needed > resolved.pad_end[i] && average && pool.count_include_pad)
      return no_form("a divisor of its own");
    resolved.pad_end[i] = std::max(resolved.pad_end[i], needed);
    if (resolved.pad_end[i] < 0) return no_form("negative pads");
    if (resolved.pad_begin[i] >= pool.window.kernel[i] || resolved.pad_end[i] >= pool.window.kernel[i])
      return no_form("windows of padding only");
  }
  Link link;
  link.type = average ? "avgpool2d" : "maxpool2d";
  link.attributes =
      window_attributes(pool.window, pool.window.kernel, resolved.pad_begin, resolved.pad_end, false);
  link.attributes["global"] = false;
  if (average) {
    link.attributes["count_include_pad"] = pool.count_include_pad;
    link.attributes["count_include_invalid"] = pool.count_include_pad;
  }
  link.arguments = {{"input", {out.nhwc(node.inputs[0])}}};
  link.shape = out.shape(node.outputs[0], Form::kNhwc);
  std::vector<Link> chain{std::move(link)};
  if (average) add_factor(out, chain, average_pool_factor(pool.window.kernel[0], pool.window.kernel[1]));
  return out.finish(std::move(chain), Form::kNhwc);
}

Status write_op(Exporter& out, const ir::GlobalPool& pool) {
  const ir::Node& node = out.node();
  if (pool.kind == ir::PoolKind::kLp || out.input(0).shape->rank() != 4) return no_form("its kind");
  const Shape& x = *out.input(0).shape;
  const bool average = pool.kind == ir::PoolKind::kAverage;
  Link link;
  link.type = average ? "avgpool2d" : "maxpool2d";
  ir::Window window;
  link.attributes = window_attributes(window, spatial(x), {0, 0}, {0, 0}, false);
  link.attributes["global"] = true;
  if (average) link.attributes["count_include_pad"] = false;
  link.arguments = {{"input", {out.nhwc(node.inputs[0])}}};
  link.shape = out.shape(node.outputs[0], Form::kNhwc);
  std::vector<Link> chain{std::move(link)};
  if (average) add_factor(out, chain, average_pool_factor(x[2], x[3]));
  return out.finish(std::move(chain), Form::kNhwc);
}

bool is_channel_vector(const ir::Value& value) {
  const Shape& s = *value.shape;
  int64_t rank_from_channels = static_cast<int64_t>(s.rank());
  if (!value.is_constant() || s.rank() < 3 || rank_from_channels > 4) return false;
  return s[s.rank() - 1] == 1 && s[s.rank() - 2] == 1 && (s.rank() == 3 || s[0] == 1);
}

// Inputs of an op that broadcasts, for a result of rank 4 in NHWC; nothing when one does not fit.
std::optional<std::vector<uint32_t>> nhwc_inputs(Exporter& out) {
  const ir::Node& node = out.node();
  if (out.rank(node.outputs[0]) != 4) return std::nullopt;
  bool any = false;
  for (const ir::ValueId id : node.inputs) {
    const ir::Value& value = out.value(id);
    const bool vector = is_channel_vector(value) || (value.is_constant() && value.constant->elements() == 1);
    if (!vector && value.shape->rank() != 4) return std::nullopt;
    any = any || (!vector && out.has_nhwc(id));
  }
  if (!any) return std::nullopt;
  std::vector<uint32_t> forms;
  for (const ir::ValueId id : node.inputs) {
    const ir::Value& value = out.value(id);
    const bool vector = is_channel_vector(value) || (value.is_constant() && value.constant->elements() == 1);
    forms.push_back(
        vector ? out.add_constant(value.name,
                                  value.constant->clone().reshaped(Shape{value.constant->elements()}), value)
               : out.nhwc(id));
  }
  return forms;
}

Status write_broadcast(Exporter& out, const std::string& type, const ir::Activation& activation) {
  const ir::Node& node = out.node();
  for (const ir::ValueId id : node.inputs) {
    if (out.value(id).dtype != DType::kF32 || (out.rank(id) == 0 && !out.value(id).is_constant()))
      return no_form("its types");
  }
  if (!is_writable(activation)) return no_form("its activation");
  Link link;
  link.type = type;
  Form layout = Form::kNhwc;
  std::optional<std::vector<uint32_t>> inputs = nhwc_inputs(out);
  if (!inputs) {
    layout = Form::kPlain;
    inputs.emplace();
    for (const ir::ValueId id : node.inputs) inputs->push_back(out.plain(id));
  }
  link.arguments = {{"input", std::move(*inputs)}};
  link.shape = out.shape(node.outputs[0], layout);
  std::vector<Link> chain{std::move(link)};
  out.add_activation(chain, activation);
  return out.finish(std::move(chain), layout);
}

Status write_op(Exporter& out, const ir::Binary& binary) {
  switch (binary.kind) {
    case ir::BinaryKind::kAdd: return write_broadcast(out, "add", binary.activation);
    case ir::BinaryKind::kSub: return write_broadcast(out, "sub", binary.activation);
    case ir::BinaryKind::kMul: return write_broadcast(out, "mul", binary.activation);
    case ir::BinaryKind::kDiv: return write_broadcast(out, "div", binary.activation);
    default: return no_form("its kind");
  }
}

Form layout_of(const Exporter& out, ir::ValueId id) {
  return out.rank(id) == 4 && out.has_nhwc(id) ? Form::kNhwc : Form::kPlain;
}

// One input, one output of the same shape.
Status write_map(Exporter& out, std::vector<Link> chain) {
  const ir::Node& node = out.node();
  if (out.input(0).dtype != DType::kF32 || out.rank(node.outputs[0]) == 0) return no_form("its type");
  const Form layout = layout_of(out, node.inputs[0]);
  chain[0].arguments = {{"input", {out.form(node.inputs[0], layout)}}};
  for (Link& link : chain) link.shape = out.shape(node.outputs[0], layout);
  return out.finish(std::move(chain), layout);
}

Status write_op(Exporter& out, const ir::Unary& unary) {
  using ir::UnaryKind;
  const auto simple = [&](const char* type) {
    Link link;
    link.type = type;
    return write_map(out, {std::move(link)});
  };
  const ir::Node& node = out.node();
  switch (unary.kind) {
    case UnaryKind::kRelu: return simple("relu");
    case UnaryKind::kSigmoid: return simple("sigmoid");
    case UnaryKind::kTanh: return simple("tanh");
    case UnaryKind::kHardSwish: return simple("hard-swish");
    case UnaryKind::kGelu: return simple("gelu");
    case UnaryKind::kSilu: return simple("swish");
    case UnaryKind::kExp: return simple("exp");
    case UnaryKind::kNeg: return simple("neg");
    case UnaryKind::kLeakyRelu: {
      Link link;
      link.type = "leaky-relu";
      link.attributes["alpha"] = unary.alpha;
      return write_map(out, {std::move(link)});
    }
    case UnaryKind::kHardSigmoid: {
      if (unary.alpha != 1.0f / 6 || unary.beta != 0.5f) return no_form("its slope");
      Link link;
      link.type = "hard-sigmoid";
      std::vector<Link> chain{std::move(link)};
      const bool fixed = out.value(node.outputs[0]).quant && out.input(0).quant;
      if (fixed) add_factor(out, chain, kHardSigmoidFactor);
      return write_map(out, std::move(chain));
    }
    default: return no_form("its kind");
  }
}

Status write_op(Exporter& out, const ir::Clip&) {
  const Tensor* low = out.constant(1);
  const Tensor* high = out.constant(2);
  const auto is = [](const Tensor* t, float v) {
    return t != nullptr && t->dtype() == DType::kF32 && t->elements() == 1 && t->as<float>()[0] == v;
  };
  if (!is(low, 0) || !is(high, 6)) return no_form("its bounds");
  Link link;
  link.type = "relu6";
  return write_map(out, {std::move(link)});
}

int32_t nhwc_axis(int64_t axis) {
  static constexpr std::array<int32_t, 4> kAxis = {0, 3, 1, 2};
  return kAxis[static_cast<size_t>(axis)];
}

Status write_op(Exporter& out, const ir::Concat& concat) {
  const ir::Node& node = out.node();
  const size_t rank = out.rank(node.outputs[0]);
  const int64_t axis = static_cast<int64_t>(TANDEM_TRY(normalize_axis(concat.axis, rank)));
  if (out.value(node.outputs[0]).dtype != DType::kF32) return no_form("its type");
  const bool turned = rank == 4 && std::any_of(node.inputs.begin(), node.inputs.end(),
                                               [&](ir::ValueId id) { return out.has_nhwc(id); });
  const Form layout = turned ? Form::kNhwc : Form::kPlain;
  Link link;
  link.type = "concat";
  link.attributes["axis"] = turned ? nhwc_axis(axis) : static_cast<int32_t>(axis);
  link.arguments = {{"input", {}}};
  for (const ir::ValueId id : node.inputs) link.arguments[0].ops.push_back(out.form(id, layout));
  return out.finish({std::move(link)}, layout);
}

Status write_op(Exporter& out, const ir::Softmax& softmax) {
  const ir::Node& node = out.node();
  if (softmax.log || softmax.flatten) return no_form("its form");
  const size_t axis = TANDEM_TRY(normalize_axis(softmax.axis, out.rank(node.inputs[0])));
  Link link;
  link.type = "softmax";
  const bool turned = layout_of(out, node.inputs[0]) == Form::kNhwc;
  link.attributes["axis"] = turned ? nhwc_axis(static_cast<int64_t>(axis)) : static_cast<int32_t>(axis);
  return write_map(out, {std::move(link)});
}

Status write_op(Exporter& out, const ir::Reduce& reduce) {
  static const std::map<ir::ReduceKind, const char*> kTypes = {{ir::ReduceKind::kMean, "reduction_mean"},
                                                               {ir::ReduceKind::kMax, "reduction_max"},
                                                               {ir::ReduceKind::kSum, "reduction_sum"},
                                                               {ir::ReduceKind::kProd, "reduction_product"}};
  const ir::Node& node = out.node();
  const auto type = kTypes.find(reduce.kind);
  const Tensor* axes = out.constant(1);
  const size_t rank = out.rank(node.inputs[0]);
  if (type == kTypes.end() || axes == nullptr || axes->elements() == 0 || out.rank(node.outputs[0]) == 0 ||
      out.input(0).dtype != DType::kF32)
    return no_form("its kind");
  std::vector<int32_t> positive;
  for (const int64_t axis : TANDEM_TRY(to_int64s(*axes)))
    positive.push_back(static_cast<int32_t>(TANDEM_TRY(normalize_axis(axis, rank))));
  const bool turned = layout_of(out, node.inputs[0]) == Form::kNhwc &&
                      (reduce.keepdims || positive == std::vector<int32_t>{2, 3});
  if (turned) {
    for (int32_t& axis : positive) axis = nhwc_axis(axis);
    std::sort(positive.begin(), positive.end());
  }
  Link link;
  link.type = type->second;
  link.attributes["axis"] = positive;
  link.attributes["keep_dims"] = reduce.keepdims;
  link.arguments = {{"input", {out.form(node.inputs[0], turned ? Form::kNhwc : Form::kPlain)}}};
  return out.finish({std::move(link)}, turned && reduce.keepdims ? Form::kNhwc : Form::kPlain);
}

// All ops that only change the shape. A pixel of 1x1 lies the same in both layouts.
Status write_reshape(Exporter& out) {
  const ir::Node& node = out.node();
  const Shape& from = *out.input(0).shape;
  const Shape& to = *out.value(node.outputs[0]).shape;
  if (to.rank() == 0 || from.rank() == 0 || out.input(0).dtype != DType::kF32) return no_form("its type");
  const bool pixel_in = from.rank() == 4 && from[2] == 1 && from[3] == 1 && out.has_nhwc(node.inputs[0]);
  const bool pixel_out = to.rank() == 4 && to[2] == 1 && to[3] == 1;
  const Form layout = pixel_out ? Form::kNhwc : Form::kPlain;
  Link link;
  link.type = "reshape";
  link.attributes["shape"] = out.shape(node.outputs[0], layout);
  link.arguments = {{"input", {pixel_in ? out.nhwc(node.inputs[0]) : out.plain(node.inputs[0])}}};
  return out.finish({std::move(link)}, layout);
}

Status write_op(Exporter& out, const ir::Transpose& transpose) {
  const ir::Node& node = out.node();
  const ir::ValueId x = node.inputs[0];
  if (out.input(0).dtype != DType::kF32) return no_form("its type");
  if (transpose.perm == std::vector<int64_t>{0, 3, 1, 2} && !out.value(x).is_constant() && out.has_plain(x) &&
      out.alias(std::nullopt, out.plain(x)).ok())
    return {};
  if (transpose.perm == std::vector<int64_t>{0, 2, 3, 1} && !out.value(x).is_constant() && out.has_nhwc(x) &&
      out.alias(out.nhwc(x), std::nullopt).ok())
    return {};
  Link link;
  link.type = "transpose";
  std::vector<int32_t> order(transpose.perm.begin(), transpose.perm.end());
  for (size_t i = out.rank(x); order.size() < out.rank(x);) order.push_back(static_cast<int32_t>(--i));
  link.attributes["order"] = order;
  link.arguments = {{"input", {out.plain(x)}}};
  return out.finish({std::move(link)}, Form::kPlain);
}

Status write_op(Exporter& out, const ir::Gemm& gemm) {
  const ir::Node& node = out.node();
  if (gemm.alpha != 1 || gemm.beta != 1 || !is_writable(gemm.activation)) return no_form("its factors");
  if (out.has_input(2) && out.input(2).shape->rank() != 1) return no_form("its bias");
  if (out.input(0).dtype != DType::kF32) return no_form("its type");
  Link link;
  link.type = "matmul";
  link.attributes["transpose_a"] = gemm.trans_a;
  link.attributes["transpose_b"] = gemm.trans_b;
  link.arguments = {{"input", {out.plain(node.inputs[0]), out.plain(node.inputs[1])}}};
  if (out.has_input(2)) link.arguments.push_back({"bias", {out.plain(node.inputs[2])}});
  link.shape = out.shape(node.outputs[0], Form::kPlain);
  std::vector<Link> chain{std::move(link)};
  out.add_activation(chain, gemm.activation);
  return out.finish(std::move(chain), Form::kPlain);
}

Status write_op(Exporter& out, const ir::MatMul&) {
  const ir::Node& node = out.node();
  // Equal ranks and batches: beyond that libxir's rule is not NumPy's.
  const Shape& a = *out.input(0).shape;
  const Shape& b = *out.input(1).shape;
  if (a.rank() < 3 || a.rank() != b.rank() || out.input(0).dtype != DType::kF32) return no_form("its ranks");
  for (size_t d = 0; d + 2 < a.rank(); ++d) {
    if (a[d] != b[d]) return no_form("its batches");
  }
  Link link;
  link.type = "matmul";
  link.attributes["transpose_a"] = false;
  link.attributes["transpose_b"] = false;
  link.arguments = {{"input", {out.plain(node.inputs[0]), out.plain(node.inputs[1])}}};
  return out.finish({std::move(link)}, Form::kPlain);
}

Status write_op(Exporter& out, const ir::Requantize&) {
  const ir::Node& node = out.node();
  if (!out.value(node.outputs[0]).quant || out.input(0).is_constant()) return no_form("it makes reals");
  const Form layout = layout_of(out, node.inputs[0]);
  // The fix that finish() adds is all there is; it takes the place of a chain's first op.
  return out.finish_fix(layout);
}

Status write_op(Exporter& out, const ir::Identity&) {
  const ir::ValueId x = out.node().inputs[0];
  if (out.value(x).is_constant()) return no_form("a constant");
  const std::optional<uint32_t> plain =
      out.has_plain(x) ? std::optional<uint32_t>(out.plain(x)) : std::nullopt;
  const std::optional<uint32_t> nhwc = out.has_nhwc(x) ? std::optional<uint32_t>(out.nhwc(x)) : std::nullopt;
  return out.alias(plain, nhwc);
}

Status write_op(Exporter& out, const ir::Variadic& variadic) {
  switch (variadic.kind) {
    case ir::VariadicKind::kMax: return write_broadcast(out, "max", {});
    case ir::VariadicKind::kMin: return write_broadcast(out, "min", {});
    default: return no_form("its kind");
  }
}

Status write_op(Exporter& out, const ir::Opaque& opaque) {
  return opaque.domain == "xir" ? out.write_opaque(opaque) : Status(no_form("a foreign operator"));
}

Status write_op(Exporter& out, const ir::Reshape&) { return write_reshape(out); }
Status write_op(Exporter& out, const ir::Flatten&) { return write_reshape(out); }
Status write_op(Exporter& out, const ir::Squeeze&) { return write_reshape(out); }
Status write_op(Exporter& out, const ir::Unsqueeze&) { return write_reshape(out); }

// The rest has no form in XIR 2.5.
template <typename T>
Status write_op(Exporter&, const T&) {
  return no_form("XIR has no such operator");
}

}  // namespace

Status export_node(Exporter& out) {
  return std::visit([&](const auto& op) { return write_op(out, op); },
                    static_cast<const ir::AnyOp&>(out.node().op));
}

}  // namespace tandem::xir_io
