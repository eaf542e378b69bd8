// SPDX-License-Identifier: Apache-2.0
// QuantParams: how integers stand for reals, real = scale * (q - zero_point), and the rounding of both schemes.
//   affine: float scale, ties to even (edge NPUs, CPU INT8).
//   pow2:   scale = 2^-fix_point, zero point 0, round half up toward +infinity (DPU_ROUND).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

enum class Scheme : uint8_t { kAffine, kPow2 };

struct QuantParams {
  Scheme scheme = Scheme::kAffine;
  DType dtype = DType::kI8;         // how q is stored: i8, u8, i16, u16 or i32
  int bits = 8;                     // q uses this many bits of dtype
  int64_t axis = -1;                // -1: one scale for the tensor; else the axis with one scale per index
  std::vector<float> scale = {1};   // > 0 and finite; one, or one per index of axis
  std::vector<int32_t> zero_point = {0};  // same length as scale

  static QuantParams affine(DType dtype, float scale, int32_t zero_point);
  static QuantParams affine_per_axis(DType dtype, int64_t axis, std::vector<float> scale);  // zero points 0
  // Precondition: fix_point in [-100, 100].
  static QuantParams pow2(int fix_point, DType dtype = DType::kI8, int bits = 8);

  bool per_tensor() const { return axis < 0; }
  float scale_at(int64_t index) const { return scale[per_tensor() ? 0 : static_cast<size_t>(index)]; }
  int32_t zero_at(int64_t index) const { return zero_point[per_tensor() ? 0 : static_cast<size_t>(index)]; }
  bool symmetric() const;           // all zero points 0
  // Precondition: scheme pow2.
  int fix_point() const;
  int64_t lowest() const;           // smallest and largest q
  int64_t highest() const;
  std::string to_string() const;    // "u8 0.0235 z0", "i8 fix5", "i8[axis 0, 32 scales]"

  friend bool operator==(const QuantParams&, const QuantParams&) = default;
};

// Error when lengths, ranges, signs or finiteness do not hold; `channels` is the extent of the axis, or kDynamic.
Status verify(const QuantParams& params, int64_t channels);

// Rounds to the nearest integer, ties to even (independent of the floating point environment's default).
inline double round_half_even(double x) { return std::nearbyint(x); }
// Rounds to the nearest integer, ties toward +infinity: 2.5 -> 3, -2.5 -> -2. Exact: x - floor(x) has no rounding.
inline double round_half_up(double x) {
  const double below = std::floor(x);
  return x - below >= 0.5 ? below + 1 : below;
}
inline double round_by(Scheme scheme, double x) {
  return scheme == Scheme::kPow2 ? round_half_up(x) : round_half_even(x);
}

// q of a real. NaN becomes the zero point. In affine the division is done in float, as ONNX defines QuantizeLinear.
inline int64_t quantize(float real, float scale, int32_t zero_point, int64_t low, int64_t high, Scheme scheme) {
  const float scaled = real / scale;
  if (std::isnan(scaled)) return zero_point;
  const double q = round_by(scheme, static_cast<double>(scaled)) + zero_point;
  return static_cast<int64_t>(std::clamp(q, static_cast<double>(low), static_cast<double>(high)));
}
inline float dequantize(int64_t q, float scale, int32_t zero_point) {
  return static_cast<float>(q - zero_point) * scale;
}

// Whole tensors. real is f32; q has dtype params.dtype and the same shape. Precondition: verify() is ok.
Tensor quantize(const TensorView& real, const QuantParams& params);
Tensor dequantize(const TensorView& q, const QuantParams& params);

}  // namespace tandem
