// SPDX-License-Identifier: Apache-2.0
// The paper's policy: least cost; and the same with hysteresis: a move must save a share of the present cost
// (margin) and come some time after the last one (dwell). A device that cannot run the stage is left at once.
#include "tandem/sched/policies.hpp"

namespace tandem::sched {
namespace {

class LeastCost final : public Policy {
 public:
  LeastCost(const PolicyOptions& options, bool hysteresis)
      : weights_{options.switch_ns, options.risk},
        margin_(hysteresis ? options.margin : 0),
        dwell_ns_(hysteresis ? options.dwell_ns : 0) {}

  Decision decide(const Situation& situation) override {
    Decision decision = cheapest(situation, weights_);
    const DeviceId last = situation.last_device;
    if (decision.hold() || last == kNoDevice || decision.device == last) return decision;
    const CostTerms& stay = decision.terms[index_of(last)];
    if (!stay.possible()) return decision;
    const int64_t saved_ns = stay.total_ns - decision.terms[index_of(decision.device)].total_ns;
    if (static_cast<double>(saved_ns) < margin_ * static_cast<double>(stay.total_ns)) {
      decision.device = last;
      decision.reason = Reason::kMargin;
    } else if (situation.now_ns - situation.last_switch_ns < dwell_ns_) {
      decision.device = last;
      decision.reason = Reason::kDwell;
    }
    return decision;
  }

 private:
  CostWeights weights_;
  double margin_;
  int64_t dwell_ns_;
};

}  // namespace

std::unique_ptr<Policy> make_cost(const PolicyOptions& options, const PolicyContext&) {
  return std::make_unique<LeastCost>(options, false);
}

std::unique_ptr<Policy> make_cost_hysteresis(const PolicyOptions& options, const PolicyContext&) {
  return std::make_unique<LeastCost>(options, true);
}

}  // namespace tandem::sched
