// SPDX-License-Identifier: Apache-2.0
// Modulation: how the speed of a device changes with time. Outage: when a thing is lost and returns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tandem/base/rng.hpp"
#include "tandem/sim/model.hpp"

namespace tandem::sim {

class Modulation {
 public:
  // `model` outlives this.
  Modulation(const RateModel& model, Rng rng);
  // When turn() wants to be called next; plan::kNever: the speed stays.
  int64_t next_ns() const { return next_ns_; }
  // The speed from now on. `busy_ns`: how long the device has been busy so far (thermal throttling).
  double turn(int64_t now_ns, double busy_ns);

 private:
  const RateModel* model_;
  Rng rng_;
  int64_t next_ns_;
  size_t index_ = 0;
  bool slow_ = false;
  double temperature_ = 0;  // 1: of a device that is always busy
  double last_busy_ns_ = 0;
  int64_t last_ns_ = 0;
};

class Outage {
 public:
  Outage(const FaultModel& model, Rng rng);
  bool is_up() const { return up_; }
  int64_t next_ns() const { return next_ns_; }
  void turn(int64_t now_ns);

 private:
  const FaultModel* model_;
  Rng rng_;
  int64_t next_ns_;
  bool up_ = true;
};

}  // namespace tandem::sim
