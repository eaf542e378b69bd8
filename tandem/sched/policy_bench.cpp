// SPDX-License-Identifier: Apache-2.0
// What a decision costs: observe + decide for every policy on a step of 24 stages; P50 and P99 over single
// calls. The cost of reading the clock is measured and taken off.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "tandem/sched/observer.hpp"
#include "tandem/sched/small_world.hpp"

namespace tandem::sched {
namespace {

using Clock = std::chrono::steady_clock;

int64_t elapsed_ns(Clock::time_point from) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - from).count();
}

int64_t clock_cost_ns() {
  std::vector<int64_t> costs(20001);
  for (int64_t& cost : costs) cost = elapsed_ns(Clock::now());
  std::nth_element(costs.begin(), costs.begin() + 10000, costs.end());
  return costs[10000];
}

void BM_Decide(benchmark::State& state, const std::string& name) {
  SmallWorld world(24);
  const auto policy = world.make(name, {.switch_ns = kMs, .risk = 1, .horizon = 16});
  const std::vector<int32_t> servers = {1, 1};
  Observer observer(servers, {});
  const int64_t clock_ns = clock_cost_ns();
  std::vector<int64_t> samples;
  samples.reserve(1 << 22);
  uint32_t stage = 0;
  int64_t now_ns = 0;
  for (auto _ : state) {
    now_ns += kMs;
    stage = (stage + 1) % 8;  // 16 stages and more lie ahead of each
    observer.sample(DeviceId{1}, now_ns, {.queue_depth = 2, .work_ahead_ns = 3 * kMs + now_ns % 1000});
    observer.served(DeviceId{1}, now_ns, 2 * kMs, 2 * kMs + now_ns % 7777);
    const auto start = Clock::now();
    const Stage& next = world.program.stages[stage];
    Situation situation{.now_ns = now_ns,
                        .program = world.program,
                        .stage = stage,
                        .locations = world.locations,
                        .devices = observer.observe(now_ns, next.nominal_ns),
                        .links = world.links,
                        .last_device = kHost};
    benchmark::DoNotOptimize(policy->decide(situation));
    if (samples.size() < samples.capacity()) samples.push_back(elapsed_ns(start) - clock_ns);
  }
  std::sort(samples.begin(), samples.end());
  state.counters["p50_ns"] = static_cast<double>(samples[samples.size() / 2]);
  state.counters["p99_ns"] = static_cast<double>(samples[samples.size() * 99 / 100]);
}

[[maybe_unused]] const int kRegistered = [] {
  for (const PolicyInfo& info : policies()) {
    benchmark::RegisterBenchmark(fmt::format("BM_Decide/{}", info.name).c_str(), BM_Decide,
                                 std::string(info.name));
  }
  return 0;
}();

}  // namespace
}  // namespace tandem::sched
