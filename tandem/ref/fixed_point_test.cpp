// SPDX-License-Identifier: Apache-2.0
// Goal: the fixed-point kernels, bit by bit. Method: integer arithmetic done by hand in the comments; ties,
// saturation and both signs of the bias shift in both schemes.
#include "tandem/ref/fixed_point.hpp"

#include <gtest/gtest.h>

#include "tandem/ref/kernels_for_test.hpp"

namespace tandem::ref {
namespace {

using Bytes = std::vector<int8_t>;

Tensor s8(Shape shape, Bytes v) { return Tensor::of<int8_t>(std::move(shape), v); }
Tensor u8(Shape shape, std::vector<uint8_t> v) { return Tensor::of<uint8_t>(std::move(shape), v); }

// A 1x1 convolution over a row of x with one weight and one bias.
Bytes pow2_conv(Bytes x, int fix_x, int8_t w, int fix_w, int8_t b, int fix_b, int fix_y,
                ir::Activation activation = {}) {
  ir::Conv op;
  op.activation = activation;
  const auto qx = QuantParams::pow2(fix_x), qw = QuantParams::pow2(fix_w), qb = QuantParams::pow2(fix_b);
  const auto qy = QuantParams::pow2(fix_y);
  std::vector<StoredOperand> operands;
  const int64_t width = static_cast<int64_t>(x.size());
  operands.push_back({s8({1, 1, 1, width}, std::move(x)), &qx});
  operands.push_back({s8({1, 1, 1, 1}, {w}), &qw});
  operands.push_back({s8({1}, {b}), &qb});
  return values<int8_t>(run_fixed(op, operands, &qy));
}

TEST(Pow2Conv, RoundsHalfUpOnce) {
  // acc = x * 1, fix 1; output fix 0: acc / 2. 5/2 = 2.5 -> 3, -5/2 = -2.5 -> -2, -3/2 = -1.5 -> -1, 3/2
  // -> 2.
  EXPECT_EQ(pow2_conv({5, -5, -3, 3}, 1, 1, 0, 0, 0, 0), (Bytes{3, -2, -1, 2}));
}

TEST(Pow2Conv, ShiftsTheBiasUp) {
  // fix_x + fix_w = 6, fix_b = 3: bias 5 counts 5 << 3 = 40. acc = 10*4 + 40 = 80; to fix 4: 80 / 4 = 20.
  EXPECT_EQ(pow2_conv({10}, 4, 4, 2, 5, 3, 4), (Bytes{20}));
}

TEST(Pow2Conv, NegativeShiftScalesTheAccumulator) {
  // fix_x + fix_w = 1, fix_b = 4: shift_bias = -3, acc << 3. (3*5 << 3) + 7 = 127 in fix 4; to fix 1: 127 / 8
  // = 15.875 -> 16. Had the bias been shifted down first (7 >> 3 = 0), the result would be 15.
  EXPECT_EQ(pow2_conv({3}, 1, 5, 0, 7, 4, 1), (Bytes{16}));
}

TEST(Pow2Conv, SaturatesAndScalesUp) {
  // Output finer than the accumulator: acc * 4. 30*1*4 = 120, 40*4 = 160 -> 127, -40*4 -> -128.
  EXPECT_EQ(pow2_conv({30, 40, -40}, 0, 1, 0, 0, 0, 2), (Bytes{120, 127, -128}));
}

TEST(Pow2Conv, ActivatesBeforeTheRounding) {
  // Leaky slope 26/256: -20 * 0.1015625 = -2.03125 at fix 0 -> -2; rounding first could not tell. -5/2 =
  // -2.5: leaky gives -0.254 -> 0, while rounding first (-2) would give -0.203 -> 0 too; relu gives 0.
  const ir::Activation leaky{ir::ActivationKind::kLeakyRelu, 0.1015625f, 0};
  EXPECT_EQ(pow2_conv({-20, 20}, 0, 1, 0, 0, 0, 0, leaky), (Bytes{-2, 20}));
  // -9/2 = -4.5 times 0.1015625 = -0.457 -> 0; half up of -0.5 would be 0 as well; -10/2 = -5 -> -0.508 ->
  // -1.
  EXPECT_EQ(pow2_conv({-9, -10}, 1, 1, 0, 0, 0, 0, leaky), (Bytes{0, -1}));
  // Relu6 at fix 4: 6 * 16 = 96.
  EXPECT_EQ(pow2_conv({100, 50, -3}, 4, 1, 0, 0, 0, 4, {ir::ActivationKind::kClip, 0, 6}),
            (Bytes{96, 50, 0}));
}

TEST(Pow2Conv, AddsAResidualOfAnotherFixPoint) {
  ir::Conv op;
  op.activation = {ir::ActivationKind::kRelu, 0, 0};
  const auto qx = QuantParams::pow2(2), qw = QuantParams::pow2(1), qr = QuantParams::pow2(5),
             qy = QuantParams::pow2(2);
  std::vector<StoredOperand> operands;
  operands.push_back({s8({1, 1, 1, 2}, {7, -7}), &qx});
  operands.push_back({s8({1, 1, 1, 1}, {3}), &qw});
  operands.push_back({Tensor::of<float>({1}, {0}), nullptr});
  operands.push_back({s8({1, 1, 1, 2}, {9, 9}), &qr});
  // 21/8 + 9/32 = 93/32; * 4 = 11.625 -> 12. -21/8 + 9/32 < 0 -> 0.
  EXPECT_EQ(values<int8_t>(run_fixed(op, operands, &qy)), (Bytes{12, 0}));
}

TEST(AffineConv, SubtractsZeroPointsAndScalesPerChannel) {
  const auto qx = QuantParams::affine(DType::kU8, 0.5f, 10);
  const auto qw = QuantParams::affine_per_axis(DType::kI8, 0, {0.25f, 2.0f});
  const auto qb = QuantParams::affine_per_axis(DType::kI32, 0, {0.125f, 1.0f});
  const auto qy = QuantParams::affine(DType::kU8, 1.0f, 3);
  std::vector<StoredOperand> operands;
  operands.push_back({u8({1, 1, 1, 2}, {14, 0}), &qx});          // reals 2, -5
  operands.push_back({s8({2, 1, 1, 1}, {5, 7}), &qw});           // reals 1.25, 14
  operands.push_back({Tensor::of<int32_t>({2}, {8, -1}), &qb});  // reals 1, -1
  // Channel 0: 2*1.25 + 1 = 3.5 -> 4 (even) + 3; -5*1.25 + 1 = -5.25 -> -5 + 3 = -2 -> 0.
  // Channel 1: 28 - 1 = 27 + 3; -70 - 1 -> 0.
  EXPECT_EQ(values<uint8_t>(run_fixed(ir::Conv{}, operands, &qy)), (std::vector<uint8_t>{7, 0, 30, 0}));
}

TEST(AffineConv, PadsWithTheZeroPoint) {
  ir::Conv op;
  op.window.pads = {0, 1, 0, 1};
  const auto qx = QuantParams::affine(DType::kU8, 1.0f, 100), qw = QuantParams::affine(DType::kI8, 1.0f, 0);
  std::vector<StoredOperand> operands;
  operands.push_back({u8({1, 1, 1, 1}, {103}), &qx});
  operands.push_back({s8({1, 1, 1, 3}, {5, 1, 5}), &qw});
  const auto qy = QuantParams::affine(DType::kI8, 1.0f, 0);
  EXPECT_EQ(values<int8_t>(run_fixed(op, operands, &qy)), (Bytes{3}));  // the border is real 0, not q 0
}

TEST(AffineConv, KeepsReluWhenTheZeroPointIsNotTheMinimum) {
  ir::Conv op;
  op.activation = {ir::ActivationKind::kRelu, 0, 0};
  const auto qx = QuantParams::affine(DType::kI8, 1.0f, 0), qw = QuantParams::affine(DType::kI8, 1.0f, 0);
  const auto qy = QuantParams::affine(DType::kU8, 1.0f, 100);
  std::vector<StoredOperand> operands;
  operands.push_back({s8({1, 1, 1, 2}, {-7, 7}), &qx});
  operands.push_back({s8({1, 1, 1, 1}, {1}), &qw});
  EXPECT_EQ(values<uint8_t>(run_fixed(op, operands, &qy)), (std::vector<uint8_t>{100, 107}));
}

TEST(AffineConv, GivesRealsWhereTheOutputIsNotQuantized) {
  const auto qx = QuantParams::affine(DType::kI8, 0.5f, 0), qw = QuantParams::affine(DType::kI8, 0.25f, 0);
  std::vector<StoredOperand> operands;
  operands.push_back({s8({1, 1, 1, 1}, {3}), &qx});
  operands.push_back({s8({1, 1, 1, 1}, {5}), &qw});
  EXPECT_EQ(values<float>(run_fixed(ir::Conv{}, operands, nullptr)), (std::vector<float>{1.875f}));
}

TEST(AffineGemm, LinearLayer) {
  ir::Gemm op;
  op.trans_b = true;
  const auto qa = QuantParams::affine(DType::kU8, 0.5f, 2),
             qb = QuantParams::affine_per_axis(DType::kI8, 0, {1.0f, 0.5f});
  const auto qy = QuantParams::affine(DType::kI8, 1.0f, -1);
  std::vector<StoredOperand> operands;
  operands.push_back({u8({1, 2}, {4, 8}), &qa});         // reals 1, 3
  operands.push_back({s8({2, 2}, {2, 3, -4, 6}), &qb});  // reals 2 3 | -2 3
  operands.push_back({Tensor::of<float>({2}, {0.25f, 0}), nullptr});
  // 1*2 + 3*3 + 0.25 = 11.25 -> 11 - 1; 1*-2 + 3*3 = 7 - 1.
  EXPECT_EQ(values<int8_t>(run_fixed(op, operands, &qy)), (Bytes{10, 6}));
}

TEST(Pow2Add, AlignsToTheLargerFixPoint) {
  const auto qa = QuantParams::pow2(3), qb = QuantParams::pow2(1), qy = QuantParams::pow2(1);
  std::vector<StoredOperand> operands;
  operands.push_back({s8({3}, {5, 2, -2}), &qa});  // 0.625, 0.25, -0.25
  operands.push_back({s8({3}, {3, 3, 3}), &qb});   // 1.5
  // In fix 3: 5 + 12 = 17; to fix 1: 17/4 = 4.25 -> 4; 14/4 = 3.5 -> 4; 10/4 = 2.5 -> 3.
  EXPECT_EQ(values<int8_t>(run_fixed(ir::Binary{}, operands, &qy)), (Bytes{4, 4, 3}));
}

TEST(AffineAdd, RoundsTiesToEven) {
  const auto qa = QuantParams::affine(DType::kU8, 1.0f, 0), qy = QuantParams::affine(DType::kU8, 2.0f, 0);
  std::vector<StoredOperand> operands;
  operands.push_back({u8({3}, {1, 3, 255}), &qa});
  operands.push_back({u8({3}, {4, 4, 255}), &qa});
  EXPECT_EQ(values<uint8_t>(run_fixed(ir::Binary{}, operands, &qy)),
            (std::vector<uint8_t>{2, 4, 255}));  // 2.5, 3.5, 255
}

TEST(AverageFactor, HasTheConstantsOfTheDpu) {
  const auto is = [](int64_t h, int64_t w, int64_t multiplier, int shift) {
    const AverageFactor f = average_factor(h, w);
    EXPECT_EQ(f.value(), std::ldexp(static_cast<double>(multiplier), -shift)) << h << "x" << w;
  };
  is(3, 3, 7, 6);
  is(5, 5, 10, 8);
  is(6, 6, 7, 8);
  is(3, 6, 14, 8);
  is(6, 3, 14, 8);
  is(7, 7, 21, 10);
  is(14, 14, 21, 12);
  is(2, 2, 1, 2);
  is(8, 8, 1, 6);
  is(1, 1, 1, 0);
  // 4x3: 1/12 within shifts below ceil(log2(1536)) = 11: 85/1024 = 0.083008, 1/12 = 0.083333; 43/512 =
  // 0.083984 is farther.
  is(4, 3, 85, 10);
}

TEST(Pow2AveragePool, MultipliesTheSumByItsConstant) {
  ir::Pool op;
  op.kind = ir::PoolKind::kAverage;
  op.window.kernel = {3, 3};
  const auto q = QuantParams::pow2(4);
  std::vector<StoredOperand> operands;
  operands.push_back({s8({1, 1, 3, 3}, Bytes(9, 100)), &q});
  // 900 * 7 / 64 = 98.4 -> 98, where a true mean is 100.
  EXPECT_EQ(values<int8_t>(run_fixed(op, operands, &q)), (Bytes{98}));
  // The quantizer scales the mean of 18 by 36 * 7 / 256, as it does that of 36: 1800 * 14 / 256 = 98.4 -> 98.
  // Half of that, 7 / 256 of the sum, would be the mean of 36 numbers.
  ir::Pool wide = op;
  wide.window.kernel = {3, 6};
  std::vector<StoredOperand> row;
  row.push_back({s8({1, 1, 3, 6}, Bytes(18, 100)), &q});
  EXPECT_EQ(values<int8_t>(run_fixed(wide, row, &q)), (Bytes{98}));
  // A global pool is the same pool.
  EXPECT_EQ(values<int8_t>(run_fixed(ir::GlobalPool{}, operands, &q)), (Bytes{98}));
}

TEST(AffineAveragePool, IsATrueMean) {
  ir::Pool op;
  op.kind = ir::PoolKind::kAverage;
  op.window.kernel = {1, 2};
  const auto q = QuantParams::affine(DType::kU8, 0.1f, 7);
  std::vector<StoredOperand> operands;
  operands.push_back({u8({1, 1, 1, 4}, {7, 8, 9, 12}), &q});
  op.window.strides = {1, 2};
  EXPECT_EQ(values<uint8_t>(run_fixed(op, operands, &q)),
            (std::vector<uint8_t>{7, 11}));  // 0.5 -> 0, 3.5 -> 4 (even), + 7
}

TEST(HardSigmoid, IsTheIntegerFormInPow2) {
  const auto out = QuantParams::pow2(7);
  // fix_in 4: (2731 * (x + 48)) >> 11. x = 0: 131088 / 2048 = 64.008 -> 64; x = 10: 158398 / 2048 = 77.34 ->
  // 77; x = -48 and below: 0; x = 48: 128.02 -> 127.
  EXPECT_EQ(hard_sigmoid_pow2(0, 4, out), 64);
  EXPECT_EQ(hard_sigmoid_pow2(10, 4, out), 77);
  EXPECT_EQ(hard_sigmoid_pow2(-48, 4, out), 0);
  EXPECT_EQ(hard_sigmoid_pow2(-100, 4, out), 0);
  EXPECT_EQ(hard_sigmoid_pow2(48, 4, out), 127);
  // At fix_out 6 the upper clamp shows: 6 * 2731 / 2^14 * 64 = 64.008.
  EXPECT_EQ(hard_sigmoid_pow2(127, 4, QuantParams::pow2(6)), 64);
  const auto in = QuantParams::pow2(4);
  std::vector<StoredOperand> operands;
  operands.push_back({s8({2}, {10, -60}), &in});
  EXPECT_EQ(values<int8_t>(run_fixed(ir::Unary{ir::UnaryKind::kHardSigmoid, 1.0f / 6, 0.5f}, operands, &out)),
            (Bytes{77, 0}));
}

TEST(Concat, BringsInputsToTheScaleOfTheOutput) {
  ir::Concat op;
  const auto fine = QuantParams::affine(DType::kU8, 0.25f, 0),
             coarse = QuantParams::affine(DType::kU8, 1.0f, 5);
  std::vector<StoredOperand> operands;
  operands.push_back({u8({2}, {10, 4}), &fine});  // 2.5 -> 2 (even), 1
  operands.push_back({u8({1}, {9}), &coarse});
  EXPECT_EQ(values<uint8_t>(run_fixed(op, operands, &coarse)), (std::vector<uint8_t>{7, 6, 9}));
}

TEST(Pad, FillsWithTheZeroPoint) {
  const auto q = QuantParams::affine(DType::kU8, 0.25f, 9);
  std::vector<StoredOperand> operands;
  operands.push_back({u8({1}, {200}), &q});
  operands.push_back({i64({1, 1}), nullptr});
  EXPECT_EQ(values<uint8_t>(run_fixed(ir::Pad{}, operands, &q)), (std::vector<uint8_t>{9, 200, 9}));
}

TEST(Movement, KeepsEveryIntegerOfEveryScale) {
  for (float scale : {0.1f, 0.0123f, 3.7f, 1e-6f}) {
    const auto q = QuantParams::affine(DType::kI8, scale, -3);
    Tensor all(DType::kI8, {256});
    for (int i = 0; i < 256; ++i) all.as<int8_t>()[static_cast<size_t>(i)] = static_cast<int8_t>(i - 128);
    std::vector<StoredOperand> operands;
    operands.push_back({all.clone(), &q});
    EXPECT_EQ(values<int8_t>(run_fixed(ir::Identity{}, operands, &q)), values<int8_t>(all));
  }
}

}  // namespace
}  // namespace tandem::ref
