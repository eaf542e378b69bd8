// SPDX-License-Identifier: Apache-2.0
// Situation: all that a policy may know when it decides. The driver (simulator or daemon) fills it; spans and
// references are valid during the call only.
#pragma once

#include <cstdint>
#include <span>

#include "tandem/sched/program.hpp"

namespace tandem::sched {

// What is believed about a device, `age_ns` after it was true.
struct DeviceObservation {
  int32_t queue_depth = 0;      // jobs waiting or in service, of all clients
  int32_t servers = 1;          // jobs served at once
  int64_t work_ahead_ns = 0;    // nominal service that these jobs still need
  double slowdown = 1;          // estimate of real over nominal service time; 2 = half the speed
  double slowdown_spread = 0;   // standard deviation of that ratio for the next job, not of its mean
  double contention_share = 0;  // of the device's rate that others take while a job of ours is served, [0, 1)
  double utilization = 0;       // share of time that others keep it busy; how fast a queue can change
  int64_t mean_job_ns = 0;      // of the others' jobs
  int64_t age_ns = 0;
  bool available = true;  // false: lost; a policy must not choose it
};

struct LinkObservation {
  int64_t latency_ns = 0;
  double ns_per_byte = 0;
  int64_t backlog_ns = 0;  // until the link is free for us
  bool up = true;
};

// links[from * kDevicesMax + to]
using LinkTable = std::array<LinkObservation, kDevicesMax * kDevicesMax>;

struct Situation {
  int64_t now_ns = 0;
  const Program& program;
  uint32_t stage = 0;  // the one to place
  const Locations& locations;
  std::span<const DeviceObservation> devices;  // as many as program.device_count
  const LinkTable& links;
  DeviceId last_device = kNoDevice;  // of the previous stage; kNoDevice at the start
  int64_t last_switch_ns = 0;        // when the placement last changed
  int32_t waiting = 1;               // stages that wait for a decision, this one included
};

// What became of a decision.
struct Feedback {
  uint32_t stage = 0;
  DeviceId device = kNoDevice;
  int64_t elapsed_ns = 0;  // from decision to completion
  int64_t service_ns = 0;  // of that in service
  bool failed = false;     // the device was lost or the job broke; the stage will be asked again
};

}  // namespace tandem::sched
