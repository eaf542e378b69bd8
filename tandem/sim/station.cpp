// SPDX-License-Identifier: Apache-2.0
// Queueing, sharing and accounting of a station.
#include "tandem/sim/station.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/base/check.hpp"

namespace tandem::sim {
namespace {

constexpr uint32_t kBatchReady = UINT32_MAX;  // version of the event that only looks at the line again

bool is_own(const sched::QueuedJob& job) { return (job.id & kOwnJob) != 0; }

// Who shares does not queue.
sched::JobQueueOptions queue_options(const StationOptions& options) {
  sched::JobQueueOptions queue = options.queue;
  if (options.processor_sharing) queue.capacity = 1;
  return queue;
}

}  // namespace

Station::Station(const StationOptions& options, EventQueue& events)
    : options_(options), events_(events), queue_(queue_options(options)) {
  TANDEM_CHECK(options.servers >= 1);
  if (options.processor_sharing) {
    sharing_.reserve(std::min<size_t>(options.queue.capacity, 4096));
  } else {
    servers_.resize(static_cast<size_t>(options.servers));
    for (Server& server : servers_) server.jobs.reserve(options.queue.batch_max);
    free_count_ = static_cast<uint32_t>(options.servers);
  }
  departures_.reserve(64);
}

bool Station::arrive(int64_t now_ns, const sched::QueuedJob& job) {
  departures_.clear();
  count_to(now_ns);
  if (options_.processor_sharing) {
    if (sharing_.size() >= options_.queue.capacity) {
      ++totals_.refused_count;
      return false;
    }
    advance_sharing(now_ns);
    sharing_.push_back({attained_ns_ + static_cast<double>(job.driver_data), ++sequence_, job, now_ns});
    std::push_heap(sharing_.begin(), sharing_.end());
    sharing_own_count_ += is_own(job) ? 1 : 0;
    schedule_sharing(now_ns);
  } else if (free_count_ > 0 && queue_.empty() && options_.queue.batch_max == 1) {
    uint32_t server = 0;
    while (servers_[server].busy) ++server;
    servers_[server].jobs.push_back(job);
    start(now_ns, server);
  } else {
    if (queue_.push(job) != sched::Admission::kAccepted) {
      ++totals_.refused_count;
      return false;
    }
    if (free_count_ > 0) start_waiting(now_ns);
  }
  totals_.number_max = std::max(totals_.number_max, ++number_);
  return true;
}

void Station::start(int64_t now_ns, uint32_t index) {
  Server& server = servers_[index];
  double work_ns = 0;
  for (const sched::QueuedJob& job : server.jobs) work_ns += static_cast<double>(job.driver_data);
  const uint32_t client = server.jobs.front().client;
  const bool pays = options_.queue.batch_max > 1 || (server.client != client && server.client != UINT32_MAX);
  if (pays) work_ns += static_cast<double>(options_.context_ns);
  server.client = client;
  server.busy = true;
  --free_count_;
  server.start_ns = now_ns;
  schedule(now_ns, index, work_ns);
}

void Station::schedule(int64_t now_ns, uint32_t index, double work_ns) {
  Server& server = servers_[index];
  ++server.version;
  if (speed_ <= 0) {
    // Nothing ends while it stands; end_ns keeps the work that is left, at speed 1.
    server.left_ns = work_ns;
    return;
  }
  const double ns = speed_ == 1 ? work_ns : work_ns / speed_;
  server.end_ns = now_ns + static_cast<int64_t>(ns + 0.5);
  events_.push(server.end_ns, options_.event_kind, options_.event_index | index << 8, server.version);
}

void Station::start_waiting(int64_t now_ns) {
  for (uint32_t i = 0; free_count_ > 0 && !queue_.empty() && i < servers_.size(); ++i) {
    if (servers_[i].busy) continue;
    if (options_.queue.batch_max == 1) {
      servers_[i].jobs.push_back(*queue_.pop());
    } else {
      queue_.pop_batch(now_ns, servers_[i].jobs);
      if (servers_[i].jobs.empty()) {
        const int64_t ready_ns = queue_.ready_at_ns();
        if (ready_ns != batch_ready_ns_) {
          events_.push(ready_ns, options_.event_kind, options_.event_index, kBatchReady);
        }
        batch_ready_ns_ = ready_ns;
        return;
      }
    }
    start(now_ns, i);
  }
}

void Station::account_busy(const sched::QueuedJob& job, int64_t busy_ns) {
  if (is_own(job)) {
    totals_.own_busy_ns += busy_ns;
  } else {
    totals_.others_busy_ns += busy_ns;
    lifetime_others_busy_ns_ += busy_ns;
  }
}

void Station::depart(int64_t now_ns, const sched::QueuedJob& job, int64_t start_ns) {
  --number_;
  totals_.sojourn_ns += now_ns - std::max(job.arrival_ns, window_ns_);
  if (is_own(job)) {
    ++totals_.own_job_count;
    departures_.push_back({job, start_ns});
    return;
  }
  ++totals_.others_job_count;
  ++lifetime_others_count_;
  if (!options_.keeps_series || job.arrival_ns < window_ns_) return;
  const int64_t sojourn_ns = now_ns - job.arrival_ns;
  others_sojourn_.add(sojourn_ns);
  others_wait_.add(start_ns - job.arrival_ns);
  others_sketch_.add(sojourn_ns);
  others_series_.add(static_cast<double>(sojourn_ns));
}

void Station::on_event(int64_t now_ns, const Event& event) {
  departures_.clear();
  if (options_.processor_sharing) {
    if (event.version != sharing_version_ || sharing_.empty()) return;
    count_to(now_ns);
    advance_sharing(now_ns);
    std::pop_heap(sharing_.begin(), sharing_.end());
    const Sharing done = sharing_.back();
    sharing_.pop_back();
    sharing_own_count_ -= is_own(done.job) ? 1 : 0;
    attained_ns_ = std::max(attained_ns_, done.finish);
    // Empty again: start from zero, so that doubles keep their precision.
    if (sharing_.empty()) attained_ns_ = 0;
    depart(now_ns, done.job, done.start_ns);
    schedule_sharing(now_ns);
    return;
  }
  if (event.version == kBatchReady) {
    start_waiting(now_ns);
    return;
  }
  const uint32_t index = event.index >> 8;
  Server& server = servers_[index];
  if (!server.busy || event.version != server.version) return;
  count_to(now_ns);
  const auto batch = static_cast<int64_t>(server.jobs.size());
  for (const sched::QueuedJob& job : server.jobs) {
    account_busy(job, (now_ns - std::max(server.start_ns, window_ns_)) / batch);
    depart(now_ns, job, server.start_ns);
  }
  server.jobs.clear();
  server.busy = false;
  ++free_count_;
  if (queue_.empty()) return;
  start_waiting(now_ns);
}

void Station::set_speed(int64_t now_ns, double speed) {
  if (speed == speed_) return;
  if (options_.processor_sharing) {
    advance_sharing(now_ns);
    speed_ = speed;
    schedule_sharing(now_ns);
    return;
  }
  const double old_speed = speed_;
  const bool stood = speed_ <= 0;
  speed_ = speed;
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    Server& server = servers_[i];
    if (!server.busy) continue;
    schedule(now_ns, i, stood ? server.left_ns : static_cast<double>(server.end_ns - now_ns) * old_speed);
  }
}

