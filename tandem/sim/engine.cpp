// SPDX-License-Identifier: Apache-2.0
// The discrete-event engine: takes the next event, lets its owner react, until the horizon.
#include "tandem/sim/engine.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "tandem/sched/observer.hpp"
#include "tandem/sim/channels.hpp"
#include "tandem/sim/modulation.hpp"
#include "tandem/sim/streams.hpp"

namespace tandem::sim {
namespace {

using sched::DeviceId;
using sched::kDevicesMax;

enum EventKind : uint32_t {
  kBackground,
  kDevice,
  kLatency,
  kChannel,
  kStepArrival,
  kNextStep,
  kMonitor,
  kDeliver,
  kRate,
  kFault,
  kLinkFault,
  kTimeline,
  kWarmUp,
};

constexpr uint32_t kStepsMax = 1 << 16;  // in progress at once
constexpr uint64_t kNoStep = UINT64_MAX;

// A step in progress.
struct Step {
  bool active = false;
  uint32_t job = 0;
  uint32_t stage = 0;
  uint64_t number = kNoStep;
  uint32_t attempt = 0;  // of the stage: a failed one is drawn anew
  uint32_t transfers_left = 0;
  DeviceId device = sched::kNoDevice, last_device = sched::kNoDevice;
  int64_t last_switch_ns = 0;
  int64_t begin_ns = 0, decided_ns = 0, ready_ns = 0;
  int64_t waited_ns = 0;
  sched::Locations locations;
  std::array<int64_t, kDevicesMax> sent_bytes{};
};

class Engine {
 public:
  Engine(const Scenario& scenario, const RunOptions& options)
      : scenario_(scenario),
        options_(options),
        seed_(options.seed != 0 ? options.seed : scenario.seed),
        base_(seed_),
        channels_(scenario, kChannel, events_),
        observer_(servers_of(scenario), scenario.estimator) {}

  Status prepare(std::string_view policy);
  Status run();
  Result<RunResult> finish();

 private:
  static std::vector<int32_t> servers_of(const Scenario& scenario) {
    std::vector<int32_t> servers;
    for (const DeviceModel& device : scenario.devices) servers.push_back(device.servers);
    return servers;
  }

  Status handle(const Event& event);
  void on_background(uint32_t source);
  Status on_device(const Event& event);
  Status take_departures(uint32_t device, bool lost);
  Status begin_step(uint32_t job, uint32_t record);
  uint32_t free_record();
  Status on_step_arrival(uint32_t job);
  Status decide(uint32_t record);
  Status ask_held();
  Status dispatch(Step& step, uint32_t record, const sched::Decision& decision);
  Status enter_device(uint32_t record);
  Status stage_done(uint32_t record, int64_t start_ns);
  void end_step(uint32_t record);
  sched::QueueSample sample_of(uint32_t device);
  void on_monitor();
  void on_deliver();
  Status on_fault(uint32_t device);
  void on_link_fault(uint32_t channel);
  void on_rate(uint32_t device);
  void on_timeline();
  void begin_window();
  void trace_stage(const Step& step, uint32_t record, int64_t start_ns);

