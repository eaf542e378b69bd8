// SPDX-License-Identifier: Apache-2.0
// xoshiro256** and the distributions made from it.
#include "tandem/base/rng.hpp"

#include <bit>
#include <cmath>

namespace tandem {
namespace {

uint64_t splitmix(uint64_t& x) {
  uint64_t z = (x += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Rng::Rng(uint64_t seed) {
  for (auto& word : state_) word = splitmix(seed);
}

Rng Rng::from_state(const std::array<uint64_t, 4>& state) {
  Rng rng;
  rng.state_ = state;
  return rng;
}

uint64_t Rng::next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Rng::below(uint64_t bound) {
  if (bound <= 1) return 0;
  // Numbers below 2^64 mod bound are drawn again, so that every remainder is equally likely.
  const uint64_t threshold = (0 - bound) % bound;
  while (true) {
    const uint64_t x = next();
    if (x >= threshold) return x % bound;
  }
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Rng::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  const double angle = 2.0 * 3.14159265358979323846 * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

Rng Rng::fork(uint64_t stream) const {
  uint64_t mix = state_[0] ^ std::rotl(state_[3], 23) ^ (stream * 0xd1342543de82ef95ULL + 1);
  return Rng(splitmix(mix));
}

}  // namespace tandem
