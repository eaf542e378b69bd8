// SPDX-License-Identifier: Apache-2.0
// Op: the variant of all ops. A switch over ops is a visit without a catch-all, so a new op fails to compile
// where it is not handled yet.
#pragma once

#include <string_view>
#include <variant>

#include "tandem/ir/ops/conv.hpp"
#include "tandem/ir/ops/elementwise.hpp"
#include "tandem/ir/ops/gather.hpp"
#include "tandem/ir/ops/generate.hpp"
#include "tandem/ir/ops/loss.hpp"
#include "tandem/ir/ops/matmul.hpp"
#include "tandem/ir/ops/movement.hpp"
#include "tandem/ir/ops/normalization.hpp"
#include "tandem/ir/ops/opaque.hpp"
#include "tandem/ir/ops/optimizer.hpp"
#include "tandem/ir/ops/pool.hpp"
#include "tandem/ir/ops/quantize.hpp"
#include "tandem/ir/ops/reduce.hpp"
#include "tandem/ir/ops/reshape.hpp"
#include "tandem/ir/ops/resize.hpp"

namespace tandem::ir {

using AnyOp =
    std::variant<Conv, ConvTranspose, Pool, GlobalPool, Gemm, MatMul, Unary, Clip, Binary, Variadic, Where,
                 Cast, CastLike, Identity, Dropout, Reduce, ArgReduce, CumSum, TopK, Softmax, BatchNorm,
                 LayerNorm, InstanceNorm, GroupNorm, Lrn, LpNorm, MeanVarianceNorm, Reshape, Flatten, Squeeze,
                 Unsqueeze, Transpose, Concat, Split, Slice, Pad, Expand, Tile, DepthToSpace, SpaceToDepth,
                 Trilu, Gather, GatherElements, GatherNd, ScatterElements, ScatterNd, OneHot, Resize, ShapeOf,
                 Size, ConstantOfShape, Range, EyeLike, NonZero, QuantizeLinear, DequantizeLinear,
                 DynamicQuantizeLinear, Requantize, QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger,
                 SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss, Adam, Momentum, Adagrad, Opaque>;

// The variant itself: std::visit, std::get_if and assignment work on it. Copying and destroying 69
// alternatives is compiled once, in op.cpp: instantiated in every file that holds a Node it was most of the
// time of a build.
struct Op : AnyOp {
  using AnyOp::AnyOp;
  using AnyOp::operator=;
  Op();
  Op(const Op& other);
  Op(Op&& other) noexcept;
  Op& operator=(const Op& other);
  Op& operator=(Op&& other) noexcept;
  ~Op();
};

// "Conv"; for an Opaque its own op type.
std::string_view op_name(const Op& op);
// What a person calls it: "Conv", "Unary relu", "Binary add + relu", "Pool max", "Opaque com.acme::Foo".
std::string describe(const Op& op);

// The rule of the op, with sizes and ranks of inputs and outputs checked against limits.
Inferred infer(const Op& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