  const Scenario& scenario_;
  const RunOptions& options_;
  uint64_t seed_;
  Rng base_;
  int64_t now_ns_ = 0;
  EventQueue events_;
  std::vector<std::unique_ptr<Station>> devices_;
  Channels channels_;
  std::vector<BackgroundStream> streams_;
  std::vector<plan::Arrivals> step_arrivals_;  // by job; of closed jobs unused
  std::vector<std::unique_ptr<sched::Policy>> policies_;
  std::vector<uint64_t> next_step_;
  std::vector<Step> steps_;
  std::vector<uint32_t> free_steps_;
  std::vector<uint32_t> held_;
  std::vector<Departure> departed_;
  sched::Observer observer_;
  std::vector<Modulation> rates_;
  std::vector<Outage> outages_;
  std::vector<Outage> link_outages_;
  Rng monitor_noise_{1};
  std::vector<std::array<sched::QueueSample, kDevicesMax>> samples_;  // taken, not yet delivered: a ring
  std::vector<int64_t> sample_times_ns_;
  size_t sample_head_ = 0, sample_count_ = 0;
  sched::LinkTable links_{};
  DeviceId accelerator_{1};
  uint64_t finished_steps_ = 0;
  bool in_window_ = false;
  int64_t window_begin_ns_ = 0;
  Wide in_progress_area_ = 0;
  int64_t in_progress_ = 0, in_progress_at_ns_ = 0;
  Wide waited_sum_ns_ = 0;
  uint64_t point_stages_ = 0, point_accelerated_ = 0;
  RunResult result_;
};

Status Engine::prepare(std::string_view policy) {
  result_.policy = policy;
  result_.seed = seed_;
  result_.devices.resize(scenario_.devices.size());
  links_ = idle_links(scenario_);
  accelerator_ = scenario_.devices.size() > 1 ? scenario_.policy.accelerator : sched::kHost;
  for (uint32_t d = 0; d < scenario_.devices.size(); ++d) {
    const DeviceModel& device = scenario_.devices[d];
    devices_.push_back(
        std::make_unique<Station>(StationOptions{device.servers, device.processor_sharing, device.queue,
                                                 device.context_ns, kDevice, d, true},
                                  events_));
    rates_.emplace_back(device.rate, base_.fork(500 + d));
    outages_.emplace_back(device.faults, base_.fork(400 + d));
    if (const int64_t at_ns = rates_[d].next_ns(); at_ns != plan::kNever) events_.push(at_ns, kRate, d);
    if (const int64_t at_ns = outages_[d].next_ns(); at_ns != plan::kNever) events_.push(at_ns, kFault, d);
  }
  for (uint32_t i = 0; i < channels_.count(); ++i) {
    link_outages_.emplace_back(channels_.link(i).faults, base_.fork(450 + i));
    if (const int64_t at_ns = link_outages_[i].next_ns(); at_ns != plan::kNever)
      events_.push(at_ns, kLinkFault, i);
  }
  for (uint32_t i = 0; i < scenario_.backgrounds.size(); ++i) {
    streams_.emplace_back(scenario_.backgrounds[i], base_, i);
    if (streams_[i].at_ns() != plan::kNever) events_.push(streams_[i].at_ns(), kBackground, i);
  }
  monitor_noise_ = base_.fork(300);
  if (scenario_.monitor.period_ns > 0) {
    const auto ring = static_cast<size_t>(scenario_.monitor.delay_ns / scenario_.monitor.period_ns + 2);
    samples_.resize(ring);
    sample_times_ns_.resize(ring);
    events_.push(0, kMonitor, 0);
  }
  next_step_.resize(scenario_.jobs.size(), 0);
  step_arrivals_.reserve(scenario_.jobs.size());
  for (uint32_t j = 0; j < scenario_.jobs.size(); ++j) {
    const JobModel& job = scenario_.jobs[j];
    sched::PolicyOptions policy_options = scenario_.policy;
    policy_options.seed = seed_ * 64 + j;
    policies_.push_back(TANDEM_TRY(sched::make_policy(policy, policy_options, {job.program, links_})));
    step_arrivals_.emplace_back(job.arrivals, base_.fork(600 + j));
    if (!job.open) {
      events_.push(0, kNextStep, free_record());
      steps_.back().job = j;
    } else if (const int64_t at_ns = step_arrivals_[j].next_ns(); at_ns != plan::kNever) {
      events_.push(at_ns, kStepArrival, j);
    }
  }
  if (scenario_.warm_up_ns > 0) {
    events_.push(scenario_.warm_up_ns, kWarmUp, 0);
  } else {
    in_window_ = true;
  }
  if (options_.timeline) events_.push(scenario_.horizon_ns / 1000 + 1, kTimeline, 0);
  return {};
}

Status Engine::run() {
  uint64_t count = 0;
  while (!events_.empty() && events_.top().time_ns <= scenario_.horizon_ns) {
    const Event event = events_.pop();
    now_ns_ = event.time_ns;
    if ((++count & 0x7fff) == 0 && options_.cancel != nullptr) TANDEM_TRY(options_.cancel->check());
    Status status = handle(event);
    if (!status.ok()) return status;
    if (scenario_.steps_max > 0 && finished_steps_ >= scenario_.steps_max) break;
  }
  if (events_.empty() && !held_.empty()) {
    return bad_input(fmt::format("policy '{}' holds a stage for ever", result_.policy))
        .because("nothing else will happen that could change its mind");
  }
  const bool ended_by_steps = scenario_.steps_max > 0 && finished_steps_ >= scenario_.steps_max;
  if (!ended_by_steps) now_ns_ = scenario_.horizon_ns;
  if (!in_window_)
    return bad_input("the run ended before its warm-up").hint("a longer horizon or more steps");
  return {};
}

Status Engine::handle(const Event& event) {
  ++result_.event_count;
  switch (static_cast<EventKind>(event.kind)) {
    case kBackground: on_background(event.index); return {};
    case kDevice: return on_device(event);
    case kLatency: {
      const uint32_t record = event.index / kDevicesMax, from = event.index % kDevicesMax;
      const Step& step = steps_[record];
      channels_.send(now_ns_, from, index_of(step.device), step.sent_bytes[from], record | kOwnJob);
      return {};
    }
    case kChannel: {
      channels_.on_event(now_ns_, event);
      for (const Departure& departure : channels_.departures(event.index)) {
        const uint32_t record = departure.job.id & ~kOwnJob;
        if (--steps_[record].transfers_left > 0) continue;
        Status status = enter_device(record);
        if (!status.ok()) return status;
      }
      return {};
    }
    case kStepArrival: return on_step_arrival(event.index);
    case kNextStep: return begin_step(steps_[event.index].job, event.index);
    case kMonitor: on_monitor(); return {};
    case kDeliver: on_deliver(); return ask_held();
    case kRate: on_rate(event.index); return {};
    case kFault: return on_fault(event.index);
    case kLinkFault: on_link_fault(event.index); return ask_held();
    case kTimeline: on_timeline(); return {};
    case kWarmUp: begin_window(); return {};
  }
  return {};
}

void Engine::on_background(uint32_t index) {
  BackgroundStream& stream = streams_[index];
  const BackgroundModel& background = scenario_.backgrounds[index];
  ++result_.arrival_count;
  if (outages_[background.device].is_up()) {
    devices_[background.device]->arrive(now_ns_, {.id = index,
                                                  .client = index + 1,
                                                  .priority = background.priority,
                                                  .arrival_ns = now_ns_,
                                                  .work_ns = background.mean_work_ns,
                                                  .driver_data = stream.work_ns()});
  }
  stream.advance();
  if (stream.at_ns() != plan::kNever) events_.push(stream.at_ns(), kBackground, index);
}

Status Engine::on_device(const Event& event) {
  const uint32_t device = event.index & 0xff;
  devices_[device]->on_event(now_ns_, event);
  if (!devices_[device]->departures().empty()) TANDEM_TRY(take_departures(device, false));
  return held_.empty() ? Status{} : ask_held();
}

Status Engine::take_departures(uint32_t device, bool lost) {
  // stage_done() may enter the same station again, which clears its list.
  departed_ = devices_[device]->departures();
  for (const Departure& departure : departed_) {
    const uint32_t record = departure.job.id & ~kOwnJob;
    Step& step = steps_[record];
    bool failed = lost;
    if (!failed && scenario_.devices[device].faults.job_failure > 0) {
      Rng rng = base_.fork(((step.number * 97 + step.stage) * 97 + step.attempt) * 8 + 7 +
                           (uint64_t{step.job} << 56));
      failed = rng.uniform() < scenario_.devices[device].faults.job_failure;
    }
    if (!failed) {
      TANDEM_TRY(stage_done(record, departure.start_ns));
      continue;
    }
    ++result_.failure_count;
    ++step.attempt;
    policies_[step.job]->completed({step.stage, step.device, now_ns_ - step.decided_ns, 0, true});
    TANDEM_TRY(decide(record));
  }
  return {};
}

uint32_t Engine::free_record() {
  if (free_steps_.empty()) {
    steps_.emplace_back();
    return static_cast<uint32_t>(steps_.size() - 1);
  }
  const uint32_t record = free_steps_.back();
  free_steps_.pop_back();
  return record;
}

Status Engine::on_step_arrival(uint32_t job) {
  const int64_t next_ns = step_arrivals_[job].next_ns();
  if (next_ns != plan::kNever) events_.push(std::max(next_ns, now_ns_), kStepArrival, job);
  ++result_.arrival_count;
  if (in_progress_ >= kStepsMax) {
    if (result_.notes.empty())
      result_.notes.push_back("more than 65536 steps in progress: arrivals are refused");
    return {};
  }
  const uint32_t record = free_record();
  steps_[record] = {};
  return begin_step(job, record);
}

Status Engine::begin_step(uint32_t job, uint32_t record) {
  Step& step = steps_[record];
  const sched::Program& program = scenario_.jobs[job].program;
  if (step.number == kNoStep) step.locations = sched::at_start(program);
  step.job = job;
  step.number = next_step_[job]++;
  step.stage = 0;
  step.attempt = 0;
  step.active = true;
  step.begin_ns = now_ns_;
  step.waited_ns = 0;
  sched::begin_step(program, step.locations);
  in_progress_area_ += Wide{in_progress_} * (now_ns_ - in_progress_at_ns_);
  in_progress_at_ns_ = now_ns_;
  ++in_progress_;
  return decide(record);
}

Status Engine::decide(uint32_t record) {
  // A line that is there already is served in order.
  held_.push_back(record);
  steps_[record].decided_ns = now_ns_;
  return ask_held();
}

Status Engine::ask_held() {
  size_t at = 0;
  while (at < held_.size()) {
    const uint32_t record = held_[at];
    Step& step = steps_[record];
    const JobModel& job = scenario_.jobs[step.job];
    if (scenario_.monitor.period_ns == 0) {
      for (uint32_t d = 0; d < devices_.size(); ++d) observer_.sample(DeviceId{d}, now_ns_, sample_of(d));
    }
    channels_.observe(links_);
    const sched::Situation situation{
        .now_ns = now_ns_,
        .program = job.program,
        .stage = step.stage,
        .locations = step.locations,
        .devices = observer_.observe(now_ns_, job.program.stages[step.stage].nominal_ns),
        .links = links_,
        .last_device = step.last_device,
        .last_switch_ns = step.last_switch_ns,
        .waiting = static_cast<int32_t>(held_.size() - at)};
    const sched::Decision decision = policies_[step.job]->decide(situation);
    ++result_.decision_count;
    if (options_.explain_step >= 0 && step.job == 0 &&
        step.number == static_cast<uint64_t>(options_.explain_step)) {
      std::vector<std::string> names;
      for (const DeviceModel& device : scenario_.devices) names.push_back(device.name);
      result_.explanation += sched::explain(situation, decision, names) + "\n";
    }
    if (decision.hold()) {
      ++result_.hold_count;
      // One line for all: the ones behind wait too, unless they belong to other jobs.
      ++at;
      while (at < held_.size() && steps_[held_[at]].job == step.job) ++at;
      continue;
    }
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
    TANDEM_TRY(dispatch(step, record, decision));
    at = 0;
  }
  return {};
}

Status Engine::dispatch(Step& step, uint32_t record, const sched::Decision& decision) {
  const sched::Program& program = scenario_.jobs[step.job].program;
  const sched::Stage& stage = program.stages[step.stage];
  const uint32_t to = index_of(decision.device);
  const sched::CostTerms& terms = decision.terms[to];
  if (terms.possible()) {
    TermMeans& means = result_.terms;
    ++means.count;
    means.wait_ns += static_cast<double>(terms.wait_ns);
    means.service_ns += static_cast<double>(terms.service_ns);
    means.transfer_ns += static_cast<double>(terms.transfer_ns);
    means.switching_ns += static_cast<double>(terms.switching_ns);
    means.uncertainty_ns += static_cast<double>(terms.uncertainty_ns);
  }
  if (step.last_device != sched::kNoDevice && step.last_device != decision.device) {
    ++result_.switch_count;
    step.last_switch_ns = now_ns_;
  }
  step.device = decision.device;
  step.transfers_left = 0;
  sched::TensorSet missing = stage.inputs - step.locations.present[to];
  for (uint32_t from = 0; from < devices_.size() && !missing.empty(); ++from) {
    const sched::TensorSet sent = missing & step.locations.present[from];
    if (from == to || sent.empty() || !channels_.joins(from, to)) continue;
    missing = missing - sent;
    step.sent_bytes[from] = sched::bytes_of(program, sent);
    ++step.transfers_left;
    ++result_.transfer_count;
    result_.transfer_bytes += step.sent_bytes[from];
    events_.push(now_ns_ + links_[from * kDevicesMax + to].latency_ns, kLatency, record * kDevicesMax + from);
  }
  return step.transfers_left == 0 ? enter_device(record) : Status{};
}

Status Engine::enter_device(uint32_t record) {
  Step& step = steps_[record];
  const uint32_t device = index_of(step.device);
  const sched::Stage& stage = scenario_.jobs[step.job].program.stages[step.stage];
  const int64_t work_ns =
      stage_work_ns(scenario_, base_, {step.number, step.stage, step.attempt, step.job, device});
  step.ready_ns = now_ns_;
  ++result_.start_count;
  const bool accepted = outages_[device].is_up() &&
                        devices_[device]->arrive(now_ns_, {.id = record | kOwnJob,
                                                           .client = 0,
                                                           .priority = scenario_.jobs[step.job].priority,
                                                           .arrival_ns = now_ns_,
                                                           .work_ns = stage.nominal_ns[device],
                                                           .driver_data = work_ns});
  if (accepted) return {};
  // Lost meanwhile, or its line is full: asked again when the monitor may have seen it.
  ++result_.failure_count;
  ++step.attempt;
  policies_[step.job]->completed({step.stage, step.device, now_ns_ - step.decided_ns, 0, true});
  if (step.attempt > 1000) {
    return bad_input(fmt::format("stage '{}' was refused a thousand times", stage.name))
        .hint("a queue with more capacity, or another policy");
  }
  if (outages_[device].is_up()) {
    // Refused by a full line. The policy cannot see that it is full, so the host takes it if it can.
    if (device != 0 && stage.nominal_ns[0] != sched::kCannotRun) {
      sched::Decision host;
      host.device = sched::kHost;
      return dispatch(step, record, host);
    }
  } else {
    // A policy that reads an old sample would choose the lost device again and again at the same instant.
    observer_.sample(step.device, now_ns_, {.available = false});
  }
  return decide(record);
}

Status Engine::stage_done(uint32_t record, int64_t start_ns) {
  Step& step = steps_[record];
  const sched::Program& program = scenario_.jobs[step.job].program;
  const sched::Stage& stage = program.stages[step.stage];
  const uint32_t device = index_of(step.device);
  const int64_t wait_ns = start_ns - step.ready_ns;
  const int64_t service_ns = now_ns_ - start_ns;
  ++result_.completion_count;
  observer_.served(step.device, now_ns_, stage.nominal_ns[device], service_ns);
  policies_[step.job]->completed({step.stage, step.device, now_ns_ - step.decided_ns, service_ns, false});
  step.waited_ns += wait_ns;
  if (in_window_) {
    ++result_.devices[device].stage_count;
    if (wait_ns > service_ns) ++result_.devices[device].stall_count;
    result_.stage_wait.add(wait_ns);
    result_.terms.real_wait_ns += static_cast<double>(wait_ns);
    result_.terms.real_service_ns += static_cast<double>(service_ns);
    result_.terms.real_transfer_ns += static_cast<double>(step.ready_ns - step.decided_ns);
  }
  ++point_stages_;
  if (step.device == accelerator_) ++point_accelerated_;
  if (options_.trace != nullptr) trace_stage(step, record, start_ns);
  sched::after_stage(stage, program.device_count, step.device, step.locations);
  step.last_device = step.device;
  step.attempt = 0;
  if (++step.stage < program.stages.size()) return decide(record);
  end_step(record);
  return {};
}

void Engine::end_step(uint32_t record) {
  Step& step = steps_[record];
  const JobModel& job = scenario_.jobs[step.job];
  step.active = false;
  ++finished_steps_;
  in_progress_area_ += Wide{in_progress_} * (now_ns_ - in_progress_at_ns_);
  in_progress_at_ns_ = now_ns_;
  --in_progress_;
  if (result_.step_end_ns.size() < options_.keep_steps) result_.step_end_ns.push_back(now_ns_);
  // A step that began before the window would bring the warm-up in.
  if (in_window_ && step.begin_ns >= window_begin_ns_) {
    const int64_t step_ns = now_ns_ - step.begin_ns;
    result_.step_time.add(step_ns);
    result_.step_sketch.add(step_ns);
    result_.step_series.add(static_cast<double>(step_ns));
    waited_sum_ns_ += step.waited_ns;
  }
  if (job.open) {
    free_steps_.push_back(record);
  } else {
    events_.push(now_ns_ + job.think_ns, kNextStep, record);
  }
}

sched::QueueSample Engine::sample_of(uint32_t d) {
  const Station& station = *devices_[d];
  return {.queue_depth = station.number(),
          .work_ahead_ns = station.work_ahead_ns(now_ns_),
          .contention_share = station.contention_share(),
          .others_busy_ns = station.others_busy_ns(now_ns_),
          .others_job_count = station.others_job_count(),
          .available = outages_[d].is_up()};
}

void Engine::on_monitor() {
  events_.push(now_ns_ + scenario_.monitor.period_ns, kMonitor, 0);
  const size_t slot = (sample_head_ + sample_count_) % samples_.size();
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    sched::QueueSample sample = sample_of(d);
    if (scenario_.monitor.noise > 0) {
      const double factor = std::max(0.0, 1 + scenario_.monitor.noise * monitor_noise_.normal());
      sample.work_ahead_ns = static_cast<int64_t>(static_cast<double>(sample.work_ahead_ns) * factor);
    }
    samples_[slot][d] = sample;
  }
  sample_times_ns_[slot] = now_ns_;
  ++sample_count_;
  events_.push(now_ns_ + scenario_.monitor.delay_ns, kDeliver, 0);
}

void Engine::on_deliver() {
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    observer_.sample(DeviceId{d}, sample_times_ns_[sample_head_], samples_[sample_head_][d]);
  }
  sample_head_ = (sample_head_ + 1) % samples_.size();
  --sample_count_;
}

