// SPDX-License-Identifier: Apache-2.0
// Epilogues of integer convolutions and products.
#include "tandem/exec/epilogue.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::exec {
namespace {

using ir::ActivationKind;

bool is_byte(const ir::Value& v) { return v.quant && v.quant->per_tensor() && size_of(v.quant->dtype) == 1; }

// f(c x) = c f(x) for c > 0.
bool is_homogeneous(const ir::Activation& a) {
  return a.kind == ActivationKind::kNone || a.kind == ActivationKind::kRelu ||
         a.kind == ActivationKind::kLeakyRelu;
}

// True when saturation to the output's range does what clamping reals to [low, high] does: both bounds are
// stored at or beyond the ends. (All steps are monotonic.)
bool saturation_clips(const QuantParams& q, double low, double high) {
  const auto stored = [&](double x) { return round_by(q.scheme, x / q.scale[0]) + q.zero_point[0]; };
  return stored(low) <= static_cast<double>(q.lowest()) && stored(high) >= static_cast<double>(q.highest());
}

dnn::PostOp clip(double low, double high) {
  dnn::PostOp op;
  op.eltwise = dnn::Eltwise::kClip;
  op.alpha = static_cast<float>(low);
  op.beta = static_cast<float>(high);
  return op;
}

double lower_bound(const ir::Activation& a) { return a.kind == ActivationKind::kClip ? a.alpha : 0; }
double upper_bound(const ir::Activation& a) { return a.kind == ActivationKind::kClip ? a.beta : INFINITY; }
bool is_clamp(const ir::Activation& a) {
  return a.kind == ActivationKind::kRelu || a.kind == ActivationKind::kClip;
}

Epilogue affine(Lowering& l, const EpilogueInput& in) {
  Epilogue e;
  const auto& quant = l.out().quant;
  const double sy = quant ? quant->scale[0] : 1;
  // In steps of the output where the activation allows it, else in reals and divided by the step afterwards.
  const bool steps = is_homogeneous(in.activation) || in.activation.kind == ActivationKind::kClip;
  const double unit = steps ? sy : 1;
  for (const double sw : in.weight_scale)
    e.attributes.scale.push_back(static_cast<float>(in.src_scale * sw / unit));
  if (in.bias != nullptr) {
    Tensor bias(DType::kF32, Shape{in.channels});
    for (int64_t c = 0; c < in.channels; ++c) {
      const double sw = in.weight_scale[in.weight_scale.size() > 1 ? static_cast<size_t>(c) : 0];
      bias.as<float>()[static_cast<size_t>(c)] =
          static_cast<float>(element_as_double(*in.bias, c) * in.bias_factor / (in.src_scale * sw));
    }
    e.bias = std::move(bias);
  }
  if (in.residual) {
    const ir::Value& r = l.in(*in.residual);
    dnn::PostOp sum;
    sum.kind = dnn::PostOp::Kind::kSum;
    sum.dtype = r.storage();
    sum.scale = static_cast<float>((r.quant ? r.quant->scale[0] : 1) / unit);
    sum.zero_point = r.quant ? r.quant->zero_point[0] : 0;
    e.attributes.post_ops.push_back(sum);
  }
  if (quant) e.attributes.dst_zero = quant->zero_point[0];
  if (is_clamp(in.activation)) {
    const double low = lower_bound(in.activation), high = upper_bound(in.activation);
    if (!quant || !saturation_clips(*quant, low, high)) {
      if (in.activation.kind == ActivationKind::kRelu) {
        dnn::PostOp relu;
        e.attributes.post_ops.push_back(relu);
      } else {
        e.attributes.post_ops.push_back(clip(low / sy, high / sy));
      }
    }
    return e;
  }
  const auto ops = post_ops_of(in.activation, steps || !quant ? 1.0f : static_cast<float>(1 / sy));
  if (!ops) {
    e.refusal = "oneDNN has no such activation";
    return e;
  }
  e.attributes.post_ops.insert(e.attributes.post_ops.end(), ops->begin(), ops->end());
  return e;
}

Epilogue pow2(Lowering& l, const EpilogueInput& in) {
  Epilogue e;
  const auto refuse = [&](const char* why) {
    e.refusal = why;
    return std::move(e);
  };
  if (in.residual) return refuse("pow2 rounds before it adds");
  const bool leaky = in.activation.kind == ActivationKind::kLeakyRelu;
  if (in.activation && !is_clamp(in.activation) && !leaky) return refuse("activation has its own pow2 form");
  const QuantParams& q = *l.out().quant;
  const double sy = q.scale[0];
  e.factor = in.src_scale * in.weight_scale[0] / sy;  // 2^-shift, exactly
  Tensor bias(DType::kF32, Shape{in.channels});
  bool exact = true;
  double most = 0;
  for (int64_t c = 0; c < in.channels; ++c) {
    double b = in.bias == nullptr
                   ? 0
                   : element_as_double(*in.bias, c) * in.bias_factor / (in.src_scale * in.weight_scale[0]);
    // A bias finer than the accumulator cannot move a rounding only when it is whole.
    exact = exact && b == std::floor(b);
    most = std::max(most, in.sum_max[static_cast<size_t>(c)] + std::abs(b) + 1);
    if (e.factor < 1) b += 0.5;
    bias.as<float>()[static_cast<size_t>(c)] = static_cast<float>(b);
    exact = exact && static_cast<double>(bias.as<float>()[static_cast<size_t>(c)]) == b;
  }
  const double low = lower_bound(in.activation) / sy, high = upper_bound(in.activation) / sy;
  const bool whole_bounds = low == std::floor(low) && (std::isinf(high) || high == std::floor(high));
  e.own = !exact || leaky || most >= 8388608.0 || (is_clamp(in.activation) && !whole_bounds);
  if (e.own) {
    if (in.bias != nullptr) {
      Tensor whole(DType::kF64, Shape{in.channels});
      for (int64_t c = 0; c < in.channels; ++c) {
        whole.as<double>()[static_cast<size_t>(c)] =
            element_as_double(*in.bias, c) * in.bias_factor / (in.src_scale * in.weight_scale[0]);
      }
      e.bias = std::move(whole);
    }
    return e;
  }
  e.bias = std::move(bias);
  e.attributes.scale = {static_cast<float>(e.factor)};
  if (is_clamp(in.activation) && !saturation_clips(q, low * sy, high * sy)) {
    e.attributes.post_ops.push_back(std::isinf(high) ? dnn::PostOp{} : clip(low, high));
  }
  return e;
}

}  // namespace

