// SPDX-License-Identifier: Apache-2.0
// Binary heap against a calendar queue (Brown 1988) under the hold model: take the next event, put one back after
// an exponential time. The calendar lives here only.
#include "tandem/sim/event_queue.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>

#include "tandem/plan/generators.hpp"

namespace tandem::sim {
namespace {

// One bucket per event, a width of one mean gap; resized by the caller's knowledge of the size, which favours
// it.
class CalendarQueue {
 public:
  CalendarQueue(size_t buckets, int64_t width_ns) : buckets_(buckets), width_ns_(width_ns) {}
  void push(int64_t time_ns) {
    auto& bucket = buckets_[static_cast<size_t>(time_ns / width_ns_) % buckets_.size()];
    const Event event{time_ns, ++sequence_};
    // Sorted descending, so that the next one is at the back.
    bucket.insert(std::upper_bound(bucket.begin(), bucket.end(), event,
                                   [](const Event& a, const Event& b) {
                                     return a.time_ns != b.time_ns ? a.time_ns > b.time_ns
                                                                   : a.sequence > b.sequence;
                                   }),
                  event);
  }
  Event pop() {
    for (size_t looked = 0;; ++looked, ++day_) {
      auto& bucket = buckets_[static_cast<size_t>(day_) % buckets_.size()];
      if (!bucket.empty() && bucket.back().time_ns / width_ns_ <= day_) {
        const Event event = bucket.back();
        bucket.pop_back();
        return event;
      }
    }
  }

 private:
  std::vector<std::vector<Event>> buckets_;
  int64_t width_ns_;
  int64_t day_ = 0;
  uint64_t sequence_ = 0;
};

constexpr double kMeanGapNs = 1000;

template <typename Push, typename Pop>
void hold(benchmark::State& state, Push push, Pop pop) {
  const auto size = static_cast<double>(state.range(0));
  Rng rng(1);
  for (int64_t i = 0; i < state.range(0); ++i)
    push(static_cast<int64_t>(plan::sample_exponential(rng) * kMeanGapNs * size));
  for (auto _ : state) {
    const Event event = pop();
    push(event.time_ns + static_cast<int64_t>(plan::sample_exponential(rng) * kMeanGapNs * size));
  }
}

void BM_Heap(benchmark::State& state) {
  EventQueue queue;
  hold(
      state, [&](int64_t at) { queue.push(at, 0, 0); }, [&] { return queue.pop(); });
}
BENCHMARK(BM_Heap)->RangeMultiplier(8)->Range(2, 1 << 19);

void BM_Calendar(benchmark::State& state) {
  CalendarQueue queue(static_cast<size_t>(state.range(0)), static_cast<int64_t>(kMeanGapNs));
  hold(
      state, [&](int64_t at) { queue.push(at); }, [&] { return queue.pop(); });
}
BENCHMARK(BM_Calendar)->RangeMultiplier(8)->Range(2, 1 << 19);

}  // namespace
}  // namespace tandem::sim
