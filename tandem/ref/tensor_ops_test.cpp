// SPDX-License-Identifier: Apache-2.0
// Goal: products, reductions, movement, indexing, resampling and generators. Method: small tensors by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "tandem/ref/kernels_for_test.hpp"

namespace tandem::ref {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

TEST(Gemm, TransposesScalesAndBroadcastsC) {
  ir::Gemm op;
  op.trans_a = true;
  op.trans_b = true;
  op.alpha = 2;
  op.beta = 10;
  const Tensor a = f32({2, 1}, {1, 2}), b = f32({3, 2}, {1, 0, 0, 1, 1, 1}), c = f32({1}, {0.5f});
  EXPECT_EQ(values<float>(run_op(op, {&a, &b, &c})[0]), (Floats{7, 9, 11}));  // 2 * {1, 2, 3} + 5
}

TEST(MatMul, BroadcastsBatchesAndPromotesVectors) {
  const Tensor a = f32({2, 1, 2}, {1, 2, 3, 4}), b = f32({2, 2}, {1, 10, 100, 1000}), v = f32({2}, {1, -1});
  EXPECT_EQ(values<float>(run_op(ir::MatMul{}, {&a, &b})[0]), (Floats{201, 2010, 403, 4030}));
  const auto y = run_op(ir::MatMul{}, {&a, &v});
  EXPECT_EQ(y[0].shape(), (Shape{2, 1}));
  EXPECT_EQ(values<float>(y[0]), (Floats{-1, -1}));
  EXPECT_FALSE(try_op(ir::MatMul{}, {&b, &a}).ok());
}

TEST(Reduce, KindsOverOneAxis) {
  const Tensor x = f32({2, 2}, {1, -2, 3, 4}), axis = i64({1});
  const auto reduce = [&](ir::ReduceKind kind) {
    ir::Reduce op;
    op.kind = kind;
    op.keepdims = false;
    return values<float>(run_op(op, {&x, &axis})[0]);
  };
  EXPECT_EQ(reduce(ir::ReduceKind::kSum), (Floats{-1, 7}));
  EXPECT_EQ(reduce(ir::ReduceKind::kMean), (Floats{-0.5f, 3.5f}));
  EXPECT_EQ(reduce(ir::ReduceKind::kProd), (Floats{-2, 12}));
  EXPECT_EQ(reduce(ir::ReduceKind::kL1), (Floats{3, 7}));
  EXPECT_EQ(reduce(ir::ReduceKind::kL2)[1], 5);
  EXPECT_EQ(reduce(ir::ReduceKind::kSumSquare), (Floats{5, 25}));
  EXPECT_EQ(reduce(ir::ReduceKind::kMin), (Floats{-2, 3}));
}

TEST(Reduce, LogSumExpDoesNotOverflow) {
  ir::Reduce op;
  op.kind = ir::ReduceKind::kLogSumExp;
  const Tensor x = f32({2}, {1000, 1000});
  EXPECT_FLOAT_EQ(values<float>(run_op(op, {&x})[0])[0], 1000 + std::log(2.0f));
}

TEST(ArgReduce, TiesGoToTheFirstOrTheLast) {
  ir::ArgReduce op;
  const Tensor x = f32({3}, {5, 1, 5});
  EXPECT_EQ(values<int64_t>(run_op(op, {&x})[0]), (Ints{0}));
  op.select_last_index = true;
  EXPECT_EQ(values<int64_t>(run_op(op, {&x})[0]), (Ints{2}));
}

TEST(CumSum, ExclusiveAndReverse) {
  const Tensor x = f32({3}, {1, 2, 3}), axis = Tensor::scalar<int64_t>(0);
  EXPECT_EQ(values<float>(run_op(ir::CumSum{}, {&x, &axis})[0]), (Floats{1, 3, 6}));
  EXPECT_EQ(values<float>(run_op(ir::CumSum{true, true}, {&x, &axis})[0]), (Floats{5, 3, 0}));
}

TEST(TopK, SortsAndKeepsTheOrderOfEquals) {
  const Tensor x = f32({4}, {2, 7, 2, 9}), k = i64({3});
  const auto largest = run_op(ir::TopK{}, {&x, &k}, 2);
  EXPECT_EQ(values<float>(largest[0]), (Floats{9, 7, 2}));
  EXPECT_EQ(values<int64_t>(largest[1]), (Ints{3, 1, 0}));
  ir::TopK smallest;
  smallest.largest = false;
  EXPECT_EQ(values<int64_t>(run_op(smallest, {&x, &k}, 2)[1]), (Ints{0, 2, 1}));
}

TEST(Transpose, Permutes) {
  ir::Transpose op;
  op.perm = {2, 0, 1};
  const Tensor x = count_up({1, 2, 3});
  const auto y = run_op(op, {&x});
  EXPECT_EQ(y[0].shape(), (Shape{3, 1, 2}));
  EXPECT_EQ(values<float>(y[0]), (Floats{0, 3, 1, 4, 2, 5}));
}

TEST(Slice, NegativeStepsAndClampedEnds) {
  const Tensor x = count_up({6}), start = i64({-1}), end = i64({INT64_MIN}), axis = i64({0}),
               step = i64({-2});
  EXPECT_EQ(values<float>(run_op(ir::Slice{}, {&x, &start, &end, &axis, &step})[0]), (Floats{5, 3, 1}));
  const Tensor from = i64({2}), to = i64({INT64_MAX}), huge = i64({INT64_MAX});
  EXPECT_EQ(values<float>(run_op(ir::Slice{}, {&x, &from, &to})[0]), (Floats{2, 3, 4, 5}));
  EXPECT_EQ(values<float>(run_op(ir::Slice{}, {&x, &from, &to, &axis, &huge})[0]), (Floats{2}));
}

TEST(Pad, ModesAndCropping) {
  const Tensor x = f32({3}, {1, 2, 3}), pads = i64({2, 1}), crop = i64({-1, 0}),
               value = Tensor::scalar<float>(9);
  const auto pad = [&](ir::PadMode mode) { return values<float>(run_op(ir::Pad{mode}, {&x, &pads})[0]); };
  EXPECT_EQ(pad(ir::PadMode::kConstant), (Floats{0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(pad(ir::PadMode::kReflect), (Floats{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(pad(ir::PadMode::kEdge), (Floats{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(pad(ir::PadMode::kWrap), (Floats{2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(values<float>(run_op(ir::Pad{}, {&x, &pads, &value})[0]), (Floats{9, 9, 1, 2, 3, 9}));
  EXPECT_EQ(values<float>(run_op(ir::Pad{}, {&x, &crop})[0]), (Floats{2, 3}));
}

TEST(ConcatAndSplit, AreInverse) {
  ir::Concat concat;
  concat.axis = 1;
  ir::Split split;
  split.axis = 1;
  const Tensor a = f32({2, 1}, {1, 2}), b = f32({2, 2}, {3, 4, 5, 6}), parts = i64({1, 2});
  const Tensor both = std::move(run_op(concat, {&a, &b})[0]);
  EXPECT_EQ(values<float>(both), (Floats{1, 3, 4, 2, 5, 6}));
  const auto y = run_op(split, {&both, &parts}, 2);
  EXPECT_EQ(values<float>(y[0]), values<float>(a));
  EXPECT_EQ(values<float>(y[1]), values<float>(b));
}

TEST(SpaceToDepth, UndoesDepthToSpace) {
  ir::DepthToSpace up;
  up.blocksize = 2;
  ir::SpaceToDepth down;
  down.blocksize = 2;
  const Tensor x = count_up({1, 4, 1, 2});
  const Tensor y = std::move(run_op(up, {&x})[0]);
  EXPECT_EQ(values<float>(y), (Floats{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(values<float>(run_op(down, {&y})[0]), values<float>(x));
}

TEST(Gather, TakesNegativeIndicesAndRefusesOthers) {
  const Tensor x = f32({3}, {5, 6, 7}), good = i64({-1, 0}), bad = i64({3});
  EXPECT_EQ(values<float>(run_op(ir::Gather{}, {&x, &good})[0]), (Floats{7, 5}));
  EXPECT_FALSE(try_op(ir::Gather{}, {&x, &bad}).ok());
  EXPECT_FALSE(try_op(ir::GatherElements{}, {&x, &bad}).ok());
}

TEST(GatherNd, PicksSlicesPerBatch) {
  ir::GatherNd op;
  const Tensor x = count_up({2, 2, 2}), indices = Tensor::of<int64_t>({2, 1}, {1, 0});
  EXPECT_EQ(values<float>(run_op(op, {&x, &indices})[0]), (Floats{4, 5, 6, 7, 0, 1, 2, 3}));
  op.batch_dims = 1;
  EXPECT_EQ(values<float>(run_op(op, {&x, &indices})[0]), (Floats{2, 3, 4, 5}));
}

TEST(Scatter, ReplacesOrAdds) {
  const Tensor x = f32({3}, {1, 1, 1}), at = i64({2, 2}), updates = f32({2}, {5, 6});
  EXPECT_EQ(values<float>(run_op(ir::ScatterElements{}, {&x, &at, &updates})[0]), (Floats{1, 1, 6}));
  EXPECT_EQ(values<float>(run_op(ir::ScatterElements{0, ir::ScatterReduction::kAdd}, {&x, &at, &updates})[0]),
            (Floats{1, 1, 12}));
  const Tensor rows = Tensor::of<int64_t>({2, 1}, {2, 0});
  EXPECT_EQ(values<float>(run_op(ir::ScatterNd{}, {&x, &rows, &updates})[0]), (Floats{6, 1, 5}));
}

TEST(OneHot, OutsideIsAllOff) {
  const Tensor at = i64({1, -1, 7}), depth = Tensor::scalar<int64_t>(3), off_on = f32({2}, {0, 5});
  EXPECT_EQ(values<float>(run_op(ir::OneHot{}, {&at, &depth, &off_on})[0]),
            (Floats{0, 5, 0, 0, 0, 5, 0, 0, 0}));
  const Tensor real_depth = Tensor::scalar<float>(2), first = i64({0});
  EXPECT_EQ(values<float>(run_op(ir::OneHot{}, {&first, &real_depth, &off_on})[0]), (Floats{5, 0}));
}

Floats resize(const ir::Resize& op, const Tensor& x, std::vector<float> scales) {
  const Tensor s = f32({static_cast<int64_t>(scales.size())}, scales);
  return values<float>(run_op(op, {&x, nullptr, &s})[0]);
}

TEST(Resize, NearestAndLinear) {
  ir::Resize op;
  const Tensor x = f32({2}, {0, 4});
  op.coordinates = ir::CoordinateRule::kAsymmetric;
  op.nearest = ir::NearestRule::kFloor;
  EXPECT_EQ(resize(op, x, {2}), (Floats{0, 0, 4, 4}));
  op.mode = ir::ResizeMode::kLinear;
  op.coordinates = ir::CoordinateRule::kHalfPixel;
  EXPECT_EQ(resize(op, x, {2}), (Floats{0, 1, 3, 4}));  // at -0.25, 0.25, 0.75, 1.25
  op.coordinates = ir::CoordinateRule::kAlignCorners;
  EXPECT_EQ(resize(op, f32({2}, {0, 3}), {2}), (Floats{0, 1, 2, 3}));
}

TEST(Resize, UsesTheScalesOfAllAxesEvenWhereTheExtentIsRounded) {
  ir::Resize op;
  op.mode = ir::ResizeMode::kLinear;
  // 2x4 by 0.6 is 1x2; rows at 0.5/0.6 - 0.5 = 1/3, columns at 1/3 and 2: 1 + 4/3 + 1/3 and 1 + 4/3 + 2.
  const Floats y = resize(op, f32({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), {0.6f, 0.6f});
  ASSERT_EQ(y.size(), 2u);
  EXPECT_NEAR(y[0], 8.0f / 3, 1e-5);
  EXPECT_NEAR(y[1], 13.0f / 3, 1e-5);
}

TEST(Resize, AntialiasAveragesAReduction) {
  ir::Resize op;
  op.mode = ir::ResizeMode::kLinear;
  op.antialias = true;
  // Factor 1/2: the triangle is 4 wide around 0.5 and 2.5; weights 3 3 1 of what lies inside, the border
  // repeated.
  const Floats y = resize(op, f32({4}, {8, 8, 8, 8}), {0.5f});
  EXPECT_EQ(y, (Floats{8, 8}));
  const Floats z = resize(op, f32({4}, {0, 8, 0, 0}), {0.5f});
  EXPECT_FLOAT_EQ(z[0], 3);  // weights 1/8 3/8 3/8 1/8 at -1 (as 0), 0, 1, 2
  EXPECT_FLOAT_EQ(z[1], 1);
}

TEST(Generate, RangeEyeNonZeroAndShape) {
  const Tensor start = Tensor::scalar<int64_t>(10), limit = Tensor::scalar<int64_t>(4),
               delta = Tensor::scalar<int64_t>(-3);
  EXPECT_EQ(values<int64_t>(run_op(ir::Range{}, {&start, &limit, &delta})[0]), (Ints{10, 7}));
  const Tensor x = f32({2, 3}, {0, 1, 0, 2, 0, 3});
  EXPECT_EQ(values<int64_t>(run_op(ir::NonZero{}, {&x})[0]), (Ints{0, 1, 1, 1, 0, 2}));
  EXPECT_EQ(values<int64_t>(run_op(ir::ShapeOf{-1}, {&x})[0]), (Ints{3}));
  EXPECT_EQ(values<int64_t>(run_op(ir::Size{}, {&x})[0]), (Ints{6}));
  EXPECT_EQ(values<float>(run_op(ir::EyeLike{1}, {&x})[0]), (Floats{0, 1, 0, 0, 0, 1}));
  const Tensor dims = i64({-1}), huge = i64({INT64_MAX, 8});
  EXPECT_FALSE(try_op(ir::ConstantOfShape{}, {&dims}).ok());
  EXPECT_FALSE(try_op(ir::ConstantOfShape{}, {&huge}).ok());
}

}  // namespace
}  // namespace tandem::ref
