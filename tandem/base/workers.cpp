// SPDX-License-Identifier: Apache-2.0
// The team: threads sleep on one condition variable until a new round begins.
#include "tandem/base/workers.hpp"

namespace tandem {
namespace {

// The team whose task this thread runs, to recognise loops inside loops.
thread_local const Workers* current_team = nullptr;

class TeamScope {
 public:
  explicit TeamScope(const Workers* team) : before_(std::exchange(current_team, team)) {}
  TeamScope(const TeamScope&) = delete;
  TeamScope& operator=(const TeamScope&) = delete;
  ~TeamScope() { current_team = before_; }

 private:
  const Workers* before_;
};

}  // namespace

Workers::Workers(size_t count) : count_(count) {
  TANDEM_CHECK(count >= 1, "a team needs a worker");
  failures_.resize(count);
  threads_.reserve(count - 1);
  for (size_t worker = 1; worker < count; ++worker)
    threads_.emplace_back([this, worker] { thread_main(worker); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  start_.notify_all();
  threads_.clear();  // jthread joins.
}

void Workers::thread_main(size_t worker) {
  const TeamScope scope(this);
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    start_.wait(lock, [&] { return stopping_ || round_ != seen; });
    if (stopping_) return;
    seen = round_;
    const auto* task = task_;
    lock.unlock();
    Failure failure = (*task)(worker);
    lock.lock();
    failures_[worker] = std::move(failure);
    if (--running_ == 0) done_.notify_one();
  }
}

Status Workers::run(const std::function<Failure(size_t)>& task) {
  if (current_team == this) {
    // A loop inside a task: waiting for the team would wait for ourselves.
    for (size_t worker = 0; worker < count_; ++worker) {
      Failure failure = task(worker);
      if (!failure.status.ok()) return std::move(failure.status);
    }
    return {};
  }
  const std::lock_guard turn(turn_);
  const TeamScope scope(this);
  if (count_ == 1) return task(0).status;
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    running_ = count_ - 1;
    ++round_;
  }
  start_.notify_all();
  Failure own = task(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return running_ == 0; });
  task_ = nullptr;
  failures_[0] = std::move(own);
  const Failure* first = nullptr;
  for (const Failure& failure : failures_) {
    if (!failure.status.ok() && (first == nullptr || failure.index < first->index)) first = &failure;
  }
  if (first == nullptr) return {};
  return first->status;
}

}  // namespace tandem
