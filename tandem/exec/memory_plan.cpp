// SPDX-License-Identifier: Apache-2.0
// Arena placement; the rule is in the header.
#include "tandem/exec/memory_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace tandem::exec {
namespace {

constexpr size_t kAlign = 64;
size_t rounded(size_t bytes) { return (std::max<size_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign; }

bool overlap(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes) {
  MemoryPlan plan;
  plan.offset.assign(lifetimes.size(), 0);
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  std::vector<size_t> placed;  // by offset
  for (const size_t id : order) {
    const size_t need = rounded(lifetimes[id].bytes);
    size_t best = SIZE_MAX, best_gap = SIZE_MAX, end = 0;
    for (const size_t other : placed) {
      if (!overlap(lifetimes[id], lifetimes[other])) continue;
      const size_t begin = plan.offset[other];
      if (begin > end && begin - end >= need && begin - end < best_gap) {
        best = end;
        best_gap = begin - end;
      }
      end = std::max(end, begin + rounded(lifetimes[other].bytes));
    }
    plan.offset[id] = best == SIZE_MAX ? end : best;
    plan.bytes = std::max(plan.bytes, plan.offset[id] + need);
    const auto at = std::upper_bound(placed.begin(), placed.end(), id,
                                     [&](size_t a, size_t b) { return plan.offset[a] < plan.offset[b]; });
    placed.insert(at, id);
  }
  return plan;
}

size_t lower_bound_bytes(const std::vector<Lifetime>& lifetimes) {
  size_t last = 0, most = 0;
  for (const Lifetime& l : lifetimes) last = std::max(last, l.last);
  for (size_t step = 0; step <= last; ++step) {
    size_t sum = 0;
    for (const Lifetime& l : lifetimes) {
      if (l.first <= step && step <= l.last) sum += rounded(l.bytes);
    }
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace tandem::exec
