// SPDX-License-Identifier: Apache-2.0
// Speeds and outages over time.
#include "tandem/sim/modulation.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::sim {
namespace {

constexpr int kSamples = 64;  // of a sinusoid's period, and of a thermal time constant

int64_t exponential_ns(Rng& rng, int64_t mean_ns) {
  return std::max<int64_t>(
      1, static_cast<int64_t>(static_cast<double>(mean_ns) * plan::sample_exponential(rng)));
}

}  // namespace

Modulation::Modulation(const RateModel& model, Rng rng) : model_(&model), rng_(rng), next_ns_(plan::kNever) {
  switch (model.kind) {
    case RateKind::kConstant: break;
    case RateKind::kSteps:
      if (!model.times_ns.empty()) next_ns_ = model.times_ns[0];
      break;
    case RateKind::kSinusoid:
    case RateKind::kThermal: next_ns_ = 0; break;
    case RateKind::kMarkov: next_ns_ = exponential_ns(rng_, model.period_ns); break;
  }
}

double Modulation::turn(int64_t now_ns, double busy_ns) {
  switch (model_->kind) {
    case RateKind::kConstant: return 1;
    case RateKind::kSteps: {
      const double factor = model_->factors[index_++];
      next_ns_ = index_ < model_->times_ns.size() ? model_->times_ns[index_] : plan::kNever;
      return factor;
    }
    case RateKind::kSinusoid: {
      next_ns_ = now_ns + std::max<int64_t>(1, model_->period_ns / kSamples);
      const double phase = static_cast<double>(now_ns) / static_cast<double>(model_->period_ns);
      return 1 + model_->swing * std::sin(6.283185307179586 * phase);
    }
    case RateKind::kMarkov:
      slow_ = !slow_;
      next_ns_ = now_ns + exponential_ns(rng_, slow_ ? model_->slow_ns : model_->period_ns);
      return slow_ ? model_->factor : 1;
    case RateKind::kThermal: {
      const auto elapsed = static_cast<double>(now_ns - last_ns_);
      if (elapsed > 0) {
        const double busy = std::clamp((busy_ns - last_busy_ns_) / elapsed, 0.0, 1.0);
        temperature_ +=
            (busy - temperature_) * (1 - std::exp(-elapsed / static_cast<double>(model_->period_ns)));
      }
      last_ns_ = now_ns;
      last_busy_ns_ = busy_ns;
      slow_ = temperature_ > (slow_ ? model_->limit - 0.05 : model_->limit);
      next_ns_ = now_ns + std::max<int64_t>(1, model_->period_ns / kSamples);
      return slow_ ? model_->factor : 1;
    }
  }
  return 1;
}

Outage::Outage(const FaultModel& model, Rng rng) : model_(&model), rng_(rng), next_ns_(plan::kNever) {
  if (model.mean_up_ns > 0) next_ns_ = exponential_ns(rng_, model.mean_up_ns);
}

void Outage::turn(int64_t now_ns) {
  up_ = !up_;
  next_ns_ = now_ns + exponential_ns(rng_, up_ ? model_->mean_up_ns : model_->mean_down_ns);
}

}  // namespace tandem::sim
