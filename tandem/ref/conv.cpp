// SPDX-License-Identifier: Apache-2.0
// Convolutions in float (sums in double) and in fixed point (sums in 64-bit integers).
#include "tandem/ir/ops/conv.hpp"

#include "tandem/ref/fixed_point.hpp"
#include "tandem/ref/spatial.hpp"

namespace tandem::ref {

Result<std::vector<int64_t>> spatial_dims(const Shape& x) {
  if (x.rank() < 3 || x.rank() > 5) {
    return unsupported(fmt::format("{} has no one to three spatial dimensions", x.to_string()));
  }
  return std::vector<int64_t>(x.begin() + 2, x.end());
}

Spatial make_spatial(const ir::Window& window, const std::vector<int64_t>& in,
                     const ir::ResolvedWindow& resolved) {
  Spatial s;
  const size_t shift = 3 - in.size();
  for (size_t i = 0; i < in.size(); ++i) {
    s.in[i + shift] = in[i];
    s.out[i + shift] = resolved.output[i];
    s.kernel[i + shift] = window.kernel[i];
    s.stride[i + shift] = window.stride(i);
    s.dilation[i + shift] = window.dilation(i);
    s.pad_begin[i + shift] = resolved.pad_begin[i];
    s.pad_end[i + shift] = resolved.pad_end[i];
  }
  return s;
}

namespace {

Status check_weights(const Shape& x, const Shape& w, int64_t in_channels, int64_t group,
                     const ir::Window& window) {
  bool kernel_fits = window.kernel.size() + 2 == w.rank();
  for (size_t i = 0; kernel_fits && i < window.kernel.size(); ++i) kernel_fits = window.kernel[i] == w[i + 2];
  if (w.rank() == x.rank() && group >= 1 && x[1] == in_channels && w[0] % group == 0 && kernel_fits)
    return {};
  return bad_input(
      fmt::format("weights {} do not fit an input {} in {} groups", w.to_string(), x.to_string(), group));
}

}  // namespace

Result<ConvShape> conv_shape(ir::Window window, int64_t group, const Shape& x, const Shape& w) {
  const std::vector<int64_t> dims = TANDEM_TRY(spatial_dims(x));
  if (window.kernel.empty()) window.kernel.assign(w.begin() + 2, w.end());
  TANDEM_TRY(check_weights(x, w, w[1] * group, group, window));
  const ir::ResolvedWindow resolved = TANDEM_TRY(ir::resolve(window, dims, false));
  return ConvShape{x[0], group, w[1], w[0] / group, make_spatial(window, dims, resolved)};
}

Result<ConvShape> conv_transpose_shape(ir::ConvTranspose op, const Shape& x, const Shape& w) {
  const std::vector<int64_t> dims = TANDEM_TRY(spatial_dims(x));
  if (op.window.kernel.empty()) op.window.kernel.assign(w.begin() + 2, w.end());
  TANDEM_TRY(check_weights(x, w, w[0], op.group, op.window));
  const ir::ResolvedWindow resolved = TANDEM_TRY(ir::resolve_transpose(op, dims));
  ConvShape shape{x[0], op.group, w[0] / op.group, w[1], make_spatial(op.window, dims, resolved)};
  std::swap(shape.spatial.in, shape.spatial.out);  // the forward direction goes from y to x
  return shape;
}

namespace {

Status check_bias(const Call& call, int64_t channels) {
  if (!call.has(2) || call[2].elements() == channels) return {};
  return bad_input(fmt::format("a bias of shape {} for {} channels", call[2].shape().to_string(), channels));
}

// The end of a convolution in float: bias, residual, activation, one rounding.
template <typename T>
void finish_plane(const ir::Activation& activation, const double* sums, int64_t plane, double bias,
                  const T* residual, T* y) {
  for (int64_t i = 0; i < plane; ++i) {
    const double real = sums[i] + bias + (residual == nullptr ? 0.0 : static_cast<double>(residual[i]));
    y[i] = static_cast<T>(activate(activation, real));
  }
}

}  // namespace

Outputs eval(const ir::Conv& op, const Call& call) {
  const ConvShape shape = TANDEM_TRY(conv_shape(op.window, op.group, call[0].shape(), call[1].shape()));
  const int64_t channels = shape.group * shape.out_channels, plane = shape.spatial.out_plane();
  TANDEM_TRY(check_bias(call, channels));
  Tensor y = TANDEM_TRY(call.make(0));
  const std::vector<double> bias =
      call.has(2) ? doubles(call[2]) : std::vector<double>(static_cast<size_t>(channels));
  return with_float("Conv", call[0].dtype(), [&](auto tag) -> Outputs {
    using T = decltype(tag);
    convolve<double>(shape, data<T>(call[0]), data<T>(call[1]),
                     [&](int64_t n, int64_t o, const double* sums) {
                       const int64_t first = (n * channels + o) * plane;
                       finish_plane(op.activation, sums, plane, bias[static_cast<size_t>(o)],
                                    call.has(3) ? data<T>(call[3]) + first : nullptr, data<T>(y) + first);
                     });
    return single(std::move(y));
  });
}

Outputs eval(const ir::ConvTranspose& op, const Call& call) {
  const ConvShape shape = TANDEM_TRY(conv_transpose_shape(op, call[0].shape(), call[1].shape()));
  const int64_t channels = shape.group * shape.out_channels, plane = shape.spatial.in_plane();
  TANDEM_TRY(check_bias(call, channels));
  Tensor y = TANDEM_TRY(call.make(0));
  const std::vector<double> bias =
      call.has(2) ? doubles(call[2]) : std::vector<double>(static_cast<size_t>(channels));
  return with_float("ConvTranspose", call[0].dtype(), [&](auto tag) -> Outputs {
    using T = decltype(tag);
    convolve_transposed<double>(shape, data<T>(call[0]), data<T>(call[1]),
                                [&](int64_t n, int64_t o, const double* sums) {
                                  finish_plane<T>(op.activation, sums, plane, bias[static_cast<size_t>(o)],
                                                  nullptr, data<T>(y) + (n * channels + o) * plane);
                                });
    return single(std::move(y));
  });
}

namespace {

// Both operands narrow integers, x and y with one scale, w with one per output channel (on `axis`) at most.
bool is_integer_conv(const FixedCall& fixed, int64_t axis) {
  const QuantParams* x = fixed.quant(0);
  const QuantParams* w = fixed.quant(1);
  return x != nullptr && w != nullptr && is_narrow(*x) && is_narrow(*w) && x->per_tensor() &&
         (w->per_tensor() || w->axis == axis) && fixed.per_tensor_output();
}

// finish() of a fixed-point convolution.
struct FixedFinish {
  const ir::Activation& activation;
  double x_scale;
  const QuantParams& w;
  int64_t channels, channels_per_scale_group, plane;
  std::vector<double> bias, residual;  // real; empty when absent
  RealWriter writer;

