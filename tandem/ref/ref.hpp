// SPDX-License-Identifier: Apache-2.0
// The reference interpreter: runs any graph by loops that a person can check. It is the oracle that
// everything faster is judged by, so it prefers exactness to speed: float sums accumulate in double,
// fixed-point sums in integers.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tandem/base/cancel.hpp"
#include "tandem/ir/graph.hpp"

namespace tandem::ref {

struct RunOptions {
  // Called for every value that a node produces, in execution order, with its stored form (integers where the
  // value is quantized). The tensor is gone after the call.
  std::function<void(ir::ValueId, const Tensor& stored)> on_value;
  const CancelToken* cancel = nullptr;  // asked before every node
  bool stored_outputs = false;          // outputs as stored instead of dequantized to f32
};

// Inputs in the order of graph.inputs: real values, or the stored integers where the value is quantized.
// Shapes come from the inputs: every node infers its own from what it really gets, so dynamic graphs run as
// they are. A value is freed after its last consumer. Precondition: ir::verify(graph) is ok. Errors name the
// node; an Opaque node is kUnsupported.
//
// Fixed point (a node with quantized inputs; QuantParams q -> real = scale * (q - zero_point)):
//   Conv, ConvTranspose, Gemm, MatMul sum (x-zx)*(w-zw) in 64-bit integers, then, in double,
//     q = sat(round(act(acc * sx * sw[channel] + bias + residual) / sy) + zy)
//   where round is ties-to-even (affine) or half-up (pow2). In pow2 all factors are powers of two, so this is
//   exact and equals shifting bias and accumulator, with one rounding. Average pools in pow2 multiply the sum
//   by average_factor(); HardSigmoid in pow2 is the integer form of fixed_point.hpp. All other ops compute on
//   the dequantized values in double and round once, by the scheme of the output.
// A node with only real inputs computes in its dtype and quantizes as ONNX QuantizeLinear does (division in
// float).
Result<std::vector<Tensor>> run(const ir::Graph& graph, std::span<const Tensor> inputs,
                                const RunOptions& options = {});

// One op on plain tensors (nullptr where an optional input is absent). f16 and bf16 compute in f32 and are
// rounded at the end. What constant folding uses.
Result<std::vector<Tensor>> run_node(const ir::Op& op, std::span<const Tensor* const> inputs,
                                     size_t output_count);

// One node of a graph on stored tensors, by the same rules as run(). What executors use for ops they have no
// kernel for.
Result<std::vector<Tensor>> run_stored(const ir::Op& op, std::span<const Tensor* const> inputs,
                                       std::span<const QuantParams* const> input_quant,
                                       std::span<const QuantParams* const> output_quant);

}  // namespace tandem::ref
