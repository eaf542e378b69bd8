// SPDX-License-Identifier: Apache-2.0
// Workers: a fixed team of threads for loops over indices. BoundedQueue: how stages of a pipeline hand work
// over. Nobody waits busily, and no exception of a task leaves the team.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/base/check.hpp"
#include "tandem/base/result.hpp"

namespace tandem {

// Calls from several threads take turns. A call from inside a task runs its loop on that task's own thread.
class Workers {
 public:
  // The calling thread is worker 0, so `count` workers start count - 1 threads. Precondition: count >= 1.
  explicit Workers(size_t count);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();
  size_t count() const { return count_; }

  // fn(index, worker) for every index in [0, count); worker < this->count(). fn returns void or Status.
  // Worker w always gets the same contiguous piece, so results reduced per worker are the same at every run.
  // A failing task ends its worker's piece; the error of the lowest failing index is returned.
  template <typename F>
  Status parallel_for(size_t count, F&& fn) {
    return run([&](size_t worker) -> Failure {
      const size_t begin = share_begin(count, worker);
      const size_t end = share_begin(count, worker + 1);
      for (size_t index = begin; index < end; ++index) {
        Status status = call(fn, index, worker);
        if (!status.ok()) return Failure{index, std::move(status)};
      }
      return {};
    });
  }

  // The same, but each worker takes the next free index: for tasks of unequal length whose results depend on
  // nothing but the index. After a failure no further index is started.
  template <typename F>
  Status parallel_for_dynamic(size_t count, F&& fn) {
    std::atomic<size_t> next{0};
    return run([&](size_t worker) -> Failure {
      while (true) {
        const size_t index = next.fetch_add(1, std::memory_order_relaxed);
        if (index >= count) return {};
        Status status = call(fn, index, worker);
        if (!status.ok()) {
          next.store(count, std::memory_order_relaxed);
          return Failure{index, std::move(status)};
        }
      }
    });
  }

 private:
  struct Failure {
    size_t index = 0;
    Status status;
  };

  // The first index of a worker's piece; no product, so no overflow.
  size_t share_begin(size_t count, size_t worker) const {
    return count / count_ * worker + (worker < count % count_ ? worker : count % count_);
  }

  template <typename F>
  static Status call(F& fn, size_t index, size_t worker) {
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<F&, size_t, size_t>>) {
        fn(index, worker);
        return {};
      } else {
        return fn(index, worker);
      }
    } catch (const std::exception& exception) {
      return internal_error("a parallel task threw").because(exception.what());
    } catch (...) {
      return internal_error("a parallel task threw");
    }
  }

  Status run(const std::function<Failure(size_t worker)>& task);
  void thread_main(size_t worker);

  const size_t count_;
  std::mutex turn_;  // One loop at a time.
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable done_;
  const std::function<Failure(size_t)>* task_ = nullptr;
  uint64_t round_ = 0;
  size_t running_ = 0;
  bool stopping_ = false;
  std::vector<Failure> failures_;
  std::vector<std::jthread> threads_;
};

// Many producers, many consumers. close() lets consumers drain what is left and turns producers away.
template <typename T>
class BoundedQueue {
 public:
  // Precondition: capacity >= 1.
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) { TANDEM_CHECK(capacity >= 1); }

  // Waits for room. False, and `item` is dropped, when the queue is closed.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    lock.unlock();
    filled_.notify_one();
    return true;
  }
  // False when there is no room now or the queue is closed; `item` is then untouched.
  bool try_push(T& item) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    filled_.notify_one();
    return true;
  }
  // Waits for an item. Nothing when the queue is closed and empty.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return closed_ || !items_.empty(); });
    return take(lock);
  }
  // Nothing when there is none now.
  std::optional<T> try_pop() {
    std::unique_lock lock(mutex_);
    return take(lock);
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    room_.notify_all();
    filled_.notify_all();
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }
  size_t capacity() const { return capacity_; }

 private:
  std::optional<T> take(std::unique_lock<std::mutex>& lock) {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    lock.unlock();
    room_.notify_one();
    return item;
  }

  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace tandem
