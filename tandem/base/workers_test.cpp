// SPDX-License-Identifier: Apache-2.0
// Goal: every index runs exactly once, failures are reported the same way at every run, and nothing hangs or
// races. TSan runs this file too.
#include "tandem/base/workers.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <stdexcept>

namespace tandem {
namespace {

TEST(Workers, EveryIndexOnceAtAnyTeamSize) {
  for (const size_t team : {1, 2, 3, 7}) {
    Workers workers(team);
    for (const size_t count : {0, 1, 2, 6, 7, 8, 1000}) {
      std::vector<int> fixed(count, 0);
      std::vector<int> dynamic(count, 0);
      ASSERT_TRUE(workers.parallel_for(count, [&](size_t i, size_t) { ++fixed[i]; }).ok());
      ASSERT_TRUE(workers.parallel_for_dynamic(count, [&](size_t i, size_t) { ++dynamic[i]; }).ok());
      EXPECT_EQ(fixed, std::vector<int>(count, 1));
      EXPECT_EQ(dynamic, std::vector<int>(count, 1));
    }
  }
}

TEST(Workers, PiecesAreContiguousBalancedAndStable) {
  Workers workers(3);
  std::vector<size_t> owner(8);
  ASSERT_TRUE(workers.parallel_for(8, [&](size_t i, size_t worker) { owner[i] = worker; }).ok());
  EXPECT_EQ(owner, (std::vector<size_t>{0, 0, 0, 1, 1, 1, 2, 2}));
}

TEST(Workers, LowestFailingIndexIsReported) {
  Workers workers(4);
  for (int round = 0; round < 50; ++round) {
    const Status status = workers.parallel_for(100, [](size_t i, size_t) -> Status {
      if (i == 30 || i == 60 || i == 99) return bad_input(fmt::format("index {}", i));
      return {};
    });
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().what(), "index 30");
  }
  EXPECT_TRUE(workers.parallel_for(100, [](size_t, size_t) {}).ok()) << "a failure must not outlive its loop";
}

TEST(Workers, ExceptionsBecomeErrors) {
  Workers workers(2);
  const Status status = workers.parallel_for(4, [](size_t i, size_t) {
    if (i == 3) throw std::runtime_error("boom");
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().because_text(), "boom");
  EXPECT_FALSE(workers.parallel_for_dynamic(4, [](size_t, size_t) { throw 1; }).ok());
}

TEST(Workers, LoopInsideALoopRunsInline) {
  Workers workers(2);
  std::atomic<int> calls{0};
  ASSERT_TRUE(workers
                  .parallel_for(3,
                                [&](size_t, size_t) -> Status {
                                  return workers.parallel_for(5, [&](size_t, size_t worker) {
                                    EXPECT_LT(worker, 2u);
                                    ++calls;
                                  });
                                })
                  .ok());
  EXPECT_EQ(calls.load(), 15);
}

TEST(Workers, CallersTakeTurns) {
  Workers workers(2);
  int64_t sum = 0;  // Unprotected on purpose: one loop at a time, and only worker 0 writes.
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        EXPECT_TRUE(workers
                        .parallel_for(2,
                                      [&](size_t, size_t worker) {
                                        if (worker == 0) ++sum;
                                      })
                        .ok());
      }
    });
  }
  callers.clear();
  EXPECT_EQ(sum, 400);
}

TEST(BoundedQueue, NothingIsLostBetweenManyThreads) {
  BoundedQueue<int> queue(3);
  std::atomic<int64_t> sum{0};
  std::vector<std::jthread> consumers;
  for (int i = 0; i < 3; ++i) {
    consumers.emplace_back([&] {
      while (const auto item = queue.pop()) sum += *item;
    });
  }
  std::vector<std::jthread> producers;
  for (int i = 0; i < 3; ++i) {
    producers.emplace_back([&] {
      for (int k = 1; k <= 1000; ++k) EXPECT_TRUE(queue.push(k));
    });
  }
  producers.clear();
  queue.close();
  consumers.clear();
  EXPECT_EQ(sum.load(), 3 * 1000 * 1001 / 2);
}

TEST(BoundedQueue, BoundsAndCloses) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  auto one = std::make_unique<int>(1);
  auto two = std::make_unique<int>(2);
  EXPECT_TRUE(queue.try_push(one));
  EXPECT_FALSE(queue.try_push(two));
  EXPECT_NE(two, nullptr) << "a refused item stays with its owner";
  queue.close();
  EXPECT_FALSE(queue.push(std::move(two)));
  EXPECT_EQ(**queue.pop(), 1);
  EXPECT_FALSE(queue.pop().has_value());
  EXPECT_FALSE(queue.try_pop().has_value());
}

TEST(BoundedQueue, CloseWakesAWaitingProducer) {
  BoundedQueue<int> queue(1);
  ASSERT_TRUE(queue.push(1));
  std::atomic<bool> refused{false};
  std::jthread producer([&] { refused = !queue.push(2); });
  queue.close();
  producer.join();
  EXPECT_TRUE(refused.load());
}

}  // namespace
}  // namespace tandem
