// SPDX-License-Identifier: Apache-2.0
// Goal: padding, strides, groups and the transposed convolution in float. Method: sums done by hand.
#include <gtest/gtest.h>

#include "tandem/ref/kernels_for_test.hpp"

namespace tandem::ref {
namespace {

using Floats = std::vector<float>;

Tensor ones(Shape shape) { return f32(shape, Floats(static_cast<size_t>(shape.elements()), 1)); }

TEST(Conv, SameUpperPadsTheEnd) {
  ir::Conv op;
  op.window.strides = {2, 2};
  op.window.auto_pad = ir::AutoPad::kSameUpper;
  const Tensor x = count_up({1, 1, 4, 4}), w = ones({1, 1, 3, 3});
  // Row 0..2, column 0..2: 0+1+2+4+5+6+8+9+10 = 45.
  EXPECT_EQ(values<float>(run_op(op, {&x, &w})[0]), (Floats{45, 39, 66, 50}));
}

TEST(Conv, SameLowerPadsTheBeginning) {
  ir::Conv op;
  op.window.strides = {2, 2};
  op.window.auto_pad = ir::AutoPad::kSameLower;
  const Tensor x = count_up({1, 1, 4, 4}), w = ones({1, 1, 3, 3});
  EXPECT_EQ(values<float>(run_op(op, {&x, &w})[0]), (Floats{10, 24, 51, 90}));
}

TEST(Conv, SameOfSevenByFiveIsSymmetric) {
  ir::Conv op;
  op.window.strides = {2, 2};
  const Tensor x = count_up({1, 1, 7, 5}), w = ones({1, 1, 3, 3});
  op.window.auto_pad = ir::AutoPad::kSameUpper;
  const Tensor upper = std::move(run_op(op, {&x, &w})[0]);
  op.window.auto_pad = ir::AutoPad::kSameLower;
  EXPECT_EQ(upper.shape(), (Shape{1, 1, 4, 3}));
  EXPECT_EQ(values<float>(upper), values<float>(run_op(op, {&x, &w})[0]));
}

TEST(Conv, PadsAreBeginsThenEnds) {
  ir::Conv op;
  op.window.strides = {2, 2};
  op.window.pads = {1, 0, 1, 0};  // h begin, w begin, h end, w end
  const Tensor x = count_up({1, 1, 7, 5}), w = ones({1, 1, 3, 3});
  const Tensor y = std::move(run_op(op, {&x, &w})[0]);
  EXPECT_EQ(y.shape(), (Shape{1, 1, 4, 2}));
  // First window: rows 0 and 1, columns 0..2: (0+1+2) + (5+6+7) = 21; the last: rows 5 and 6, columns 2..4:
  // 84 + 99.
  EXPECT_EQ(y.as<float>()[0], 21);
  EXPECT_EQ(y.as<float>()[7], 27 + 28 + 29 + 32 + 33 + 34);
}

TEST(Conv, GroupsSeeOnlyTheirChannels) {
  ir::Conv op;
  op.group = 2;
  const Tensor x = f32({1, 4, 1, 1}, {1, 10, 100, 1000});
  const Tensor w = f32({2, 2, 1, 1}, {1, 2, 3, 4}), bias = f32({2}, {0.5f, -0.5f});
  // 1*1 + 10*2 + 0.5 and 100*3 + 1000*4 - 0.5.
  EXPECT_EQ(values<float>(run_op(op, {&x, &w, &bias})[0]), (Floats{21.5f, 4299.5f}));
}

TEST(Conv, AddsTheResidualBeforeTheActivation) {
  ir::Conv op;
  op.activation = {ir::ActivationKind::kClip, 0, 6};
  const Tensor x = f32({1, 1, 1, 3}, {1, 2, 3}), w = f32({1, 1, 1, 1}, {2}),
               r = f32({1, 1, 1, 3}, {-5, 0.5f, 9});
  EXPECT_EQ(values<float>(run_op(op, {&x, &w, nullptr, &r})[0]), (Floats{0, 4.5f, 6}));
}

TEST(Conv, DilationSkipsInOneDimension) {
  ir::Conv op;
  op.window.dilations = {2};
  const Tensor x = count_up({1, 1, 5}), w = f32({1, 1, 2}, {1, 10});
  EXPECT_EQ(values<float>(run_op(op, {&x, &w})[0]), (Floats{20, 31, 42}));  // x[i] + 10 * x[i + 2]
}

TEST(Conv, SumsInDouble) {
  // In float 1e8 + 1 - 1e8 is 0.
  const Tensor x = f32({1, 3, 1}, {1e8f, 1, -1e8f}), w = ones({1, 3, 1});
  EXPECT_EQ(values<float>(run_op(ir::Conv{}, {&x, &w})[0]), (Floats{1}));
}

TEST(Conv, RefusesWeightsThatDoNotFit) {
  const Tensor x = ones({1, 3, 4, 4}), w = ones({2, 2, 3, 3}), bias = ones({3});
  EXPECT_FALSE(try_op(ir::Conv{}, {&x, &w}).ok());
  const Tensor w3 = ones({2, 3, 3, 3});
  EXPECT_TRUE(try_op(ir::Conv{}, {&x, &w3}).ok());
  EXPECT_FALSE(try_op(ir::Conv{}, {&x, &w3, &bias}).ok());
}

TEST(ConvTranspose, SpreadsEveryInputElement) {
  ir::ConvTranspose op;
  op.window.strides = {2};
  const Tensor x = f32({1, 1, 2}, {1, 10}), w = f32({1, 1, 3}, {1, 2, 3});
  // 1*[1,2,3] at 0 and 10*[1,2,3] at 2; they meet at 2.
  EXPECT_EQ(values<float>(run_op(op, {&x, &w})[0]), (Floats{1, 2, 13, 20, 30}));
  op.window.pads = {1, 1};
  EXPECT_EQ(values<float>(run_op(op, {&x, &w})[0]), (Floats{2, 13, 20}));
  op.output_padding = {1};
  EXPECT_EQ(values<float>(run_op(op, {&x, &w})[0]), (Floats{2, 13, 20, 30}));
}

TEST(ConvTranspose, GroupsAndChannels) {
  ir::ConvTranspose op;
  op.group = 2;
  const Tensor x = f32({1, 2, 1}, {1, 10}), w = f32({2, 2, 1}, {1, 2, 3, 4});
  EXPECT_EQ(values<float>(run_op(op, {&x, &w})[0]), (Floats{1, 2, 30, 40}));
}

}  // namespace
}  // namespace tandem::ref
