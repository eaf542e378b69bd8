// SPDX-License-Identifier: Apache-2.0
// Fused activations in float, by the operator definitions of ONNX.
#include "tandem/ir/ops/activation.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::ir {
namespace {

// Keeps NaN, as comparisons with it are false.
float clip(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

float sigmoid(float x) {
  // The exponential of a negative number only, so that nothing overflows.
  const float e = std::exp(-std::fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

}  // namespace

float apply(const Activation& activation, float x) {
  switch (activation.kind) {
    case ActivationKind::kNone: return x;
    case ActivationKind::kRelu: return x < 0 ? 0 : x;
    case ActivationKind::kClip: {
      // ONNX: max first when the bounds cross, so the result is the upper bound.
      const float raised = x < activation.alpha ? activation.alpha : x;
      return raised > activation.beta ? activation.beta : raised;
    }
    case ActivationKind::kLeakyRelu: return x < 0 ? activation.alpha * x : x;
    case ActivationKind::kHardSigmoid: return clip(activation.alpha * x + activation.beta, 0, 1);
    case ActivationKind::kHardSwish: return x * clip(x * (1.0f / 6) + 0.5f, 0, 1);
    case ActivationKind::kSigmoid: return sigmoid(x);
    case ActivationKind::kSilu: return x * sigmoid(x);
    case ActivationKind::kTanh: return std::tanh(x);
    case ActivationKind::kGelu: return 0.5f * x * (1 + std::erf(x * 0.70710678118654752f));
    case ActivationKind::kGeluTanh: {
      const float inner = 0.79788456080286536f * (x + 0.044715f * x * x * x);  // sqrt(2 / pi)
      return 0.5f * x * (1 + std::tanh(inner));
    }
  }
  return x;
}

}  // namespace tandem::ir
