// SPDX-License-Identifier: Apache-2.0
// tandem sweep
#include <memory>

#include "apps/cli/shared_flags.hpp"
#include "tandem/base/text.hpp"
#include "tandem/jobs/simulate.hpp"
#include "tandem/report/html.hpp"

namespace tandem::cli {
namespace {

struct Options {
  jobs::SweepOptions job;
  std::vector<std::string> policies;
  std::string report;
};

Status run(Session& session, Options& options) {
  if (options.job.axes.empty())
    return usage_error("--set is missing").hint("for example --set background.load=0..0.9:10");
  for (const std::string& list : options.policies) {
    for (const std::string_view name : split(list, ',')) options.job.base.policies.emplace_back(trim(name));
  }
  const jobs::SweepResult result = TANDEM_TRY(jobs::sweep(options.job, session.hooks()));
  std::vector<TableColumn> columns;
  for (const std::string& axis : result.axes) columns.push_back({axis, Align::kRight});
  columns.push_back({"policy"});
  for (const char* title : {"step ms", "+-", "P99", "steps/s", "queue", "max", "on acc"}) {
    columns.push_back({title, Align::kRight});
  }
  TextTable table(columns);
  Json rows = Json::array();
  for (const jobs::SweepRow& row : result.rows) {
    std::vector<std::string> cells = row.values;
    for (const std::string& cell :
         {row.policy, fmt::format("{:.3f}", row.step_s * 1e3), fmt::format("{:.3f}", row.half_width_s * 1e3),
          fmt::format("{:.3f}", row.p99_s * 1e3), fmt::format("{:.2f}", row.steps_per_s),
          fmt::format("{:.2f}", row.queue_mean), fmt::format("{}", row.queue_max),
          percent(row.accelerator_share)}) {
      cells.push_back(cell);
    }
    table.add_row(std::move(cells));
    Json json =
        Json::object({{"policy", row.policy}, {"step_s", row.step_s}, {"half_width_s", row.half_width_s}});
    for (size_t a = 0; a < result.axes.size(); ++a) json.set(result.axes[a], row.values[a]);
    rows.push(std::move(json));
  }
  session.print(table.to_string());
  if (result.reused_count > 0) session.note(fmt::format("{} points were there already", result.reused_count));
  if (!options.report.empty()) {
    TANDEM_TRY(report::write_report(jobs::sweep_report(result, session.command), options.report));
  }
  return session.write_json(rows);
}

}  // namespace

Verb sweep_verb() {
  const auto o = std::make_shared<Options>();
  Verb verb{"sweep", "simulate over a grid of settings"};
  verb.description =
      "Every combination of the values given with --set, under each policy, on all cores. With --csv "
      "finished "
      "points are kept: an interrupted sweep goes on where it stopped.";
  verb.flags = {required({"SCENARIO", &o->job.base.scenario, "A scenario file", "", {}, Takes::kFile}),
                {"--set", &o->job.axes, "An axis: KEY=LOW..HIGH:COUNT or KEY=A,B,C", "AXIS"},
                {"--policy", &o->policies, "Policies, with commas or several times", "P,P"},
                {"--replications", &o->job.base.replications, "Runs per point", "N"},
                {"--seed", &o->job.base.seed, "The first seed, in place of the scenario's", "N"},
                {"--threads", &o->job.base.threads, "Of all cores, if not given", "N"},
                {"--csv", &o->job.csv, "Where results are kept", "FILE", {}, Takes::kPath},
                {"--report", &o->report, "An HTML page with a chart", "FILE", {}, Takes::kPath}};
  verb.examples = {
      {"sweep scenarios/paper1_shared.toml --set background.load=0..0.9:10 --policy cost,static-cpu --csv "
       "s.csv",
       "how much load can be shared"},
      {"sweep scenarios/paper1_bursty.toml --set policy.margin=0,0.1,0.3 --set monitor.period=0ms..50ms:6 "
       "--policy cost-hysteresis",
       "hysteresis against stale observations"}};
  verb.run = [o](Session& session) { return run(session, *o); };
  return verb;
}

}  // namespace tandem::cli
