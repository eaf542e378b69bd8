// SPDX-License-Identifier: Apache-2.0
// tandem simulate
#include <cmath>
#include <filesystem>
#include <memory>

#include "apps/cli/shared_flags.hpp"
#include "tandem/base/file.hpp"
#include "tandem/base/text.hpp"
#include "tandem/base/units.hpp"
#include "tandem/jobs/simulate.hpp"
#include "tandem/report/html.hpp"

namespace tandem::cli {
namespace {

struct Options {
  jobs::SimulateOptions job;
  std::vector<std::string> policies;
  std::string output;
  bool list = false, metrics = false;
};

std::string ms(double seconds) { return std::isfinite(seconds) ? fmt::format("{:.3f}", seconds * 1e3) : "-"; }

void print_policies(const Session& session, const jobs::SimulateResult& r) {
  TextTable table({{"policy"},
                   {"step ms", Align::kRight},
                   {"+-", Align::kRight},
                   {"sd", Align::kRight},
                   {"P50", Align::kRight},
                   {"P99", Align::kRight},
                   {"steps/s", Align::kRight},
                   {"on acc", Align::kRight},
                   {"queue", Align::kRight},
                   {"max", Align::kRight},
                   {"exposure", Align::kRight},
                   {"stalls", Align::kRight},
                   {"avoided", Align::kRight},
                   {"switches", Align::kRight},
                   {"moved", Align::kRight},
                   {"/opt", Align::kRight}});
  for (const jobs::PolicySummary& s : r.policies) {
    const std::string bound = r.optimum && !r.optimum->exact ? "<=" : "";
    table.add_row({s.policy, ms(s.step_s.mean), ms(s.step_s.half_width), ms(s.step_deviation_s),
                   ms(s.step_p50_s), ms(s.step_p99_s), fmt::format("{:.2f}", s.steps_per_s),
                   percent(s.accelerator_share), fmt::format("{:.2f}", s.queue_mean),
                   fmt::format("{}", s.queue_max), percent(s.exposure), fmt::format("{}", s.stall_count),
                   s.stalls_avoided ? percent(*s.stalls_avoided) : "-",
                   fmt::format("{:.2f}", s.switches_per_step),
                   format_bytes(static_cast<uint64_t>(std::max(0.0, s.bytes_per_step))),
                   s.optimum_ratio ? fmt::format("{}{:.3f}", bound, *s.optimum_ratio) : "-"});
  }
  session.print(table.to_string());
}

// For scenarios without training jobs: what the background meets.
void print_devices(const Session& session, const jobs::SimulateResult& r) {
  TextTable table({{"device"},
                   {"jobs", Align::kRight},
                   {"utilization", Align::kRight},
                   {"number", Align::kRight},
                   {"max", Align::kRight},
                   {"sojourn ms", Align::kRight},
                   {"wait ms", Align::kRight},
                   {"P99 ms", Align::kRight}});
  const sim::RunResult& run = r.policies[0].first;
  for (size_t d = 0; d < run.devices.size(); ++d) {
    const sim::DeviceTotals& device = run.devices[d];
    table.add_row({r.scenario.devices[d].name, fmt::format("{}", device.station.others_job_count),
                   percent(device.utilization), fmt::format("{:.4f}", device.number_mean),
                   fmt::format("{}", device.station.number_max), ms(device.others_sojourn.mean() * 1e-9),
                   ms(device.others_wait.mean() * 1e-9),
                   ms(static_cast<double>(device.others_sketch.quantile(0.99)) * 1e-9)});
  }
  session.print(table.to_string());
}

void print_differences(const Session& session, const jobs::SimulateResult& r) {
  if (r.policies.size() < 2 || !std::isfinite(r.policies[1].versus_first_s.half_width)) return;
  session.print(fmt::format("\nMean step against {}, paired by seed:\n", r.policies[0].policy));
  TextTable table({{"policy"}, {"ms", Align::kRight}, {"+-", Align::kRight}, {""}});
  for (size_t i = 1; i < r.policies.size(); ++i) {
    const sim::Interval& difference = r.policies[i].versus_first_s;
    const char* verdict = difference.holds(0)   ? "no difference shown"
                          : difference.mean > 0 ? "slower"
                                                : "faster";
    table.add_row({r.policies[i].policy, fmt::format("{:+.3f}", difference.mean * 1e3),
                   ms(difference.half_width), verdict});
  }
  session.print(table.to_string());
}

Status run(Session& session, Options& options) {
  if (options.list) {
    TextTable table({{"policy"}, {"what it does"}});
    for (const sched::PolicyInfo& info : sched::policies()) {
      table.add_row({std::string(info.name), std::string(info.summary)});
    }
    session.print(table.to_string());
    return {};
  }
  if (options.job.scenario.empty())
    return usage_error("SCENARIO is missing").hint("see tandem simulate --help");
  for (const std::string& list : options.policies) {
    for (const std::string_view name : split(list, ',')) options.job.policies.emplace_back(trim(name));
  }
  const jobs::SimulateResult result = TANDEM_TRY(jobs::simulate(options.job, session.hooks()));
  if (result.scenario.jobs.empty()) {
    print_devices(session, result);
  } else {
    print_policies(session, result);
    print_differences(session, result);
  }
  if (options.metrics) {
    session.print("\n");
    TextTable table({{"column"}, {"meaning"}});
    for (const auto& metric : jobs::simulation_metrics()) table.add_row({metric.first, metric.second});
    session.print(table.to_string());
  }
  for (const jobs::PolicySummary& s : result.policies) {
    if (s.first.explanation.empty()) continue;
    session.print(fmt::format("\n{}, step {}:\n{}", s.policy, options.job.explain_step, s.first.explanation));
  }
  session.notes(result.notes);
  if (result.optimum && !result.optimum->exact) {
    session.note("/opt is against a lower bound, not the optimum: " + result.optimum->why_bound);
  }
  if (!result.no_optimum.empty()) session.note(result.no_optimum);
  session.note(fmt::format("{} events/s", format_count(result.events_per_s)));
  if (!options.output.empty()) {
    TANDEM_TRY(make_directories(options.output));
    const std::string page = (std::filesystem::path(options.output) / "report.html").string();
    TANDEM_TRY(report::write_report(jobs::simulation_report(result, session.command), page));
    session.note("report: " + page);
  }
  return session.write_json(jobs::to_json(result));
}

}  // namespace

Verb simulate_verb() {
  const auto o = std::make_shared<Options>();
  Verb verb{"simulate", "compare placement policies on a modelled accelerator"};
  verb.description =
      "Runs a scenario (TOML: devices, links, background load, training jobs) under each policy, with the "
      "same "
      "arrivals and service times for all, and prints step times with their 95 % intervals. The last column "
      "compares with a scheduler that knows the future. A seed replays exactly, at any number of threads.";
  verb.flags = {
      {"SCENARIO", &o->job.scenario, "A scenario file; see docs/simulation.md", "", {}, Takes::kFile},
      {"--policy", &o->policies, "Policies, with commas or several times; all: every one", "P,P"},
      {"--set", &o->job.settings, "Another value for a key of the scenario", "KEY=VALUE"},
      {"--replications", &o->job.replications, "Runs per policy, with seeds that follow each other", "N"},
      {"--seed", &o->job.seed, "The first seed, in place of the scenario's", "N"},
      {"--optimum-steps", &o->job.optimum_steps, "Steps compared with the optimum; 0: none", "N"},
      {"--explain", &o->job.explain_step, "Every decision of this step, with its cost terms", "STEP"},
      {"--threads", &o->job.threads, "Of all cores, if not given", "N"},
      {"--trace",
       &o->job.trace,
       "A Perfetto trace of the first policy's first run",
       "FILE",
       {},
       Takes::kPath},
      {"-o,--output", &o->output, "Write report.html there", "DIR", {}, Takes::kFolder},
      {"--metrics", &o->metrics, "Also what the columns mean"},
      {"--list-policies", &o->list, "The policies there are"}};
  verb.examples = {{"simulate scenarios/paper1_shared.toml", "a telling handful of policies"},
                   {"simulate scenarios/paper1_shared.toml --policy cost,static-accelerator --explain 100",
                    "why stages went where"},
                   {"simulate scenarios/paper1_bursty.toml --policy all --set monitor.period=50ms -o out",
                    "stale observations"},
                   {"simulate scenarios/mm1.toml --replications 1", "a plain M/M/1 queue"}};
  verb.run = [o](Session& session) { return run(session, *o); };
  return verb;
}

}  // namespace tandem::cli
