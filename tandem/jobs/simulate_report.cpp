// SPDX-License-Identifier: Apache-2.0
// The pages of a simulation and of a sweep.
#include <cmath>

#include "tandem/base/units.hpp"
#include "tandem/jobs/simulate.hpp"

namespace tandem::jobs {
namespace {

std::string ms(double seconds) { return fmt::format("{:.3f}", seconds * 1e3); }

report::Table policy_table(const SimulateResult& result) {
  report::Table table{.caption = "Policies on the same arrivals and service times",
                      .columns = {"policy", "step ms", "+- ms", "sd ms", "P50 ms", "P99 ms", "steps/s",
                                  "on acc %", "queue mean", "queue max", "exposure %", "stalls", "avoided %",
                                  "switches/step", "kB/step", "J/step", "/optimum"}};
  for (const PolicySummary& s : result.policies) {
    table.rows.push_back(
        {{s.policy, ms(s.step_s.mean), ms(s.step_s.half_width), ms(s.step_deviation_s), ms(s.step_p50_s),
          ms(s.step_p99_s), fmt::format("{:.2f}", s.steps_per_s),
          fmt::format("{:.1f}", 100 * s.accelerator_share), fmt::format("{:.2f}", s.queue_mean),
          fmt::format("{}", s.queue_max), fmt::format("{:.1f}", 100 * s.exposure),
          fmt::format("{}", s.stall_count),
          s.stalls_avoided ? fmt::format("{:.2f}", 100 * *s.stalls_avoided) : "-",
          fmt::format("{:.2f}", s.switches_per_step), fmt::format("{:.1f}", s.bytes_per_step / 1e3),
          fmt::format("{:.3f}", s.joules_per_step),
          s.optimum_ratio ? fmt::format("{:.3f}", *s.optimum_ratio) : "-"}});
  }
  return table;
}

report::LineChart queue_chart(const SimulateResult& result) {
  report::LineChart chart{.title = "Jobs at the accelerator", .x_label = "s", .y_label = "jobs"};
  for (const PolicySummary& s : result.policies) {
    report::Series series{.name = s.policy};
    for (const sim::TimelinePoint& point : s.first.timeline) {
      series.x.push_back(static_cast<double>(point.at_ns) * 1e-9);
      series.y.push_back(point.queue);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

report::LineChart placement_chart(const SimulateResult& result) {
  report::LineChart chart{.title = "Share of stages on the accelerator", .x_label = "s", .y_label = "share"};
  for (const PolicySummary& s : result.policies) {
    report::Series series{.name = s.policy};
    // Ten points of the time line a point: single ones hold few stages.
    for (size_t i = 0; i + 10 <= s.first.timeline.size(); i += 10) {
      double share = 0;
      for (size_t j = i; j < i + 10; ++j) share += s.first.timeline[j].accelerator_share / 10;
      series.x.push_back(static_cast<double>(s.first.timeline[i].at_ns) * 1e-9);
      series.y.push_back(share);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

report::LineChart distribution_chart(const SimulateResult& result) {
  report::LineChart chart{
      .title = "Step time, quantiles", .x_label = "share of steps", .y_label = "ms", .log_y = true};
  for (const PolicySummary& s : result.policies) {
    report::Series series{.name = s.policy};
    for (int i = 0; i <= 200; ++i) {
      series.x.push_back(i / 200.0);
      series.y.push_back(static_cast<double>(s.first.step_sketch.quantile(i / 200.0)) * 1e-6);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

report::BarChart step_chart(const SimulateResult& result) {
  report::BarChart chart{.title = "Mean step time, 95 % interval", .value_label = "ms", .horizontal = true};
  report::BarSeries series{.name = "step"};
  for (const PolicySummary& s : result.policies) {
    chart.labels.push_back(s.policy);
    series.values.push_back(s.step_s.mean * 1e3);
    const bool known = std::isfinite(s.step_s.half_width);
    series.low.push_back((known ? s.step_s.low() : s.step_s.mean) * 1e3);
    series.high.push_back((known ? s.step_s.high() : s.step_s.mean) * 1e3);
  }
  chart.series.push_back(std::move(series));
  return chart;
}

report::BarChart terms_chart(const SimulateResult& result) {
  report::BarChart chart{.title = "Cost of a stage: what the policy expected and what came",
                         .value_label = "ms"};
  const std::vector<std::pair<const char*, double sim::TermMeans::*>> terms = {
      {"wait, expected", &sim::TermMeans::wait_ns},
      {"wait, real", &sim::TermMeans::real_wait_ns},
      {"service, expected", &sim::TermMeans::service_ns},
      {"service, real", &sim::TermMeans::real_service_ns},
      {"transfer, expected", &sim::TermMeans::transfer_ns},
      {"transfer, real", &sim::TermMeans::real_transfer_ns}};
  for (const PolicySummary& s : result.policies) chart.labels.push_back(s.policy);
  for (const auto& term : terms) {
    report::BarSeries series{.name = term.first};
    for (const PolicySummary& s : result.policies)
      series.values.push_back(s.first.terms.*(term.second) * 1e-6);
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace

report::Document simulation_report(const SimulateResult& result, const std::string& command) {
  report::Document document;
  document.title = fmt::format("Simulation: {}", result.scenario.name);
  document.subtitle = result.scenario.text;
  document.footer = command;
  report::Section summary{.title = "Policies", .blocks = {}};
  for (const std::string& note : result.notes) {
    summary.blocks.emplace_back(report::Callout{report::CalloutKind::kWarning, "Note", note});
  }
  summary.blocks.emplace_back(policy_table(result));
  if (!result.scenario.jobs.empty()) summary.blocks.emplace_back(step_chart(result));
  if (result.optimum) {
    const char* kind = result.optimum->exact ? "the exact optimum" : "a lower bound";
    summary.blocks.emplace_back(report::Paragraph{fmt::format(
        "/optimum compares the first {} steps of the first replication with {} that knows the future{}.",
        result.optimum_steps, kind,
        result.optimum->exact ? "" : " (not exact: " + result.optimum->why_bound + ")")});
  }
  document.sections.push_back(std::move(summary));
  document.sections.push_back({"Over time", {queue_chart(result), placement_chart(result)}});
  if (!result.scenario.jobs.empty()) {
    document.sections.push_back(
        {"Distributions and costs", {distribution_chart(result), terms_chart(result)}});
  }
  report::Table metrics{.caption = "What the columns mean", .columns = {"metric", "definition"}};
  for (const auto& metric : simulation_metrics()) metrics.rows.push_back({{metric.first, metric.second}});
  document.sections.push_back({"Definitions", {metrics}});
  return document;
}

report::Document sweep_report(const SweepResult& result, const std::string& command) {
  report::Document document;
  document.title = "Sweep";
  document.footer = command;
  report::LineChart chart{
      .title = "Mean step time", .x_label = result.axes.empty() ? "" : result.axes[0], .y_label = "ms"};
  report::Table table{.caption = "All points", .columns = {}};
  for (const std::string& axis : result.axes) table.columns.emplace_back(axis);
  for (const char* column :
       {"policy", "step ms", "+- ms", "P99 ms", "steps/s", "queue mean", "queue max", "on acc %"}) {
    table.columns.emplace_back(column);
  }
  for (const SweepRow& row : result.rows) {
    std::string name = row.policy;
    for (size_t a = 1; a < row.values.size(); ++a)
      name += fmt::format(", {}={}", result.axes[a], row.values[a]);
    auto series = chart.series.begin();
    while (series != chart.series.end() && series->name != name) ++series;
    if (series == chart.series.end()) series = chart.series.insert(series, report::Series{.name = name});
    series->y.push_back(row.step_s * 1e3);
    report::Row cells;
    for (const std::string& value : row.values) cells.cells.emplace_back(value);
    for (const std::string& text :
         {row.policy, ms(row.step_s), ms(row.half_width_s), ms(row.p99_s),
          fmt::format("{:.2f}", row.steps_per_s), fmt::format("{:.2f}", row.queue_mean),
          fmt::format("{}", row.queue_max), fmt::format("{:.1f}", 100 * row.accelerator_share)}) {
      cells.cells.emplace_back(text);
    }
    table.rows.push_back(std::move(cells));
  }
  document.sections.push_back({"Sensitivity", {chart, table}});
  return document;
}

}  // namespace tandem::jobs
