// SPDX-License-Identifier: Apache-2.0
// tandem bench
#include <algorithm>
#include <memory>

#include "apps/cli/shared_flags.hpp"
#include "tandem/base/units.hpp"
#include "tandem/jobs/bench.hpp"
#include "tandem/jobs/plan_parts.hpp"

namespace tandem::cli {
namespace {

struct Options {
  jobs::BenchOptions job;
  EngineFlags engine;
};

void print_rows(const Session& session, const jobs::BenchResult& r) {
  TextTable table({{"batch", Align::kRight},
                   {"threads", Align::kRight},
                   {"samples/s", Align::kRight},
                   {"P50", Align::kRight},
                   {"P90", Align::kRight},
                   {"P99", Align::kRight},
                   {"runs", Align::kRight},
                   {"J/sample", Align::kRight},
                   {"arena", Align::kRight}});
  for (const jobs::BenchRow& row : r.rows) {
    table.add_row({fmt::format("{}", row.batch), fmt::format("{}", row.threads),
                   fmt::format("{:.1f}", row.samples_per_s), format_duration_ns(row.p50_ns),
                   format_duration_ns(row.p90_ns), format_duration_ns(row.p99_ns),
                   fmt::format("{}", row.runs),
                   row.joules_per_sample ? fmt::format("{:.4f}", *row.joules_per_sample) : "-",
                   format_bytes(row.arena_bytes)});
  }
  session.print(table.to_string());
  session.print(fmt::format("\nweights {}\n", format_bytes(r.weight_bytes)));
  if (!r.energy_note.empty()) session.print(fmt::format("no energy figure: {}\n", r.energy_note));
}

void print_layers(const Session& session, const jobs::BenchResult& r) {
  if (r.layers.empty()) return;
  int64_t total_ns = 0;
  for (const exec::NodeReport& n : r.layers) total_ns += n.ns;
  TextTable table({{"node"},
                   {"op"},
                   {"implementation"},
                   {"us", Align::kRight},
                   {"GOP/s", Align::kRight},
                   {"share", Align::kRight}});
  for (const exec::NodeReport& n : r.layers) {
    if (n.calls == 0) continue;
    const double ns = static_cast<double>(n.ns) / static_cast<double>(n.calls);
    // One MAC is two operations.
    const double rate = n.macs > 0 && ns > 0 ? 2 * static_cast<double>(n.macs) / ns : 0;
    table.add_row({n.name, n.op, n.implementation, fmt::format("{:.1f}", ns / 1000),
                   rate > 0 ? fmt::format("{:.1f}", rate) : "-",
                   percent(static_cast<double>(n.ns) / static_cast<double>(std::max<int64_t>(total_ns, 1)))});
  }
  session.print("\n" + table.to_string());
}

Status run(Session& session, Options& options) {
  options.job.engine = TANDEM_TRY(options.engine.engine());
  if (options.engine.threads > 0) options.job.threads = {options.engine.threads};
  options.job.dump_dir = options.engine.dump_dir;
  for (const int64_t batch : options.job.batches) {
    if (batch < 1) return usage_error("--batch wants numbers from 1 on");
  }
  if (!(options.job.seconds >= 0)) return usage_error("--seconds wants a number from 0 on");
  options.job.model = TANDEM_TRY(jobs::open_model_path(options.job.model)).model;
  const jobs::BenchResult result = TANDEM_TRY(jobs::bench(options.job, session.hooks()));
  print_rows(session, result);
  print_layers(session, result);
  TANDEM_TRY(session.write_json(jobs::to_json(result)));
  return session.accept_fallbacks(result.fallbacks);
}

}  // namespace

Verb bench_verb() {
  const auto o = std::make_shared<Options>();
  Verb verb{"bench", "throughput, latency, time per layer, energy"};
  verb.description =
      "Random inputs; each row runs for --seconds after warming up. Latency is of one run of a whole batch, "
      "which "
      "is computed in pieces of up to 4 samples where that keeps activations in the cache. "
      "Energy is of "
      "the processor packages, where the kernel lets this user read it.";
  verb.flags = {required({"MODEL", &o->job.model, "An ONNX file, a run directory or a plan.json"}),
                {"--batch", &o->job.batches, "Batch sizes", "N,N"},
                {"--seconds", &o->job.seconds, "Per row", "S"},
                {"--layers", &o->job.layers, "Also the time of every node, at batch 1 on one thread"},
                {"--size", &o->job.size, "Height and width where the model leaves them open", "N"},
                {"--seed", &o->job.seed, "Of the inputs", "N"}};
  o->engine.add_to(verb.flags, {"int8", "host"});
  verb.examples = {
      {"bench lite0_int8.onnx", "batches of 1, 4 and 16, on one thread and on all cores"},
      {"bench net.onnx --batch 1 --threads 1 --layers", "where the time goes"},
      {"bench lite0_int8.onnx --device host --json host.json", "the same network in floating point"}};
  verb.run = [o](Session& session) { return run(session, *o); };
  return verb;
}

}  // namespace tandem::cli
