// SPDX-License-Identifier: Apache-2.0
// EventQueue: what happens next. A binary heap ordered by time, then by sequence number: few events are pending at
// once, because queues hold jobs and not events. Allocates only when more events are pending than ever before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::sim {

struct Event {
  int64_t time_ns = 0;
  uint64_t sequence = 0;
  uint32_t kind = 0;
  uint32_t index = 0;    // of the device, source, ... that it concerns
  uint32_t version = 0;  // an event whose version is not its owner's any more is stale
};

class EventQueue {
 public:
  EventQueue() { heap_.reserve(64); }
  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  // Precondition: not empty.
  const Event& top() const { return heap_.front(); }

  void push(int64_t time_ns, uint32_t kind, uint32_t index, uint32_t version = 0) {
    const Event event{time_ns, ++sequence_, kind, index, version};
    size_t at = heap_.size();
    heap_.push_back(event);
    while (at > 0 && before(event, heap_[(at - 1) / 2])) {
      heap_[at] = heap_[(at - 1) / 2];
      at = (at - 1) / 2;
    }
    heap_[at] = event;
  }
  // Precondition: not empty.
  Event pop() {
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    const size_t size = heap_.size();
    if (size == 0) return first;
    size_t at = 0;
    while (true) {
      size_t child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], last)) break;
      heap_[at] = heap_[child];
      at = child;
    }
    heap_[at] = last;
    return first;
  }
  void clear() {
    heap_.clear();
    sequence_ = 0;
  }

 private:
  static bool before(const Event& a, const Event& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.sequence < b.sequence;
  }
  std::vector<Event> heap_;
  uint64_t sequence_ = 0;
};

}  // namespace tandem::sim
