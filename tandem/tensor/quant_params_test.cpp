// SPDX-License-Identifier: Apache-2.0
// Goal: the two roundings and the two schemes. Method: hand-computed values, ties in the middle.
#include "tandem/tensor/quant_params.hpp"

#include <gtest/gtest.h>

#include "tandem/tensor/compare.hpp"

namespace tandem {
namespace {

template <typename T>
std::vector<T> values(const Tensor& t) {
  return {t.as<T>().begin(), t.as<T>().end()};
}

TEST(Rounding, HalfUpGoesTowardPlusInfinity) {
  EXPECT_EQ(round_half_up(2.5), 3);
  EXPECT_EQ(round_half_up(-2.5), -2);
  EXPECT_EQ(round_half_up(-2.6), -3);
  EXPECT_EQ(round_half_up(0.49999999999999994), 0);  // floor(x + 0.5) would give 1.
  EXPECT_EQ(round_half_even(2.5), 2);
  EXPECT_EQ(round_half_even(-3.5), -4);
}

TEST(Quantize, AffineU8RoundsTiesToEvenAndSaturates) {
  const auto p = QuantParams::affine(DType::kU8, 0.5f, 10);
  // 0.25/0.5 = 0.5 -> 0 (even) + 10; 0.75/0.5 = 1.5 -> 2 + 10.
  const Tensor q = quantize(Tensor::of<float>({5}, {0.25f, 0.75f, -100.0f, 1000.0f, NAN}), p);
  EXPECT_EQ(values<uint8_t>(q), (std::vector<uint8_t>{10, 12, 0, 255, 10}));
  EXPECT_EQ(values<float>(dequantize(q, p)), (std::vector<float>{0.0f, 1.0f, -5.0f, 122.5f, 0.0f}));
}

TEST(Quantize, Pow2RoundsHalfUp) {
  const auto p = QuantParams::pow2(1);  // scale 0.5
  EXPECT_EQ(p.fix_point(), 1);
  const Tensor q = quantize(Tensor::of<float>({4}, {0.25f, -0.25f, -1.25f, 100.0f}), p);
  EXPECT_EQ(values<int8_t>(q), (std::vector<int8_t>{1, 0, -2, 127}));  // 0.5 -> 1, -0.5 -> 0, -2.5 -> -2
  EXPECT_EQ(QuantParams::pow2(-3).fix_point(), -3);
  EXPECT_EQ(QuantParams::pow2(-3).scale[0], 8.0f);
}

TEST(Quantize, PerAxisUsesOneScalePerIndex) {
  const auto p = QuantParams::affine_per_axis(DType::kI8, 1, {1.0f, 0.1f});
  const Tensor q = quantize(Tensor::of<float>({2, 2, 1}, {1, 1, -2, -2}), p);
  EXPECT_EQ(values<int8_t>(q), (std::vector<int8_t>{1, 10, -2, -20}));
}

TEST(QuantParams, VerifyRefusesWhatCannotBe) {
  EXPECT_TRUE(verify(QuantParams::affine(DType::kU8, 0.1f, 255), kDynamic).ok());
  EXPECT_FALSE(verify(QuantParams::affine(DType::kU8, 0.0f, 0), kDynamic).ok());
  EXPECT_FALSE(verify(QuantParams::affine(DType::kU8, 0.1f, 256), kDynamic).ok());
  EXPECT_FALSE(verify(QuantParams::affine(DType::kF32, 0.1f, 0), kDynamic).ok());
  EXPECT_FALSE(verify(QuantParams::affine_per_axis(DType::kI8, 0, {1, 1}), 3).ok());
  auto p = QuantParams::pow2(3);
  p.scale = {0.3f};
  EXPECT_FALSE(verify(p, kDynamic).ok());
}

TEST(Compare, FindsThePlantedFault) {
  const Tensor a = Tensor::of<float>({4}, {1, 2, 3, 4});
  const Tensor b = Tensor::of<float>({4}, {1, 2, 3.5f, 4});
  const auto d = compare(a, b);
  ASSERT_TRUE(d.ok());
  EXPECT_EQ(d->differing, 1);
  EXPECT_EQ(d->max_abs, 0.5);
  EXPECT_EQ(d->max_abs_index, 2);
  EXPECT_NEAR(d->sqnr_db, 10 * std::log10(30 / 0.25), 1e-9);
  EXPECT_FALSE(all_close(a, b, 1e-3, 0.1).ok());
  EXPECT_TRUE(all_close(a, b, 0, 0.5).ok());
  const Tensor nan = Tensor::of<float>({4}, {1, NAN, 3, 4});
  EXPECT_FALSE(all_close(a, nan, 1, 1).ok());
  EXPECT_TRUE(all_close(nan, nan, 0, 0).ok());
  EXPECT_FALSE(compare(a, Tensor::of<float>({2, 2}, {1, 2, 3, 4})).ok());
}

}  // namespace
}  // namespace tandem
