// SPDX-License-Identifier: Apache-2.0
// Goal: a histogram is exact in counts, independent of order, and mergeable. Method: hand-made values.
#include "tandem/quant/histogram.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tandem/base/rng.hpp"

namespace tandem::quant {
namespace {

Histogram of(const std::vector<float>& values) {
  Histogram h;
  h.add(values);
  return h;
}

void expect_same(const Histogram& a, const Histogram& b) {
  EXPECT_EQ(a.width(), b.width());
  EXPECT_EQ(a.min(), b.min());
  EXPECT_EQ(a.max(), b.max());
  EXPECT_EQ(a.count(), b.count());
  for (int i = 0; i < Histogram::kBins; ++i) {
    ASSERT_EQ(a.positive(i), b.positive(i)) << i;
    ASSERT_EQ(a.negative(i), b.negative(i)) << i;
  }
}

TEST(Histogram, PutsValuesIntoPowerOfTwoBins) {
  // Largest magnitude 1.5 < 2 = 2048 * 2^-10, so bins are 2^-10 wide: 1.5 is bin 1536, -0.5 is bin 512, 0 is bin 0.
  const Histogram h = of({1.5f, -0.5f, 0.0f});
  EXPECT_EQ(h.width(), std::ldexp(1.0, -10));
  EXPECT_EQ(h.positive(1536), 1);
  EXPECT_EQ(h.negative(512), 1);
  EXPECT_EQ(h.positive(0), 1);
  EXPECT_EQ(h.min(), -0.5f);
}

TEST(Histogram, DoesNotDependOnOrderAndMergesExactly) {
  Rng rng(9);
  std::vector<float> small, large, all;
  for (int i = 0; i < 5000; ++i) {
    small.push_back(static_cast<float>(rng.normal()) * 0.01f);
    large.push_back(static_cast<float>(rng.normal()) * 37.0f);
  }
  all = small;
  all.insert(all.end(), large.begin(), large.end());
  Histogram forward = of(small), backward = of(large), merged = of(small);
  forward.add(large);
  backward.add(small);
  merged.merge(of(large));
  expect_same(forward, of(all));
  expect_same(backward, of(all));
  expect_same(merged, of(all));
}

TEST(Histogram, CountsWhatIsNotFiniteAndKeepsItOut) {
  const Histogram h = of({NAN, INFINITY, 1.0f});
  EXPECT_EQ(h.not_finite(), 2);
  EXPECT_EQ(h.count(), 1);
  EXPECT_EQ(h.max(), 1.0f);
  EXPECT_TRUE(of({NAN}).empty());
  EXPECT_EQ(of({0.0f, 0.0f}).width(), 0);
}

TEST(Histogram, QuantileLeavesTheTailOut) {
  std::vector<float> values(999, 1.0f);
  values.push_back(100.0f);
  EXPECT_LT(of(values).magnitude_quantile(0.999), 1.1);
  EXPECT_EQ(of(values).magnitude_quantile(1.0), 100.0);
}

}  // namespace
}  // namespace tandem::quant