void Station::lose_all(int64_t now_ns) {
  departures_.clear();
  count_to(now_ns);
  const auto lose = [&](const sched::QueuedJob& job, int64_t start_ns) {
    --number_;
    ++totals_.lost_count;
    totals_.sojourn_ns += now_ns - std::max(job.arrival_ns, window_ns_);
    if (is_own(job)) departures_.push_back({job, start_ns});
  };
  for (Server& server : servers_) {
    if (!server.busy) continue;
    for (const sched::QueuedJob& job : server.jobs) lose(job, server.start_ns);
    server.jobs.clear();
    server.busy = false;
    ++server.version;
    ++free_count_;
  }
  while (const auto job = queue_.pop()) lose(*job, now_ns);
  for (const Sharing& sharing : sharing_) lose(sharing.job, sharing.start_ns);
  sharing_.clear();
  sharing_own_count_ = 0;
  ++sharing_version_;
  attained_ns_ = 0;
}

double Station::rate_each() const {
  const auto n = static_cast<double>(sharing_.size());
  return speed_ * std::min(1.0, options_.servers / std::max(n, 1.0));
}

void Station::advance_sharing(int64_t now_ns) {
  const auto elapsed = static_cast<double>(now_ns - attained_at_ns_);
  if (!sharing_.empty()) {
    attained_ns_ += elapsed * rate_each();
    // Servers given to each kind: equal shares.
    const double used = elapsed * std::min<double>(static_cast<double>(sharing_.size()), options_.servers);
    const double own_share = sharing_own_count_ / static_cast<double>(sharing_.size());
    const auto own_ns = static_cast<int64_t>(used * own_share);
    totals_.own_busy_ns += own_ns;
    totals_.others_busy_ns += static_cast<int64_t>(used) - own_ns;
    lifetime_others_busy_ns_ += static_cast<int64_t>(used) - own_ns;
  }
  attained_at_ns_ = now_ns;
}