Status Engine::on_fault(uint32_t device) {
  outages_[device].turn(now_ns_);
  events_.push(outages_[device].next_ns(), kFault, device);
  if (outages_[device].is_up()) return ask_held();
  devices_[device]->lose_all(now_ns_);
  // A broken job is how the loss is noticed, whatever the monitor's period.
  if (!devices_[device]->departures().empty()) {
    observer_.sample(DeviceId{device}, now_ns_, {.available = false});
  }
  return take_departures(device, true);
}

void Engine::on_link_fault(uint32_t channel) {
  link_outages_[channel].turn(now_ns_);
  events_.push(link_outages_[channel].next_ns(), kLinkFault, channel);
  channels_.set_up(now_ns_, channel, link_outages_[channel].is_up());
}

void Engine::on_rate(uint32_t device) {
  const Station& station = *devices_[device];
  const int64_t busy_ns = station.totals().own_busy_ns + station.totals().others_busy_ns;
  const double speed =
      rates_[device].turn(now_ns_, static_cast<double>(busy_ns) / scenario_.devices[device].servers);
  devices_[device]->set_speed(now_ns_, speed);
  if (const int64_t at_ns = rates_[device].next_ns(); at_ns != plan::kNever)
    events_.push(at_ns, kRate, device);
}

void Engine::on_timeline() {
  const double share =
      point_stages_ == 0 ? 0 : static_cast<double>(point_accelerated_) / static_cast<double>(point_stages_);
  result_.timeline.push_back({now_ns_, devices_[index_of(accelerator_)]->number(), share});
  point_stages_ = point_accelerated_ = 0;
  events_.push(now_ns_ + scenario_.horizon_ns / 1000 + 1, kTimeline, 0);
}

