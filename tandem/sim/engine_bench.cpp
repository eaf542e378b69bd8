// SPDX-License-Identifier: Apache-2.0
// Events a second: M/M/1 with all statistics on, and the training scenario under policies.
#include <benchmark/benchmark.h>

#include "tandem/sim/worlds.hpp"

namespace tandem::sim {
namespace {

void run_it(benchmark::State& state, const Scenario& scenario, const char* policy) {
  uint64_t events = 0;
  for (auto _ : state) {
    const RunResult result = simulate(scenario, policy).value();
    events += result.event_count;
  }
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

void BM_SingleStation(benchmark::State& state) {
  Scenario scenario = single_station(0.8 * 1000);
  scenario.horizon_ns = 2000 * kSecond;
  run_it(state, scenario, "static-cpu");
}
BENCHMARK(BM_SingleStation)->Unit(benchmark::kMillisecond);

void BM_Training(benchmark::State& state, const char* policy) { run_it(state, training(0.6), policy); }
BENCHMARK_CAPTURE(BM_Training, static_cpu, "static-cpu")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Training, cost, "cost")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Training, lookahead, "lookahead")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tandem::sim
