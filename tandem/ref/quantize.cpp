// SPDX-License-Identifier: Apache-2.0
// Explicit quantization as ONNX defines it: ties to even, saturation, sums in integers.
#include "tandem/ir/ops/quantize.hpp"

#include <cmath>
#include <limits>

#include "tandem/ref/fixed_point.hpp"
#include "tandem/ref/matrix.hpp"
#include "tandem/ref/spatial.hpp"

namespace tandem::ref {
namespace {

struct Range {
  double low, high;
};
Result<Range> range_of(DType dtype) {
  if (!is_integer(dtype) || size_of(dtype) > 4) return refuse_dtype("quantization", dtype);
  return with_number(dtype, [](auto tag) {
    using Limits = std::numeric_limits<decltype(tag)>;
    return Range{static_cast<double>(Limits::lowest()), static_cast<double>(Limits::max())};
  });
}

// Scales and zero points: one, or one per index of an axis of x.
struct Affine {
  std::vector<double> scale, zero;
  int64_t inner = 1, channels = 1;
  size_t channel(int64_t i) const { return channels == 1 ? 0 : static_cast<size_t>(i / inner % channels); }
};

Result<Affine> affine_of(const Call& call, const Shape& x, int64_t axis) {
  Affine a;
  a.scale = doubles(call[1]);
  a.zero = call.has(2) ? doubles(call[2]) : std::vector<double>(a.scale.size(), 0);
  if (a.zero.size() != a.scale.size()) return bad_input("scale and zero point differ in shape");
  if (a.scale.size() == 1) return a;
  if (call[1].shape().rank() != 1) return unsupported("blocked quantization is not known");
  const size_t positive = TANDEM_TRY(normalize_axis(axis, x.rank()));
  const AxisView view = around_axis(x, positive);
  if (view.extent != static_cast<int64_t>(a.scale.size())) return bad_input("scales do not fit the axis");
  a.inner = view.inner;
  a.channels = view.extent;
  return a;
}

double saturate(double q, const Range& range) {
  return std::isnan(q) ? 0 : std::clamp(q, range.low, range.high);
}

template <typename F>
void fill_integers(Tensor& y, F&& value_at) {
  with_number(y.dtype(), [&](auto tag) {
    for (int64_t i = 0; i < y.elements(); ++i)
      data<decltype(tag)>(y)[i] = static_cast<decltype(tag)>(value_at(i));
  });
}

}  // namespace

Outputs eval(const ir::QuantizeLinear& op, const Call& call) {
  const Tensor& x = call[0];
  const Affine a = TANDEM_TRY(affine_of(call, x.shape(), op.axis));
  Tensor y = TANDEM_TRY(call.make(0));
  const Range range = TANDEM_TRY(range_of(y.dtype()));
  const std::vector<double> values = doubles(x);
  fill_integers(y, [&](int64_t i) {
    const size_t c = a.channel(i);
    // The quotient is rounded to float before it is rounded to an integer, as a float implementation does.
    const float quotient =
        static_cast<float>(values[static_cast<size_t>(i)]) / static_cast<float>(a.scale[c]);
    return saturate(round_half_even(static_cast<double>(quotient)) + a.zero[c], range);
  });
  return single(std::move(y));
}

Outputs eval(const ir::DequantizeLinear& op, const Call& call) {
  const Tensor& x = call[0];
  const Affine a = TANDEM_TRY(affine_of(call, x.shape(), op.axis));
  Tensor y = TANDEM_TRY(call.make(0));
  const std::vector<double> values = doubles(x);
  return with_float("DequantizeLinear", y.dtype(), [&](auto tag) -> Outputs {
    using T = decltype(tag);
    for (int64_t i = 0; i < y.elements(); ++i) {
      const size_t c = a.channel(i);
      data<T>(y)[i] = static_cast<T>(values[static_cast<size_t>(i)] - a.zero[c]) * static_cast<T>(a.scale[c]);
    }
    return single(std::move(y));
  });
}

Outputs eval(const ir::DynamicQuantizeLinear&, const Call& call) {
  const Tensor& x = call[0];
  if (x.dtype() != DType::kF32) return refuse_dtype("DynamicQuantizeLinear", x.dtype());
  float low = 0, high = 0;  // the range includes 0
  for (float v : x.as<float>()) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  const float scale = high == low ? 1.0f : (high - low) / 255;
  const double zero = saturate(round_half_even(static_cast<double>(-low / scale)), {0, 255});
  Tensor y = TANDEM_TRY(Tensor::make(DType::kU8, x.shape()));
  for (int64_t i = 0; i < y.elements(); ++i) {
    const double q = round_half_even(static_cast<double>(data<float>(x)[i] / scale)) + zero;
    data<uint8_t>(y)[i] = static_cast<uint8_t>(saturate(q, {0, 255}));
  }
  std::vector<Tensor> outputs = single(std::move(y));
  outputs.push_back(Tensor::scalar<float>(scale));
  outputs.push_back(Tensor::scalar<uint8_t>(static_cast<uint8_t>(zero)));
  return outputs;
}

// The QuantParams of input and output values do the work; see run_stored().
Outputs eval(const ir::Requantize&, const Call& call) { return single(call[0].clone()); }

namespace {

// x - zero point; the zero point is one number, or one per index of dimension `axis`.
Result<std::vector<int32_t>> without_zero(const Tensor& x, const Tensor* zero, size_t axis) {
  if (!is_integer(x.dtype()) || size_of(x.dtype()) > 2) return refuse_dtype("integer arithmetic", x.dtype());
  std::vector<int64_t> zeros = {0};
  if (zero != nullptr) zeros = TANDEM_TRY(to_int64s(*zero));
  int64_t inner = 1, channels = 1;
  if (zeros.size() != 1) {
    if (axis >= x.shape().rank()) return bad_input("zero points per channel need a channel dimension");
    const AxisView view = around_axis(x.shape(), axis);
    inner = view.inner;
    channels = view.extent;
    if (channels != static_cast<int64_t>(zeros.size()))
      return bad_input("zero points do not fit the channels");
  }
  std::vector<int32_t> values(static_cast<size_t>(x.elements()));
  with_number(x.dtype(), [&](auto tag) {
    for (int64_t i = 0; i < x.elements(); ++i) {
      const int64_t zero_here = zeros[channels == 1 ? 0 : static_cast<size_t>(i / inner % channels)];
      values[static_cast<size_t>(i)] =
          static_cast<int32_t>(static_cast<int64_t>(data<decltype(tag)>(x)[i]) - zero_here);
    }
  });
  return values;
}

const Tensor* optional(const Call& call, size_t i) { return call.has(i) ? &call[i] : nullptr; }

// sx * sw / sy for every output channel. Products and quotient in double.
Result<std::vector<double>> output_factors(const Call& call, size_t sx, size_t sw, size_t sy,
                                           int64_t channels) {
  const double x_scale = TANDEM_TRY(scalar_double(call[sx], "input scale"));
  const double y_scale = TANDEM_TRY(scalar_double(call[sy], "output scale"));
  std::vector<double> factors = doubles(call[sw]);
  if (factors.size() == 1) factors.resize(static_cast<size_t>(channels), factors[0]);
  if (static_cast<int64_t>(factors.size()) != channels)
    return bad_input("weight scales do not fit the channels");
  for (double& f : factors) f = f * x_scale / y_scale;
  return factors;
}

}  // namespace

Outputs eval(const ir::QLinearConv& op, const Call& call) {
  const ConvShape shape = TANDEM_TRY(conv_shape(op.window, op.group, call[0].shape(), call[3].shape()));
  const int64_t channels = shape.group * shape.out_channels, plane = shape.spatial.out_plane();
  const std::vector<int32_t> x = TANDEM_TRY(without_zero(call[0], &call[2], 1));
  const std::vector<int32_t> w = TANDEM_TRY(without_zero(call[3], &call[5], 0));
  const std::vector<double> factors = TANDEM_TRY(output_factors(call, 1, 4, 6, channels));
  const double zero = TANDEM_TRY(scalar_double(call[7], "output zero point"));
  std::vector<int64_t> bias(static_cast<size_t>(channels), 0);
  if (call.has(8)) bias = TANDEM_TRY(to_int64s(call[8]));
  if (static_cast<int64_t>(bias.size()) != channels) return bad_input("the bias does not fit the channels");
  Tensor y = TANDEM_TRY(call.make(0));
  const Range range = TANDEM_TRY(range_of(y.dtype()));
  with_number(y.dtype(), [&](auto tag) {
    using T = decltype(tag);
    convolve<int64_t>(shape, x.data(), w.data(), [&](int64_t n, int64_t o, const int64_t* sums) {
      const size_t c = static_cast<size_t>(o);
      for (int64_t i = 0; i < plane; ++i) {
        const double q = round_half_even(static_cast<double>(sums[i] + bias[c]) * factors[c]) + zero;
        data<T>(y)[(n * channels + o) * plane + i] = static_cast<T>(saturate(q, range));
      }
    });
  });
  return single(std::move(y));
}

Outputs eval(const ir::ConvInteger& op, const Call& call) {
  const ConvShape shape = TANDEM_TRY(conv_shape(op.window, op.group, call[0].shape(), call[1].shape()));
  const int64_t channels = shape.group * shape.out_channels, plane = shape.spatial.out_plane();
  const std::vector<int32_t> x = TANDEM_TRY(without_zero(call[0], optional(call, 2), 1));
  const std::vector<int32_t> w = TANDEM_TRY(without_zero(call[1], optional(call, 3), 0));
  Tensor y = TANDEM_TRY(call.make(0));
  convolve<int64_t>(shape, x.data(), w.data(), [&](int64_t n, int64_t o, const int64_t* sums) {
    for (int64_t i = 0; i < plane; ++i)
      data<int32_t>(y)[(n * channels + o) * plane + i] = static_cast<int32_t>(sums[i]);
  });
  return single(std::move(y));
}

namespace {

// Zero points of a: one or one per row (dimension rank-2); of b: one or one per column.
struct IntegerMatMul {
  MatMulShape shape;
  std::vector<int32_t> a, b;
};
Result<IntegerMatMul> integer_matmul(const Tensor& a, const Tensor* za, const Tensor& b, const Tensor* zb) {
  const MatMulShape shape = TANDEM_TRY(matmul_shape(a.shape(), b.shape()));
  const size_t a_axis = a.shape().rank() >= 2 ? a.shape().rank() - 2 : 0;
  return IntegerMatMul{shape, TANDEM_TRY(without_zero(a, za, a_axis)),
                       TANDEM_TRY(without_zero(b, zb, b.shape().rank() - 1))};
}

}  // namespace

Outputs eval(const ir::QLinearMatMul&, const Call& call) {
  const IntegerMatMul m = TANDEM_TRY(integer_matmul(call[0], &call[2], call[3], &call[5]));
  const std::vector<double> factors = TANDEM_TRY(output_factors(call, 1, 4, 6, m.shape.n));
  const double zero = TANDEM_TRY(scalar_double(call[7], "output zero point"));
  Tensor y = TANDEM_TRY(call.make(0));
  const Range range = TANDEM_TRY(range_of(y.dtype()));
  with_number(y.dtype(), [&](auto tag) {
    using T = decltype(tag);
    multiply_batches<int64_t>(m.shape, m.a.data(), m.b.data(), [&](int64_t first, const int64_t* row) {
      for (int64_t j = 0; j < m.shape.n; ++j) {
        const double q =
            round_half_even(static_cast<double>(row[j]) * factors[static_cast<size_t>(j)]) + zero;
        data<T>(y)[first + j] = static_cast<T>(saturate(q, range));
      }
    });
  });
  return single(std::move(y));
}

Outputs eval(const ir::MatMulInteger&, const Call& call) {
  const IntegerMatMul m = TANDEM_TRY(integer_matmul(call[0], optional(call, 2), call[1], optional(call, 3)));
  Tensor y = TANDEM_TRY(call.make(0));
  multiply_batches<int64_t>(m.shape, m.a.data(), m.b.data(), [&](int64_t first, const int64_t* row) {
    for (int64_t j = 0; j < m.shape.n; ++j) data<int32_t>(y)[first + j] = static_cast<int32_t>(row[j]);
  });
  return single(std::move(y));
}

}  // namespace tandem::ref
