// SPDX-License-Identifier: Apache-2.0
// The terms of the cost model.
#include "tandem/sched/cost.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::sched {
namespace {

// A product of believed numbers may be anything; a cost stays below kCannotRun / 8 so that sums cannot
// overflow.
int64_t bounded_ns(double ns) {
  constexpr double kMost = 1e18;
  if (!(ns > 0)) return 0;
  return static_cast<int64_t>(std::min(ns, kMost) + 0.5);
}

int64_t uncertainty_ns(const DeviceObservation& device, int64_t nominal_ns, int64_t wait_ns, double risk) {
  if (risk == 0) return 0;
  const double spread = static_cast<double>(nominal_ns) * device.slowdown_spread;
  const double job = static_cast<double>(device.mean_job_ns) * device.slowdown;
  // The work ahead is a sum of jobs, each with a deviation of about its mean; while the observation ages, the
  // others' arrivals add a compound Poisson process of variance utilization * age * E[S^2] / E[S].
  const double ahead = static_cast<double>(wait_ns) * job;
  const double drift = 2 * device.utilization * static_cast<double>(device.age_ns) * job;
  return bounded_ns(risk * std::sqrt(spread * spread + ahead + drift));
}

}  // namespace

int64_t expected_wait_ns(const DeviceObservation& device) {
  // A free server takes the job at once.
  if (device.queue_depth < device.servers) return 0;
  return bounded_ns(static_cast<double>(device.work_ahead_ns) * device.slowdown / device.servers);
}

int64_t expected_service_ns(const DeviceObservation& device, int64_t nominal_ns) {
  const double share = std::clamp(device.contention_share, 0.0, 0.999);
  return bounded_ns(static_cast<double>(nominal_ns) * device.slowdown / (1 - share));
}

int64_t expected_transfer_ns(const Program& program, const Stage& stage, const Locations& locations,
                             const LinkTable& links, DeviceId device) {
  const uint32_t to = index_of(device);
  TensorSet missing = stage.inputs - locations.present[to];
  if (missing.empty()) return 0;
  int64_t total_ns = 0;
  for (uint32_t from = 0; from < program.device_count && !missing.empty(); ++from) {
    const TensorSet sent = missing & locations.present[from];
    const LinkObservation& link = links[from * kDevicesMax + to];
    if (from == to || sent.empty() || !link.up) continue;
    missing = missing - sent;
    total_ns += link.backlog_ns + link.latency_ns +
                bounded_ns(static_cast<double>(bytes_of(program, sent)) * link.ns_per_byte);
  }
  return missing.empty() ? total_ns : kCannotRun;
}

CostTerms cost_of(const Situation& situation, DeviceId device, const CostWeights& weights) {
  CostTerms terms;
  const Stage& stage = situation.program.stages[situation.stage];
  const DeviceObservation& observed = situation.devices[index_of(device)];
  const int64_t nominal_ns = stage.nominal_ns[index_of(device)];
  if (!observed.available || nominal_ns == kCannotRun) return terms;
  terms.transfer_ns =
      expected_transfer_ns(situation.program, stage, situation.locations, situation.links, device);
  if (terms.transfer_ns == kCannotRun) return terms;
  terms.wait_ns = expected_wait_ns(observed);
  terms.service_ns = expected_service_ns(observed, nominal_ns);
  const bool switches = situation.last_device != kNoDevice && situation.last_device != device;
  terms.switching_ns = switches ? weights.switch_ns : 0;
  terms.uncertainty_ns = uncertainty_ns(observed, nominal_ns, terms.wait_ns, weights.risk);
  terms.total_ns =
      terms.wait_ns + terms.service_ns + terms.transfer_ns + terms.switching_ns + terms.uncertainty_ns;
  return terms;
}

}  // namespace tandem::sched
