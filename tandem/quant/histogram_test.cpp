// SPDX-License-Identifier: Apache-2.0
// Goal: a histogram is exact in counts, independent of order, and mergeable. Method: hand-made values.
#include "tandem/quant/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
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
  // Largest magnitude 1.5 < 2 = 2048 * 2^-10, so bins are 2^-10 wide: 1.5 is bin 1536, -0.5 is bin 512, 0 is
  // bin 0.
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

TEST(Histogram, CountsLongArraysAsOneByOneCountingDoes) {
  // Longer than what is looked at together; runs of zeros, both signs, and one NaN in the middle.
  Rng rng(21);
  std::vector<float> values;
  for (int i = 0; i < 50001; ++i) values.push_back(std::max(-1.5f, static_cast<float>(rng.normal()) - 0.25f));
  for (size_t i = 300; i < 9000; ++i) values[i] = 0;
  values[30000] = NAN;
  const Histogram h = of(values);
  std::vector<int64_t> positive(Histogram::kBins), negative(Histogram::kBins);
  for (float x : values) {
    if (std::isnan(x)) continue;
    const auto bin = static_cast<size_t>(std::abs(double{x}) / h.width());
    ++(x < 0 ? negative : positive)[bin];
  }
  EXPECT_EQ(h.count(), 50000);
  EXPECT_EQ(h.not_finite(), 1);
  EXPECT_EQ(h.min(), -1.5f);
  for (int i = 0; i < Histogram::kBins; ++i) {
    ASSERT_EQ(h.positive(i), positive[static_cast<size_t>(i)]) << i;
    ASSERT_EQ(h.negative(i), negative[static_cast<size_t>(i)]) << i;
  }
}

TEST(Histogram, TakesTheSmallestAndLargestFloats) {
  // The width is 2^-126 at least and 2^117 at most, so that neither it nor its inverse leaves the floats.
  EXPECT_EQ(of({1e-45f, -1e-40f}).count(), 2);
  EXPECT_EQ(of({1e-45f, -1e-40f}).negative(0), 1);
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(of({largest, -largest}).positive(Histogram::kBins - 1), 1);
  EXPECT_EQ(of({largest, -largest}).width(), std::ldexp(1.0, 117));
}

TEST(Histogram, QuantileLeavesTheTailOut) {
  std::vector<float> values(999, 1.0f);
  values.push_back(100.0f);
  EXPECT_LT(of(values).magnitude_quantile(0.999), 1.1);
  EXPECT_EQ(of(values).magnitude_quantile(1.0), 100.0);
}

TEST(Histogram, ExtremesAloneAreThoseOfTheWhole) {
  Rng rng(4);
  Histogram whole, extremes;
  for (int i = 0; i < 5; ++i) {
    std::vector<float> x(20000);
    for (float& v : x) v = static_cast<float>(rng.normal()) * static_cast<float>(i);
    x[7] = std::numeric_limits<float>::quiet_NaN();
    x[19999] = std::numeric_limits<float>::infinity();
    whole.add(x);
    extremes.add_extremes(x);
  }
  EXPECT_EQ(extremes.min(), whole.min());
  EXPECT_EQ(extremes.max(), whole.max());
  EXPECT_EQ(extremes.count(), whole.count());
  EXPECT_EQ(extremes.not_finite(), 10);
  for (int i = 0; i < Histogram::kBins; ++i) ASSERT_EQ(extremes.positive(i) + extremes.negative(i), 0);
}

}  // namespace
}  // namespace tandem::quant
