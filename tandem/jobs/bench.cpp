// SPDX-License-Identifier: Apache-2.0
// Workers run clones of one executable until the time is over; every run is timed.
#include "tandem/jobs/bench.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <thread>

#include "tandem/base/file.hpp"
#include "tandem/base/rng.hpp"
#include "tandem/base/text.hpp"
#include "tandem/base/workers.hpp"
#include "tandem/exec/runner.hpp"
#include "tandem/jobs/prepare_graph.hpp"
#include "tandem/onnx_io/onnx_io.hpp"

namespace tandem::jobs {
namespace {

using Clock = std::chrono::steady_clock;

int64_t since_ns(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

// The energy counters of the processor packages (Linux powercap, "intel-rapl:<n>", also on AMD), in
// microjoules.
class EnergyMeter {
 public:
  EnergyMeter() {
    const std::filesystem::path root = "/sys/class/powercap";
    std::error_code code;
    for (int n = 0; n < 64; ++n) {
      const std::filesystem::path domain = root / fmt::format("intel-rapl:{}", n);
      if (!std::filesystem::exists(domain, code)) break;
      const auto range = read_number(domain / "max_energy_range_uj");
      if (read_number(domain / "energy_uj") && range)
        domains_.push_back({domain, *range, 0});
      else
        note_ = fmt::format("{} is not readable for this user", (domain / "energy_uj").string());
    }
    if (domains_.empty() && note_.empty())
      note_ = "this machine has no RAPL counters under /sys/class/powercap";
  }
  bool available() const { return !domains_.empty(); }
  const std::string& note() const { return note_; }
  void start() {
    for (Domain& d : domains_) d.start = read_number(d.path / "energy_uj").value_or(0);
  }
  double joules() const {
    double total = 0;
    for (const Domain& d : domains_) {
      double used = read_number(d.path / "energy_uj").value_or(d.start) - d.start;
      if (used < 0) used += d.range;  // The counter went round.
      total += used * 1e-6;
    }
    return total;
  }

 private:
  struct Domain {
    std::filesystem::path path;
    double range = 0, start = 0;
  };
  static std::optional<double> read_number(const std::filesystem::path& path) {
    const Result<std::string> text = read_file(path.string(), 64);
    int64_t number = 0;
    if (!text.ok()) return std::nullopt;
    const std::string_view digits = trim(*text);
    const auto [rest, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return code == std::errc() && rest == digits.data() + digits.size() ? std::optional<double>(number)
                                                                        : std::nullopt;
  }
  std::vector<Domain> domains_;
  std::string note_;
};

Result<std::vector<Tensor>> outputs_for(const exec::Executable& executable) {
  std::vector<Tensor> outputs;
  for (const ir::ValueId id : executable.graph().outputs) {
    const ir::Value& value = executable.graph().value(id);
    if (!value.shape || !value.shape->is_static())
      return unsupported("an output's shape depends on the data");
    outputs.push_back(TANDEM_TRY(Tensor::make(value.storage(), *value.shape)));
  }
  return outputs;
}

int64_t percentile(const std::vector<int64_t>& sorted, double share) {
  // Nearest rank: the smallest value that at least this share does not exceed.
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

Result<BenchRow> measure(const exec::MicroBatched& compiled, int64_t batch, int64_t threads,
                         const BenchOptions& options, EnergyMeter& meter, const JobHooks& hooks) {
  const exec::Executable& original = compiled.executable;
  Rng rng(options.seed);
  const auto pieces = static_cast<size_t>(batch / compiled.samples);
  std::vector<std::vector<Tensor>> inputs;
  std::vector<std::vector<TensorView>> views;
  for (size_t i = 0; i < pieces; ++i) {
    inputs.push_back(TANDEM_TRY(random_inputs(original.graph(), rng)));
    views.emplace_back(inputs.back().begin(), inputs.back().end());
  }
  const auto count = static_cast<size_t>(threads);
  std::vector<std::vector<int64_t>> times(count);
  std::vector<exec::Executable> executables;
  std::vector<std::vector<Tensor>> outputs;  // of every worker, piece after piece
  for (size_t w = 0; w < count; ++w) {
    executables.push_back(original.clone());
    for (size_t i = 0; i < pieces; ++i) outputs.push_back(TANDEM_TRY(outputs_for(original)));
  }
  Workers workers(count);
  const auto run = [&](size_t w, size_t) -> Status {
    for (size_t i = 0; i < pieces; ++i)
      TANDEM_TRY(executables[w].run_into(views[i], outputs[w * pieces + i]));
    return {};
  };
  TANDEM_TRY(workers.parallel_for(count, run));
  meter.start();
  const Clock::time_point start = Clock::now();
  const auto limit_ns = static_cast<int64_t>(options.seconds * 1e9);
  const auto work = [&](size_t w, size_t) -> Status {
    do {
      TANDEM_TRY(hooks.check());
      const Clock::time_point begin = Clock::now();
      TANDEM_TRY(run(w, w));
      times[w].push_back(since_ns(begin));
    } while (since_ns(start) < limit_ns);
    return {};
  };
  TANDEM_TRY(workers.parallel_for(count, work));
  const double seconds = static_cast<double>(since_ns(start)) * 1e-9;
  std::vector<int64_t> all;
  for (const auto& own : times) all.insert(all.end(), own.begin(), own.end());
  std::sort(all.begin(), all.end());
  BenchRow row;
  row.batch = batch;
  row.threads = threads;
  row.micro_batch = compiled.samples;
  row.runs = static_cast<int64_t>(all.size());
  const double samples = static_cast<double>(row.runs * batch);
  row.samples_per_s = samples / seconds;
  row.p50_ns = percentile(all, 0.50);
  row.p90_ns = percentile(all, 0.90);
  row.p99_ns = percentile(all, 0.99);
  if (meter.available()) row.joules_per_sample = meter.joules() / samples;
  row.arena_bytes = original.arena_bytes();
  return row;
}

Status profile_layers(const ir::Graph& graph, const BenchOptions& options, const JobHooks& hooks,
                      BenchResult& result) {
  exec::CompileOptions compile;
  compile.profile = true;
  exec::Executable executable = TANDEM_TRY(exec::Executable::compile(graph, compile));
  Rng rng(options.seed);
  const std::vector<Tensor> inputs = TANDEM_TRY(random_inputs(executable.graph(), rng));
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  std::vector<Tensor> outputs = TANDEM_TRY(outputs_for(executable));
  const Clock::time_point start = Clock::now();
  do {
    TANDEM_TRY(hooks.check());
    TANDEM_TRY(executable.run_into(views, outputs));
    ++result.layer_runs;
  } while (since_ns(start) < static_cast<int64_t>(options.seconds * 1e9));
  result.layers = executable.report();
  return {};
}

}  // namespace

Result<BenchResult> bench(const BenchOptions& options, const JobHooks& hooks) {
  if (options.engine == Engine::kRef) {
    return unsupported("the reference interpreter is not benchmarked")
        .because("it is written to be read, not to be fast");
  }
  onnx_io::LoadedModel loaded = TANDEM_TRY(onnx_io::load_model(options.model));
  for (const std::string& notice : loaded.report.notices) hooks.say(notice);
  ir::Graph graph = std::move(loaded.graph);
  TANDEM_TRY(set_open_sizes(graph, options.size));
  if (options.engine == Engine::kHost) graph = TANDEM_TRY(without_quantization(std::move(graph)));
  graph = TANDEM_TRY(simplified(std::move(graph), {.fuse_residual = true, .dump_dir = options.dump_dir}));
  std::vector<int64_t> threads = options.threads;
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  if (threads.empty()) threads = cores > 1 ? std::vector<int64_t>{1, cores} : std::vector<int64_t>{1};
  EnergyMeter meter;
  BenchResult result;
  result.energy_note = meter.note();
  Progress bar = hooks.start("bench", options.batches.size() * threads.size(), "rows");
  for (const int64_t batch : options.batches) {
    Result<exec::MicroBatched> compiled = exec::compile_micro_batch(graph, batch);
    if (!compiled.ok() && batch > 1 && compiled.error().code() == ErrorCode::kUnsupported) {
      hooks.say(fmt::format("batch {} is left out: {}", batch, compiled.error().what()));
      bar.advance(threads.size());
      continue;
    }
    const exec::MicroBatched original = TANDEM_TRY(std::move(compiled));
    result.weight_bytes = original.executable.weight_bytes();
    if (result.fallbacks.empty()) result.fallbacks = fallbacks_of(original.executable.report());
    for (const int64_t count : threads) {
      TANDEM_TRY(hooks.check());
      result.rows.push_back(TANDEM_TRY(measure(original, batch, count, options, meter, hooks)));
      bar.advance();
    }
  }
  bar.finish();
  if (options.layers) TANDEM_TRY(profile_layers(graph, options, hooks, result));
  if (options.engine == Engine::kInt8 && !is_quantized(graph)) {
    result.fallbacks.insert(result.fallbacks.begin(),
                            "the model carries no quantization: all of it runs in floating point");
  }
  return result;
}

Json to_json(const BenchResult& result) {
  Json rows = Json::array();
  for (const BenchRow& row : result.rows) {
    Json one = Json::object({{"batch", row.batch},
                             {"threads", row.threads},
                             {"micro_batch", row.micro_batch},
                             {"runs", row.runs},
                             {"samples_per_s", row.samples_per_s},
                             {"p50_ns", row.p50_ns},
                             {"p90_ns", row.p90_ns},
                             {"p99_ns", row.p99_ns},
                             {"arena_bytes", uint64_t{row.arena_bytes}}});
    if (row.joules_per_sample) one.set("joules_per_sample", *row.joules_per_sample);
    rows.push(std::move(one));
  }
  Json json = Json::object({{"rows", rows}, {"weight_bytes", uint64_t{result.weight_bytes}}});
  if (!result.energy_note.empty()) json.set("energy_note", result.energy_note);
  Json layers = Json::array();
  for (const exec::NodeReport& node : result.layers) {
    layers.push(Json::object({{"node", node.name},
                              {"op", node.op},
                              {"implementation", node.implementation},
                              {"reference", node.reference},
                              {"macs", node.macs},
                              {"calls", node.calls},
                              {"ns", node.ns}}));
  }
  if (!result.layers.empty()) json.set("layers", layers);
  json.set("fallbacks", Json(result.fallbacks));
  return json;
}

}  // namespace tandem::jobs
