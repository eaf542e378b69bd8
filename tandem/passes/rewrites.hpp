// SPDX-License-Identifier: Apache-2.0
// The rewrites, one per file of the same name. Each keeps the function of the graph; where it does so only
// within rounding, it says so. None touches a value that carries QuantParams unless it says so.
#pragma once

#include "tandem/passes/pass_runner.hpp"

namespace tandem::passes {

// Nodes whose inputs are all constant become constants (up to 64 MiB each), computed by the reference
// interpreter.
Status fold_constants(ir::Graph& graph, PassLog& log);
// A Reshape whose output has at most one unknown extent gets a constant shape, which frees
// Shape-Gather-Concat chains.
Status simplify_reshapes(ir::Graph& graph, PassLog& log);
// Removes nodes that do nothing: Identity, Dropout in inference, Cast to the same type, Reshape and Transpose
// and Pad and Slice without effect, Concat of one.
Status eliminate_identities(ir::Graph& graph, PassLog& log);
// Written-out forms become one op: hard-swish, SiLU, GELU (erf and tanh form), LayerNorm. Equal within float
// rounding.
Status recognize_idioms(ir::Graph& graph, PassLog& log);
// MatMul of a 2-D (or flattened) x by constant weights, then Add of a constant vector, becomes Gemm.
Status fuse_matmul_bias(ir::Graph& graph, PassLog& log);
// A constant Pad with value 0 before a Conv becomes part of its window.
Status fold_padding(ir::Graph& graph, PassLog& log);
// BatchNorm in inference form after Conv, ConvTranspose or Gemm changes their weights and bias.
// y = (x - mean) * scale / sqrt(variance + epsilon) + bias (Ioffe and Szegedy 2015).
Status fold_batch_norm(ir::Graph& graph, PassLog& log);
// BatchNorm in training form, the statistics of which nobody reads, becomes inference form. Changes the
// function on purpose: for models that were exported in the middle of training and are now to be used. Noted
// by name.
Status freeze_batch_norm(ir::Graph& graph, PassLog& log);
// An elementwise function after Conv, ConvTranspose, Gemm or Add moves into the op. The value between them
// must carry no QuantParams, so in quantized graphs too nothing changes but the place of the function.
Status fuse_activation(ir::Graph& graph, PassLog& log);
// Add of a Conv's result and another value becomes the Conv's residual input. In a quantized graph this drops
// the rounding between Conv and Add; never applied to pow2 values.
Status fuse_residual(ir::Graph& graph, PassLog& log);

}  // namespace tandem::passes
