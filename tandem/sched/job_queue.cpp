// SPDX-License-Identifier: Apache-2.0
// Ring for FIFO, binary heap by rank for every other discipline.
#include "tandem/sched/job_queue.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "tandem/base/check.hpp"
#include "tandem/base/text.hpp"

namespace tandem::sched {
namespace {

constexpr std::pair<Discipline, const char*> kNames[] = {{Discipline::kFifo, "fifo"},
                                                         {Discipline::kPriority, "priority"},
                                                         {Discipline::kWeightedFair, "weighted-fair"},
                                                         {Discipline::kDeadline, "deadline"}};

}  // namespace

const char* to_string(Discipline discipline) {
  for (const auto& row : kNames) {
    if (row.first == discipline) return row.second;
  }
  return "?";
}

Result<Discipline> discipline_from_string(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& row : kNames) {
    if (name == row.second) return row.first;
    names.emplace_back(row.second);
  }
  return usage_error(fmt::format("there is no queue discipline '{}'", printable(name)))
      .hint(did_you_mean(name, names));
}

const char* to_string(Admission admission) {
  switch (admission) {
    case Admission::kAccepted: return "accepted";
    case Admission::kFull: return "the queue is full";
    case Admission::kClientFull: return "the client's share of the queue is full";
    case Admission::kTooLate: return "it would miss its deadline";
  }
  return "?";
}

JobQueue::JobQueue(const JobQueueOptions& options) : options_(options) {
  TANDEM_CHECK(options.capacity >= 1 && options.capacity <= 1u << 30 && options.batch_max >= 1);
  ring_ = options.discipline == Discipline::kFifo && options.batch_max == 1;
  entries_.resize(ring_ ? std::bit_ceil(options.capacity) : options.capacity);
  client_finish_ns_.resize(kClientsMax);
  client_count_.resize(kClientsMax);
}

int64_t JobQueue::rank_of(const QueuedJob& job) {
  switch (options_.discipline) {
    case Discipline::kFifo: return 0;
    case Discipline::kPriority: return -int64_t{job.priority};
    case Discipline::kDeadline: return job.deadline_ns;
    case Discipline::kWeightedFair: {
      const double weight =
          job.client < options_.weights.size() ? std::max(options_.weights[job.client], 1e-6) : 1;
      int64_t& finish_ns = client_finish_ns_[job.client % kClientsMax];
      finish_ns = std::max(finish_ns, virtual_ns_) +
                  static_cast<int64_t>(static_cast<double>(std::max<int64_t>(job.work_ns, 1)) / weight);
      return finish_ns;
    }
  }
  return 0;
}

Admission JobQueue::push(const QueuedJob& job, double slowdown) {
  if (size_ == options_.capacity) return Admission::kFull;
  uint32_t& of_client = client_count_[job.client % kClientsMax];
  if (options_.client_capacity > 0 && of_client >= options_.client_capacity) return Admission::kClientFull;
  if (options_.refuse_late && job.deadline_ns != INT64_MAX) {
    const double needed_ns = static_cast<double>(work_ns_ + job.work_ns) * slowdown;
    if (needed_ns > static_cast<double>(job.deadline_ns - job.arrival_ns)) return Admission::kTooLate;
  }
  ++of_client;
  work_ns_ += job.work_ns;
  if (ring_) {
    entries_[(head_ + size_++) & (entries_.size() - 1)].job = job;
    return Admission::kAccepted;
  }
  entries_[size_] = {rank_of(job), sequence_++, job};
  sift_up(size_++);
  return Admission::kAccepted;
}

void JobQueue::account_removed(const Entry& entry) {
  work_ns_ -= entry.job.work_ns;
  --client_count_[entry.job.client % kClientsMax];
}

std::optional<QueuedJob> JobQueue::pop() {
  if (size_ == 0) return std::nullopt;
  if (ring_) {
    const Entry& entry = entries_[head_];
    head_ = (head_ + 1) & (static_cast<uint32_t>(entries_.size()) - 1);
    --size_;
    account_removed(entry);
    return entry.job;
  }
  const Entry entry = take(0);
  virtual_ns_ = entry.rank;
  return entry.job;
}

int64_t JobQueue::ready_at_ns() const {
  if (size_ == 0) return INT64_MAX;
  const QueuedJob& first = entries_[ring_ ? head_ : 0].job;
  if (options_.batch_max == 1) return first.arrival_ns;
  uint32_t count = 0;
  for (uint32_t i = 0; i < size_ && count < options_.batch_max; ++i) {
    count += entries_[i].job.batch_key == first.batch_key ? 1 : 0;
  }
  return count >= options_.batch_max ? first.arrival_ns : first.arrival_ns + options_.batch_wait_ns;
}

void JobQueue::pop_batch(int64_t now_ns, std::vector<QueuedJob>& batch) {
  if (size_ == 0 || ready_at_ns() > now_ns) return;
  const auto first = pop();
  batch.push_back(*first);
  while (batch.size() < options_.batch_max && !ring_) {
    // The next in order among those with the key; a heap is not sorted, so all are looked at.
    uint32_t next = size_;
    for (uint32_t i = 0; i < size_; ++i) {
      if (entries_[i].job.batch_key != first->batch_key) continue;
      if (next == size_ || before(entries_[i], entries_[next])) next = i;
    }
    if (next == size_) return;
    batch.push_back(take(next).job);
  }
}

bool JobQueue::remove(uint32_t id) {
  for (uint32_t i = 0; i < size_; ++i) {
    const uint32_t mask = static_cast<uint32_t>(entries_.size()) - 1;
    const uint32_t at = ring_ ? (head_ + i) & mask : i;
    if (entries_[at].job.id != id) continue;
    if (!ring_) {
      take(at);
      return true;
    }
    account_removed(entries_[at]);
    for (uint32_t j = i; j + 1 < size_; ++j) entries_[(head_ + j) & mask] = entries_[(head_ + j + 1) & mask];
    --size_;
    return true;
  }
  return false;
}

void JobQueue::clear() {
  size_ = 0;
  head_ = 0;
  work_ns_ = 0;
  std::fill(client_count_.begin(), client_count_.end(), 0);
}

JobQueue::Entry JobQueue::take(uint32_t at) {
  const Entry entry = entries_[at];
  account_removed(entry);
  --size_;
  if (at != size_) {
    entries_[at] = entries_[size_];
    sift_down(at);
    sift_up(at);
  }
  return entry;
}

void JobQueue::sift_up(uint32_t at) {
  while (at > 0 && before(entries_[at], entries_[(at - 1) / 2])) {
    std::swap(entries_[at], entries_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
}

void JobQueue::sift_down(uint32_t at) {
  while (true) {
    uint32_t least = at;
    for (const uint32_t child : {2 * at + 1, 2 * at + 2}) {
      if (child < size_ && before(entries_[child], entries_[least])) least = child;
    }
    if (least == at) return;
    std::swap(entries_[at], entries_[least]);
    at = least;
  }
}

}  // namespace tandem::sched