void Engine::begin_window() {
  in_window_ = true;
  window_begin_ns_ = now_ns_;
  for (auto& device : devices_) device->begin_window(now_ns_);
  channels_.begin_window(now_ns_);
  in_progress_area_ = 0;
  in_progress_at_ns_ = now_ns_;
  result_.decision_count = result_.hold_count = result_.switch_count = result_.failure_count = 0;
  result_.transfer_bytes = result_.transfer_count = 0;
  result_.terms = {};
}

void Engine::trace_stage(const Step& step, uint32_t record, int64_t start_ns) {
  const sched::Stage& stage = scenario_.jobs[step.job].program.stages[step.stage];
  const auto process = static_cast<int32_t>(index_of(step.device));
  const auto thread = static_cast<int32_t>(record);
  const Json args = Json::object({{"step", step.number}, {"waited_ns", start_ns - step.ready_ns}});
  if (step.ready_ns > step.decided_ns) {
    options_.trace->span({process, thread}, "transfer", step.decided_ns, step.ready_ns - step.decided_ns,
                         args);
  }
  if (start_ns > step.ready_ns) {
    options_.trace->span({process, thread}, "wait", step.ready_ns, start_ns - step.ready_ns, args);
  }
  options_.trace->span({process, thread}, stage.name, start_ns, now_ns_ - start_ns, args);
  options_.trace->counter(process, "queue", now_ns_,
                          {{"jobs", static_cast<double>(devices_[static_cast<size_t>(process)]->number())}});
}

