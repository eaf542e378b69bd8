// SPDX-License-Identifier: Apache-2.0
// From samples to observations.
#include "tandem/sched/observer.hpp"

#include <algorithm>

#include "tandem/base/check.hpp"

namespace tandem::sched {

Observer::Observer(std::span<const int32_t> servers, const EstimatorOptions& options) {
  TANDEM_CHECK(!servers.empty() && servers.size() <= kDevicesMax);
  for (size_t d = 0; d < servers.size(); ++d) {
    devices_.push_back({.estimator = Estimator(options)});
    seen_[d].servers = std::max(1, servers[d]);
  }
}

void Observer::sample(DeviceId id, int64_t at_ns, const QueueSample& sample) {
  Device& device = devices_[index_of(id)];
  if (at_ns < device.sampled_ns) return;
  device.last = sample;
  device.sampled_ns = at_ns;
  // Utilization and job size are learned over windows that hold some jobs: 16, or a tenth of a second.
  const int64_t jobs = sample.others_job_count - device.learned_job_count;
  const int64_t elapsed_ns = at_ns - device.learned_ns;
  if (elapsed_ns <= 0 || (jobs < 16 && elapsed_ns < 100'000'000)) return;
  const int64_t busy_ns = sample.others_busy_ns - device.learned_busy_ns;
  DeviceObservation& seen = seen_[index_of(id)];
  const double busy = static_cast<double>(busy_ns) / static_cast<double>(elapsed_ns) / seen.servers;
  const double weight = device.learned_ns == 0 ? 1 : 0.25;
  seen.utilization += weight * (std::clamp(busy, 0.0, 1.0) - seen.utilization);
  if (jobs > 0) {
    const double mean_job = static_cast<double>(busy_ns) / static_cast<double>(jobs);
    seen.mean_job_ns += static_cast<int64_t>(weight * (mean_job - static_cast<double>(seen.mean_job_ns)));
  }
  device.learned_ns = at_ns;
  device.learned_busy_ns = sample.others_busy_ns;
  device.learned_job_count = sample.others_job_count;
}

void Observer::served(DeviceId id, int64_t now_ns, int64_t nominal_ns, int64_t service_ns) {
  if (nominal_ns <= 0) return;
  devices_[index_of(id)].estimator.observe(now_ns, nominal_ns,
                                           static_cast<double>(service_ns) / static_cast<double>(nominal_ns));
}

std::span<const DeviceObservation> Observer::observe(int64_t now_ns, std::span<const int64_t> nominal_ns) {
  for (size_t d = 0; d < devices_.size(); ++d) {
    const Device& device = devices_[d];
    DeviceObservation& seen = seen_[d];
    const Estimate estimate = device.estimator.predict(now_ns, nominal_ns[d]);
    seen.slowdown = estimate.mean;
    seen.slowdown_spread = estimate.spread;
    seen.queue_depth = device.last.queue_depth;
    seen.work_ahead_ns = device.last.work_ahead_ns;
    seen.contention_share = device.last.contention_share;
    seen.available = device.last.available;
    seen.age_ns = now_ns - device.sampled_ns;
  }
  return {seen_.data(), devices_.size()};
}

}  // namespace tandem::sched
