// SPDX-License-Identifier: Apache-2.0
// Activation: an elementwise function fused into the op before it; applied to the real value before the one
// rounding.
#pragma once

#include <cstdint>

#include "tandem/ir/fields.hpp"

namespace tandem::ir {

enum class ActivationKind : uint8_t {
  kNone,
  kRelu,
  kClip,
  kLeakyRelu,
  kHardSigmoid,
  kHardSwish,
  kSigmoid,
  kSilu,
  kTanh,
  kGelu,
  kGeluTanh
};
template <>
struct EnumNames<ActivationKind> {
  static constexpr std::array<std::string_view, 11> names = {
      "none",    "relu", "clip", "leaky_relu", "hard_sigmoid", "hard_swish",
      "sigmoid", "silu", "tanh", "gelu",       "gelu_tanh"};
};

struct Activation {
  ActivationKind kind = ActivationKind::kNone;
  float alpha = 0;  // clip: lower bound; leaky_relu: slope; hard_sigmoid: alpha
  float beta = 0;   // clip: upper bound; hard_sigmoid: beta
  explicit operator bool() const { return kind != ActivationKind::kNone; }
  friend bool operator==(const Activation&, const Activation&) = default;
};

// f(x) in float, by the definition of ONNX for each kind.
float apply(const Activation& activation, float x);

}  // namespace tandem::ir
