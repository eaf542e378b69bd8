// SPDX-License-Identifier: Apache-2.0
// Learning: what a placement really costs relative to the cost model, learned from feedback per stage and
// device. ucb takes the least optimistic bound (Auer et al. 2002, for costs), thompson a sample of the
// posterior of the mean (normal, variance from the data). Old knowledge fades by a discount, for costs that
// change (Garivier and Moulines 2011). Only placements whose model cost is below `safety` times the cheapest
// are tried: exploring never costs more than that.
#include <algorithm>
#include <cmath>

#include "tandem/base/rng.hpp"
#include "tandem/sched/policies.hpp"

namespace tandem::sched {
namespace {

// Of real over predicted cost.
struct Arm {
  double weight = 0;
  double sum = 0;
  double sum_of_squares = 0;

  double mean() const { return weight > 0 ? sum / weight : 1; }
  double variance() const {
    if (weight < 2) return 0.25;
    return std::max(sum_of_squares / weight - mean() * mean(), 1e-6);
  }
};

class Learning final : public Policy {
 public:
  Learning(const PolicyOptions& options, const Program& program, bool samples)
      : weights_{options.switch_ns, options.risk},
        exploration_(options.exploration),
        safety_(options.safety),
        samples_(samples),
        rng_(options.seed),
        arms_(program.stages.size()),
        predicted_ns_(program.stages.size(), 0) {}

  Decision decide(const Situation& situation) override {
    Decision decision = cheapest(situation, weights_);
    if (decision.hold()) return decision;
    const DeviceId model_choice = decision.device;
    const auto least_ns = static_cast<double>(decision.terms[index_of(model_choice)].total_ns);
    auto& arms = arms_[situation.stage];
    double total_weight = 1;
    for (const Arm& arm : arms) total_weight += arm.weight;
    double best = INFINITY;
    for (uint32_t d = 0; d < situation.program.device_count; ++d) {
      const CostTerms& terms = decision.terms[d];
      const auto model_ns = static_cast<double>(terms.total_ns);
      if (!terms.possible() || model_ns > safety_ * least_ns) continue;
      const double value = model_ns * std::max(0.0, arms[d].mean() - optimism(arms[d], total_weight));
      if (value >= best) continue;
      best = value;
      decision.device = DeviceId{d};
    }
    decision.reason = decision.device == model_choice ? Reason::kExploits : Reason::kExplores;
    predicted_ns_[situation.stage] = decision.terms[index_of(decision.device)].total_ns;
    return decision;
  }

  void completed(const Feedback& feedback) override {
    const int64_t predicted_ns = predicted_ns_[feedback.stage];
    if (predicted_ns <= 0) return;
    for (Arm& arm : arms_[feedback.stage]) {
      arm.weight *= kDiscount;
      arm.sum *= kDiscount;
      arm.sum_of_squares *= kDiscount;
    }
    // A failure counts as ten times the prediction; one huge outlier must not decide for ever.
    const double ratio =
        feedback.failed
            ? 10.0
            : std::min(10.0, static_cast<double>(feedback.elapsed_ns) / static_cast<double>(predicted_ns));
    Arm& arm = arms_[feedback.stage][index_of(feedback.device)];
    arm.weight += 1;
    arm.sum += ratio;
    arm.sum_of_squares += ratio * ratio;
  }

 private:
  static constexpr double kDiscount = 0.995;

  double optimism(const Arm& arm, double total_weight) {
    const double deviation = std::sqrt(arm.variance() / (arm.weight + 1));
    if (samples_) return -exploration_ * deviation * rng_.normal();
    return exploration_ * deviation * std::sqrt(2 * std::log(total_weight));
  }

  CostWeights weights_;
  double exploration_;
  double safety_;
  bool samples_;
  Rng rng_;
  std::vector<std::array<Arm, kDevicesMax>> arms_;
  std::vector<int64_t> predicted_ns_;
};

}  // namespace

std::unique_ptr<Policy> make_ucb(const PolicyOptions& options, const PolicyContext& context) {
  return std::make_unique<Learning>(options, context.program, false);
}

std::unique_ptr<Policy> make_thompson(const PolicyOptions& options, const PolicyContext& context) {
  return std::make_unique<Learning>(options, context.program, true);
}

}  // namespace tandem::sched
