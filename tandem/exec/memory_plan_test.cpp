// SPDX-License-Identifier: Apache-2.0
// The arena plan never lets two live buffers overlap and is close to the least possible. Random lifetimes,
// checked by brute force; a planted overlap shows that the checker sees one.
#include "tandem/exec/memory_plan.hpp"

#include <gtest/gtest.h>

#include "tandem/base/rng.hpp"

namespace tandem::exec {
namespace {

bool overlaps(const std::vector<Lifetime>& lives, const MemoryPlan& plan) {
  for (size_t a = 0; a < lives.size(); ++a) {
    for (size_t b = a + 1; b < lives.size(); ++b) {
      const bool time = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
      const bool space = plan.offset[a] < plan.offset[b] + lives[b].bytes &&
                         plan.offset[b] < plan.offset[a] + lives[a].bytes;
      if (time && space) return true;
    }
  }
  return false;
}

TEST(MemoryPlan, ReusesWhatIsDeadInAChain) {
  // A chain: buffer i is written by step i and read by step i + 1, so two alternate.
  std::vector<Lifetime> lives;
  for (size_t i = 0; i < 10; ++i) lives.push_back({640, i, i + 1});
  const MemoryPlan plan = plan_memory(lives);
  EXPECT_EQ(plan.bytes, 1280u);
  EXPECT_FALSE(overlaps(lives, plan));
}

TEST(MemoryPlan, CheckerSeesAPlantedOverlap) {
  const std::vector<Lifetime> lives{{64, 0, 2}, {64, 1, 3}};
  EXPECT_TRUE(overlaps(lives, MemoryPlan{{0, 32}, 96}));
  EXPECT_FALSE(overlaps(lives, plan_memory(lives)));
}

TEST(MemoryPlan, RandomLifetimesNeverOverlapAndStayNearTheBound) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lives;
    const size_t count = 1 + rng.below(40);
    for (size_t i = 0; i < count; ++i) {
      const size_t first = rng.below(30);
      lives.push_back({1 + rng.below(5000), first, first + rng.below(6)});
    }
    const MemoryPlan plan = plan_memory(lives);
    ASSERT_FALSE(overlaps(lives, plan)) << "round " << round;
    for (const size_t offset : plan.offset) ASSERT_EQ(offset % 64, 0u);
    ASSERT_GE(plan.bytes, lower_bound_bytes(lives));
    ASSERT_LE(plan.bytes, 2 * lower_bound_bytes(lives));
  }
}

TEST(MemoryPlan, NothingNeedsNothing) { EXPECT_EQ(plan_memory({}).bytes, 0u); }

}  // namespace
}  // namespace tandem::exec
