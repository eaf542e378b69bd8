// SPDX-License-Identifier: Apache-2.0
// Goal: shapes, storage, 16-bit floats and casts. Method: numbers worked out by hand.
#include "tandem/tensor/tensor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tandem {
namespace {

TEST(Shape, KnowsElementsAndStrides) {
  const Shape s{2, 3, 4};
  EXPECT_EQ(s.elements(), 24);
  EXPECT_EQ(s.strides(), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{kDynamic, 3}).to_string(), "[?,3]");
}

TEST(Shape, RefusesOverflowAndDynamicSizes) {
  EXPECT_FALSE((Shape{int64_t{1} << 40, int64_t{1} << 40}).checked_elements().ok());
  EXPECT_FALSE((Shape{kDynamic}).checked_elements().ok());
  EXPECT_FALSE(Tensor::make(DType::kF32, Shape{int64_t{1} << 40}).ok());
}

TEST(Shape, BroadcastsAsNumPy) {
  EXPECT_EQ(*broadcast(Shape{2, 1, 4}, Shape{3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(*broadcast(Shape{kDynamic, 4}, Shape{1}), (Shape{kDynamic, 4}));
  EXPECT_EQ(*broadcast(Shape{0}, Shape{1}), (Shape{0}));
  EXPECT_FALSE(broadcast(Shape{2}, Shape{3}).ok());
}

TEST(DType, HalfFloatsConvertAtTheirEdges) {
  EXPECT_EQ(f32_to_f16(1.0f), 0x3c00);
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7bff);  // Largest finite.
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);  // Halfway to 2^16 ties to even, which is infinity.
  EXPECT_EQ(f32_to_f16(std::ldexp(1.0f, -24)), 0x0001);
  EXPECT_EQ(f32_to_f16(std::ldexp(1.0f, -25)), 0x0000);  // Tie to even.
  EXPECT_EQ(f32_to_f16(2049.0f / 2048.0f), 0x3c00);      // 1 + 2^-11: tie to even.
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float f = f16_to_f32(static_cast<uint16_t>(h));
    if (std::isnan(f)) continue;
    ASSERT_EQ(f32_to_f16(f), h);
  }
  EXPECT_EQ(f32_to_bf16(1.0f), 0x3f80);
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Cast, TruncatesAndSaturates) {
  const Tensor t = Tensor::of<float>({5}, {1.9f, -1.9f, 300.0f, -300.0f, NAN});
  const Tensor i8 = cast(t, DType::kI8);
  EXPECT_EQ(std::vector<int8_t>(i8.as<int8_t>().begin(), i8.as<int8_t>().end()),
            (std::vector<int8_t>{1, -1, 127, -128, 0}));
  EXPECT_TRUE(cast(t, DType::kBool).as<bool>()[0]);
  EXPECT_EQ(cast(Tensor::of<bool>({2}, {true, false}), DType::kF32).as<float>()[0], 1.0f);
}

}  // namespace
}  // namespace tandem