std::string refuse_integers(Lowering& l) {
  if (!l.in(0).quant) return "input is not quantized";
  if (!dnn::library().exact_int8) {
    return fmt::format("8-bit products saturate on this CPU ({})", dnn::library().isa);
  }
  if (!is_byte(l.in(0))) return "input is not 8-bit per tensor";
  if (!Lowering::is_real(l.out()) || (l.out().quant && !is_byte(l.out())))
    return "output is not 8-bit per tensor";
  if (!l.in(1).is_constant() || !l.in(1).quant) return "weights are not quantized constants";
  if (l.out().quant && l.out().quant->scheme != l.in(0).quant->scheme) return "schemes are mixed";
  if (l.out().quant && l.out().quant->bits != 8) return "fewer than 8 bits";
  return "";
}

SignedWeights signed_weights(const ir::Value& value, size_t axis) {
  SignedWeights s;
  const QuantParams& q = *value.quant;
  const Tensor& t = *value.constant;
  if (size_of(q.dtype) != 1) {
    s.refusal = "weights are wider than 8 bits";
    return s;
  }
  if (!q.per_tensor() && static_cast<size_t>(q.axis) != axis) {
    s.refusal = "weight scales are not per output channel";
    return s;
  }
  for (const float scale : q.scale) s.scale.push_back(scale);
  s.values = Tensor(DType::kI8, t.shape());
  s.abs_sum.assign(static_cast<size_t>(t.shape()[axis]), 0);
  const int64_t run = t.shape().strides()[axis], extent = t.shape()[axis];
  for (int64_t i = 0; i < t.elements(); ++i) {
    const int64_t channel = i / run % extent;
    const int32_t stored = q.dtype == DType::kU8 ? t.as<uint8_t>()[static_cast<size_t>(i)]
                                                 : t.as<int8_t>()[static_cast<size_t>(i)];
    const int32_t w = stored - q.zero_at(channel);
    if (w < -128 || w > 127) {
      s.refusal = "weights minus their zero point need 9 bits";
      return s;
    }
    s.values.as<int8_t>()[static_cast<size_t>(i)] = static_cast<int8_t>(w);
    s.abs_sum[static_cast<size_t>(channel)] += std::abs(w);
  }
  return s;
}

Epilogue make_epilogue(Lowering& l, const EpilogueInput& in) {
  // Real outputs need no rounding, so both schemes are alike there.
  return l.out().quant && l.out().quant->scheme == Scheme::kPow2 ? pow2(l, in) : affine(l, in);
}

void emit_own_epilogue(Lowering& l, BufferId sums, BufferId to, const Epilogue& e,
                       const ir::Activation& activation, int64_t channels) {
  const QuantParams& q = *l.out().quant;
  struct Constants {
    std::vector<double> bias;
    double factor, low, high, slope;
    double lowest, highest;
  } k;
  k.bias.assign(static_cast<size_t>(channels), 0);
  if (e.bias) std::copy_n(e.bias->as<double>().begin(), channels, k.bias.begin());
  k.factor = e.factor;
  const double sy = q.scale[0];
  k.low = is_clamp(activation) ? lower_bound(activation) / sy : -INFINITY;
  k.high = is_clamp(activation) ? upper_bound(activation) / sy : INFINITY;
  k.slope = activation.kind == ActivationKind::kLeakyRelu ? static_cast<double>(activation.alpha) : 1;
  k.lowest = static_cast<double>(q.lowest());
  k.highest = static_cast<double>(q.highest());
  const int64_t pixels = l.out_shape().elements() / channels;
  l.emit("own pow2 epilogue", {sums}, {to}, [=](Pointers p) -> Status {
    const int32_t* acc = reinterpret_cast<const int32_t*>(p[index_of(sums)]);
    std::byte* out = p[index_of(to)];
    for (int64_t i = 0; i < pixels; ++i) {
      for (int64_t c = 0; c < channels; ++c) {
        double v = (acc[i * channels + c] + k.bias[static_cast<size_t>(c)]) * k.factor;
        v = std::clamp(v < 0 ? v * k.slope : v, k.low, k.high);
        v = std::clamp(round_half_up(v), k.lowest, k.highest);
        const int32_t stored = static_cast<int32_t>(v);
        out[i * channels + c] = static_cast<std::byte>(static_cast<uint8_t>(stored));
      }
    }
    return {};
  });
}

}  // namespace tandem::exec
