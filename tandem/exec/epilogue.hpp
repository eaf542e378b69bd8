// SPDX-License-Identifier: Apache-2.0
// The epilogue of integer convolutions and products: what happens between the int32 sum and the stored
// output.
//
// affine: q = sat(round_even(act(sx sw[c] acc + bias + residual) / sy) + zy), within 1 LSB of the reference.
// pow2:   exactly the reference's half-up rounding. f32 holds an integer below 2^23 exactly, and adding half
// an
//         accumulator LSB turns every tie, and nothing but ties, upward: so oneDNN's ties-to-even gives
//         half-up. Where the sum can reach 2^23 the sum is stored as int32 and our own loop finishes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/exec/lower.hpp"

namespace tandem::exec {

struct EpilogueInput {
  double src_scale = 1;
  std::vector<double> weight_scale;  // one or one per channel
  int64_t channels = 0;
  const Tensor* bias = nullptr;  // real, one per channel; or none
  double bias_factor = 1;
  ir::Activation activation;
  std::optional<size_t> residual;  // input index
  std::vector<double> sum_max;     // per channel: no |acc| is larger
};

struct Epilogue {
  dnn::Attributes attributes;  // without src_zero
  std::optional<Tensor> bias;  // f32, in units of the accumulator
  bool own = false;            // store int32 and run own_epilogue()
  double factor = 1;           // own: real output step per accumulator LSB
  std::string refusal;         // not empty: neither applies
};

Epilogue make_epilogue(Lowering& l, const EpilogueInput& in);

// From the int32 sums (channels innermost) to the current node's output, pow2.
void emit_own_epilogue(Lowering& l, BufferId sums, BufferId to, const Epilogue& e,
                       const ir::Activation& activation, int64_t channels);

// Weights as s8 with zero points taken off, or a reason why not. `axis` counts output channels.
struct SignedWeights {
  Tensor values;
  std::vector<double> scale;    // one or one per channel
  std::vector<double> abs_sum;  // per channel: sum of |w|
  std::string refusal;
};
SignedWeights signed_weights(const ir::Value& weights, size_t axis);

// Why the 8-bit path cannot take this node at all; empty when it can.
std::string refuse_integers(Lowering& l);

}  // namespace tandem::exec
