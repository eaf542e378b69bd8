// SPDX-License-Identifier: Apache-2.0
// TOML to Scenario, table by table.
#include "tandem/sim/scenario_file.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/base/file.hpp"
#include "tandem/base/text.hpp"
#include "tandem/base/units.hpp"

namespace tandem::sim {
namespace {

constexpr int64_t kYear = sched::kTimeMaxNs;
constexpr uint64_t kTraceBytesMax = uint64_t{64} << 20;

class ScenarioReader {
 public:
  ScenarioReader(const TomlValue& root, std::string file) : root_(root), file_(std::move(file)) {}
  Result<Scenario> read();

 private:
  TomlReader reader(const TomlValue& table, const std::string& where) { return {table, file_, where}; }
  Result<uint32_t> device_named(TomlReader& r, std::string_view key, const std::string& name);
  Result<plan::ServiceLaw> law(TomlReader& r, size_t by_default);
  Result<FaultModel> faults(TomlReader& r, const std::string& where);
  Result<RateModel> rate(TomlReader& r, const std::string& where);
  Result<plan::ArrivalSpec> arrivals(TomlReader& r, double rate_per_s);
  Result<DeviceModel> device(const TomlValue& table);
  Result<LinkModel> link(const TomlValue& table);
  Result<BackgroundModel> background(const TomlValue& table);
  Result<JobModel> job(const TomlValue& table);
  Status stage(const TomlValue& table, const std::string& where, sched::Program& program,
               std::vector<std::vector<std::string>>& after);
  Status order(TomlReader& r, sched::Program& program, const std::vector<std::vector<std::string>>& after);
  Status monitor(TomlReader& top);
  Status policy(TomlReader& top);

