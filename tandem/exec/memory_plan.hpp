// SPDX-License-Identifier: Apache-2.0
// Puts all activations of a program into one arena, so that buffers that live at the same time do not
// overlap.
#pragma once

#include <cstddef>
#include <vector>

namespace tandem::exec {

struct Lifetime {
  size_t bytes = 0;
  size_t first = 0;  // the step that writes it first
  size_t last = 0;   // the last step that touches it, >= first
};

struct MemoryPlan {
  std::vector<size_t> offset;  // one per lifetime, multiples of 64
  size_t bytes = 0;            // of the arena
};

// Greedy by size, best fit (Pisarchyk and Lee 2020, "Efficient Memory Management for Deep Neural Net
// Inference", section 5): largest first, each into the smallest gap between those already placed that live at
// the same time.
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes);

// The largest sum of bytes alive at one step: no plan can be smaller.
size_t lower_bound_bytes(const std::vector<Lifetime>& lifetimes);

}  // namespace tandem::exec
