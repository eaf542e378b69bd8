// SPDX-License-Identifier: Apache-2.0
// The one seeded generator: xoshiro256** (Blackman and Vigna 2018), seeded by SplitMix64. Own distributions, because
// those of the standard library differ between implementations. Same seed, same numbers, on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tandem {

class Rng {
 public:
  explicit Rng(uint64_t seed);
  // Uniform over all 64-bit numbers.
  uint64_t next();
  // Uniform in [0, bound), without bias; bound > 0.
  uint64_t below(uint64_t bound);
  // Uniform in [0, 1) with 53 bits.
  double uniform();
  // Uniform in [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // Standard normal by the Box-Muller transform (both numbers used).
  double normal();
  // An independent generator for a numbered sub-task, so that results do not depend on the order of work.
  Rng fork(uint64_t stream) const;
  // Fisher-Yates.
  template <typename Container>
  void shuffle(Container& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }
  // State for checkpoints.
  std::array<uint64_t, 4> state() const { return state_; }
  static Rng from_state(const std::array<uint64_t, 4>& state);

 private:
  Rng() = default;
  std::array<uint64_t, 4> state_{};
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace tandem
