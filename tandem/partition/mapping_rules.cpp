// SPDX-License-Identifier: Apache-2.0
// What the DPU takes, op by op. Limits of DPUCZDX8G from its target description and from UG1414.
#include "tandem/partition/mapping_rules.hpp"

#include <algorithm>

namespace tandem::partition {
namespace {

constexpr float kDpuSlope = 26.0f / 256;

std::string name_of(const ir::Activation& activation) {
  switch (activation.kind) {
    case ir::ActivationKind::kRelu: return "relu";
    case ir::ActivationKind::kLeakyRelu: return "leaky_relu";
    case ir::ActivationKind::kClip:
      return activation.alpha == 0 && activation.beta == 6 ? "relu_six" : "clip";
    case ir::ActivationKind::kHardSigmoid: return "hsigmoid";
    case ir::ActivationKind::kHardSwish: return "hswish";
    default: return std::string(ir::enum_name(activation.kind));
  }
}

std::string joined(const std::set<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

std::vector<int64_t> spatial(const Shape& shape) { return {shape[2], shape[3]}; }

int64_t groups_of(int64_t channels, int64_t parallel) { return (channels + parallel - 1) / parallel; }

// Ops that the DPU carries through in whatever form its neighbours are.
bool carries(const ir::Op& op) {
  return std::holds_alternative<ir::Concat>(op) || std::holds_alternative<ir::Reshape>(op) ||
         std::holds_alternative<ir::Flatten>(op) || std::holds_alternative<ir::Requantize>(op) ||
         std::holds_alternative<ir::Transpose>(op);
}

}  // namespace

NodeMapping MappingRules::map(ir::NodeId id) {
  const ir::Node& node = graph_.node(id);
  Verdict verdict = judge(node);
  sides_[id] = verdict.side;
  NodeMapping mapping;
  mapping.node = id;
  mapping.side = verdict.side;
  mapping.reason = verdict.reason;
  mapping.limit = std::move(verdict.limit);
  mapping.actual = std::move(verdict.actual);
  return mapping;
}

MappingRules::Verdict MappingRules::judge(const ir::Node& node) {
  return std::visit(
      [&](const auto& op) {
        using T = std::decay_t<decltype(op)>;
        if constexpr (std::is_same_v<T, ir::Reshape> || std::is_same_v<T, ir::Flatten> ||
                      std::is_same_v<T, ir::Squeeze> || std::is_same_v<T, ir::Unsqueeze>)
          return rule_reshape(node);
        else if constexpr (requires { rule(node, op); })
          return rule(node, op);
        else
          return cpu(Reason::kOperator, "", ir::describe(node.op));  // no engine for anything else
      },
      static_cast<const ir::AnyOp&>(node.op));
}

// Stored as the DPU stores, or about to be: a Concat's one fix stands for those of its inputs.
bool MappingRules::is_quantized(ir::ValueId id, int depth) const {
  const ir::Value& v = value(id);
  if (v.quant) return v.quant->scheme == Scheme::kPow2;
  constexpr int kDepthMax = 8;
  const std::vector<ir::NodeId>& readers = consumers_[index_of(id)];
  if (depth == kDepthMax || readers.empty() || graph_.is_output(id)) return false;
  return std::all_of(readers.begin(), readers.end(), [&](ir::NodeId reader) {
    const ir::Node& node = graph_.node(reader);
    return carries(node.op) && is_quantized(node.outputs[0], depth + 1);
  });
}

bool MappingRules::from_dpu(ir::ValueId id) const {
  const ir::NodeId producer = value(id).producer;
  if (producer == ir::kNoNode) return false;
  const Side side = sides_.at(producer);
  if (side != Side::kNothing) return side == Side::kDpu;
  const ir::Node& node = graph_.node(producer);
  return !node.inputs.empty() && node.inputs[0] != ir::kNoValue && from_dpu(node.inputs[0]);
}

MappingRules::Verdict MappingRules::quantized(const ir::Node& node, size_t data_inputs) const {
  std::vector<ir::ValueId> around(
      node.inputs.begin(),
      node.inputs.begin() + static_cast<std::ptrdiff_t>(std::min(data_inputs, node.inputs.size())));
  around.push_back(node.outputs[0]);
  for (const ir::ValueId id : around) {
    if (id == ir::kNoValue) continue;
    const ir::Value& v = value(id);
    if (!is_quantized(id)) {
      const std::string how = v.quant ? v.quant->to_string() : "real";
      return cpu(Reason::kNotQuantized, "i8 fixN", fmt::format("'{}' is {}", v.name, how));
    }
    if (v.quant && (v.quant->bits != 8 || v.quant->dtype != DType::kI8))
      return cpu(Reason::kBits, "i8", fmt::format("'{}' is {}", v.name, v.quant->to_string()));
  }
  return {};
}

MappingRules::Verdict MappingRules::weights_are_constant(const ir::Node& node) const {
  const ir::Value& w = input(node, 1);
  if (!w.is_constant())
    return cpu(Reason::kComputedWeights, "constant", fmt::format("'{}' is computed", w.name));
  if (!w.quant || w.quant->scheme != Scheme::kPow2)
    return cpu(Reason::kNotQuantized, "i8 fixN",
               fmt::format("'{}' is {}", w.name, w.quant ? w.quant->to_string() : "real"));
  return {};
}

MappingRules::Verdict MappingRules::activation(const ir::Activation& fused,
                                               const std::set<std::string>& known) const {
  if (!fused) return {};
  const std::string name = name_of(fused);
  if (known.count(name) == 0) return cpu(Reason::kActivation, joined(known), name);
  if (fused.kind == ir::ActivationKind::kLeakyRelu && fused.alpha != kDpuSlope)
    return cpu(Reason::kSlope, fmt::format("{}", kDpuSlope), fmt::format("{}", fused.alpha));
  return {};
}

// One dense layer on the convolution engine.
MappingRules::Verdict MappingRules::dense(int64_t kernel_area, int64_t inputs, int64_t outputs) const {
  const int64_t most = target_.channels_max();
  if (inputs > most || outputs > most)
    return cpu(Reason::kChannels, fmt::format("{}", most), fmt::format("{} in, {} out", inputs, outputs));
  const int64_t depth = kernel_area * groups_of(inputs, target_.input_channel_parallel);
  if (depth > target_.weight_bank_depth)
    return cpu(Reason::kWeightDepth, fmt::format("{}", target_.weight_bank_depth), fmt::format("{}", depth));
  return {};
}

MappingRules::Verdict MappingRules::alu_window(const ir::Window& window, const std::vector<int64_t>& kernel,
                                               const Shape& x) const {
  ir::Window full = window;
  full.kernel = kernel;
  for (size_t i = 0; i < 2; ++i) {
    if (!target_.alu_kernel.holds(kernel[i]))
      return cpu(Reason::kKernel, target_.alu_kernel.to_string(), fmt::format("{}", kernel[i]));
    const bool whole = kernel[0] >= x[2] && kernel[1] >= x[3];
    if (!whole && !target_.alu_stride.holds(full.stride(i)))
      return cpu(Reason::kStride, target_.alu_stride.to_string(), fmt::format("{}", full.stride(i)));
  }
  const Result<ir::ResolvedWindow> resolved = ir::resolve(full, spatial(x), false);
  if (!resolved.ok()) return {};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t begin = resolved->pad_begin[i], end = resolved->pad_end[i];
    if (!target_.alu_pad_begin.holds(begin))
      return cpu(Reason::kPad, target_.alu_pad_begin.to_string() + " before", fmt::format("{}", begin));
    if (!target_.alu_pad_end.holds(end))
      return cpu(Reason::kPad, target_.alu_pad_end.to_string() + " behind", fmt::format("{}", end));
  }
  return {};
}

MappingRules::Verdict MappingRules::depthwise(const ir::Window& window, const Shape& x, const Shape& w,
                                              const ir::Activation& fused) const {
  if (target_.alu_types.count("dwconv") == 0)
    return cpu(Reason::kOperator, joined(target_.alu_types), "dwconv");
  Verdict verdict = alu_window(window, {w[2], w[3]}, x);
  if (!fits(verdict)) return verdict;
  if (x[1] > target_.channels_max())
    return cpu(Reason::kChannels, fmt::format("{}", target_.channels_max()), fmt::format("{}", x[1]));
  const int64_t depth = w[2] * w[3] * groups_of(target_.input_channel_parallel, target_.depthwise_bank_width);
  if (depth > target_.depthwise_bank_depth)
    return cpu(Reason::kWeightDepth, fmt::format("{}", target_.depthwise_bank_depth),
               fmt::format("{}", depth));
  return activation(fused, target_.alu_activations);
}

MappingRules::Verdict MappingRules::rule(const ir::Node& node, const ir::Conv& conv) const {
  const Shape& x = *input(node, 0).shape;
  const Shape& w = *input(node, 1).shape;
  if (x.rank() != 4) return cpu(Reason::kRank, "4", fmt::format("{}", x.rank()));
  if (node.inputs.size() > 3 && node.inputs[3] != ir::kNoValue)
    return cpu(Reason::kOperator, "one addition at a time", "a fused residual");
  Verdict verdict = quantized(node, 1);
  if (fits(verdict)) verdict = weights_are_constant(node);
  if (!fits(verdict)) return verdict;
  if (conv.group > 1 && conv.group == x[1] && w[0] == x[1])
    return depthwise(conv.window, x, w, conv.activation);
  if (conv.group != 1)
    return cpu(Reason::kGroup, fmt::format("1 or {}", x[1]), fmt::format("{}", conv.group));
  ir::Window window = conv.window;
  window.kernel = {w[2], w[3]};
  const bool whole = w[2] >= x[2] && w[3] >= x[3];
  const Result<ir::ResolvedWindow> resolved = ir::resolve(window, spatial(x), false);
  for (size_t i = 0; i < 2; ++i) {
    if (!target_.conv_kernel.holds(window.kernel[i]))
      return cpu(Reason::kKernel, target_.conv_kernel.to_string(), fmt::format("{}", window.kernel[i]));
    if (!whole && !target_.conv_stride.holds(window.stride(i)))
      return cpu(Reason::kStride, target_.conv_stride.to_string(), fmt::format("{}", window.stride(i)));
    if (window.dilation(i) * x[1] > target_.channels_max())
      return cpu(Reason::kDilation, fmt::format("{}", target_.channels_max()),
                 fmt::format("{} * {}", window.dilation(i), x[1]));
    const int64_t most = (window.kernel[i] - 1) * window.dilation(i);
    if (resolved.ok() && (resolved->pad_begin[i] > most || resolved->pad_end[i] > most))
      return cpu(Reason::kPad, fmt::format("0..{}", most),
                 fmt::format("{} and {}", resolved->pad_begin[i], resolved->pad_end[i]));
  }
  verdict = dense(w[2] * w[3], x[1], w[0]);
  return fits(verdict) ? activation(conv.activation, target_.conv_activations) : verdict;
}

MappingRules::Verdict MappingRules::rule(const ir::Node& node, const ir::ConvTranspose& conv) const {
  const Shape& x = *input(node, 0).shape;
  const Shape& w = *input(node, 1).shape;
  if (x.rank() != 4) return cpu(Reason::kRank, "4", fmt::format("{}", x.rank()));
  Verdict verdict = quantized(node, 1);
  if (fits(verdict)) verdict = weights_are_constant(node);
  if (!fits(verdict)) return verdict;
  for (const int64_t p : conv.output_padding) {
    if (p != 0) return cpu(Reason::kOutputPadding, "0", fmt::format("{}", p));
  }
  const bool per_channel = conv.group > 1 && conv.group == x[1] && w[1] == 1;
  if (conv.group != 1 && !per_channel)
    return cpu(Reason::kGroup, fmt::format("1 or {}", x[1]), fmt::format("{}", conv.group));
  const Limits& kernel = per_channel ? target_.alu_kernel : target_.conv_kernel;
  for (size_t i = 0; i < 2; ++i) {
    // It runs as convolutions of kernel / stride.
    const int64_t k = w[i + 2], s = conv.window.stride(i);
    const int64_t least = k / s, most = k % s == 0 ? least : least + 1;
    if (!kernel.holds(least) || !kernel.holds(most))
      return cpu(Reason::kKernel, kernel.to_string() + " for kernel / stride", fmt::format("{} / {}", k, s));
  }
  if (per_channel) return activation(conv.activation, target_.alu_activations);
  verdict = dense(w[2] * w[3], x[1], w[1]);
  return fits(verdict) ? activation(conv.activation, target_.conv_activations) : verdict;
}

MappingRules::Verdict MappingRules::rule(const ir::Node& node, const ir::Pool& pool) const {
  const Shape& x = *input(node, 0).shape;
  if (x.rank() != 4) return cpu(Reason::kRank, "4", fmt::format("{}", x.rank()));
  const std::string type = pool.kind == ir::PoolKind::kMax ? "max_pool" : "avg_pool";
  if (pool.kind == ir::PoolKind::kLp || node.outputs.size() > 1 || target_.alu_types.count(type) == 0)
    return cpu(Reason::kOperator, joined(target_.alu_types), ir::describe(node.op));
  const Verdict verdict = quantized(node, 1);
  return fits(verdict) ? alu_window(pool.window, pool.window.kernel, x) : verdict;
}

MappingRules::Verdict MappingRules::rule(const ir::Node& node, const ir::GlobalPool& pool) const {
  const Shape& x = *input(node, 0).shape;
  if (x.rank() != 4) return cpu(Reason::kRank, "4", fmt::format("{}", x.rank()));
  if (pool.kind == ir::PoolKind::kLp)
    return cpu(Reason::kOperator, joined(target_.alu_types), ir::describe(node.op));
  const Verdict verdict = quantized(node, 1);
  return fits(verdict) ? alu_window({}, spatial(x), x) : verdict;
}

// A matrix product with constant weights runs as a convolution of one pixel.
MappingRules::Verdict MappingRules::matrix(const ir::Node& node, bool transposed,
                                           const ir::Activation& fused) const {
  Verdict verdict = quantized(node, 1);
  if (fits(verdict)) verdict = weights_are_constant(node);
  if (!fits(verdict)) return verdict;
  const Shape& w = *input(node, 1).shape;
  if (w.rank() != 2) return cpu(Reason::kRank, "2", fmt::format("{}", w.rank()));
  int64_t inputs = w[transposed ? 1 : 0];
  const int64_t outputs = w[transposed ? 0 : 1];
  int64_t area = 1;
  // Behind a flattened image it is a convolution over the whole image.
  const ir::NodeId producer = input(node, 0).producer;
  if (producer != ir::kNoNode && std::holds_alternative<ir::Flatten>(graph_.node(producer).op)) {
    const Shape& image = *input(graph_.node(producer), 0).shape;
    if (image.rank() == 4 && target_.conv_kernel.holds(image[2]) && target_.conv_kernel.holds(image[3])) {
      inputs = image[1];
      area = image[2] * image[3];
    }
  }
  verdict = dense(area, inputs, outputs);
  return fits(verdict) ? activation(fused, target_.conv_activations) : verdict;
}

MappingRules::Verdict MappingRules::rule(const ir::Node& node, const ir::Gemm& gemm) const {
  if (gemm.alpha != 1 || gemm.beta != 1 || gemm.trans_a)
    return cpu(Reason::kOperator, "x * w + b", "Gemm with factors, or x transposed");
  return matrix(node, gemm.trans_b, gemm.activation);
}

MappingRules::Verdict MappingRules::rule(const ir::Node& node, const ir::MatMul&) const {
  return matrix(node, false, {});
}

MappingRules::Verdict MappingRules::rule(const ir::Node& node, const ir::Binary& binary) const {
  const bool add = binary.kind == ir::BinaryKind::kAdd, mul = binary.kind == ir::BinaryKind::kMul;
  if (!add && !mul) return cpu(Reason::kOperator, "add, mul", ir::describe(node.op));
  const bool constant = input(node, 0).is_constant() || input(node, 1).is_constant();
  if (constant && add) return cpu(Reason::kConstantOperand, "two activations", "a constant operand");
  if (constant) {
    // A factor per channel, or one for all, is tried as a depthwise convolution of 1x1.
    const size_t which = input(node, 0).is_constant() ? 0 : 1;
    const Shape& data = *input(node, 1 - which).shape;
    const int64_t elements = input(node, which).shape->elements();
    if (data.rank() != 4 || (elements != 1 && elements != data[1]))
      return cpu(Reason::kConstantOperand, "one factor, or one per channel",
                 fmt::format("{} factors", elements));
  }
  const Verdict verdict = quantized(node, 2);
  return fits(verdict) ? activation(binary.activation, target_.add_activations) : verdict;
}

MappingRules::Verdict MappingRules::rule(const ir::Node& node, const ir::Unary& unary) const {
  switch (unary.kind) {
    case ir::UnaryKind::kRelu: return cpu(Reason::kActivationAlone, "after Conv or Add", "alone");
    case ir::UnaryKind::kLeakyRelu:
      if (unary.alpha != kDpuSlope)
        return cpu(Reason::kSlope, fmt::format("{}", kDpuSlope), fmt::format("{}", unary.alpha));
      if (target_.alu_types.count("leaky_relu") == 0)
        return cpu(Reason::kActivationAlone, "after Conv", "alone");
      return quantized(node, 1);
    case ir::UnaryKind::kHardSigmoid:
      if (target_.alu_types.count("hsigmoid") == 0)
        return cpu(Reason::kOperator, joined(target_.alu_types), "hsigmoid");
      return quantized(node, 1);
    default: return cpu(Reason::kOperator, joined(target_.alu_types), ir::describe(node.op));
  }
}

MappingRules::Verdict MappingRules::rule(const ir::Node&, const ir::Clip&) const {
  return cpu(Reason::kActivationAlone, "after Conv", "alone");
}

MappingRules::Verdict MappingRules::rule(const ir::Node& node, const ir::Concat& concat) const {
  const Verdict verdict = quantized(node, node.inputs.size());
  if (!fits(verdict)) return verdict;
  const bool inside = std::all_of(node.inputs.begin(), node.inputs.end(),
                                  [&](ir::ValueId id) { return value(id).is_constant() || from_dpu(id); });
  const size_t rank = value(node.outputs[0]).shape->rank();
  if (!inside && (rank != 4 || (concat.axis != 1 && concat.axis != -3)))
    return cpu(Reason::kConcatOutside, "channels", fmt::format("axis {} of {}", concat.axis, rank));
  return {};
}

MappingRules::Verdict MappingRules::rule_reshape(const ir::Node& node) const {
  const Verdict verdict = quantized(node, 1);
  if (!fits(verdict)) return verdict;
  if (!from_dpu(node.inputs[0])) return cpu(Reason::kReshapeInterface, "a DPU node before it", "none");
  const Shape& from = *input(node, 0).shape;
  const Shape& to = *value(node.outputs[0]).shape;
  const bool same = from.rank() > 0 && to.rank() > 0 && from[0] == to[0];
  if (!same)
    return cpu(Reason::kReshapeInterface, "dimension 0 kept",
               fmt::format("{} to {}", from.to_string(), to.to_string()));
  return {};
}

MappingRules::Verdict MappingRules::rule(const ir::Node& node, const ir::Reduce& reduce) const {
  const Verdict verdict = quantized(node, 1);
  if (!fits(verdict)) return verdict;
  const Shape& x = *input(node, 0).shape;
  if (reduce.kind != ir::ReduceKind::kMax && reduce.kind != ir::ReduceKind::kMean)
    return cpu(Reason::kOperator, "max, mean", ir::describe(node.op));
  if (x.rank() != 4) return cpu(Reason::kRank, "4", fmt::format("{}", x.rank()));
  const bool given = node.inputs.size() > 1 && node.inputs[1] != ir::kNoValue && input(node, 1).is_constant();
  if (!given || !reduce.keepdims) return cpu(Reason::kAxis, "height or width, kept", "others, or dropped");
  std::vector<int64_t> kernel = {1, 1};
  const std::vector<int64_t> axes = to_int64s(*input(node, 1).constant).value_or({});
  for (const int64_t axis : axes) {
    const int64_t positive = axis < 0 ? axis + 4 : axis;
    if (positive != 2 && positive != 3)
      return cpu(Reason::kAxis, "height, width", fmt::format("axis {}", axis));
    kernel[static_cast<size_t>(positive - 2)] = x[static_cast<size_t>(positive)];
  }
  return alu_window({}, kernel, x);
}

MappingRules::Verdict MappingRules::rule(const ir::Node& node, const ir::Resize& resize) const {
  const Verdict verdict = quantized(node, 1);
  if (!fits(verdict)) return verdict;
  const Shape& x = *input(node, 0).shape;
  const Shape& y = *value(node.outputs[0]).shape;
  if (x.rank() != 4) return cpu(Reason::kRank, "4", fmt::format("{}", x.rank()));
  if (resize.mode == ir::ResizeMode::kNearest && resize.coordinates != ir::CoordinateRule::kAlignCorners)
    return {};
  const int64_t scale = x[2] > 0 ? y[2] / x[2] : 0;
  const bool equal = scale * x[2] == y[2] && scale * x[3] == y[3] && (scale == 2 || scale == 4 || scale == 8);
  if (resize.mode == ir::ResizeMode::kLinear && equal) return {};
  return cpu(Reason::kScale, "nearest, or linear by 2, 4, 8",
             fmt::format("{} from {} to {}", ir::enum_name(resize.mode), x.to_string(), y.to_string()));
}

MappingRules::Verdict MappingRules::rule(const ir::Node& node, const ir::Pad& pad) const {
  const Verdict verdict = quantized(node, 1);
  if (!fits(verdict)) return verdict;
  if (pad.mode != ir::PadMode::kConstant) return cpu(Reason::kOperator, "constant", ir::describe(node.op));
  return {};
}

// The border's change of layout is the runtime's; any other order of dimensions is the CPU's.
MappingRules::Verdict MappingRules::rule(const ir::Node& node, const ir::Transpose& transpose) const {
  ir::NodeId producer = input(node, 0).producer;
  if (producer != ir::kNoNode && std::holds_alternative<ir::Requantize>(graph_.node(producer).op))
    producer = input(graph_.node(producer), 0).producer;
  const bool enters = transpose.perm == std::vector<int64_t>{0, 3, 1, 2} && producer == ir::kNoNode;
  const bool leaves = transpose.perm == std::vector<int64_t>{0, 2, 3, 1} && graph_.is_output(node.outputs[0]);
  if (enters || leaves) return {Side::kNothing, Reason::kNoWork, "", ""};
  return cpu(Reason::kOperator, "", ir::describe(node.op));
}

MappingRules::Verdict MappingRules::rule(const ir::Node&, const ir::Requantize&) const {
  return {Side::kNothing, Reason::kNoWork, "", ""};
}
MappingRules::Verdict MappingRules::rule(const ir::Node&, const ir::Identity&) const {
  return {Side::kNothing, Reason::kNoWork, "", ""};
}

MappingRules::Verdict MappingRules::rule(const ir::Node&, const ir::Opaque& opaque) const {
  return cpu(Reason::kUnknownOp, "", opaque.op_type);
}

}  // namespace tandem::partition
