// SPDX-License-Identifier: Apache-2.0
// The integer rules of both fixed-point schemes that are more than scale and round; executors share them with
// ref.
#pragma once

#include <optional>

#include "tandem/ref/kernel.hpp"

namespace tandem::ref {

// q of a real computed in double: sat(round(real / scale) + zero_point), rounded by the scheme. NaN becomes
// the zero point.
inline int64_t quantize_real(double real, const QuantParams& params, int64_t channel = 0) {
  const double scaled = real / static_cast<double>(params.scale_at(channel));
  if (std::isnan(scaled)) return params.zero_at(channel);
  const double q = round_by(params.scheme, scaled) + params.zero_at(channel);
  return static_cast<int64_t>(
      std::clamp(q, static_cast<double>(params.lowest()), static_cast<double>(params.highest())));
}

// How the DPU divides by the kernel area of an average pool: sum * multiplier / 2^shift.
struct AverageFactor {
  int64_t multiplier = 1;
  int shift = 0;
  double value() const { return std::ldexp(static_cast<double>(multiplier), -shift); }
};
// Fixed constants for 3x3, 5x5, 6x6, 3x6, 6x3, 7x7 and 14x14; else the multiplier and the smallest shift
// below ceil(log2(128 * area)) that come closest to 1 / area. Exact for powers of two. Precondition: extents
// >= 1.
AverageFactor average_factor(int64_t kernel_h, int64_t kernel_w);

// The DPU's hard sigmoid: y = sat(round_half_up((2731 * (x + 3 * 2^fix_in), clamped) * 2^-(fix_in + 14 -
// fix_out))), that is clamp(x / 6 + 1/2) with 1/6 as 2731 / 2^14. Clamped to [0, 2731 * 6 * 2^fix_in], where
// x reaches 3; for the usual fix_out of 7 the saturation comes first and the upper clamp changes nothing.
int64_t hard_sigmoid_pow2(int64_t x, int fix_in, const QuantParams& out);

// q - zero_point of all elements. Precondition: stored in at most 16 bits.
std::vector<int32_t> centered(const Tensor& stored, const QuantParams& params);
// True when centered() takes it.
bool is_narrow(const QuantParams& params);
// Exact in double.
Tensor dequantize_f64(const Tensor& stored, const QuantParams& params);
// From f64 (or any dtype), by quantize_real().
Tensor quantize_f64(const Tensor& real, const QuantParams& params);

// Writes reals into an output that is stored as `params` say (per tensor), or as f32 when there are none.
class RealWriter {
 public:
  RealWriter(Tensor& out, const QuantParams* params) : out_(out), params_(params) {}
  void put(int64_t i, double real);

 private:
  Tensor& out_;
  const QuantParams* params_;
};
// The tensor that a RealWriter fills.
Result<Tensor> make_output(const Shape& shape, const QuantParams* params);

// A node with quantized inputs. The tensors are stored forms; quant is nullptr for plain ones.
struct FixedCall {
  Call call;
  std::span<const QuantParams*const> in_quant, out_quant;

  const QuantParams* quant(size_t i) const { return i < in_quant.size() ? in_quant[i] : nullptr; }
  bool pow2(size_t i) const { return quant(i) != nullptr && quant(i)->scheme == Scheme::kPow2; }
  bool pow2_output() const { return out_quant[0] != nullptr && out_quant[0]->scheme == Scheme::kPow2; }
  bool per_tensor_output() const { return out_quant[0] == nullptr || out_quant[0]->per_tensor(); }
  // Input i, quantized or plain, as reals.
  std::vector<double> reals(size_t i) const;
};

// Kernels with integer arithmetic of their own; nothing when this call is not of their form, and then the
// node computes on dequantized values.
using FixedOutputs = std::optional<Outputs>;
FixedOutputs eval_fixed(const ir::Conv&, const FixedCall&);
FixedOutputs eval_fixed(const ir::ConvTranspose&, const FixedCall&);
FixedOutputs eval_fixed(const ir::Gemm&, const FixedCall&);
FixedOutputs eval_fixed(const ir::MatMul&, const FixedCall&);
FixedOutputs eval_fixed(const ir::Pool&, const FixedCall&);
FixedOutputs eval_fixed(const ir::GlobalPool&, const FixedCall&);
FixedOutputs eval_fixed(const ir::Unary&, const FixedCall&);

}  // namespace tandem::ref
