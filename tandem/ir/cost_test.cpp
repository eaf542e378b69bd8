// SPDX-License-Identifier: Apache-2.0
// Goal: costs agree with arithmetic by hand, which stands beside each expectation.
#include "tandem/ir/cost.hpp"

#include <gtest/gtest.h>

#include "tandem/testing/graph_builder.hpp"

namespace tandem::ir {
namespace {

using Builder = tandem::testing::GraphBuilder;

Tensor zeros(Shape shape) { return Tensor(DType::kF32, std::move(shape)); }

OpCost cost_of_single(Builder& b, ValueId y) {
  b.output(y);
  const Graph graph = b.finish();
  return cost_of(graph, NodeId{0});
}

TEST(Cost, Conv) {
  Builder b;
  Conv conv;
  conv.window.pads = {1, 1, 1, 1};
  conv.activation.kind = ActivationKind::kRelu;
  const ValueId x = b.input("x", {2, 3, 8, 8});
  const OpCost cost =
      cost_of_single(b, b.add(conv, {x, b.constant(zeros({4, 3, 3, 3})), b.constant(zeros({4}))}));
  EXPECT_EQ(cost.macs, 2 * 4 * 8 * 8 * (3 * 3 * 3));
  EXPECT_EQ(cost.other_ops, 2 * (2 * 4 * 8 * 8));         // bias and relu
  EXPECT_EQ(cost.weight_bytes, 4 * (4 * 3 * 3 * 3 + 4));  // f32
  EXPECT_EQ(cost.input_bytes, 4 * 2 * 3 * 8 * 8);
  EXPECT_EQ(cost.output_bytes, 4 * 2 * 4 * 8 * 8);
}

TEST(Cost, GroupedAndDepthwiseConv) {
  for (int64_t group : {2, 8}) {
    Builder b;
    Conv conv;
    conv.group = group;
    conv.window.strides = {2, 2};
    const ValueId x = b.input("x", {1, 8, 9, 9});
    const OpCost cost = cost_of_single(b, b.add(conv, {x, b.constant(zeros({8, 8 / group, 3, 3}))}));
    EXPECT_EQ(cost.macs, 8 * 4 * 4 * (8 / group) * 9) << group;  // (9 - 3) / 2 + 1 = 4
    EXPECT_EQ(cost.other_ops, 0);
  }
}

TEST(Cost, ConvTranspose) {
  Builder b;
  ConvTranspose conv;
  conv.window.strides = {2, 2};
  const ValueId x = b.input("x", {1, 4, 5, 5});
  const OpCost cost = cost_of_single(b, b.add(conv, {x, b.constant(zeros({4, 3, 2, 2}))}));
  EXPECT_EQ(cost.macs, 4 * 5 * 5 * (3 * 2 * 2));
}

TEST(Cost, GemmAndMatMul) {
  Builder b;
  Gemm gemm;
  gemm.trans_b = true;
  const ValueId x = b.input("x", {5, 7});
  OpCost cost = cost_of_single(b, b.add(gemm, {x, b.constant(zeros({11, 7})), b.constant(zeros({11}))}));
  EXPECT_EQ(cost.macs, 5 * 7 * 11);
  EXPECT_EQ(cost.other_ops, 5 * 11);
  Builder m;
  const ValueId a = m.input("a", {2, 6, 5, 7});
  cost = cost_of_single(m, m.add(MatMul{}, {a, m.input("c", {6, 7, 3})}));
  EXPECT_EQ(cost.macs, 2 * 6 * 5 * 7 * 3);
  EXPECT_EQ(cost.weight_bytes, 0);
}

TEST(Cost, Pools) {
  Builder b;
  Pool pool;
  pool.window.kernel = {3, 2};
  OpCost cost = cost_of_single(b, b.add(pool, {b.input("x", {1, 2, 5, 5})}));
  EXPECT_EQ(cost.macs, 0);
  EXPECT_EQ(cost.other_ops, 2 * 3 * 4 * (3 * 2));
  Builder g;
  cost = cost_of_single(g, g.add(GlobalPool{}, {g.input("x", {1, 2, 5, 5})}));
  EXPECT_EQ(cost.other_ops, 2 * 5 * 5);
}

TEST(Cost, BinaryAndReshape) {
  Builder b;
  const ValueId x = b.input("x", {2, 3});
  OpCost cost = cost_of_single(b, b.add(Binary{}, {x, b.input("y", {3})}));
  EXPECT_EQ(cost.other_ops, 6);
  EXPECT_EQ(cost.input_bytes, 4 * (6 + 3));
  Builder r;
  cost = cost_of_single(r, r.add(Flatten{}, {r.input("x", {2, 3, 4})}));
  EXPECT_EQ(cost.macs + cost.other_ops, 0);
}

TEST(Cost, LinearResizeBlendsFourPoints) {
  Builder b;
  Resize resize;
  resize.mode = ResizeMode::kLinear;
  const ValueId scales = b.constant(Tensor::of<float>({4}, {1, 1, 2, 2}));
  const OpCost cost = cost_of_single(b, b.add(resize, {b.input("x", {1, 3, 4, 4}), kNoValue, scales}));
  EXPECT_EQ(cost.macs, 3 * 8 * 8 * 4);
}

TEST(Cost, QuantizedValuesCountAsStored) {
  Builder b;
  const ValueId y = b.add(Unary{}, {b.input("x", {10})});
  b.graph().value(y).quant = QuantParams::affine(DType::kI8, 0.5f, 0);
  const OpCost cost = cost_of_single(b, y);
  EXPECT_EQ(cost.input_bytes, 40);
  EXPECT_EQ(cost.output_bytes, 10);
}

TEST(Cost, DynamicBatchCountsAsOne) {
  Builder b;
  const OpCost cost = cost_of_single(b, b.add(Unary{}, {b.input("x", {kDynamic, 10})}));
  EXPECT_EQ(cost.other_ops, 10);
}

// conv(w 4*3*1*1, bias 4) -> batch norm (4 scales, 4 biases; 8 statistics do not count) -> gemm (4*2, bias
// 2), with the gemm's weight used twice; and a scalar factor, which is no parameter.
TEST(Cost, ParameterCountAndTotal) {
  Builder b;
  const ValueId x = b.input("x", {1, 3, 1, 1});
  const ValueId c = b.add(Conv{}, {x, b.constant(zeros({4, 3, 1, 1})), b.constant(zeros({4}))});
  const ValueId n = b.add(BatchNorm{}, {c, b.constant(zeros({4})), b.constant(zeros({4})),
                                        b.constant(zeros({4})), b.constant(zeros({4}))});
  const ValueId f = b.add(Flatten{}, {n});
  const ValueId w = b.constant(zeros({4, 2}));
  const ValueId g = b.add(Gemm{}, {f, w, b.constant(zeros({2}))});
  const ValueId g2 = b.add(Gemm{}, {f, w});
  BinaryKind mul = BinaryKind::kMul;
  b.output(b.add(Binary{mul}, {g, b.constant(Tensor::scalar(2.0f))}));
  b.output(g2);
  const Graph graph = b.finish();
  EXPECT_EQ(parameter_count(graph), 12 + 4 + 8 + 8 + 2);
  EXPECT_EQ(total_cost(graph).macs, 12 + 8 + 8);
}

}  // namespace
}  // namespace tandem::ir
