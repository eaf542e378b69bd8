// SPDX-License-Identifier: Apache-2.0
// Checks of scenarios.
#include "tandem/sim/model.hpp"

#include <cmath>

namespace tandem::sim {
namespace {

bool is_share(double x) { return x >= 0 && x <= 1; }
bool is_time(int64_t ns) { return ns >= 0 && ns <= sched::kTimeMaxNs; }

Status check_law(const plan::ServiceLaw& law, const std::string& where) {
  const auto bad = [&](const char* why) { return bad_input(where + ": the law is not usable").because(why); };
  if (law.kind == plan::LawKind::kEmpirical && law.values.empty()) return bad("it has no values");
  if (!(law.cv > 0 && law.cv <= 100)) return bad("cv lies between 0 (excluded) and 100");
  return {};
}

Status check_rate(const RateModel& rate, const std::string& where) {
  const auto bad = [&](const char* why) {
    return bad_input(where + ": the rate is not usable").because(why);
  };
  if (rate.times_ns.size() != rate.factors.size()) return bad("as many times as factors");
  for (size_t i = 0; i < rate.times_ns.size(); ++i) {
    if (!is_time(rate.times_ns[i]) || (i > 0 && rate.times_ns[i] <= rate.times_ns[i - 1])) {
      return bad("times ascend");
    }
    if (!(rate.factors[i] > 0 && rate.factors[i] <= 1000)) return bad("factors lie in (0, 1000]");
  }
  if (!(rate.swing >= 0 && rate.swing < 1)) return bad("swing lies in [0, 1)");
  if (!(rate.factor > 0 && rate.factor <= 1000)) return bad("factor lies in (0, 1000]");
  if (!is_share(rate.limit)) return bad("limit lies in [0, 1]");
  if (rate.period_ns < 1000 || rate.slow_ns < 1000) return bad("periods are at least 1us");
  return {};
}

Status check_arrivals(const plan::ArrivalSpec& a, const std::string& where) {
  const auto bad = [&](const char* why) {
    return bad_input(where + ": the arrivals are not usable").because(why);
  };
  const auto is_rate = [](double rate) { return rate > 0 && rate <= 1e9; };
  if (a.kind == plan::ArrivalKind::kNone) return {};
  if (a.kind == plan::ArrivalKind::kTrace) {
    for (size_t i = 0; i < a.times_ns.size(); ++i) {
      if (!is_time(a.times_ns[i]) || (i > 0 && a.times_ns[i] < a.times_ns[i - 1]))
        return bad("times do not go back");
    }
    return {};
  }
  const bool may_pause =
      a.kind == plan::ArrivalKind::kMmpp && is_rate(a.burst_rate_per_s) && a.rate_per_s == 0;
  if (!is_rate(a.rate_per_s) && !may_pause) return bad("a rate lies between 0 (excluded) and 1e9 per second");
  if (a.kind == plan::ArrivalKind::kMmpp && !(a.burst_rate_per_s >= 0 && a.burst_rate_per_s <= 1e9)) {
    return bad("a rate lies between 0 and 1e9 per second");
  }
  if (!(a.calm_s >= 1e-6 && a.burst_s >= 1e-6 && a.period_s >= 1e-6)) return bad("times are at least 1us");
  if (!(a.alpha > 1 && a.alpha <= 100)) return bad("alpha lies in (1, 100]: else there is no mean");
  if (!is_share(a.swing)) return bad("swing lies in [0, 1]");
  return {};
}

Status check_faults(const FaultModel& faults, const std::string& where) {
  if (!is_time(faults.mean_up_ns) || !is_time(faults.mean_down_ns) || !is_share(faults.job_failure) ||
      faults.job_failure > 0.9 || (faults.mean_up_ns > 0 && faults.mean_down_ns < 1)) {
    return bad_input(where + ": the faults are not usable")
        .because("times are positive and at most a year, the chance of a failure lies in [0, 0.9]");
  }
  return {};
}

Status check_device(const DeviceModel& device) {
  const std::string where = fmt::format("device '{}'", device.name);
  if (device.servers < 1 || device.servers > 1024)
    return bad_input(where + ": servers lie between 1 and 1024");
  if (!is_time(device.context_ns))
    return bad_input(where + ": the context cost is negative or beyond a year");
  if (device.queue.capacity < 1 || device.queue.capacity > 1u << 24) {
    return bad_input(where + ": the queue's capacity lies between 1 and 16777216");
  }
  if (device.queue.batch_max < 1 || device.queue.batch_max > 1024) {
    return bad_input(where + ": a batch holds 1 to 1024 jobs");
  }
  if (device.processor_sharing && device.queue.batch_max > 1) {
    return bad_input(where + ": processor sharing serves no batches");
  }
  TANDEM_TRY(check_law(device.law, where));
  TANDEM_TRY(check_rate(device.rate, where));
  return check_faults(device.faults, where);
}

}  // namespace

Status verify(const Scenario& s) {
  if (s.devices.empty() || s.devices.size() > sched::kDevicesMax) {
    return bad_input(fmt::format("{} devices", s.devices.size())).because("a scenario has 1 to 4");
  }
  if (s.horizon_ns < 1 || !is_time(s.horizon_ns) || !is_time(s.warm_up_ns) || s.warm_up_ns >= s.horizon_ns) {
    return bad_input("the horizon is not usable").because("0 <= warm-up < horizon <= a year");
  }
  for (const DeviceModel& device : s.devices) TANDEM_TRY(check_device(device));
  for (const LinkModel& link : s.links) {
    const std::string where = fmt::format("link {}-{}", link.from, link.to);
    if (link.from >= s.devices.size() || link.to >= s.devices.size() || link.from == link.to) {
      return bad_input(where + ": it joins two different devices");
    }
    if (!is_time(link.latency_ns) || !(link.bytes_per_s >= 1 && link.bytes_per_s <= 1e15)) {
      return bad_input(where + ": latency is at most a year, bandwidth between 1 B/s and 1 PB/s");
    }
    TANDEM_TRY(check_faults(link.faults, where));
  }
  for (const BackgroundModel& b : s.backgrounds) {
    const std::string where = fmt::format("background '{}'", b.name);
    if (b.device >= s.devices.size()) return bad_input(where + ": there is no such device");
    if (!is_time(b.mean_work_ns)) return bad_input(where + ": the work is negative or beyond a year");
    TANDEM_TRY(check_law(b.law, where));
    TANDEM_TRY(check_arrivals(b.arrivals, where));
  }
  for (const JobModel& job : s.jobs) {
    const std::string where = fmt::format("job '{}'", job.name);
    if (job.program.device_count != s.devices.size()) return bad_input(where + ": made for other devices");
    TANDEM_TRY(sched::verify(job.program).context(where));
    if (!is_time(job.think_ns)) return bad_input(where + ": the think time is negative or beyond a year");
    if (job.open && job.arrivals.kind == plan::ArrivalKind::kNone) return bad_input(where + ": no arrivals");
    TANDEM_TRY(check_arrivals(job.arrivals, where));
  }
  if (s.jobs.empty() && s.backgrounds.empty())
    return bad_input("nothing happens").because("no job, no background");
  if (s.jobs.size() > 64 || s.backgrounds.size() > 64 || s.links.size() > 16) {
    return bad_input("too many parts").because("at most 64 jobs, 64 background loads, 16 links");
  }
  if (!is_time(s.monitor.period_ns) || !is_time(s.monitor.delay_ns) || !is_share(s.monitor.noise)) {
    return bad_input("the monitor is not usable").because("times up to a year, noise in [0, 1]");
  }
  if (s.monitor.period_ns > 0 && s.monitor.delay_ns / s.monitor.period_ns > 1000) {
    return bad_input("the monitor is not usable").because("a delay of more than 1000 periods");
  }
  return {};
}

double offered_load(const Scenario& scenario, uint32_t device) {
  double load = 0;
  for (const BackgroundModel& b : scenario.backgrounds) {
    if (b.device != device) continue;
    load += b.arrivals.mean_rate_per_s() * static_cast<double>(b.mean_work_ns) * 1e-9;
  }
  return load / scenario.devices[device].servers;
}

sched::LinkTable idle_links(const Scenario& scenario) {
  sched::LinkTable table{};
  for (auto& link : table) link.up = false;
  for (const LinkModel& link : scenario.links) {
    const sched::LinkObservation seen{link.latency_ns, 1e9 / link.bytes_per_s, 0, true};
    table[link.from * sched::kDevicesMax + link.to] = seen;
    table[link.to * sched::kDevicesMax + link.from] = seen;
  }
  return table;
}

}  // namespace tandem::sim
