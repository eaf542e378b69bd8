// SPDX-License-Identifier: Apache-2.0
// Goal: scales follow their definitions, and degenerate tensors have defined ones. Method: hand-computed
// scales; brute force over thresholds for the error search.
#include "tandem/quant/choose_scales.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/base/rng.hpp"

namespace tandem::quant {
namespace {

Histogram of(const std::vector<float>& values) {
  Histogram h;
  h.add(values);
  return h;
}

TEST(ChooseActivation, MinMaxUsesU8ForWhatIsNeverNegative) {
  const auto p = choose_activation(of({0.0f, 6.0f}), RangeMethod::kMinMax, Scheme::kAffine);
  EXPECT_EQ(p.dtype, DType::kU8);
  EXPECT_FLOAT_EQ(p.scale[0], 6.0f / 255);
  const auto s = choose_activation(of({-1.0f, 2.54f}), RangeMethod::kMinMax, Scheme::kAffine);
  EXPECT_EQ(s.dtype, DType::kI8);
  EXPECT_FLOAT_EQ(s.scale[0], 0.02f);
  // -128 holds the negative end: 1.28 / 128 = 0.01.
  EXPECT_FLOAT_EQ(choose_activation(of({-1.28f, 1.0f}), RangeMethod::kMinMax, Scheme::kAffine).scale[0],
                  0.01f);
}

TEST(ChooseActivation, CaseG14ConstantZeroHasAFiniteScale) {
  for (Scheme scheme : {Scheme::kAffine, Scheme::kPow2}) {
    for (int m = 0; m < 4; ++m) {
      const auto p = choose_activation(of({0, 0, 0}), static_cast<RangeMethod>(m), scheme);
      EXPECT_TRUE(verify(p, kDynamic).ok());
      EXPECT_EQ(p.scale[0], 1.0f);
    }
  }
}

TEST(ChooseActivation, Pow2IsTheNearestPositionOrTheOneOfLeastError) {
  // log2(127 / 4) = 4.99 is nearest to 5, where 3.97 is the largest; log2(127 / 5.7) = 4.48 is nearest to 4.
  EXPECT_EQ(choose_activation(of({4.0f, -1.0f}), RangeMethod::kMinMax, Scheme::kPow2).fix_point(), 5);
  EXPECT_EQ(choose_activation(of({5.7f, -1.0f}), RangeMethod::kMinMax, Scheme::kPow2).fix_point(), 4);
  std::vector<float> values;
  Rng rng(2);
  for (int i = 0; i < 100000; ++i) values.push_back(static_cast<float>(rng.normal()));
  values.push_back(12.0f);  // log2(127 / 12) = 3.4
  EXPECT_EQ(choose_activation(of(values), RangeMethod::kMinMax, Scheme::kPow2).fix_point(), 3);
  EXPECT_GT(choose_activation(of(values), RangeMethod::kMse, Scheme::kPow2).fix_point(), 3);
}

TEST(ChoosePow2Bias, HoldsEveryElement) {
  // 1.27 * 2^6 = 81, * 2^7 = 163 would saturate. -2 is -128 at 6, +2 would be 128.
  EXPECT_EQ(choose_pow2_bias(Tensor::of<float>({2}, {1.27f, 0.1f})).fix_point(), 6);
  EXPECT_EQ(choose_pow2_bias(Tensor::of<float>({2}, {-2.0f, 0.1f})).fix_point(), 6);
  EXPECT_EQ(choose_pow2_bias(Tensor::of<float>({2}, {2.0f, 0.1f})).fix_point(), 5);
  EXPECT_EQ(choose_pow2_bias(Tensor::of<float>({2}, {0, 0})).fix_point(), 0);
}

TEST(ChooseActivation, MseBeatsMinMaxOnAnOutlierAndEntropyClipsToo) {
  std::vector<float> values;
  Rng rng(3);
  for (int i = 0; i < 200000; ++i) values.push_back(static_cast<float>(rng.normal()));
  values.push_back(60.0f);
  const Histogram h = of(values);
  const auto error = [&](RangeMethod m) {
    return expected_squared_error(h, choose_activation(h, m, Scheme::kAffine));
  };
  EXPECT_LT(error(RangeMethod::kMse), 0.7 * error(RangeMethod::kMinMax));
  EXPECT_LT(choose_activation(h, RangeMethod::kEntropy, Scheme::kAffine).scale[0], 30.0f / 127);
  EXPECT_LT(choose_activation(h, RangeMethod::kPercentile, Scheme::kAffine).scale[0], 6.0f / 127);
}

TEST(ExpectedSquaredError, IsAStepSquaredOverTwelveForUniformValues) {
  std::vector<float> values;
  Rng rng(4);
  for (int i = 0; i < 400000; ++i) values.push_back(static_cast<float>(rng.uniform(0, 255)));
  const double error = expected_squared_error(of(values), QuantParams::affine(DType::kU8, 1.0f, 0));
  EXPECT_NEAR(error, 1.0 / 12, 0.004);
}

TEST(ChooseWeights, PerChannelByLargestMagnitude) {
  const Tensor w = Tensor::of<float>({2, 2}, {1.27f, -0.5f, 0.0f, 0.0f});
  const auto p = choose_weights(w, 0, Scheme::kAffine);
  EXPECT_FLOAT_EQ(p.scale[0], 0.01f);
  EXPECT_EQ(p.scale[1], 1.0f);  // A channel of zeros.
  EXPECT_FLOAT_EQ(choose_weights(w, 1, Scheme::kAffine).scale[1], 0.5f / 127);
  EXPECT_EQ(choose_weights(w, -1, Scheme::kPow2).fix_point(), 7);  // log2(127 / 1.27) = 6.64.
}

}  // namespace
}  // namespace tandem::quant
