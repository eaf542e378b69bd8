// SPDX-License-Identifier: Apache-2.0
// Fused activations: as post-ops of oneDNN and as loops over f32 rows.
#include "tandem/exec/lower.hpp"

namespace tandem::exec {

using dnn::Eltwise;
using ir::ActivationKind;

std::optional<std::vector<dnn::PostOp>> post_ops_of(const ir::Activation& a, float scale) {
  const auto one = [&](Eltwise e, float alpha, float beta) {
    dnn::PostOp op;
    op.eltwise = e;
    op.alpha = alpha;
    op.beta = beta;
    op.scale = scale;
    return std::vector<dnn::PostOp>{op};
  };
  switch (a.kind) {
    case ActivationKind::kNone:
      if (scale == 1) return std::vector<dnn::PostOp>{};
      return one(Eltwise::kLinear, 1, 0);
    case ActivationKind::kRelu: return one(Eltwise::kRelu, 0, 0);
    case ActivationKind::kClip: return one(Eltwise::kClip, a.alpha, a.beta);
    case ActivationKind::kLeakyRelu: return one(Eltwise::kRelu, a.alpha, 0);
    case ActivationKind::kHardSigmoid: {
      std::vector<dnn::PostOp> ops = one(Eltwise::kClip, 0, 1);
      dnn::PostOp linear;
      linear.eltwise = Eltwise::kLinear;
      linear.alpha = a.alpha;
      linear.beta = a.beta;
      ops.insert(ops.begin(), linear);
      return ops;
    }
    case ActivationKind::kHardSwish: return one(Eltwise::kHardSwish, 0, 0);
    case ActivationKind::kSigmoid: return one(Eltwise::kLogistic, 0, 0);
    case ActivationKind::kSilu: return one(Eltwise::kSwish, 1, 0);
    case ActivationKind::kTanh: return one(Eltwise::kTanh, 0, 0);
    case ActivationKind::kGelu: return one(Eltwise::kGeluErf, 0, 0);
    case ActivationKind::kGeluTanh: return one(Eltwise::kGeluTanh, 0, 0);
  }
  return std::nullopt;
}

void apply_to_row(const ir::Activation& a, float* x, int64_t count) {
  const Kernels& k = kernels();
  switch (a.kind) {
    case ActivationKind::kNone: return;
    case ActivationKind::kRelu: k.function(RowFunction::kRelu, 0, 0, x, count); return;
    case ActivationKind::kClip: k.function(RowFunction::kClip, a.alpha, a.beta, x, count); return;
    case ActivationKind::kLeakyRelu: k.function(RowFunction::kLeakyRelu, a.alpha, 0, x, count); return;
    case ActivationKind::kHardSigmoid:
      k.function(RowFunction::kHardSigmoid, a.alpha, a.beta, x, count);
      return;
    case ActivationKind::kHardSwish: k.function(RowFunction::kHardSwish, 0, 0, x, count); return;
    case ActivationKind::kSigmoid:
    case ActivationKind::kSilu:
    case ActivationKind::kTanh:
    case ActivationKind::kGelu:
    case ActivationKind::kGeluTanh:
      for (int64_t i = 0; i < count; ++i) x[i] = ir::apply(a, x[i]);
      return;
  }
}

}  // namespace tandem::exec
