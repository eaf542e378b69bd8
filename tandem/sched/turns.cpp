// SPDX-License-Identifier: Apache-2.0
// Random and round-robin: the yardsticks that know nothing.
#include "tandem/base/rng.hpp"
#include "tandem/sched/policies.hpp"

namespace tandem::sched {
namespace {

class Random final : public Policy {
 public:
  explicit Random(uint64_t seed) : rng_(seed) {}
  Decision decide(const Situation& situation) override {
    return want(situation, DeviceId{static_cast<uint32_t>(rng_.below(situation.program.device_count))},
                Reason::kTurn);
  }

 private:
  Rng rng_;
};

class RoundRobin final : public Policy {
 public:
  Decision decide(const Situation& situation) override {
    const DeviceId device{next_ % situation.program.device_count};
    next_ = index_of(device) + 1;
    return want(situation, device, Reason::kTurn);
  }

 private:
  uint32_t next_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_random(const PolicyOptions& options, const PolicyContext&) {
  return std::make_unique<Random>(options.seed);
}

std::unique_ptr<Policy> make_round_robin(const PolicyOptions&, const PolicyContext&) {
  return std::make_unique<RoundRobin>();
}

}  // namespace tandem::sched
