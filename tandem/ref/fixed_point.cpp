// SPDX-License-Identifier: Apache-2.0
// Integer rules of the two fixed-point schemes. Sources: UG1414, and the open quantizer and CPU tasks of
// Vitis AI.
#include "tandem/ref/fixed_point.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::ref {
namespace {

// The channel of element i under per-axis params.
struct ChannelOf {
  ChannelOf(const Shape& shape, const QuantParams& params) {
    if (params.per_tensor()) return;
    const AxisView view = around_axis(shape, static_cast<size_t>(params.axis));
    inner = view.inner;
    channels = view.extent;
  }
  int64_t operator()(int64_t i) const { return channels == 1 ? 0 : i / inner % channels; }
  int64_t inner = 1, channels = 1;
};

int64_t stored_integer(const Tensor& t, int64_t i) {
  return with_number(t.dtype(), [&](auto tag) { return static_cast<int64_t>(data<decltype(tag)>(t)[i]); });
}

void store_integer(Tensor& t, int64_t i, int64_t q) {
  with_number(t.dtype(), [&](auto tag) { data<decltype(tag)>(t)[i] = static_cast<decltype(tag)>(q); });
}

}  // namespace

AverageFactor average_factor(int64_t kernel_h, int64_t kernel_w) {
  const int64_t small = std::min(kernel_h, kernel_w), large = std::max(kernel_h, kernel_w);
  if (small == 3 && large == 3) return {7, 6};
  if (small == 5 && large == 5) return {10, 8};
  if (small == 6 && large == 6) return {7, 8};
  if (small == 3 && large == 6) return {14, 8};  // the open quantizers scale its mean by 36 * 7/256, as for 6x6
  if (small == 7 && large == 7) return {21, 10};
  if (small == 14 && large == 14) return {21, 12};
  const double area = static_cast<double>(kernel_h) * static_cast<double>(kernel_w);
  const int shift_end = static_cast<int>(std::ceil(std::log2(128 * area)));
  AverageFactor best;
  double best_distance = 1;
  for (int shift = 0; shift < shift_end; ++shift) {
    const double multiplier = round_half_even(std::ldexp(1.0, shift) / area);
    const double distance = std::abs(std::ldexp(multiplier, -shift) - 1 / area);
    if (distance < best_distance) {
      best_distance = distance;
      best = {static_cast<int64_t>(multiplier), shift};
    }
  }
  return best;
}

int64_t hard_sigmoid_pow2(int64_t x, int fix_in, const QuantParams& out) {
  // In double: every factor is a small integer or a power of two, so nothing is rounded before the one
  // rounding.
  const double one_third = std::ldexp(3.0, fix_in);
  const double sum = 2731.0 * std::clamp(static_cast<double>(x) + one_third, 0.0, 2 * one_third);
  const double scaled = std::ldexp(sum, -(fix_in + 14 - out.fix_point()));
  return static_cast<int64_t>(std::clamp(round_half_up(scaled), static_cast<double>(out.lowest()),
                                         static_cast<double>(out.highest())));
}

bool is_narrow(const QuantParams& params) { return params.dtype != DType::kI32; }

std::vector<int32_t> centered(const Tensor& stored, const QuantParams& params) {
  std::vector<int32_t> values(static_cast<size_t>(stored.elements()));
  const ChannelOf channel_of(stored.shape(), params);
  with_number(stored.dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < stored.elements(); ++i) {
      values[static_cast<size_t>(i)] =
          static_cast<int32_t>(data<T>(stored)[i]) - params.zero_at(channel_of(i));
    }
  });
  return values;
}

Tensor dequantize_f64(const Tensor& stored, const QuantParams& params) {
  Tensor real(DType::kF64, stored.shape());
  const ChannelOf channel_of(stored.shape(), params);
  for (int64_t i = 0; i < stored.elements(); ++i) {
    const int64_t channel = channel_of(i);
    data<double>(real)[i] = static_cast<double>(stored_integer(stored, i) - params.zero_at(channel)) *
                            static_cast<double>(params.scale_at(channel));
  }
  return real;
}

Tensor quantize_f64(const Tensor& real, const QuantParams& params) {
  Tensor stored(params.dtype, real.shape());
  const ChannelOf channel_of(real.shape(), params);
  for (int64_t i = 0; i < real.elements(); ++i) {
    store_integer(stored, i, quantize_real(element_as_double(real, i), params, channel_of(i)));
  }
  return stored;
}

void RealWriter::put(int64_t i, double real) {
  if (params_ == nullptr)
    data<float>(out_)[i] = static_cast<float>(real);
  else
    store_integer(out_, i, quantize_real(real, *params_));
}

Result<Tensor> make_output(const Shape& shape, const QuantParams* params) {
  return Tensor::make(params == nullptr ? DType::kF32 : params->dtype, shape);
}

std::vector<double> FixedCall::reals(size_t i) const {
  return quant(i) == nullptr ? doubles(call[i]) : doubles(dequantize_f64(call[i], *quant(i)));
}

}  // namespace tandem::ref
