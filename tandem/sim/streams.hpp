// SPDX-License-Identifier: Apache-2.0
// Which stream of randomness belongs to what. The engine and the clairvoyant optimum read the same numbers
// from here.
#pragma once

#include "tandem/base/rng.hpp"
#include "tandem/sim/model.hpp"

namespace tandem::sim {

// Where the work of one stage comes from: whichever policy asks, and whenever, it is the same.
struct StageKey {
  uint64_t step = 0;
  uint32_t stage = 0, attempt = 0, job = 0, device = 0;
};

inline int64_t stage_work_ns(const Scenario& scenario, const Rng& base, const StageKey& key) {
  const plan::ServiceLaw& law = scenario.devices[key.device].law;
  const int64_t nominal_ns = scenario.jobs[key.job].program.stages[key.stage].nominal_ns[key.device];
  if (law.kind == plan::LawKind::kDeterministic) return nominal_ns;
  const uint64_t stream =
      ((key.step * 128 + key.stage) * 64 + key.attempt % 64) * 256 + key.job * 4 + key.device;
  Rng rng = base.fork(stream ^ 0x5eed'0000'0000'0000);
  return static_cast<int64_t>(static_cast<double>(nominal_ns) * law.sample(rng) + 0.5);
}

// One background load's jobs, in order.
class BackgroundStream {
 public:
  // `model` outlives this.
  BackgroundStream(const BackgroundModel& model, const Rng& base, uint32_t index)
      : model_(&model), arrivals_(model.arrivals, base.fork(1000 + index)), sizes_(base.fork(2000 + index)) {
    advance();
  }
  // Of the next job; plan::kNever when there is none.
  int64_t at_ns() const { return at_ns_; }
  int64_t work_ns() const { return work_ns_; }
  void advance() {
    const int64_t next_ns = arrivals_.next_ns();
    at_ns_ = next_ns > at_ns_ ? next_ns : at_ns_;
    if (at_ns_ == plan::kNever) return;
    work_ns_ = arrivals_.traced_work_ns();
    if (work_ns_ > 0) return;
    const auto mean = static_cast<double>(model_->mean_work_ns);
    work_ns_ = model_->law.kind == plan::LawKind::kDeterministic
                   ? model_->mean_work_ns
                   : static_cast<int64_t>(mean * model_->law.sample(sizes_) + 0.5);
  }

 private:
  const BackgroundModel* model_;
  plan::Arrivals arrivals_;
  Rng sizes_;
  int64_t at_ns_ = 0;
  int64_t work_ns_ = 0;
};

inline int64_t transfer_work_ns(int64_t bytes, const LinkModel& link) {
  return static_cast<int64_t>(static_cast<double>(bytes) * 1e9 / link.bytes_per_s + 0.5);
}

}  // namespace tandem::sim