  void operator()(int64_t n, int64_t o, const int64_t* sums) {
    const double scale = x_scale * static_cast<double>(w.scale_at(o % channels_per_scale_group));
    for (int64_t i = 0; i < plane; ++i) {
      const int64_t at = (n * channels + o) * plane + i;
      double real = static_cast<double>(sums[i]) * scale;
      if (!bias.empty()) real += bias[static_cast<size_t>(o)];
      if (!residual.empty()) real += residual[static_cast<size_t>(at)];
      writer.put(at, activate(activation, real));
    }
  }
};

}  // namespace

FixedOutputs eval_fixed(const ir::Conv& op, const FixedCall& fixed) {
  const Call& call = fixed.call;
  if (!is_integer_conv(fixed, 0)) return std::nullopt;
  return [&]() -> Outputs {
    const ConvShape shape = TANDEM_TRY(conv_shape(op.window, op.group, call[0].shape(), call[1].shape()));
    const int64_t channels = shape.group * shape.out_channels;
    TANDEM_TRY(check_bias(call, channels));
    Tensor y = TANDEM_TRY(make_output(call.shape(0), fixed.out_quant[0]));
    FixedFinish finish{op.activation,
                       fixed.quant(0)->scale[0],
                       *fixed.quant(1),
                       channels,
                       channels,
                       shape.spatial.out_plane(),
                       call.has(2) ? fixed.reals(2) : std::vector<double>{},
                       call.has(3) ? fixed.reals(3) : std::vector<double>{},
                       RealWriter(y, fixed.out_quant[0])};
    convolve<int64_t>(shape, centered(call[0], *fixed.quant(0)).data(),
                      centered(call[1], *fixed.quant(1)).data(), finish);
    return single(std::move(y));
  }();
}

FixedOutputs eval_fixed(const ir::ConvTranspose& op, const FixedCall& fixed) {
  const Call& call = fixed.call;
  if (!is_integer_conv(fixed, 1)) return std::nullopt;
  return [&]() -> Outputs {
    const ConvShape shape = TANDEM_TRY(conv_transpose_shape(op, call[0].shape(), call[1].shape()));
    const int64_t channels = shape.group * shape.out_channels;
    TANDEM_TRY(check_bias(call, channels));
    Tensor y = TANDEM_TRY(make_output(call.shape(0), fixed.out_quant[0]));
    FixedFinish finish{op.activation,
                       fixed.quant(0)->scale[0],
                       *fixed.quant(1),
                       channels,
                       shape.out_channels,
                       shape.spatial.in_plane(),
                       call.has(2) ? fixed.reals(2) : std::vector<double>{},
                       {},
                       RealWriter(y, fixed.out_quant[0])};
    convolve_transposed<int64_t>(shape, centered(call[0], *fixed.quant(0)).data(),
                                 centered(call[1], *fixed.quant(1)).data(), finish);
    return single(std::move(y));
  }();
}

}  // namespace tandem::ref
