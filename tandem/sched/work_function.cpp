// SPDX-License-Identifier: Apache-2.0
// The work-function algorithm for metrical task systems (Borodin, Linial and Saks, JACM 39, 1992): w(s) is
// the least cost of serving all requests so far and ending in s; the next state minimises w(s) + d(last, s).
// With two states its cost is at most 3 times the optimum's plus a constant, when costs do not depend on what
// it does and switching is symmetric. The request's cost is the stage's cost without switching; d is the
// switching penalty.
#include <algorithm>

#include "tandem/sched/policies.hpp"

namespace tandem::sched {
namespace {

class WorkFunction final : public Policy {
 public:
  explicit WorkFunction(int64_t switch_ns) : distance_ns_(switch_ns) {}

  Decision decide(const Situation& situation) override {
    const uint32_t count = situation.program.device_count;
    Decision decision;
    std::array<int64_t, kDevicesMax> served{};
    for (uint32_t d = 0; d < count; ++d) {
      decision.terms[d] = cost_of(situation, DeviceId{d}, {});
      // A device that cannot run the stage is one that serves it at a prohibitive, finite price.
      const int64_t price_ns = decision.terms[d].possible() ? decision.terms[d].total_ns : kProhibitiveNs;
      served[d] = work_ns_[d] + price_ns;
    }
    for (uint32_t d = 0; d < count; ++d) {
      int64_t least_ns = served[d];
      for (uint32_t from = 0; from < count; ++from)
        least_ns = std::min(least_ns, served[from] + distance_ns_);
      work_ns_[d] = least_ns;
    }
    choose(situation, served, decision);
    const int64_t base_ns = *std::min_element(work_ns_.begin(), work_ns_.begin() + count);
    for (uint32_t d = 0; d < count; ++d)
      work_ns_[d] -= base_ns;  // only differences matter; they stay below d
    return decision;
  }

 private:
  static constexpr int64_t kProhibitiveNs = kTimeMaxNs;

  // Least w(s) + d(last, s) among the states in which serving this request is on an optimal way: without that
  // condition a tie may leave the algorithm in a state whose price it then pays again and again.
  void choose(const Situation& situation, const std::array<int64_t, kDevicesMax>& served,
              Decision& decision) const {
    int64_t best_ns = kCannotRun;
    for (uint32_t d = 0; d < situation.program.device_count; ++d) {
      if (!decision.terms[d].possible() || served[d] != work_ns_[d]) continue;
      const bool moves = situation.last_device != kNoDevice && situation.last_device != DeviceId{d};
      const int64_t value_ns = work_ns_[d] + (moves ? distance_ns_ : 0);
      if (value_ns > best_ns || (value_ns == best_ns && situation.last_device != DeviceId{d})) continue;
      best_ns = value_ns;
      decision.device = DeviceId{d};
      decision.reason = Reason::kWorkFunction;
    }
    if (!decision.hold()) return;
    for (uint32_t d = 0; d < situation.program.device_count; ++d) {
      if (!decision.terms[d].possible()) continue;
      decision.device = DeviceId{d};
      decision.reason = Reason::kFallback;
      return;
    }
  }

  int64_t distance_ns_;
  std::array<int64_t, kDevicesMax> work_ns_{};
};

}  // namespace

std::unique_ptr<Policy> make_work_function(const PolicyOptions& options, const PolicyContext&) {
  return std::make_unique<WorkFunction>(options.switch_ns);
}

}  // namespace tandem::sched
