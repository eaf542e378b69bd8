// SPDX-License-Identifier: Apache-2.0
// Goal: each discipline serves in its order, admission says why it refuses. Method: hand-made lines; a random
// script against a sorted list.
#include "tandem/sched/job_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tandem/base/rng.hpp"

namespace tandem::sched {
namespace {

std::vector<uint32_t> drain(JobQueue& queue) {
  std::vector<uint32_t> ids;
  while (const auto job = queue.pop()) ids.push_back(job->id);
  EXPECT_EQ(queue.work_ns(), 0);
  return ids;
}

TEST(JobQueue, FifoKeepsTheOrderAndWrapsAround) {
  JobQueue queue({.capacity = 3});
  uint32_t next_out = 0;
  for (uint32_t i = 0; i < 100; ++i) {
    ASSERT_EQ(queue.push({.id = i}), Admission::kAccepted);
    if (queue.size() == 3) {
      EXPECT_EQ(queue.push({.id = 999}), Admission::kFull);
      EXPECT_EQ(queue.pop()->id, next_out++);
    }
  }
  EXPECT_EQ(drain(queue), (std::vector<uint32_t>{98, 99}));
}

TEST(JobQueue, PriorityGoesFirstAndTiesKeepTheirOrder) {
  JobQueue queue({.discipline = Discipline::kPriority});
  for (const auto& [id, priority] :
       std::vector<std::pair<uint32_t, int32_t>>{{1, 0}, {2, 5}, {3, 0}, {4, 5}}) {
    ASSERT_EQ(queue.push({.id = id, .priority = priority}), Admission::kAccepted);
  }
  EXPECT_EQ(drain(queue), (std::vector<uint32_t>{2, 4, 1, 3}));
}

TEST(JobQueue, EarliestDeadlineGoesFirst) {
  JobQueue queue({.discipline = Discipline::kDeadline});
  ASSERT_EQ(queue.push({.id = 1}), Admission::kAccepted);
  ASSERT_EQ(queue.push({.id = 2, .deadline_ns = 90}), Admission::kAccepted);
  ASSERT_EQ(queue.push({.id = 3, .deadline_ns = 10}), Admission::kAccepted);
  EXPECT_EQ(drain(queue), (std::vector<uint32_t>{3, 2, 1}));
}

TEST(JobQueue, WeightedFairSharesTheWorkAsWeighted) {
  JobQueue queue({.discipline = Discipline::kWeightedFair, .weights = {3, 1}});
  for (uint32_t i = 0; i < 40; ++i) {
    for (const uint32_t client : {0u, 1u}) {
      ASSERT_EQ(queue.push({.id = i, .client = client, .work_ns = 1000}), Admission::kAccepted);
    }
  }
  int of_first = 0;
  for (int i = 0; i < 40; ++i) of_first += queue.pop()->client == 0 ? 1 : 0;
  EXPECT_EQ(of_first, 30);  // 3 : 1
}

TEST(JobQueue, AFloodingClientDoesNotDelayAPoliteOne) {
  JobQueue queue({.discipline = Discipline::kWeightedFair});
  for (uint32_t i = 0; i < 100; ++i)
    ASSERT_EQ(queue.push({.client = 0, .work_ns = 10}), Admission::kAccepted);
  ASSERT_EQ(queue.push({.client = 1, .work_ns = 10}), Admission::kAccepted);
  EXPECT_EQ(queue.pop()->client, 0u);
  EXPECT_EQ(queue.pop()->client, 1u);
}

TEST(JobQueue, AdmissionSaysWhy) {
  JobQueue queue({.capacity = 3, .client_capacity = 2, .refuse_late = true});
  EXPECT_EQ(queue.push({.work_ns = 100}), Admission::kAccepted);
  // 100 ahead and 100 of its own at half speed are 400.
  EXPECT_EQ(queue.push({.deadline_ns = 399, .work_ns = 100}, 2), Admission::kTooLate);
  EXPECT_EQ(queue.push({.deadline_ns = 400, .work_ns = 100}, 2), Admission::kAccepted);
  EXPECT_EQ(queue.push({.work_ns = 1}), Admission::kClientFull);
  EXPECT_EQ(queue.push({.client = 1}), Admission::kAccepted);
  EXPECT_EQ(queue.push({.client = 2}), Admission::kFull);
  EXPECT_EQ(queue.pop()->work_ns, 100);
  EXPECT_EQ(queue.push({.client = 0}), Admission::kAccepted);
}

TEST(JobQueue, BatchesEqualKeysWithinTheLatencyBound) {
  JobQueue queue({.batch_max = 3, .batch_wait_ns = 50});
  std::vector<QueuedJob> batch;
  batch.reserve(3);
  EXPECT_EQ(queue.ready_at_ns(), INT64_MAX);
  ASSERT_EQ(queue.push({.id = 1, .batch_key = 7, .arrival_ns = 100}), Admission::kAccepted);
  ASSERT_EQ(queue.push({.id = 2, .batch_key = 8, .arrival_ns = 101}), Admission::kAccepted);
  ASSERT_EQ(queue.push({.id = 3, .batch_key = 7, .arrival_ns = 102}), Admission::kAccepted);
  EXPECT_EQ(queue.ready_at_ns(), 150);
  queue.pop_batch(149, batch);
  EXPECT_TRUE(batch.empty());
  queue.pop_batch(150, batch);
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[0].id, 1u);
  EXPECT_EQ(batch[1].id, 3u);
  batch.clear();
  ASSERT_EQ(queue.push({.id = 4, .batch_key = 8, .arrival_ns = 103}), Admission::kAccepted);
  ASSERT_EQ(queue.push({.id = 5, .batch_key = 8, .arrival_ns = 104}), Admission::kAccepted);
  EXPECT_EQ(queue.ready_at_ns(), 101);  // full
  queue.pop_batch(104, batch);
  EXPECT_EQ(batch.size(), 3u);
}

TEST(JobQueue, RemovesByIdAndKeepsTheOrder) {
  for (const Discipline discipline : {Discipline::kFifo, Discipline::kPriority}) {
    JobQueue queue({.discipline = discipline, .capacity = 8});
    for (uint32_t i = 0; i < 6; ++i) ASSERT_EQ(queue.push({.id = i, .work_ns = 1}), Admission::kAccepted);
    EXPECT_TRUE(queue.remove(2));
    EXPECT_FALSE(queue.remove(2));
    EXPECT_EQ(queue.work_ns(), 5);
    EXPECT_EQ(drain(queue), (std::vector<uint32_t>{0, 1, 3, 4, 5}));
  }
}

TEST(JobQueue, AgreesWithASortedListOnRandomScripts) {
  Rng rng(9);
  JobQueue queue({.discipline = Discipline::kPriority, .capacity = 64});
  std::vector<std::pair<int32_t, uint32_t>> list;  // (-priority, id), ids grow
  for (uint32_t i = 0; i < 20000; ++i) {
    if (rng.below(2) == 0 && list.size() < 64) {
      const auto priority = static_cast<int32_t>(rng.below(5));
      ASSERT_EQ(queue.push({.id = i, .priority = priority}), Admission::kAccepted);
      list.emplace_back(-priority, i);
    } else if (!list.empty()) {
      const auto least = std::min_element(list.begin(), list.end());
      ASSERT_EQ(queue.pop()->id, least->second);
      list.erase(least);
    }
  }
}

TEST(Discipline, NamesAreReadBack) {
  for (const Discipline d :
       {Discipline::kFifo, Discipline::kPriority, Discipline::kWeightedFair, Discipline::kDeadline}) {
    EXPECT_EQ(discipline_from_string(to_string(d)).value(), d);
  }
  EXPECT_NE(discipline_from_string("fofo").error().message().find("did you mean 'fifo'"), std::string::npos);
}

}  // namespace
}  // namespace tandem::sched