void Station::schedule_sharing(int64_t now_ns) {
  ++sharing_version_;
  const double rate = rate_each();
  if (sharing_.empty() || rate <= 0) return;
  const double left_ns = std::max(0.0, sharing_.front().finish - attained_ns_) / rate;
  events_.push(now_ns + static_cast<int64_t>(std::ceil(left_ns)), options_.event_kind, options_.event_index,
               sharing_version_);
}

int64_t Station::work_ahead_ns(int64_t now_ns) const {
  int64_t work_ns = queue_.work_ns();
  for (const Server& server : servers_) {
    if (!server.busy) continue;
    const auto done = static_cast<int64_t>(static_cast<double>(now_ns - server.start_ns) * speed_);
    for (const sched::QueuedJob& job : server.jobs) work_ns += std::max<int64_t>(job.work_ns - done, 0);
  }
  return work_ns;
}

double Station::contention_share() const {
  if (!options_.processor_sharing) return 0;
  return 1 - std::min(1.0, options_.servers / (static_cast<double>(sharing_.size()) + 1));
}

int64_t Station::others_busy_ns(int64_t now_ns) const {
  int64_t busy_ns = lifetime_others_busy_ns_;
  for (const Server& server : servers_) {
    if (server.busy && !is_own(server.jobs.front()))
      busy_ns += now_ns - std::max(server.start_ns, window_ns_);
  }
  return busy_ns;
}

void Station::begin_window(int64_t now_ns) {
  if (options_.processor_sharing) advance_sharing(now_ns);
  for (const Server& server : servers_) {
    if (!server.busy) continue;
    for (const sched::QueuedJob& job : server.jobs) {
      account_busy(
          job, (now_ns - std::max(server.start_ns, window_ns_)) / static_cast<int64_t>(server.jobs.size()));
    }
  }
  totals_ = {};
  totals_.number_max = number_;
  others_sojourn_ = {};
  others_wait_ = {};
  others_sketch_.clear();
  others_series_ = {};
  counted_ns_ = now_ns;
  window_ns_ = now_ns;
}

void Station::end_window(int64_t now_ns) {
  count_to(now_ns);
  const auto clip = [&](const sched::QueuedJob& job) {
    totals_.sojourn_ns += now_ns - std::max(job.arrival_ns, window_ns_);
  };
  if (options_.processor_sharing) advance_sharing(now_ns);
  for (const Server& server : servers_) {
    for (const sched::QueuedJob& job : server.jobs) {
      clip(job);
      account_busy(
          job, (now_ns - std::max(server.start_ns, window_ns_)) / static_cast<int64_t>(server.jobs.size()));
    }
  }
  for (const Sharing& sharing : sharing_) clip(sharing.job);
  while (const auto job = queue_.pop()) clip(*job);
}

Status check_little(const StationTotals& totals, const std::string& name) {
  if (totals.area_ns == totals.sojourn_ns) return {};
  return internal_error(fmt::format("the simulation of '{}' is wrong", name))
      .because(fmt::format(
          "Little's law does not hold: the number integrates to {} ns, the sojourns add up to {} ns",
          static_cast<double>(totals.area_ns), static_cast<double>(totals.sojourn_ns)));
}

}  // namespace tandem::sim
