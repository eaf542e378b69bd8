// SPDX-License-Identifier: Apache-2.0
// Replications over all cores, summaries per policy, the grid of a sweep.
#include "tandem/jobs/simulate.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <thread>

#include "tandem/base/file.hpp"
#include "tandem/base/hash.hpp"
#include "tandem/base/text.hpp"
#include "tandem/base/workers.hpp"
#include "tandem/sim/scenario_file.hpp"

namespace tandem::jobs {
namespace {

constexpr const char* kBaseline = "static-accelerator";
constexpr uint64_t kScenarioBytesMax = uint64_t{16} << 20;

Result<std::pair<std::string, std::string>> key_and_value(const std::string& setting) {
  const size_t at = setting.find('=');
  if (at == std::string::npos || at == 0) {
    return usage_error(fmt::format("'{}' is no setting", printable(setting))).hint("write key.path=value");
  }
  return std::pair<std::string, std::string>{setting.substr(0, at), setting.substr(at + 1)};
}

Result<sim::Scenario> scenario_with(const TomlValue& root, const std::string& file,
                                    const std::vector<std::string>& settings) {
  TomlValue changed = root;
  for (const std::string& setting : settings) {
    const auto parts = TANDEM_TRY(key_and_value(setting));
    TANDEM_TRY(set_toml(changed, parts.first, parts.second));
  }
  return sim::read_scenario(changed, file);
}

std::vector<std::string> chosen_policies(const sim::Scenario& scenario,
                                         const std::vector<std::string>& asked) {
  if (asked.size() == 1 && asked[0] == "all") {
    std::vector<std::string> all;
    for (const sched::PolicyInfo& info : sched::policies()) all.emplace_back(info.name);
    return all;
  }
  if (!asked.empty()) return asked;
  if (scenario.jobs.empty()) return {"static-cpu"};  // there is nothing to place
  return {"cost", "cost-hysteresis", "lookahead", "earliest-finish", "static-cpu", kBaseline, "static-split"};
}

size_t thread_count(size_t asked) {
  return asked > 0 ? asked : std::max(1u, std::thread::hardware_concurrency());
}

PolicySummary summarize(const sim::Scenario& scenario, const std::string& policy,
                        std::vector<sim::RunResult>& runs) {
  PolicySummary s;
  s.policy = policy;
  const uint32_t accelerator = scenario.devices.size() > 1 ? index_of(scenario.policy.accelerator) : 0;
  const auto n = static_cast<double>(runs.size());
  std::vector<double> means;
  sim::QuantileSketch sketch;
  double squares = 0, steps = 0, switches = 0, bytes = 0, joules = 0;
  for (const sim::RunResult& run : runs) {
    means.push_back(run.step_time.mean() * 1e-9);
    const auto count = static_cast<double>(run.step_time.count);
    squares += run.step_time.deviation() * run.step_time.deviation() * 1e-18 * count;
    steps += count;
    sketch.merge(run.step_sketch);
    s.steps_per_s += run.steps_per_s() / n;
    s.accelerator_share += run.accelerator_stage_share(accelerator) / n;
    s.queue_mean += run.devices[accelerator].number_mean / n;
    s.queue_max = std::max(s.queue_max, run.devices[accelerator].station.number_max);
    s.exposure += run.congestion_exposure / n;
    for (const sim::DeviceTotals& device : run.devices) {
      s.stage_count += device.stage_count;
      joules += device.energy_j;
    }
    s.stall_count += run.devices[accelerator].stall_count;
    switches += static_cast<double>(run.switch_count);
    bytes += static_cast<double>(run.transfer_bytes);
    s.event_count += run.event_count;
  }
  // One replication has the interval of its batch means.
  s.step_s = sim::interval_of(means);
  if (runs.size() == 1 && runs[0].step_time.count > 0) {
    const sim::Interval batches = sim::batch_means_interval(runs[0].step_series, scenario.stationary);
    s.step_s.half_width = batches.half_width * 1e-9;
  }
  s.step_deviation_s = steps > 0 ? std::sqrt(squares / steps) : 0;
  s.step_p50_s = static_cast<double>(sketch.quantile(0.5)) * 1e-9;
  s.step_p99_s = static_cast<double>(sketch.quantile(0.99)) * 1e-9;
  s.step_p999_s = static_cast<double>(sketch.quantile(0.999)) * 1e-9;
  s.switches_per_step = steps > 0 ? switches / steps : 0;
  s.bytes_per_step = steps > 0 ? bytes / steps : 0;
  s.joules_per_step = steps > 0 ? joules / steps : 0;
  s.first = std::move(runs[0]);
  return s;
}

// All policies x replications. Every run depends on its seed only, so threads change nothing.
Result<std::vector<std::vector<sim::RunResult>>> run_all(const sim::Scenario& scenario,
                                                         const std::vector<std::string>& policies,
                                                         const SimulateOptions& options,
                                                         const JobHooks& hooks, TraceWriter* trace) {
  std::vector<std::vector<sim::RunResult>> runs(policies.size(),
                                                std::vector<sim::RunResult>(options.replications));
  const uint64_t seed = options.seed != 0 ? options.seed : scenario.seed;
  Workers workers(std::min<size_t>(thread_count(options.threads), policies.size() * options.replications));
  Progress progress = hooks.start("simulate", policies.size() * options.replications, "runs");
  const Status done = workers.parallel_for_dynamic(
      policies.size() * options.replications, [&](size_t index, size_t) -> Status {
        const size_t p = index / options.replications, r = index % options.replications;
        sim::RunOptions run{.seed = seed + r, .cancel = hooks.cancel};
        run.timeline = r == 0;
        run.keep_steps = r == 0 ? options.optimum_steps : 0;
        if (r == 0) run.explain_step = options.explain_step;
        if (index == 0) run.trace = trace;
        runs[p][r] = TANDEM_TRY(sim::simulate(scenario, policies[p], run).context(policies[p]));
        progress.advance();
        return {};
      });
  if (!done.ok()) return done.error();
  return runs;
}

void compare_with_optimum(SimulateResult& result, const SimulateOptions& options) {
  uint64_t steps = options.optimum_steps;
  for (const PolicySummary& s : result.policies)
    steps = std::min<uint64_t>(steps, s.first.step_end_ns.size());
  if (options.optimum_steps == 0 || result.scenario.jobs.empty()) return;
  const auto optimum = sim::clairvoyant_optimum(result.scenario, result.policies[0].first.seed, steps);
  if (!optimum.ok()) {
    result.no_optimum = optimum.error().what();
    return;
  }
  result.optimum = *optimum;
  result.optimum_steps = steps;
  for (PolicySummary& s : result.policies) {
    s.optimum_ratio = static_cast<double>(s.first.step_end_ns[steps - 1]) /
                      static_cast<double>(std::max<int64_t>(optimum->end_ns, 1));
  }
}

}  // namespace

Result<SimulateResult> simulate(const SimulateOptions& options, const JobHooks& hooks) {
  if (options.replications < 1 || options.replications > 10000) {
    return usage_error("replications lie between 1 and 10000");
  }
  const std::string text = TANDEM_TRY(read_file(options.scenario, kScenarioBytesMax));
  const TomlValue root = TANDEM_TRY(parse_toml(text, options.scenario));
  SimulateResult result;
  result.scenario = TANDEM_TRY(scenario_with(root, options.scenario, options.settings));
  const std::vector<std::string> policies = chosen_policies(result.scenario, options.policies);
  // Stalls are judged against the static accelerator, so it runs too.
  std::vector<std::string> needed = policies;
  const bool has_baseline = std::find(policies.begin(), policies.end(), kBaseline) != policies.end();
  if (!has_baseline && !result.scenario.jobs.empty()) needed.emplace_back(kBaseline);
  TraceWriter trace;
  if (!options.trace.empty()) trace = TANDEM_TRY(TraceWriter::create(options.trace));
  for (size_t d = 0; d < result.scenario.devices.size(); ++d) {
    trace.name_process(static_cast<int32_t>(d), result.scenario.devices[d].name);
  }
  const auto start = std::chrono::steady_clock::now();
  auto runs =
      TANDEM_TRY(run_all(result.scenario, needed, options, hooks, trace.enabled() ? &trace : nullptr));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  TANDEM_TRY(trace.close());
  std::vector<std::vector<double>> means(needed.size());
  double events = 0;
  for (size_t p = 0; p < needed.size(); ++p) {
    for (const sim::RunResult& run : runs[p]) {
      means[p].push_back(run.step_time.mean() * 1e-9);
      events += static_cast<double>(run.event_count);
    }
    result.policies.push_back(summarize(result.scenario, needed[p], runs[p]));
  }
  result.events_per_s = elapsed.count() > 0 ? events / elapsed.count() : 0;
  uint64_t baseline_stalls = 0;
  for (const PolicySummary& s : result.policies) {
    if (s.policy == kBaseline) baseline_stalls = s.stall_count;
  }
  for (size_t p = 0; p < result.policies.size(); ++p) {
    PolicySummary& s = result.policies[p];
    std::vector<double> differences;
    for (size_t r = 0; r < means[p].size(); ++r) differences.push_back(means[p][r] - means[0][r]);
    s.versus_first_s = sim::interval_of(differences);
    if (baseline_stalls > 0) {
      s.stalls_avoided = 1 - static_cast<double>(s.stall_count) / static_cast<double>(baseline_stalls);
    }
  }
  result.policies.resize(policies.size());
  result.notes = result.policies[0].first.notes;
  compare_with_optimum(result, options);
  return result;
}

Json to_json(const SimulateResult& result) {
  Json policies = Json::array();
  for (const PolicySummary& s : result.policies) {
    Json devices = Json::array();
    for (size_t d = 0; d < s.first.devices.size(); ++d) {
      const sim::DeviceTotals& device = s.first.devices[d];
      devices.push(Json::object({{"name", result.scenario.devices[d].name},
                                 {"utilization", device.utilization},
                                 {"own_share", device.own_share},
                                 {"queue_mean", device.number_mean},
                                 {"queue_max", int64_t{device.station.number_max}},
                                 {"others_jobs", device.station.others_job_count},
                                 {"others_sojourn_s", device.others_sojourn.mean() * 1e-9},
                                 {"others_wait_s", device.others_wait.mean() * 1e-9},
                                 {"refused", device.station.refused_count},
                                 {"lost", device.station.lost_count},
                                 {"estimator", Json::object({{"count", device.estimator.count},
                                                             {"bias", device.estimator.bias},
                                                             {"mape", device.estimator.mape},
                                                             {"coverage", device.estimator.coverage}})}}));
    }
    Json json = Json::object({{"policy", s.policy},
                              {"step_s", s.step_s.mean},
                              {"step_half_width_s", s.step_s.half_width},
                              {"step_sd_s", s.step_deviation_s},
                              {"step_p50_s", s.step_p50_s},
                              {"step_p99_s", s.step_p99_s},
                              {"step_p999_s", s.step_p999_s},
                              {"difference_s", s.versus_first_s.mean},
                              {"difference_half_width_s", s.versus_first_s.half_width},
                              {"steps_per_s", s.steps_per_s},
                              {"accelerator_share", s.accelerator_share},
                              {"queue_mean", s.queue_mean},
                              {"queue_max", int64_t{s.queue_max}},
                              {"exposure", s.exposure},
                              {"stages", s.stage_count},
                              {"stalls", s.stall_count},
                              {"switches_per_step", s.switches_per_step},
                              {"bytes_per_step", s.bytes_per_step},
                              {"joules_per_step", s.joules_per_step},
                              {"events", s.event_count},
                              {"devices", devices}});
    if (s.stalls_avoided) json.set("stalls_avoided", *s.stalls_avoided);
    if (s.optimum_ratio) json.set("optimum_ratio", *s.optimum_ratio);
    policies.push(std::move(json));
  }
  Json json = Json::object({{"scenario", result.scenario.name}, {"seed", result.policies[0].first.seed}});
  json.set("policies", std::move(policies));
  if (result.optimum) {
    json.set("optimum", Json::object({{"steps", result.optimum_steps},
                                      {"end_s", static_cast<double>(result.optimum->end_ns) * 1e-9},
                                      {"exact", result.optimum->exact},
                                      {"why_bound", result.optimum->why_bound}}));
  }
  json.set("notes", Json(result.notes));
  return json;
}

std::vector<std::pair<std::string, std::string>> simulation_metrics() {
  return {
      {"step", "mean time of a training step after the warm-up, with its 95 % interval over replications"},
      {"sd, P50, P99", "standard deviation and quantiles of single steps"},
      {"steps/s", "finished steps a second"},
      {"on acc", "share of the stages that ran on the accelerator"},
      {"queue", "jobs at the accelerator, waiting or in service: time average and maximum"},
      {"exposure", "share of step time that was spent waiting for a device"},
      {"stalls", "stages that waited for the accelerator longer than they were served"},
      {"avoided", "1 - stalls / stalls of static-accelerator with the same seeds"},
      {"switches", "changes of device per step"},
      {"moved", "bytes that crossed a link per step"},
      {"/opt", "time of the first steps over that of the clairvoyant optimum (>=: over a lower bound)"}};
}

Result<std::vector<std::string>> axis_values(const std::string& text) {
  const size_t dots = text.find("..");
  std::vector<std::string> values;
  if (dots == std::string::npos) {
    for (const std::string_view piece : split(text, ',')) {
      if (trim(piece).empty()) return usage_error(fmt::format("'{}' has an empty value", printable(text)));
      values.emplace_back(trim(piece));
    }
    return values;
  }
  const auto bad = [&](const char* why) {
    return usage_error(fmt::format("'{}' is no range", printable(text)))
        .because(why)
        .hint("write 0..0.9:10 or 1ms..5ms:3");
  };
  const size_t colon = text.find(':', dots);
  if (colon == std::string::npos) return bad("the number of values is missing");
  const auto number_and_unit = [](std::string_view word, double& number, std::string& unit) {
    size_t end = 0;
    while (end < word.size() && std::string_view("0123456789.-+").find(word[end]) != std::string_view::npos)
      ++end;
    const auto [stop, code] = std::from_chars(word.data(), word.data() + end, number);
    unit = std::string(word.substr(end));
    return code == std::errc{} && stop == word.data() + end;
  };
  double low = 0, high = 0, count = 0;
  std::string low_unit, unit, nothing;
  if (!number_and_unit(std::string_view(text).substr(0, dots), low, low_unit) ||
      !number_and_unit(std::string_view(text).substr(dots + 2, colon - dots - 2), high, unit) ||
      !number_and_unit(std::string_view(text).substr(colon + 1), count, nothing) || !nothing.empty()) {
    return bad("it does not read as low..high:count");
  }
  if (!low_unit.empty() && low_unit != unit) return bad("both ends want the same unit");
  if (!(count >= 2 && count <= 10000) || count != std::floor(count)) return bad("2 to 10000 values");
  for (int i = 0; i < static_cast<int>(count); ++i) {
    values.push_back(fmt::format("{:.6g}{}", low + (high - low) * i / (count - 1), unit));
  }
  return values;
}

namespace {

constexpr const char* kCsvColumns =
    "policy,step_s,half_width_s,p99_s,steps_per_s,queue_mean,queue_max,accelerator_share";

std::string csv_line(const SweepRow& row) {
  std::string line;
  for (const std::string& value : row.values) line += value + ",";
  return line + fmt::format("{},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{},{:.9g}\n", row.policy, row.step_s,
                            row.half_width_s, row.p99_s, row.steps_per_s, row.queue_mean, row.queue_max,
                            row.accelerator_share);
}

double to_number(std::string_view text) {
  double value = NAN;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The rows of an earlier, perhaps interrupted, sweep of the same scenario, by values and policy. A torn last
// line is left out.
Result<std::map<std::string, SweepRow>> earlier_rows(const std::string& text, const std::string& header,
                                                     size_t axes, const std::string& file) {
  std::map<std::string, SweepRow> rows;
  if (text.empty()) return rows;
  if (!text.starts_with(header)) {
    return bad_input(fmt::format("'{}' holds another sweep", file))
        .because("its first lines name another scenario, seed, replications or axes")
        .hint("give another file, or remove it");
  }
  for (const std::string_view line : split(std::string_view(text).substr(header.size()), '\n')) {
    const std::vector<std::string_view> f = split(line, ',');
    if (f.size() != axes + 8 || std::isnan(to_number(f.back()))) continue;
    SweepRow row;
    std::string key;
    for (size_t i = 0; i <= axes; ++i) key += std::string(f[i]) + ",";
    for (size_t i = 0; i < axes; ++i) row.values.emplace_back(f[i]);
    row.policy = f[axes];
    row.step_s = to_number(f[axes + 1]);
    row.half_width_s = to_number(f[axes + 2]);
    row.p99_s = to_number(f[axes + 3]);
    row.steps_per_s = to_number(f[axes + 4]);
    row.queue_mean = to_number(f[axes + 5]);
    row.queue_max = static_cast<int64_t>(to_number(f[axes + 6]));
    row.accelerator_share = to_number(f[axes + 7]);
    rows[key] = std::move(row);
  }
  return rows;
}

struct GridPoint {
  std::vector<std::string> values;
  sim::Scenario scenario;
};

// The whole grid, read and checked before the first run.
Result<std::vector<GridPoint>> grid_of(const SweepOptions& options, const TomlValue& root,
                                       std::vector<std::string>& keys) {
  std::vector<std::vector<std::string>> axes;
  size_t count = 1;
  for (const std::string& axis : options.axes) {
    const auto parts = TANDEM_TRY(key_and_value(axis));
    keys.push_back(parts.first);
    axes.push_back(TANDEM_TRY(axis_values(parts.second)));
    count *= axes.back().size();
    if (count > 100'000) return usage_error("the grid has more than 100000 points");
  }
  std::vector<GridPoint> points;
  for (size_t index = 0; index < count; ++index) {
    GridPoint point;
    std::vector<std::string> settings = options.base.settings;
    size_t rest = index;
    for (size_t a = axes.size(); a-- > 0; rest /= axes[a].size()) {
      point.values.insert(point.values.begin(), axes[a][rest % axes[a].size()]);
    }
    for (size_t a = 0; a < axes.size(); ++a) settings.push_back(keys[a] + "=" + point.values[a]);
    point.scenario = TANDEM_TRY(scenario_with(root, options.base.scenario, settings));
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace

Result<SweepResult> sweep(const SweepOptions& options, const JobHooks& hooks) {
  const std::string text = TANDEM_TRY(read_file(options.base.scenario, kScenarioBytesMax));
  const TomlValue root = TANDEM_TRY(parse_toml(text, options.base.scenario));
  SweepResult result;
  const std::vector<GridPoint> points = TANDEM_TRY(grid_of(options, root, result.axes));
  const std::vector<std::string> policies = chosen_policies(points[0].scenario, options.base.policies);
  std::string settings;
  for (const std::string& setting : options.base.settings) settings += setting + ";";
  const std::string header =
      fmt::format("# {} seed {} replications {}\n{},{}\n", sha256_hex(text + settings), options.base.seed,
                  options.base.replications, join(result.axes, ","), kCsvColumns);
  std::map<std::string, SweepRow> known;
  std::string written = header;
  if (!options.csv.empty()) {
    const Result<std::string> before = read_file(options.csv);
    if (before.ok()) known = TANDEM_TRY(earlier_rows(*before, header, result.axes.size(), options.csv));
  }
  result.rows.resize(points.size() * policies.size());
  std::mutex mutex;  // over `written` and the file
  size_t unsaved = 0;
  Workers workers(std::min(thread_count(options.base.threads), result.rows.size()));
  Progress progress = hooks.start("sweep", result.rows.size(), "points");
  SimulateOptions one = options.base;
  one.threads = 1;
  one.optimum_steps = 0;
  for (const auto& row : known) written += csv_line(row.second);
  const Status done = workers.parallel_for_dynamic(result.rows.size(), [&](size_t index, size_t) -> Status {
    const GridPoint& point = points[index / policies.size()];
    const std::string& policy = policies[index % policies.size()];
    const auto earlier = known.find(join(point.values, ",") + "," + policy + ",");
    progress.advance();
    if (earlier != known.end()) {
      result.rows[index] = earlier->second;
      const std::lock_guard lock(mutex);
      ++result.reused_count;
      return {};
    }
    JobHooks quiet{.cancel = hooks.cancel};
    auto runs = TANDEM_TRY(run_all(point.scenario, {policy}, one, quiet, nullptr));
    const PolicySummary s = summarize(point.scenario, policy, runs[0]);
    SweepRow& row = result.rows[index];
    row = {point.values,  policy,       s.step_s.mean,       s.step_s.half_width, s.step_p99_s,
           s.steps_per_s, s.queue_mean, s.accelerator_share, s.queue_max};
    const std::lock_guard lock(mutex);
    written += csv_line(row);
    if (options.csv.empty() || ++unsaved < 16) return {};
    unsaved = 0;
    return write_file(options.csv, written);
  });
  // What was finished is kept, whatever stopped the rest.
  if (!done.ok()) {
    if (!options.csv.empty()) TANDEM_TRY(write_file(options.csv, written));
    return done.error();
  }
  if (options.csv.empty()) return result;
  std::string ordered = header;
  for (const SweepRow& row : result.rows) ordered += csv_line(row);
  TANDEM_TRY(write_file(options.csv, ordered));
  return result;
}

}  // namespace tandem::jobs
