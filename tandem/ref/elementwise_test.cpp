// SPDX-License-Identifier: Apache-2.0
// Goal: elementwise kernels, mostly where they are special. Method: values known by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tandem/ref/kernels_for_test.hpp"

namespace tandem::ref {
namespace {

using Floats = std::vector<float>;
using ir::BinaryKind;
using ir::UnaryKind;

Floats unary(UnaryKind kind, Floats x, float alpha = 0, float beta = 0) {
  const Tensor t = f32({static_cast<int64_t>(x.size())}, x);
  return values<float>(run_op(ir::Unary{kind, alpha, beta}, {&t})[0]);
}

template <typename T>
std::vector<T> binary(BinaryKind kind, std::vector<T> a, std::vector<T> b, bool fmod = false) {
  ir::Binary op;
  op.kind = kind;
  op.fmod = fmod;
  const Tensor ta = Tensor::of<T>({static_cast<int64_t>(a.size())}, a);
  const Tensor tb = Tensor::of<T>({static_cast<int64_t>(b.size())}, b);
  return values<T>(run_op(op, {&ta, &tb})[0]);
}

TEST(Unary, RoundsTiesToEven) {
  EXPECT_EQ(unary(UnaryKind::kRound, {0.5f, 1.5f, -2.5f}), (Floats{0, 2, -2}));
}

TEST(Unary, HardOnes) {
  EXPECT_EQ(unary(UnaryKind::kHardSigmoid, {-9, 0, 1, 9}, 0.25f, 0.5f), (Floats{0, 0.5f, 0.75f, 1}));
  EXPECT_EQ(unary(UnaryKind::kHardSwish, {-3, -4, 3, 6}), (Floats{0, 0, 3, 6}));
  EXPECT_EQ(unary(UnaryKind::kShrink, {-3, 1, 3}, 1.5f, 0.5f), (Floats{-2.5f, 0, 2.5f}));
}

TEST(Unary, StaysFiniteFarOut) {
  EXPECT_EQ(unary(UnaryKind::kSigmoid, {-200, 200}), (Floats{0, 1}));
  EXPECT_EQ(unary(UnaryKind::kSoftplus, {-200, 200}), (Floats{0, 200}));
  EXPECT_EQ(unary(UnaryKind::kMish, {200}), (Floats{200}));
}

TEST(Unary, KeepsNan) {
  for (UnaryKind kind : {UnaryKind::kRelu, UnaryKind::kSign, UnaryKind::kHardSigmoid}) {
    EXPECT_TRUE(std::isnan(unary(kind, {NAN}, 0.2f, 0.5f)[0])) << enum_name(kind);
  }
}

TEST(Unary, RefusesWhatIntegersCannot) {
  const Tensor x = i64({1});
  const Error error = try_op(ir::Unary{UnaryKind::kExp, 0, 0}, {&x}).error();
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
}

TEST(Binary, BroadcastsBothWays) {
  const Tensor a = f32({2, 1}, {10, 20}), b = f32({3}, {1, 2, 3});
  EXPECT_EQ(values<float>(run_op(ir::Binary{}, {&a, &b})[0]), (Floats{11, 12, 13, 21, 22, 23}));
}

TEST(Binary, IntegersWrapAndDivideByZeroToZero) {
  const int32_t low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(binary<int32_t>(BinaryKind::kAdd, {high}, {1}), (std::vector<int32_t>{low}));
  EXPECT_EQ(binary<int32_t>(BinaryKind::kMul, {low}, {-1}), (std::vector<int32_t>{low}));
  EXPECT_EQ(binary<int32_t>(BinaryKind::kDiv, {low, 7, -7}, {-1, 0, 2}), (std::vector<int32_t>{low, 0, -3}));
  EXPECT_EQ(binary<uint8_t>(BinaryKind::kSub, {1}, {2}), (std::vector<uint8_t>{255}));
}

TEST(Binary, ModFollowsDivisorOrDividend) {
  EXPECT_EQ(binary<int64_t>(BinaryKind::kMod, {-7, 7, 7}, {3, -3, 0}), (std::vector<int64_t>{2, -2, 0}));
  EXPECT_EQ(binary<int64_t>(BinaryKind::kMod, {-7, 7}, {3, -3}, true), (std::vector<int64_t>{-1, 1}));
}

TEST(Binary, ShiftsBeyondTheWidthGiveZero) {
  EXPECT_EQ(binary<uint8_t>(BinaryKind::kShiftLeft, {255, 1}, {1, 8}), (std::vector<uint8_t>{254, 0}));
  EXPECT_EQ(binary<uint8_t>(BinaryKind::kShiftRight, {255, 1}, {7, 200}), (std::vector<uint8_t>{1, 0}));
}

// Since opset 28 signed types shift as well; a negative count is out of range just as a large one.
TEST(Binary, RightShiftsOfSignedTypesKeepTheSign) {
  EXPECT_EQ(binary<int8_t>(BinaryKind::kShiftRight, {-128, -1, -5, 5}, {1, 8, -1, -1}),
            (std::vector<int8_t>{-64, -1, -1, 0}));
  EXPECT_EQ(binary<int8_t>(BinaryKind::kShiftLeft, {-1, -1, 1}, {7, 8, -1}),
            (std::vector<int8_t>{-128, 0, 0}));
}

TEST(Binary, PowOfMixedTypes) {
  ir::Binary op;
  op.kind = BinaryKind::kPow;
  const Tensor base = i64({2, 3}), exponent = f32({2}, {3, 0.5f});
  EXPECT_EQ(values<int64_t>(run_op(op, {&base, &exponent})[0]), (std::vector<int64_t>{8, 1}));  // 1.73 is cut
}

TEST(Clip, AnyBoundMayBeAbsent) {
  const Tensor x = f32({3}, {-5, 1, 9}), four = Tensor::scalar<float>(4);
  EXPECT_EQ(values<float>(run_op(ir::Clip{}, {&x, nullptr, &four})[0]), (Floats{-5, 1, 4}));
  EXPECT_EQ(values<float>(run_op(ir::Clip{}, {&x, &four})[0]), (Floats{4, 4, 9}));
  const Tensor n = i64({-5, 9}), bound = Tensor::scalar<int64_t>(4);
  EXPECT_EQ(values<int64_t>(run_op(ir::Clip{}, {&n, nullptr, &bound})[0]), (std::vector<int64_t>{-5, 4}));
}

TEST(Variadic, MeanOfBroadcastInputs) {
  const Tensor a = f32({2}, {1, 2}), b = f32({2, 1}, {3, 5});
  EXPECT_EQ(values<float>(run_op(ir::Variadic{ir::VariadicKind::kMean}, {&a, &b})[0]),
            (Floats{2, 2.5f, 3, 3.5f}));
}

TEST(Dropout, IsTheIdentityWithoutTraining) {
  const Tensor x = f32({2}, {1, 2}), ratio = Tensor::scalar<float>(0.5f), yes = Tensor::scalar<bool>(true);
  const auto y = run_op(ir::Dropout{}, {&x, &ratio}, 2);
  EXPECT_EQ(values<float>(y[0]), (Floats{1, 2}));
  EXPECT_EQ(values<uint8_t>(y[1]), (std::vector<uint8_t>{1, 1}));
  EXPECT_EQ(try_op(ir::Dropout{}, {&x, &ratio, &yes}).error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace tandem::ref