  const TomlValue& root_;
  std::string file_;
  Scenario scenario_;
  std::vector<std::string> device_names_;
};

Result<uint32_t> ScenarioReader::device_named(TomlReader& r, std::string_view key, const std::string& name) {
  const auto at = std::find(device_names_.begin(), device_names_.end(), name);
  if (at == device_names_.end()) {
    return r.error(key, fmt::format("there is no device '{}'", printable(name)))
        .hint(did_you_mean(name, device_names_));
  }
  return static_cast<uint32_t>(at - device_names_.begin());
}

Result<plan::ServiceLaw> ScenarioReader::law(TomlReader& r, size_t by_default) {
  plan::ServiceLaw law;
  law.kind = static_cast<plan::LawKind>(TANDEM_TRY(
      r.choice("law", {"deterministic", "exponential", "log-normal", "gamma", "empirical"}, by_default)));
  law.cv = TANDEM_TRY(r.number("cv", 0.001, 100, 1.0));
  law.values = TANDEM_TRY(r.numbers("values"));
  if (law.kind == plan::LawKind::kEmpirical && !law.normalize()) {
    return r.error("values", "an empirical law wants numbers that are not negative and not all 0");
  }
  return law;
}

Result<FaultModel> ScenarioReader::faults(TomlReader& r, const std::string& where) {
  FaultModel model;
  const TomlValue* table = TANDEM_TRY(r.table("faults"));
  if (table == nullptr) return model;
  TomlReader f = reader(*table, where + " faults");
  model.mean_up_ns = TANDEM_TRY(f.duration_ns("up", 0, kYear, 0));
  model.mean_down_ns = TANDEM_TRY(f.duration_ns("down", 0, kYear, 0));
  model.job_failure = TANDEM_TRY(f.number("job_failure", 0, 0.9, 0.0));
  if (model.mean_up_ns > 0 && model.mean_down_ns == 0)
    return f.error("down", "is missing: how long a loss lasts");
  TANDEM_TRY(f.finish());
  return model;
}

Result<RateModel> ScenarioReader::rate(TomlReader& r, const std::string& where) {
  RateModel model;
  const TomlValue* table = TANDEM_TRY(r.table("rate"));
  if (table == nullptr) return model;
  TomlReader m = reader(*table, where + " rate");
  model.kind = static_cast<RateKind>(
      TANDEM_TRY(m.choice("kind", {"constant", "steps", "sinusoid", "markov", "thermal"})));
  model.times_ns = TANDEM_TRY(m.durations_ns("times"));
  model.factors = TANDEM_TRY(m.numbers("factors"));
  model.swing = TANDEM_TRY(m.number("swing", 0, 0.99, 0.0));
  model.factor = TANDEM_TRY(m.number("factor", 0.001, 1000, 1.0));
  model.limit = TANDEM_TRY(m.number("limit", 0, 1, 1.0));
  model.period_ns = TANDEM_TRY(m.duration_ns("period", 1000, kYear, 1'000'000'000));
  model.slow_ns = TANDEM_TRY(m.duration_ns("slow", 1000, kYear, 1'000'000'000));
  if (model.times_ns.size() != model.factors.size()) return m.error("factors", "as many as times are wanted");
  TANDEM_TRY(m.finish());
  return model;
}

Result<plan::ArrivalSpec> ScenarioReader::arrivals(TomlReader& r, double rate_per_s) {
  plan::ArrivalSpec spec;
  spec.kind = static_cast<plan::ArrivalKind>(
      TANDEM_TRY(r.choice("arrivals", {"none", "poisson", "periodic", "mmpp", "on-off", "diurnal", "trace"},
                          rate_per_s > 0 ? 1 : 0)));
  const bool is_trace = spec.kind == plan::ArrivalKind::kTrace;
  const bool needs_rate = spec.kind != plan::ArrivalKind::kNone && !is_trace && rate_per_s == 0;
  if (needs_rate || r.has("rate")) {
    spec.rate_per_s = TANDEM_TRY(r.rate_per_s("rate"));
  } else {
    spec.rate_per_s = rate_per_s;
  }
  spec.calm_s = static_cast<double>(TANDEM_TRY(r.duration_ns("calm", 1000, kYear, 1'000'000'000))) * 1e-9;
  spec.burst_s = static_cast<double>(TANDEM_TRY(r.duration_ns("burst", 1000, kYear, 1'000'000'000))) * 1e-9;
  spec.burst_rate_per_s = spec.kind == plan::ArrivalKind::kMmpp ? TANDEM_TRY(r.rate_per_s("burst_rate"))
                                                                : TANDEM_TRY(r.rate_per_s("burst_rate", 0.0));
  spec.alpha = TANDEM_TRY(r.number("alpha", 1.01, 100, 1.5));
  spec.swing = TANDEM_TRY(r.number("swing", 0, 1, 0.0));
  spec.period_s = static_cast<double>(TANDEM_TRY(r.duration_ns("period", 1000, kYear, 1'000'000'000))) * 1e-9;
  const std::string trace =
      TANDEM_TRY(r.text("trace", is_trace ? std::nullopt : std::optional<std::string>("")));
  if (is_trace) {
    const size_t slash = file_.rfind('/');
    const bool relative = trace.empty() || trace.front() != '/';
    const std::string path =
        relative && slash != std::string::npos ? file_.substr(0, slash + 1) + trace : trace;
    const std::string text = TANDEM_TRY(read_file(path, kTraceBytesMax));
    TANDEM_TRY(read_trace(text, path, spec));
  }
  return spec;
}

Result<DeviceModel> ScenarioReader::device(const TomlValue& table) {
  DeviceModel model;
  TomlReader r = reader(table, "[[device]]");
  model.name = TANDEM_TRY(r.text("name"));
  const std::string where = fmt::format("[[device]] '{}'", printable(model.name));
  r = reader(table, where);
  (void)r.text("name");
  model.servers = static_cast<int32_t>(TANDEM_TRY(r.whole("servers", 1, 1024, 1)));
  const std::vector<std::string> disciplines = {"fifo", "priority", "weighted-fair", "deadline", "sharing"};
  const size_t discipline = TANDEM_TRY(r.choice("discipline", disciplines, 0));
  model.processor_sharing = discipline == 4;
  if (!model.processor_sharing) model.queue.discipline = static_cast<sched::Discipline>(discipline);
  model.queue.capacity = static_cast<uint32_t>(TANDEM_TRY(r.whole("capacity", 1, 1 << 24, 1 << 16)));
  model.queue.weights = TANDEM_TRY(r.numbers("weights"));
  model.queue.batch_max = static_cast<uint32_t>(TANDEM_TRY(r.whole("batch", 1, 1024, 1)));
  model.queue.batch_wait_ns = TANDEM_TRY(r.duration_ns("batch_wait", 0, kYear, 0));
  model.context_ns = TANDEM_TRY(r.duration_ns("context", 0, kYear, 0));
  model.law = TANDEM_TRY(law(r, 0));
  model.rate = TANDEM_TRY(rate(r, where));
  model.faults = TANDEM_TRY(faults(r, where));
  model.busy_w = TANDEM_TRY(r.number("busy_w", 0, 1e6, 0.0));
  model.idle_w = TANDEM_TRY(r.number("idle_w", 0, 1e6, 0.0));
  TANDEM_TRY(r.finish());
  return model;
}

Result<LinkModel> ScenarioReader::link(const TomlValue& table) {
  LinkModel model;
  TomlReader r = reader(table, "[[link]]");
  const std::vector<std::string> ends = TANDEM_TRY(r.texts("between"));
  if (ends.size() != 2) return r.error("between", "wants the names of two devices");
  model.from = TANDEM_TRY(device_named(r, "between", ends[0]));
  model.to = TANDEM_TRY(device_named(r, "between", ends[1]));
  if (model.from == model.to) return r.error("between", "wants two different devices");
  model.latency_ns = TANDEM_TRY(r.duration_ns("latency", 0, kYear, 0));
  model.bytes_per_s = TANDEM_TRY(r.bandwidth("bandwidth"));
  model.duplex = TANDEM_TRY(r.flag("duplex", true));
  model.faults = TANDEM_TRY(faults(r, "[[link]]"));
  TANDEM_TRY(r.finish());
  return model;
}

Result<BackgroundModel> ScenarioReader::background(const TomlValue& table) {
  BackgroundModel model;
  TomlReader r = reader(table, "[[background]]");
  model.name = TANDEM_TRY(r.text("name", "background"));
  r = reader(table, fmt::format("[[background]] '{}'", printable(model.name)));
  (void)r.text("name", "");
  const std::string device = TANDEM_TRY(r.text("device"));
  model.device = TANDEM_TRY(device_named(r, "device", device));
  model.mean_work_ns = TANDEM_TRY(r.duration_ns("work", 1, kYear));
  const double load = TANDEM_TRY(r.number("load", 0, 100, 0.0));
  const double rate_per_s =
      load * scenario_.devices[model.device].servers * 1e9 / static_cast<double>(model.mean_work_ns);
  model.arrivals = TANDEM_TRY(arrivals(r, rate_per_s));
  if (r.has("load") && r.has("rate")) return r.error("load", "give either load or rate");
  // With load a burst process keeps its shape and is scaled to that mean.
  const bool bursts =
      model.arrivals.kind == plan::ArrivalKind::kMmpp || model.arrivals.kind == plan::ArrivalKind::kOnOff;
  if (load > 0 && bursts) {
    const double scale = rate_per_s / model.arrivals.mean_rate_per_s();
    model.arrivals.rate_per_s *= scale;
    model.arrivals.burst_rate_per_s *= scale;
  }
  if (r.has("load") && load == 0) model.arrivals = {};
  model.law = TANDEM_TRY(law(r, 1));
  model.priority = static_cast<int32_t>(TANDEM_TRY(r.whole("priority", -1000, 1000, 0)));
  TANDEM_TRY(r.finish());
  return model;
}

Status ScenarioReader::stage(const TomlValue& table, const std::string& where, sched::Program& program,
                             std::vector<std::vector<std::string>>& after) {
  TomlReader r = reader(table, where);
  sched::Stage stage;
  stage.name = TANDEM_TRY(r.text("name"));
  r = reader(table, fmt::format("{} stage '{}'", where, printable(stage.name)));
  (void)r.text("name");
  for (const sched::Stage& other : program.stages) {
    if (other.name == stage.name) return r.error("name", "another stage has this name");
  }
  stage.kind = static_cast<sched::StageKind>(
      TANDEM_TRY(r.choice("kind", {"forward", "backward", "update", "other"}, 3)));
  stage.nominal_ns.fill(sched::kCannotRun);
  const TomlValue* times = TANDEM_TRY(r.table("on"));
  if (times == nullptr) return r.error("on", "is missing").hint("give on = { cpu = \"4ms\" }");
  TomlReader on = reader(*times, fmt::format("{} stage '{}' on", where, printable(stage.name)));
  for (size_t d = 0; d < device_names_.size(); ++d) {
    if (!on.has(device_names_[d])) {
      (void)on.text(device_names_[d], "");
      continue;
    }
    stage.nominal_ns[d] = TANDEM_TRY(on.duration_ns(device_names_[d], 0, kYear));
  }
  TANDEM_TRY(on.finish());
  for (const auto& [key, set] : {std::pair<const char*, sched::TensorSet*>{"inputs", &stage.inputs},
                                 std::pair<const char*, sched::TensorSet*>{"outputs", &stage.outputs}}) {
    for (const std::string& name : TANDEM_TRY(r.texts(key))) {
      uint32_t tensor = 0;
      std::vector<std::string> known;
      while (tensor < program.tensors.size() && program.tensors[tensor].name != name) {
        known.push_back(program.tensors[tensor++].name);
      }
      if (tensor == program.tensors.size()) {
        return r.error(key, fmt::format("there is no tensor '{}'", printable(name)))
            .hint(did_you_mean(name, known));
      }
      set->add(tensor);
    }
  }
  after.push_back(TANDEM_TRY(r.texts("after")));
  TANDEM_TRY(r.finish());
  program.stages.push_back(std::move(stage));
  return {};
}

// Stages run one after the other in file order, except that a stage comes after those it names.
Status ScenarioReader::order(TomlReader& r, sched::Program& program,
                             const std::vector<std::vector<std::string>>& after) {
  const size_t count = program.stages.size();
  std::vector<std::string> names;
  for (const sched::Stage& stage : program.stages) names.push_back(stage.name);
  std::vector<sched::Stage> sorted;
  std::vector<bool> done(count, false);
  const auto is_done = [&](const std::string& name) {
    const auto at = std::find(names.begin(), names.end(), name);
    return at != names.end() && done[static_cast<size_t>(at - names.begin())];
  };
  for (const auto& list : after) {
    for (const std::string& name : list) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        return r.error("stage", fmt::format("'after' names '{}', which is no stage", printable(name)))
            .hint(did_you_mean(name, names));
      }
    }
  }
  while (sorted.size() < count) {
    size_t next = 0;
    while (next < count && (done[next] || !std::all_of(after[next].begin(), after[next].end(), is_done)))
      ++next;
    if (next == count) {
      std::string cycle;
      for (size_t i = 0; i < count; ++i) cycle += done[i] ? "" : " '" + names[i] + "'";
      return r.error("stage", "stages wait for each other:" + cycle);
    }
    done[next] = true;
    sorted.push_back(program.stages[next]);
  }
  program.stages = std::move(sorted);
  return {};
}

Result<JobModel> ScenarioReader::job(const TomlValue& table) {
  JobModel model;
  TomlReader r = reader(table, "[[job]]");
  model.name = TANDEM_TRY(r.text("name", "job"));
  const std::string where = fmt::format("[[job]] '{}'", printable(model.name));
  r = reader(table, where);
  (void)r.text("name", "");
  model.open = TANDEM_TRY(r.choice("loop", {"closed", "open"}, 0)) == 1;
  model.think_ns = TANDEM_TRY(r.duration_ns("think", 0, kYear, 0));
  model.priority = static_cast<int32_t>(TANDEM_TRY(r.whole("priority", -1000, 1000, 0)));
  model.arrivals = TANDEM_TRY(arrivals(r, 0));
  if (model.open && model.arrivals.kind == plan::ArrivalKind::kNone) {
    return r.error("arrivals", "an open loop wants arrivals of steps");
  }
  sched::Program& program = model.program;
  program.device_count = static_cast<uint32_t>(device_names_.size());
  for (const TomlValue* item : TANDEM_TRY(r.tables("tensor"))) {
    TomlReader t = reader(*item, where + " tensor");
    sched::Tensor tensor;
    tensor.name = TANDEM_TRY(t.text("name"));
    tensor.bytes = TANDEM_TRY(t.bytes("bytes"));
    tensor.fresh = TANDEM_TRY(t.flag("fresh", false));
    TANDEM_TRY(t.finish());
    program.tensors.push_back(std::move(tensor));
    if (program.tensors.size() > sched::kTensorsMax) return t.error("name", "a step has at most 128 tensors");
  }
  std::vector<std::vector<std::string>> after;
  for (const TomlValue* item : TANDEM_TRY(r.tables("stage"))) TANDEM_TRY(stage(*item, where, program, after));
  if (program.stages.empty()) return r.error("stage", "a job wants stages").hint("write [[job.stage]]");
  TANDEM_TRY(order(r, program, after));
  TANDEM_TRY(r.finish());
  return model;
}

Status ScenarioReader::monitor(TomlReader& top) {
  if (const TomlValue* table = TANDEM_TRY(top.table("monitor"))) {
    TomlReader r = reader(*table, "[monitor]");
    scenario_.monitor.period_ns = TANDEM_TRY(r.duration_ns("period", 0, kYear, 0));
    scenario_.monitor.delay_ns = TANDEM_TRY(r.duration_ns("delay", 0, kYear, 0));
    scenario_.monitor.noise = TANDEM_TRY(r.number("noise", 0, 1, 0.0));
    if (scenario_.monitor.period_ns == 0 && scenario_.monitor.delay_ns > 0) {
      return r.error("delay", "needs a period: without one every decision sees the present");
    }
    TANDEM_TRY(r.finish());
  }
  if (const TomlValue* table = TANDEM_TRY(top.table("estimator"))) {
    TomlReader r = reader(*table, "[estimator]");
    std::vector<std::string> names;
    for (const std::string_view name : sched::estimator_names()) names.emplace_back(name);
    sched::EstimatorOptions& e = scenario_.estimator;
    const size_t kind = TANDEM_TRY(r.choice("kind", names, 1));
    e.kind = sched::estimator_from_string(names[kind]).value();
    e.gain = TANDEM_TRY(r.number("gain", 1e-6, 1, e.gain));
    e.window = static_cast<uint32_t>(TANDEM_TRY(r.whole("window", 1, 63, e.window)));
    e.widening_ns = TANDEM_TRY(r.duration_ns("widening", 1, kYear, e.widening_ns));
    TANDEM_TRY(r.finish());
  }
  return {};
}

Status ScenarioReader::policy(TomlReader& top) {
  const TomlValue* table = TANDEM_TRY(top.table("policy"));
  if (table == nullptr) return {};
  TomlReader r = reader(*table, "[policy]");
  sched::PolicyOptions& p = scenario_.policy;
  p.switch_ns = TANDEM_TRY(r.duration_ns("switch", 0, kYear, 0));
  p.risk = TANDEM_TRY(r.number("risk", 0, 100, p.risk));
  p.margin = TANDEM_TRY(r.number("margin", 0, 0.999, p.margin));
  p.dwell_ns = TANDEM_TRY(r.duration_ns("dwell", 0, kYear, 0));
  p.threshold = static_cast<int32_t>(TANDEM_TRY(r.whole("threshold", 0, 1'000'000, p.threshold)));
  p.hold = TANDEM_TRY(r.flag("hold", false));
  p.horizon = static_cast<uint32_t>(TANDEM_TRY(r.whole("horizon", 1, sched::kStagesMax, p.horizon)));
  p.exploration = TANDEM_TRY(r.number("exploration", 0, 100, p.exploration));
  p.safety = TANDEM_TRY(r.number("safety", 1, 1e6, p.safety));
  if (r.has("accelerator")) {
    const std::string name = TANDEM_TRY(r.text("accelerator"));
    p.accelerator = sched::DeviceId{TANDEM_TRY(device_named(r, "accelerator", name))};
  }
  return r.finish();
}

Result<Scenario> ScenarioReader::read() {
  TomlReader r = reader(root_, "scenario");
  scenario_.name = TANDEM_TRY(r.text("name", "scenario"));
  scenario_.text = TANDEM_TRY(r.text("text", ""));
  scenario_.seed = static_cast<uint64_t>(TANDEM_TRY(r.whole("seed", 1, INT64_MAX / 128, 1)));
  scenario_.horizon_ns = TANDEM_TRY(r.duration_ns("horizon", 1000, kYear));
  scenario_.warm_up_ns = TANDEM_TRY(r.duration_ns("warm_up", 0, kYear, scenario_.horizon_ns / 20));
  scenario_.steps_max = static_cast<uint64_t>(TANDEM_TRY(r.whole("steps", 0, INT64_MAX / 2, 0)));
  scenario_.stationary = TANDEM_TRY(r.flag("stationary", true));
  if (scenario_.warm_up_ns >= scenario_.horizon_ns) return r.error("warm_up", "must end before the horizon");
  for (const TomlValue* table : TANDEM_TRY(r.tables("device"))) {
    DeviceModel model = TANDEM_TRY(device(*table));
    if (std::find(device_names_.begin(), device_names_.end(), model.name) != device_names_.end()) {
      return r.error("device", fmt::format("two devices are called '{}'", printable(model.name)));
    }
    device_names_.push_back(model.name);
    scenario_.devices.push_back(std::move(model));
  }
  if (scenario_.devices.empty() || scenario_.devices.size() > sched::kDevicesMax) {
    return r.error("device", fmt::format("1 to {} devices are wanted, not {}", sched::kDevicesMax,
                                         scenario_.devices.size()));
  }
  for (const TomlValue* table : TANDEM_TRY(r.tables("link")))
    scenario_.links.push_back(TANDEM_TRY(link(*table)));
  for (const TomlValue* table : TANDEM_TRY(r.tables("background"))) {
    scenario_.backgrounds.push_back(TANDEM_TRY(background(*table)));
  }
  for (const TomlValue* table : TANDEM_TRY(r.tables("job")))
    scenario_.jobs.push_back(TANDEM_TRY(job(*table)));
  TANDEM_TRY(monitor(r));
  TANDEM_TRY(policy(r));
  TANDEM_TRY(r.finish());
  TANDEM_TRY(verify(scenario_).context(file_));
  return std::move(scenario_);
}

}  // namespace

Result<Scenario> read_scenario(const TomlValue& root, const std::string& file) {
  return ScenarioReader(root, file).read();
}

Result<Scenario> load_scenario(const std::string& file) {
  const std::string text = TANDEM_TRY(read_file(file, kTraceBytesMax));
  const TomlValue root = TANDEM_TRY(parse_toml(text, file));
  return read_scenario(root, file);
}

Status read_trace(std::string_view text, const std::string& file, plan::ArrivalSpec& arrivals) {
  int number = 0;
  size_t columns = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string_view> fields = split(line, ',');
    if (columns == 0 && trim(fields[0]) == "time") continue;
    const auto bad = [&](const std::string& why) {
      return bad_input(fmt::format("{}:{}: {}", file, number, why));
    };
    if (columns == 0) columns = fields.size();
    if (fields.size() != columns || columns > 2) {
      return bad(fmt::format("{} fields, {} are wanted", fields.size(), columns > 2 ? 2 : columns));
    }
    const Result<int64_t> time = parse_duration_ns(trim(fields[0]));
    if (!time.ok()) return bad(time.error().what()).because(time.error().because_text());
    if (!arrivals.times_ns.empty() && *time < arrivals.times_ns.back()) return bad("the time goes back");
    arrivals.times_ns.push_back(*time);
    if (columns < 2) continue;
    const Result<int64_t> work = parse_duration_ns(trim(fields[1]));
    if (!work.ok()) return bad(work.error().what()).because(work.error().because_text());
    arrivals.work_ns.push_back(*work);
  }
  if (arrivals.times_ns.empty()) return bad_input(file + ": a trace without arrivals");
  return {};
}

}  // namespace tandem::sim
