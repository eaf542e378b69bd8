// SPDX-License-Identifier: Apache-2.0
// Channels: the directions of the links. Transfers under way share a direction's bandwidth equally (the fluid
// model: CM02 of Casanova and Marchal, with latency before and no factors); without duplex both directions
// are one.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "tandem/sim/model.hpp"
#include "tandem/sim/station.hpp"

namespace tandem::sim {

class Channels {
 public:
  Channels(const Scenario& scenario, uint32_t event_kind, EventQueue& events);
  uint32_t count() const { return static_cast<uint32_t>(stations_.size()); }
  const LinkModel& link(uint32_t channel) const { return *links_[channel]; }
  bool joins(uint32_t from, uint32_t to) const { return channel_[from * sched::kDevicesMax + to] >= 0; }
  void send(int64_t now_ns, uint32_t from, uint32_t to, int64_t bytes, uint32_t id);
  void on_event(int64_t now_ns, const Event& event) {
    stations_[event.index & 0xff]->on_event(now_ns, event);
  }
  const std::vector<Departure>& departures(uint32_t index) const {
    return stations_[index & 0xff]->departures();
  }
  void set_up(int64_t now_ns, uint32_t channel, bool up) {
    stations_[channel]->set_speed(now_ns, up ? 1 : 0);
  }
  // Fills in what a policy may see of each direction: whether it is up, and the bandwidth that one more
  // transfer gets.
  void observe(sched::LinkTable& table) const;
  void begin_window(int64_t now_ns);
  // Closes the window and checks the accounts.
  Result<std::vector<StationTotals>> finish(int64_t now_ns);

 private:
  std::vector<std::unique_ptr<Station>> stations_;
  std::vector<const LinkModel*> links_;
  std::array<int32_t, sched::kDevicesMax * sched::kDevicesMax> channel_{};  // -1: none
};

}  // namespace tandem::sim
