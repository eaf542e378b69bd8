// SPDX-License-Identifier: Apache-2.0
// Goal: normalizations, explicit quantization, losses and optimizers. Method: arithmetic in the comments.
#include <gtest/gtest.h>

#include <cmath>

#include "tandem/ref/kernels_for_test.hpp"

namespace tandem::ref {
namespace {

using Floats = std::vector<float>;

TEST(Softmax, IsStableAndFlattensForOldOpsets) {
  ir::Softmax op;
  const Tensor x = f32({1, 2}, {1000, 1000});
  EXPECT_EQ(values<float>(run_op(op, {&x})[0]), (Floats{0.5f, 0.5f}));
  op.axis = 1;
  op.flatten = true;
  const Tensor y = f32({1, 2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(values<float>(run_op(op, {&y})[0]), (Floats{0.25f, 0.25f, 0.25f, 0.25f}));
}

TEST(BatchNorm, InferenceAndTraining) {
  ir::BatchNorm op;
  op.epsilon = 0;
  const Tensor x = f32({2, 1, 1}, {1, 5}), scale = f32({1}, {2}), bias = f32({1}, {1});
  const Tensor mean = f32({1}, {3}), variance = f32({1}, {16});
  EXPECT_EQ(values<float>(run_op(op, {&x, &scale, &bias, &mean, &variance})[0]),
            (Floats{0, 2}));  // (x - 3) / 4 * 2 + 1
  op.training = true;
  op.momentum = 0.75f;
  const auto y = run_op(op, {&x, &scale, &bias, &mean, &variance}, 3);
  EXPECT_EQ(values<float>(y[0]), (Floats{-1, 3}));  // batch mean 3, population variance 4
  EXPECT_EQ(values<float>(y[1]), (Floats{3}));
  EXPECT_EQ(values<float>(y[2]), (Floats{13}));  // 0.75 * 16 + 0.25 * 4
}

TEST(LayerNorm, GivesMeanAndInverseDeviation) {
  ir::LayerNorm op;
  op.epsilon = 0;
  const Tensor x = f32({1, 2}, {1, 5}), scale = f32({2}, {1, 10});
  const auto y = run_op(op, {&x, &scale}, 3);
  EXPECT_EQ(values<float>(y[0]), (Floats{-1, 10}));
  EXPECT_EQ(values<float>(y[1]), (Floats{3}));
  EXPECT_EQ(values<float>(y[2]), (Floats{0.5f}));
}

TEST(GroupNorm, ScalesPerGroupOrPerChannel) {
  ir::GroupNorm op;
  op.num_groups = 2;
  op.epsilon = 0;
  const Tensor x = f32({1, 4, 1}, {1, 3, 10, 30});
  const Tensor per_channel = f32({4}, {1, 2, 3, 4}), zero4 = f32({4}, {0, 0, 0, 0});
  EXPECT_EQ(values<float>(run_op(op, {&x, &per_channel, &zero4})[0]), (Floats{-1, 2, -3, 4}));
}

TEST(Lrn, SumsSquaresOfNeighbours) {
  ir::Lrn op;
  op.size = 3;
  op.alpha = 3;
  op.beta = 1;
  op.bias = 0;
  const Tensor x = f32({1, 3, 1}, {1, 2, 3});
  EXPECT_EQ(values<float>(run_op(op, {&x})[0]), (Floats{1.0f / 5, 2.0f / 14, 3.0f / 13}));
}

TEST(QuantizeLinear, TiesToEvenPerAxis) {
  ir::QuantizeLinear op;
  op.axis = 0;
  const Tensor x = f32({2, 2}, {1, 3, 1, -300}), scale = f32({2}, {2, 1}),
               zero = Tensor::of<int8_t>({2}, {0, 1});
  EXPECT_EQ(values<int8_t>(run_op(op, {&x, &scale, &zero})[0]), (std::vector<int8_t>{0, 2, 2, -128}));
}

TEST(DynamicQuantizeLinear, IncludesZeroInTheRange) {
  const Tensor x = f32({2}, {1, 5.1f});
  const auto y = run_op(ir::DynamicQuantizeLinear{}, {&x}, 3);
  EXPECT_FLOAT_EQ(values<float>(y[1])[0], 0.02f);
  EXPECT_EQ(values<uint8_t>(y[2]), (std::vector<uint8_t>{0}));
  EXPECT_EQ(values<uint8_t>(y[0]), (std::vector<uint8_t>{50, 255}));
}

TEST(QLinearConv, ScalesTheIntegerSum) {
  const Tensor x = Tensor::of<uint8_t>({1, 1, 1, 2}, {12, 8}), sx = Tensor::scalar<float>(0.5f),
               zx = Tensor::scalar<uint8_t>(10);
  const Tensor w = Tensor::of<int8_t>({2, 1, 1, 1}, {3, -1}), sw = f32({2}, {1, 2}),
               zw = Tensor::of<int8_t>({2}, {0, 0});
  const Tensor sy = Tensor::scalar<float>(1), zy = Tensor::scalar<uint8_t>(100),
               bias = Tensor::of<int32_t>({2}, {1, 0});
  // (2*3 + 1) * 0.5 = 3.5 -> 4; (-6 + 1) * 0.5 = -2.5 -> -2; -2 * 1; 2 * 1.
  EXPECT_EQ(values<uint8_t>(run_op(ir::QLinearConv{}, {&x, &sx, &zx, &w, &sw, &zw, &sy, &zy, &bias})[0]),
            (std::vector<uint8_t>{104, 98, 98, 102}));
}

TEST(MatMulInteger, SubtractsZeroPoints) {
  const Tensor a = Tensor::of<uint8_t>({1, 2}, {3, 5}), b = Tensor::of<int8_t>({2, 1}, {-2, 7}),
               za = Tensor::scalar<uint8_t>(1);
  EXPECT_EQ(values<int32_t>(run_op(ir::MatMulInteger{}, {&a, &b, &za})[0]),
            (std::vector<int32_t>{24}));  // 2*-2 + 4*7
}

TEST(CrossEntropy, WeightsAndIgnoredLabels) {
  ir::NegativeLogLikelihoodLoss op;
  op.has_ignore_index = true;
  op.ignore_index = -1;
  const Tensor x = f32({3, 2}, {-1, -2, -3, -4, -5, -6}), labels = i64({0, 1, -1}),
               weights = f32({2}, {1, 3});
  // Losses 1*1 and 4*3; mean over weights: 13 / 4.
  EXPECT_EQ(values<float>(run_op(op, {&x, &labels, &weights})[0]), (Floats{3.25f}));
  op.reduction = ir::LossReduction::kNone;
  EXPECT_EQ(values<float>(run_op(op, {&x, &labels, &weights})[0]), (Floats{1, 12, 0}));
  const Tensor bad = i64({0, 2, 0});
  EXPECT_FALSE(try_op(op, {&x, &bad}).ok());
}

TEST(CrossEntropy, OfEqualScoresIsLogOfTheClasses) {
  const Tensor x = f32({1, 4}, {7, 7, 7, 7}), labels = i64({2});
  const auto y = run_op(ir::SoftmaxCrossEntropyLoss{}, {&x, &labels}, 2);
  EXPECT_FLOAT_EQ(values<float>(y[0])[0], std::log(4.0f));
  EXPECT_FLOAT_EQ(values<float>(y[1])[0], -std::log(4.0f));
}

TEST(Momentum, StandardAndNesterov) {
  const Tensor rate = Tensor::scalar<float>(0.5f), step = Tensor::scalar<int64_t>(1);
  const Tensor x = f32({1}, {10}), g = f32({1}, {4}), v = f32({1}, {2});
  ir::Momentum op;
  op.alpha = 0.5f;
  op.beta = 1;
  const auto standard = run_op(op, {&rate, &step, &x, &g, &v}, 2);
  EXPECT_EQ(values<float>(standard[1]), (Floats{5}));     // 0.5 * 2 + 4
  EXPECT_EQ(values<float>(standard[0]), (Floats{7.5f}));  // 10 - 0.5 * 5
  op.mode = ir::MomentumMode::kNesterov;
  EXPECT_EQ(values<float>(run_op(op, {&rate, &step, &x, &g, &v}, 2)[0]),
            (Floats{6.75f}));  // 10 - 0.5 * (4 + 2.5)
}

TEST(Adam, FirstStepMovesByTheRate) {
  const Tensor rate = Tensor::scalar<float>(0.1f), step = Tensor::scalar<int64_t>(1);
  const Tensor x = f32({1}, {1}), g = f32({1}, {4}), zero = f32({1}, {0});
  ir::Adam op;
  op.epsilon = 0;
  const auto y = run_op(op, {&rate, &step, &x, &g, &zero, &zero}, 3);
  EXPECT_FLOAT_EQ(values<float>(y[0])[0], 0.9f);
  EXPECT_FLOAT_EQ(values<float>(y[1])[0], 0.4f);
  EXPECT_NEAR(values<float>(y[2])[0], 0.016f, 1e-6);  // 1 - 0.999f is not quite 0.001
}

TEST(Adagrad, DividesByTheRootOfTheSum) {
  const Tensor rate = Tensor::scalar<float>(1), step = Tensor::scalar<int64_t>(0);
  const Tensor x = f32({1}, {1}), g = f32({1}, {4}), h = f32({1}, {9});
  ir::Adagrad op;
  op.epsilon = 0;
  const auto y = run_op(op, {&rate, &step, &x, &g, &h}, 2);
  EXPECT_FLOAT_EQ(values<float>(y[0])[0], 0.2f);  // 1 - 4 / sqrt(9 + 16)
  EXPECT_EQ(values<float>(y[1]), (Floats{25}));
}

}  // namespace
}  // namespace tandem::ref
