// SPDX-License-Identifier: Apache-2.0
// bench(): how many samples a second a model makes, how long one takes, where the time goes, and what it
// costs in energy where the machine tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/data/preprocess.hpp"
#include "tandem/exec/executable.hpp"
#include "tandem/jobs/forward.hpp"
#include "tandem/jobs/hooks.hpp"

namespace tandem::jobs {

struct BenchOptions {
  std::string model;
  Engine engine = Engine::kInt8;  // kRef is refused: it is not made for speed
  std::vector<int64_t> batches = {1, 4, 16};
  std::vector<int64_t> threads;  // worker counts; empty: 1, and one per core where there are more
  double seconds = 2;            // per row, after warming up
  int64_t size = 0;              // height and width where the model leaves them open
  bool layers = false;
  uint64_t seed = 42;
  std::string dump_dir;
};

struct BenchRow {
  int64_t batch = 1, threads = 1, runs = 0;
  int64_t micro_batch = 1;  // samples per execution: a batch is run in such pieces (exec/runner.hpp)
  double samples_per_s = 0;
  int64_t p50_ns = 0, p90_ns = 0, p99_ns = 0;  // of one run of a whole batch
  std::optional<double> joules_per_sample;     // of the processor packages
  size_t arena_bytes = 0;                      // of one worker
};

struct BenchResult {
  std::vector<BenchRow> rows;
  std::vector<exec::NodeReport> layers;  // with `layers`: batch 1, one thread
  int64_t layer_runs = 0;
  size_t weight_bytes = 0;
  std::string energy_note;  // why there is no energy figure; empty when there is
  std::vector<std::string> fallbacks;
};

Result<BenchResult> bench(const BenchOptions& options, const JobHooks& hooks = {});
Json to_json(const BenchResult& result);

}  // namespace tandem::jobs
