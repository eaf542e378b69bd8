// SPDX-License-Identifier: Apache-2.0
// Label search over (stage, tensor locations, time, backlogs); brute force beside it.
#include "tandem/sim/optimum.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "tandem/sim/streams.hpp"

namespace tandem::sim {
namespace {

using sched::DeviceId;
using sched::kDevicesMax;

// The background of one device: arrivals in order with the work of all before them.
struct Arrival {
  int64_t at_ns = 0;
  int64_t work_ns = 0;
};

struct World {
  const Scenario& scenario;
  const sched::Program& program;
  Rng base;
  std::array<std::vector<Arrival>, kDevicesMax> arrivals;

  World(const Scenario& s, uint64_t seed) : scenario(s), program(s.jobs[0].program), base(seed) {
    for (uint32_t i = 0; i < s.backgrounds.size(); ++i) {
      BackgroundStream stream(s.backgrounds[i], base, i);
      auto& list = arrivals[s.backgrounds[i].device];
      for (; stream.at_ns() <= s.horizon_ns; stream.advance())
        list.push_back({stream.at_ns(), stream.work_ns()});
    }
    for (auto& list : arrivals) {
      std::stable_sort(list.begin(), list.end(),
                       [](const Arrival& a, const Arrival& b) { return a.at_ns < b.at_ns; });
    }
  }
};

// When each device will be free of what has arrived, and how many of its arrivals are in that. The backlog at
// time t is max(0, free - t).
struct Label {
  int64_t now_ns = 0;
  std::array<int64_t, kDevicesMax> free_ns{};
  std::array<uint32_t, kDevicesMax> seen{};
};

// Lets the background of a device arrive before `until_ns`. A job at the same instant counts as behind ours:
// that only favours the optimum.
void bring_to(const World& world, uint32_t device, int64_t until_ns, Label& label) {
  const auto& list = world.arrivals[device];
  uint32_t& next = label.seen[device];
  int64_t& free_ns = label.free_ns[device];
  for (; next < list.size() && list[next].at_ns < until_ns; ++next) {
    free_ns = std::max(free_ns, list[next].at_ns) + list[next].work_ns;
  }
}

// Runs the stage; false where it cannot.
bool place(const World& world, uint64_t step, uint32_t stage_index, uint32_t device, bool waits,
           sched::Locations& locations, Label& label) {
  const sched::Stage& stage = world.program.stages[stage_index];
  if (stage.nominal_ns[device] == sched::kCannotRun) return false;
  int64_t ready_ns = label.now_ns;
  sched::TensorSet missing = stage.inputs - locations.present[device];
  for (uint32_t from = 0; from < world.program.device_count && !missing.empty(); ++from) {
    const sched::TensorSet sent = missing & locations.present[from];
    if (from == device || sent.empty()) continue;
    const auto& links = world.scenario.links;
    const auto link = std::find_if(links.begin(), links.end(), [&](const LinkModel& l) {
      return (l.from == from && l.to == device) || (l.from == device && l.to == from);
    });
    if (link == links.end()) continue;
    missing = missing - sent;
    const int64_t work_ns = transfer_work_ns(sched::bytes_of(world.program, sent), *link);
    ready_ns = std::max(ready_ns, label.now_ns + link->latency_ns + work_ns);
  }
  if (!missing.empty()) return false;
  const int64_t work_ns =
      stage_work_ns(world.scenario, world.base, {.step = step, .stage = stage_index, .device = device});
  if (waits) bring_to(world, device, ready_ns, label);
  label.now_ns = (waits ? std::max(label.free_ns[device], ready_ns) : ready_ns) + work_ns;
  label.free_ns[device] = label.now_ns;
  sched::after_stage(stage, world.program.device_count, DeviceId{device}, locations);
  return true;
}

// a is as good as b: no later, and at b's time no fuller.
bool dominates(const World& world, const Label& a, const Label& b) {
  if (a.now_ns > b.now_ns) return false;
  Label later = a;
  Label other = b;
  for (uint32_t d = 0; d < world.program.device_count; ++d) {
    bring_to(world, d, b.now_ns, later);
    bring_to(world, d, b.now_ns, other);
    if (std::max(later.free_ns[d], b.now_ns) > std::max(other.free_ns[d], b.now_ns)) return false;
  }
  return true;
}

using LocationKey = std::array<uint64_t, kDevicesMax * 2>;
LocationKey key_of(const sched::Locations& locations) {
  LocationKey key{};
  for (uint32_t d = 0; d < kDevicesMax; ++d) {
    key[2 * d] = locations.present[d].words[0];
    key[2 * d + 1] = locations.present[d].words[1];
  }
  return key;
}

struct Front {
  sched::Locations locations;
  std::vector<Label> labels;
};

void insert(const World& world, std::map<LocationKey, Front>& fronts, const sched::Locations& locations,
            const Label& label) {
  Front& front = fronts[key_of(locations)];
  front.locations = locations;
  for (const Label& other : front.labels) {
    if (dominates(world, other, label)) return;
  }
  std::erase_if(front.labels, [&](const Label& other) { return dominates(world, label, other); });
  front.labels.push_back(label);
}

Status check(const Scenario& scenario, uint64_t steps) {
  TANDEM_TRY(verify(scenario));
  if (scenario.jobs.size() != 1 || scenario.jobs[0].open) {
    return unsupported("there is no clairvoyant optimum for several jobs or an open loop");
  }
  if (steps == 0) return unsupported("there is no clairvoyant optimum of no steps");
  return {};
}

std::string why_bound(const Scenario& scenario) {
  for (const DeviceModel& device : scenario.devices) {
    if (device.processor_sharing) return "a device shares its servers";
    if (device.servers > 1) return "a device has several servers";
    if (device.queue.discipline != sched::Discipline::kFifo) return "a queue is not first come, first served";
    if (device.queue.batch_max > 1 || device.context_ns > 0) return "batches or context costs";
    if (device.rate.kind != RateKind::kConstant) return "a device changes its speed";
    if (device.faults.mean_up_ns > 0 || device.faults.job_failure > 0) return "faults";
  }
  for (const LinkModel& link : scenario.links) {
    if (link.faults.mean_up_ns > 0) return "faults";
  }
  return {};
}

// For a bound: speeds may exceed 1, so the time of a stage is divided by the largest.
double fastest(const Scenario& scenario) {
  double most = 1;
  for (const DeviceModel& device : scenario.devices) {
    most = std::max(most, 1 + device.rate.swing);
    most = std::max(most, device.rate.factor);
    for (const double factor : device.rate.factors) most = std::max(most, factor);
  }
  return most;
}

}  // namespace

Result<Optimum> clairvoyant_optimum(const Scenario& scenario, uint64_t seed, uint64_t steps) {
  TANDEM_TRY(check(scenario, steps));
  const World world(scenario, seed);
  Optimum optimum;
  optimum.why_bound = why_bound(scenario);
  optimum.exact = optimum.why_bound.empty();
  std::map<LocationKey, Front> fronts;
  sched::Locations start = sched::at_start(world.program);
  insert(world, fronts, start, {});
  const int64_t think_ns = scenario.jobs[0].think_ns;
  for (uint64_t step = 0; step < steps; ++step) {
    std::map<LocationKey, Front> begun;
    for (const auto& entry : fronts) {
      sched::Locations locations = entry.second.locations;
      sched::begin_step(world.program, locations);
      for (Label label : entry.second.labels) {
        if (step > 0) label.now_ns += think_ns;
        insert(world, begun, locations, label);
      }
    }
    fronts = std::move(begun);
    for (uint32_t i = 0; i < world.program.stages.size(); ++i) {
      std::map<LocationKey, Front> next;
      for (const auto& entry : fronts) {
        for (const Label& label : entry.second.labels) {
          for (uint32_t d = 0; d < world.program.device_count; ++d) {
            Label moved = label;
            sched::Locations locations = entry.second.locations;
            if (!place(world, step, i, d, optimum.exact, locations, moved)) continue;
            ++optimum.label_count;
            insert(world, next, locations, moved);
          }
        }
      }
      if (next.empty()) return unsupported("no placement can run the job");
      fronts = std::move(next);
    }
  }
  optimum.end_ns = INT64_MAX;
  for (const auto& entry : fronts) {
    for (const Label& label : entry.second.labels) optimum.end_ns = std::min(optimum.end_ns, label.now_ns);
  }
  if (!optimum.exact)
    optimum.end_ns = static_cast<int64_t>(static_cast<double>(optimum.end_ns) / fastest(scenario));
  return optimum;
}

Result<int64_t> brute_force_optimum_ns(const Scenario& scenario, uint64_t seed, uint64_t steps) {
  TANDEM_TRY(check(scenario, steps));
  const World world(scenario, seed);
  const auto stage_count = static_cast<uint32_t>(world.program.stages.size());
  const uint32_t count = world.program.device_count;
  uint64_t placements = 1;
  for (uint64_t i = 0; i < steps * stage_count; ++i) placements *= count;
  int64_t best_ns = INT64_MAX;
  for (uint64_t placement = 0; placement < placements; ++placement) {
    uint64_t rest = placement;
    Label label;
    sched::Locations locations = sched::at_start(world.program);
    bool possible = true;
    for (uint64_t step = 0; step < steps && possible; ++step) {
      sched::begin_step(world.program, locations);
      if (step > 0) label.now_ns += scenario.jobs[0].think_ns;
      for (uint32_t i = 0; i < stage_count && possible; ++i, rest /= count) {
        possible = place(world, step, i, static_cast<uint32_t>(rest % count), true, locations, label);
      }
    }
    if (possible) best_ns = std::min(best_ns, label.now_ns);
  }
  return best_ns;
}

}  // namespace tandem::sim
