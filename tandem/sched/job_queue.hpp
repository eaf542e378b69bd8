// SPDX-License-Identifier: Apache-2.0
// JobQueue: the line in front of a device. One object for all disciplines, driven by the simulator and by the
// daemon; the capacity is fixed at construction and nothing allocates afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tandem/base/result.hpp"

namespace tandem::sched {

enum class Discipline : uint8_t {
  kFifo,
  kPriority,      // higher priority first, then order of arrival
  kWeightedFair,  // least virtual finish time (self-clocked fair queueing, Golestani 1994)
  kDeadline,      // earliest deadline first; jobs without one last
};
const char* to_string(Discipline discipline);
Result<Discipline> discipline_from_string(std::string_view name);

struct QueuedJob {
  uint32_t id = 0;
  uint32_t client = 0;
  uint32_t batch_key = 0;  // only equal ones may share a batch
  int32_t priority = 0;
  int64_t arrival_ns = 0;
  int64_t deadline_ns = INT64_MAX;
  int64_t work_ns = 0;      // nominal
  int64_t driver_data = 0;  // the driver's own; the queue does not look at it
};

enum class Admission : uint8_t { kAccepted, kFull, kClientFull, kTooLate };
const char* to_string(Admission admission);

struct JobQueueOptions {
  Discipline discipline = Discipline::kFifo;
  uint32_t capacity = 1024;          // jobs; at least 1
  uint32_t client_capacity = 0;      // jobs of one client; 0: no limit of its own
  std::vector<double> weights = {};  // weighted fair, by client; missing ones are 1, at most 256 clients
  uint32_t batch_max = 1;            // jobs taken together
  int64_t batch_wait_ns = 0;         // how long the first of a batch may wait for company
  bool refuse_late = false;          // refuse jobs whose deadline the estimated wait breaks already
};

class JobQueue {
 public:
  explicit JobQueue(const JobQueueOptions& options);

  // `slowdown`: real time per nominal work, for the estimate of the wait (refuse_late).
  Admission push(const QueuedJob& job, double slowdown = 1);
  // The job to serve next; nothing when empty.
  std::optional<QueuedJob> pop();
  // Takes the next job and up to batch_max - 1 with the same key, in order; appended to `batch`, whose
  // capacity the caller reserves. Takes nothing while the batch is not full and its first job may still wait
  // (ready_at_ns()).
  void pop_batch(int64_t now_ns, std::vector<QueuedJob>& batch);
  // When a batch will be ready without further arrivals; INT64_MAX when empty.
  int64_t ready_at_ns() const;
  // Removes a job by id (cancelled, client gone). O(size).
  bool remove(uint32_t id);
  void clear();

  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t work_ns() const { return work_ns_; }

 private:
  struct Entry {
    int64_t rank = 0;       // least goes first
    uint64_t sequence = 0;  // of equals the earlier
    QueuedJob job;
  };
  static constexpr uint32_t kClientsMax = 256;
  int64_t rank_of(const QueuedJob& job);
  static bool before(const Entry& a, const Entry& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.sequence < b.sequence;
  }
  void sift_up(uint32_t at);
  void sift_down(uint32_t at);
  Entry take(uint32_t at);
  void account_removed(const Entry& entry);

  JobQueueOptions options_;
  bool ring_ = false;           // FIFO without batches: a ring; else a binary heap
  std::vector<Entry> entries_;  // of fixed size
  uint32_t head_ = 0;
  uint32_t size_ = 0;
  uint64_t sequence_ = 0;
  int64_t work_ns_ = 0;
  int64_t virtual_ns_ = 0;  // tag of the job in service (weighted fair)
  std::vector<int64_t> client_finish_ns_;
  std::vector<uint32_t> client_count_;
};

}  // namespace tandem::sched
