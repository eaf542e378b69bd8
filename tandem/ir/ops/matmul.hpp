// SPDX-License-Identifier: Apache-2.0
// Matrix products.
#pragma once

#include "tandem/ir/infer.hpp"
#include "tandem/ir/ops/activation.hpp"

namespace tandem::ir {

// y = activation(alpha * A' * B' + beta * C). Inputs: A, B (2-D), C (optional, broadcast to y).
struct Gemm {
  static constexpr std::string_view kName = "Gemm";
  float alpha = 1;
  float beta = 1;
  bool trans_a = false;
  bool trans_b = false;
  Activation activation;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("alpha", s.alpha);
    f("beta", s.beta);
    f("trans_a", s.trans_a);
    f("trans_b", s.trans_b);
    f("activation", s.activation);
  }
};

// NumPy's matmul: the last two dimensions multiply, the others broadcast; 1-D operands are promoted.
struct MatMul {
  static constexpr std::string_view kName = "MatMul";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

Inferred infer(const Gemm& op, InputInfos in, size_t output_count);
Inferred infer(const MatMul& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