Result<RunResult> Engine::finish() {
  result_.window_ns = now_ns_ - window_begin_ns_;
  const auto window = static_cast<double>(std::max<int64_t>(result_.window_ns, 1));
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    const DeviceModel& model = scenario_.devices[d];
    Station& station = *devices_[d];
    station.end_window(now_ns_);
    const StationTotals& totals = station.totals();
    TANDEM_TRY(check_little(totals, model.name));
    DeviceTotals& out = result_.devices[d];
    out.station = totals;
    out.number_mean = static_cast<double>(totals.area_ns) / window;
    out.own_share = static_cast<double>(totals.own_busy_ns) / window / model.servers;
    out.utilization = out.own_share + static_cast<double>(totals.others_busy_ns) / window / model.servers;
    out.energy_j = (model.idle_w + (model.busy_w - model.idle_w) * out.utilization) * window * 1e-9;
    out.others_sojourn = station.others_sojourn();
    out.others_wait = station.others_wait();
    out.others_sketch = station.others_sketch();
    out.others_series = station.others_series();
    out.estimator = observer_.errors(DeviceId{d});
    if (offered_load(scenario_, d) >= 1) {
      result_.notes.push_back(
          fmt::format("device '{}' is offered {:.2f} times what it can serve: its queue grows "
                      "until the horizon, and means depend on it",
                      model.name, offered_load(scenario_, d)));
    }
    if (totals.refused_count > 0) {
      result_.notes.push_back(
          fmt::format("device '{}' refused {} jobs: its queue was full", model.name, totals.refused_count));
    }
  }
  result_.channels = TANDEM_TRY(channels_.finish(now_ns_));
  in_progress_area_ += Wide{in_progress_} * (now_ns_ - in_progress_at_ns_);
  result_.mean_in_progress = static_cast<double>(in_progress_area_) / window;
  if (result_.step_time.count > 0) {
    result_.congestion_exposure =
        static_cast<double>(waited_sum_ns_) / static_cast<double>(result_.step_time.sum);
  }
  TermMeans& terms = result_.terms;
  const auto stages = static_cast<double>(std::max<uint64_t>(result_.stage_wait.count, 1));
  const auto decisions = static_cast<double>(std::max<uint64_t>(terms.count, 1));
  for (double* sum :
       {&terms.wait_ns, &terms.service_ns, &terms.transfer_ns, &terms.switching_ns, &terms.uncertainty_ns}) {
    *sum /= decisions;
  }
  for (double* sum : {&terms.real_wait_ns, &terms.real_service_ns, &terms.real_transfer_ns}) *sum /= stages;
  return std::move(result_);
}

}  // namespace

double RunResult::steps_per_s() const {
  return window_ns > 0 ? static_cast<double>(step_time.count) * 1e9 / static_cast<double>(window_ns) : 0;
}

double RunResult::accelerator_stage_share(uint32_t accelerator) const {
  uint64_t all = 0;
  for (const DeviceTotals& device : devices) all += device.stage_count;
  if (all == 0 || accelerator >= devices.size()) return 0;
  return static_cast<double>(devices[accelerator].stage_count) / static_cast<double>(all);
}

Result<RunResult> simulate(const Scenario& scenario, std::string_view policy, const RunOptions& options) {
  TANDEM_TRY(verify(scenario));
  const auto engine = std::make_unique<Engine>(scenario, options);
  TANDEM_TRY(engine->prepare(policy));
  TANDEM_TRY(engine->run());
  return engine->finish();
}

}  // namespace tandem::sim
