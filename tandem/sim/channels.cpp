// SPDX-License-Identifier: Apache-2.0
// Link directions as processor-sharing stations whose work is the time of a transfer that is alone.
#include "tandem/sim/channels.hpp"

#include "tandem/sim/streams.hpp"

namespace tandem::sim {

Channels::Channels(const Scenario& scenario, uint32_t event_kind, EventQueue& events) {
  channel_.fill(-1);
  const auto add = [&](const LinkModel& link) {
    const auto index = static_cast<uint32_t>(stations_.size());
    stations_.push_back(std::make_unique<Station>(StationOptions{.processor_sharing = true,
                                                                 .queue = {.capacity = 1 << 20},
                                                                 .event_kind = event_kind,
                                                                 .event_index = index},
                                                  events));
    links_.push_back(&link);
    return static_cast<int32_t>(index);
  };
  const auto count = scenario.devices.size();
  for (const LinkModel& link : scenario.links) {
    if (link.from >= count || link.to >= count) continue;  // verify() will say so
    const int32_t there = add(link);
    channel_[link.from * sched::kDevicesMax + link.to] = there;
    channel_[link.to * sched::kDevicesMax + link.from] = link.duplex ? add(link) : there;
  }
}

void Channels::send(int64_t now_ns, uint32_t from, uint32_t to, int64_t bytes, uint32_t id) {
  const auto channel = static_cast<size_t>(channel_[from * sched::kDevicesMax + to]);
  stations_[channel]->arrive(now_ns, {.id = id,
                                      .arrival_ns = now_ns,
                                      .work_ns = bytes,
                                      .driver_data = transfer_work_ns(bytes, *links_[channel])});
}

void Channels::observe(sched::LinkTable& table) const {
  for (uint32_t at = 0; at < channel_.size(); ++at) {
    if (channel_[at] < 0) continue;
    const Station& station = *stations_[static_cast<size_t>(channel_[at])];
    table[at].up = station.speed() > 0;
    table[at].ns_per_byte =
        1e9 / links_[static_cast<size_t>(channel_[at])]->bytes_per_s * (station.number() + 1);
  }
}

void Channels::begin_window(int64_t now_ns) {
  for (auto& station : stations_) station->begin_window(now_ns);
}

Result<std::vector<StationTotals>> Channels::finish(int64_t now_ns) {
  std::vector<StationTotals> totals;
  for (auto& station : stations_) {
    station->end_window(now_ns);
    TANDEM_TRY(check_little(station->totals(), "a link"));
    totals.push_back(station->totals());
  }
  return totals;
}

}  // namespace tandem::sim
