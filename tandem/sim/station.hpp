// SPDX-License-Identifier: Apache-2.0
// Station: k servers with a line in front of them, or sharing among all (processor sharing); a device, or one
// direction of a link. Its speed may change at any event. It keeps two independent accounts of the time that
// jobs spend in it, which Little's law says are equal, to the nanosecond.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/sched/job_queue.hpp"
#include "tandem/sim/event_queue.hpp"
#include "tandem/sim/statistics.hpp"

namespace tandem::sim {

// Jobs of training steps carry this bit in their id; the rest is the number of the step's record.
inline constexpr uint32_t kOwnJob = 0x8000'0000;

struct StationOptions {
  int32_t servers = 1;
  bool processor_sharing = false;
  sched::JobQueueOptions queue;
  int64_t context_ns = 0;
  uint32_t event_kind = 0, event_index = 0;  // of its completions
  bool keeps_series = false;                 // sojourn statistics of others' jobs; off for links
};

// What left a station.
struct Departure {
  sched::QueuedJob job;
  int64_t start_ns = 0;
};

struct StationTotals {
  Wide area_ns = 0;     // integral of the number in the station
  Wide sojourn_ns = 0;  // sum of the time that each job was there, clipped to the window
  int64_t own_busy_ns = 0, others_busy_ns = 0;
  int64_t own_job_count = 0, others_job_count = 0, refused_count = 0, lost_count = 0;
  int32_t number_max = 0;
};

class Station {
 public:
  Station(const StationOptions& options, EventQueue& events);

  // driver_data of the job is the work that it will really need. False when the line is full: the job is
  // refused.
  bool arrive(int64_t now_ns, const sched::QueuedJob& job);
  // An event of this station. What left is in departures() until the next call.
  void on_event(int64_t now_ns, const Event& event);
  const std::vector<Departure>& departures() const { return departures_; }

  void set_speed(int64_t now_ns, double speed);  // 0 stops the service
  double speed() const { return speed_; }
  // Everything in it is lost; what was ours is in departures().
  void lose_all(int64_t now_ns);

  int32_t number() const { return number_; }
  // Nominal work that is left, as a monitor would estimate it.
  int64_t work_ahead_ns(int64_t now_ns) const;
  // The share of the rate that others would have while one more job is served.
  double contention_share() const;
  int64_t others_busy_ns(int64_t now_ns) const;
  int64_t others_job_count() const { return lifetime_others_count_; }

  // Starts the window of the statistics anew.
  void begin_window(int64_t now_ns);
  // Closes the window; call once, before totals().
  void end_window(int64_t now_ns);
  const StationTotals& totals() const { return totals_; }
  const Moments& others_sojourn() const { return others_sojourn_; }
  const Moments& others_wait() const { return others_wait_; }
  const QuantileSketch& others_sketch() const { return others_sketch_; }
  const BatchSeries& others_series() const { return others_series_; }

 private:
  struct Server {
    bool busy = false;
    uint32_t version = 0;
    uint32_t client = UINT32_MAX;  // of the last job: a change costs context_ns
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    double left_ns = 0;                  // work that is left, while the speed is 0
    std::vector<sched::QueuedJob> jobs;  // one, or a batch
  };
  struct Sharing {
    double finish = 0;  // attained service at which it is done
    uint64_t sequence = 0;
    sched::QueuedJob job;
    int64_t start_ns = 0;
    bool operator<(const Sharing& other) const {  // for a heap whose top is the least
      return finish != other.finish ? finish > other.finish : sequence > other.sequence;
    }
  };

  void count_to(int64_t now_ns) {
    totals_.area_ns += Wide{number_} * (now_ns - counted_ns_);
    counted_ns_ = now_ns;
  }
  void start(int64_t now_ns, uint32_t server);
  void schedule(int64_t now_ns, uint32_t server, double work_ns);
  void start_waiting(int64_t now_ns);
  void depart(int64_t now_ns, const sched::QueuedJob& job, int64_t start_ns);
  void account_busy(const sched::QueuedJob& job, int64_t busy_ns);
  double rate_each() const;
  void advance_sharing(int64_t now_ns);
  void schedule_sharing(int64_t now_ns);

  StationOptions options_;
  EventQueue& events_;
  sched::JobQueue queue_;
  std::vector<Server> servers_;
  uint32_t free_count_ = 0;
  std::vector<Sharing> sharing_;
  double attained_ns_ = 0;  // service that a job present since the station was last empty has had
  int64_t attained_at_ns_ = 0;
  uint64_t sequence_ = 0;
  uint32_t sharing_version_ = 0;
  int64_t batch_ready_ns_ = 0;
  uint32_t sharing_own_count_ = 0;
  double speed_ = 1;
  int32_t number_ = 0;
  int64_t counted_ns_ = 0;
  int64_t window_ns_ = 0;
  int64_t lifetime_others_busy_ns_ = 0, lifetime_others_count_ = 0;
  StationTotals totals_;
  Moments others_sojourn_, others_wait_;
  QuantileSketch others_sketch_;
  BatchSeries others_series_;
  std::vector<Departure> departures_;
};

// Error kInternal when the two accounts differ.
Status check_little(const StationTotals& totals, const std::string& name);

}  // namespace tandem::sim
