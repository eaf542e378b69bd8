// SPDX-License-Identifier: Apache-2.0
// Goal: figures of merit match hand computations.
#include "tandem/train/metrics.hpp"

#include <gtest/gtest.h>

namespace tandem::train {
namespace {

TEST(WilsonInterval, MatchesPublishedValues) {
  // 81 of 263: [0.255, 0.366] (Newcombe 1998, table I, method 3).
  const Interval i = wilson_interval(81, 263);
  EXPECT_NEAR(i.low, 0.2553, 5e-5);
  EXPECT_NEAR(i.high, 0.3662, 5e-5);
  EXPECT_EQ(wilson_interval(0, 20).low, 0.0);
  EXPECT_NEAR(wilson_interval(0, 20).high, 0.1611, 5e-5);  // Same table.
  EXPECT_EQ(wilson_interval(0, 0).high, 1.0);
}

TEST(Confusion, CountsPrecisionAndRecall) {
  Confusion c(3);
  c.add(0, 0);
  c.add(0, 1);
  c.add(1, 1);
  EXPECT_NEAR(c.accuracy(), 2.0 / 3, 1e-12);
  const auto s = c.per_class();
  EXPECT_EQ(s[0].recall, 0.5);
  EXPECT_EQ(s[0].precision, 1.0);
  EXPECT_EQ(s[1].precision, 0.5);
  EXPECT_EQ(s[1].recall, 1.0);
  EXPECT_EQ(s[2].count, 0);
  EXPECT_EQ(s[2].precision, 0.0);
  EXPECT_EQ(Confusion(2).accuracy(), 0.0);
}

TEST(PairedDifference, UsesDiscordantPairsOnly) {
  // 100 images, a alone right on 4, b alone on 10: difference 6/100, half width 1.96*sqrt(14 - 36/100)/100 = 0.0724.
  std::vector<uint8_t> a(100, 1), b(100, 1);
  for (int i = 0; i < 4; ++i) b[static_cast<size_t>(i)] = 0;
  for (int i = 4; i < 14; ++i) a[static_cast<size_t>(i)] = 0;
  const auto d = paired_difference(a, b);
  EXPECT_EQ(d.only_a, 4);
  EXPECT_EQ(d.only_b, 10);
  EXPECT_NEAR(d.difference, 0.06, 1e-12);
  EXPECT_NEAR(d.interval.high - d.difference, 0.07238, 1e-4);
  EXPECT_EQ(paired_difference({}, {}).n, 0);
}

}  // namespace
}  // namespace tandem::train
