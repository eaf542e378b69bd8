// SPDX-License-Identifier: Apache-2.0
// Observer: turns a monitor's samples and the durations of our own jobs into what policies read. The
// simulator and the daemon feed the same object.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/sched/estimator.hpp"
#include "tandem/sched/situation.hpp"

namespace tandem::sched {

// What a monitor reads from a device at one moment.
struct QueueSample {
  int32_t queue_depth = 0;
  int64_t work_ahead_ns = 0;  // nominal
  double contention_share = 0;
  int64_t others_busy_ns = 0;    // running totals: server time given to others,
  int64_t others_job_count = 0;  // and their finished jobs
  bool available = true;
};

class Observer {
 public:
  // `servers[d]`: how many jobs device d serves at once. Precondition: 1 to kDevicesMax devices.
  Observer(std::span<const int32_t> servers, const EstimatorOptions& options);

  // The state of a device as it was at `at_ns`; an older sample than the last one is ignored.
  void sample(DeviceId device, int64_t at_ns, const QueueSample& sample);
  // One of our jobs was served.
  void served(DeviceId device, int64_t now_ns, int64_t nominal_ns, int64_t service_ns);

  // Valid until the next call. `nominal_ns[d]` is the size of the job to be placed.
  std::span<const DeviceObservation> observe(int64_t now_ns, std::span<const int64_t> nominal_ns);
  EstimatorErrors errors(DeviceId device) const { return devices_[index_of(device)].estimator.errors(); }

 private:
  struct Device {
    Estimator estimator;
    QueueSample last;
    int64_t sampled_ns = 0;
    int64_t learned_ns = 0;  // when utilization and mean job were last learned
    int64_t learned_busy_ns = 0, learned_job_count = 0;
  };
  std::vector<Device> devices_;
  std::array<DeviceObservation, kDevicesMax> seen_{};
};

}  // namespace tandem::sched
