// SPDX-License-Identifier: Apache-2.0
// Earliest finish: least wait + service + transfer, as StarPU's dmda does (Augonnet et al. 2011); with
// priorities, as dmdas does, later stages of a step go first in queues that order by priority, so that steps
// finish before others begin.
#include "tandem/sched/policies.hpp"

namespace tandem::sched {
namespace {

class EarliestFinish final : public Policy {
 public:
  explicit EarliestFinish(bool priorities) : priorities_(priorities) {}
  Decision decide(const Situation& situation) override {
    Decision decision = cheapest(situation, {});
    if (priorities_) decision.priority = static_cast<int32_t>(situation.stage);
    return decision;
  }

 private:
  bool priorities_;
};

}  // namespace

std::unique_ptr<Policy> make_earliest_finish(const PolicyOptions&, const PolicyContext&) {
  return std::make_unique<EarliestFinish>(false);
}

std::unique_ptr<Policy> make_earliest_finish_priority(const PolicyOptions&, const PolicyContext&) {
  return std::make_unique<EarliestFinish>(true);
}

}  // namespace tandem::sched
