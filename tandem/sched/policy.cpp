// SPDX-License-Identifier: Apache-2.0
// The table of policies, and how a decision is put into words.
#include "tandem/sched/policy.hpp"

#include <cmath>

#include "tandem/base/table.hpp"
#include "tandem/base/text.hpp"
#include "tandem/base/units.hpp"
#include "tandem/sched/policies.hpp"

namespace tandem::sched {
namespace {

struct PolicyRow {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Policy> (*make)(const PolicyOptions&, const PolicyContext&);
};

constexpr PolicyRow kPolicies[] = {
    {"static-cpu", "every stage on the host", make_static_cpu},
    {"static-accelerator", "every stage on the accelerator that it can run", make_static_accelerator},
    {"static-split", "one run of stages on the accelerator, the best on idle devices", make_static_split},
    {"random", "any device, with equal chance", make_random},
    {"round-robin", "the devices in turn", make_round_robin},
    {"join-shortest-queue", "the device with the fewest jobs", make_join_shortest_queue},
    {"earliest-finish", "least wait, service and transfer (dmda of StarPU)", make_earliest_finish},
    {"earliest-finish-priority", "the same, and late stages go first in queues (dmdas)",
     make_earliest_finish_priority},
    {"cost", "least cost with switching and uncertainty: the paper's", make_cost},
    {"cost-hysteresis", "cost, but moves only by a margin and after a dwell time", make_cost_hysteresis},
    {"threshold", "the accelerator while its line is short (Lin and Kumar)", make_threshold},
    {"work-function", "the online algorithm with competitive ratio 3", make_work_function},
    {"lookahead", "least cost over the stages ahead", make_lookahead},
    {"ucb", "learns by upper confidence bounds, within a safe set", make_ucb},
    {"thompson", "learns by posterior sampling, within a safe set", make_thompson},
};

Status check_options(const PolicyOptions& o, const PolicyContext& context) {
  const auto refuse = [](const char* name, const char* range) {
    return bad_input(fmt::format("policy option '{}' is out of range", name)).because(range);
  };
  if (o.switch_ns < 0 || o.switch_ns > kTimeMaxNs) return refuse("switch", "a time from 0 to a year");
  if (o.dwell_ns < 0 || o.dwell_ns > kTimeMaxNs) return refuse("dwell", "a time from 0 to a year");
  if (!(o.risk >= 0 && o.risk <= 100)) return refuse("risk", "0 to 100");
  if (!(o.margin >= 0 && o.margin < 1)) return refuse("margin", "0 to below 1");
  if (o.threshold < 0) return refuse("threshold", "0 or more");
  if (o.horizon < 1 || o.horizon > kStagesMax) return refuse("horizon", "1 to 96");
  if (!(o.exploration >= 0 && o.exploration <= 100)) return refuse("exploration", "0 to 100");
  if (!(o.safety >= 1 && o.safety <= 1e6)) return refuse("safety", "1 to 1e6");
  if (index_of(o.accelerator) >= context.program.device_count) {
    return refuse("accelerator", "one of the devices");
  }
  return {};
}

}  // namespace

const char* to_string(Reason reason) {
  switch (reason) {
    case Reason::kFixed: return "fixed";
    case Reason::kTurn: return "turn";
    case Reason::kShortest: return "shortest queue";
    case Reason::kCheapest: return "cheapest";
    case Reason::kMargin: return "stays: the saving is below the margin";
    case Reason::kDwell: return "stays: moved too recently";
    case Reason::kBelowThreshold: return "the line is short enough";
    case Reason::kAboveThreshold: return "the line is too long";
    case Reason::kWaits: return "holds for the fast device";
    case Reason::kWorkFunction: return "least work function";
    case Reason::kPath: return "cheapest path over the stages ahead";
    case Reason::kExplores: return "explores";
    case Reason::kExploits: return "did best so far";
    case Reason::kFallback: return "the wanted device cannot run it now";
    case Reason::kNobodyCan: return "holds: no device can run it now";
  }
  return "?";
}

std::vector<PolicyInfo> policies() {
  std::vector<PolicyInfo> infos;
  for (const PolicyRow& row : kPolicies) infos.push_back({row.name, row.summary});
  return infos;
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name, const PolicyOptions& options,
                                            const PolicyContext& context) {
  std::vector<std::string> names;
  for (const PolicyRow& row : kPolicies) {
    names.emplace_back(row.name);
    if (row.name != name) continue;
    TANDEM_TRY(verify(context.program));
    TANDEM_TRY(check_options(options, context));
    return row.make(options, context);
  }
  return usage_error(fmt::format("there is no policy '{}'", printable(name))).hint(did_you_mean(name, names));
}

std::string explain(const Situation& situation, const Decision& decision,
                    const std::vector<std::string>& device_names) {
  TextTable table({{"device"},
                   {"queue", Align::kRight},
                   {"wait", Align::kRight},
                   {"service", Align::kRight},
                   {"transfer", Align::kRight},
                   {"switching", Align::kRight},
                   {"uncertainty", Align::kRight},
                   {"total", Align::kRight},
                   {"chosen"}});
  for (uint32_t d = 0; d < situation.program.device_count; ++d) {
    CostTerms terms = decision.terms[d];
    if (!terms.possible()) terms = cost_of(situation, DeviceId{d}, {});
    const auto ns = [&](int64_t value) { return terms.possible() ? format_duration_ns(value) : "-"; };
    table.add_row({device_names[d], fmt::format("{}", situation.devices[d].queue_depth), ns(terms.wait_ns),
                   ns(terms.service_ns), ns(terms.transfer_ns), ns(terms.switching_ns),
                   ns(terms.uncertainty_ns), ns(terms.total_ns),
                   decision.device == DeviceId{d} ? to_string(decision.reason) : ""});
  }
  std::string text = fmt::format("stage '{}' at {}\n", situation.program.stages[situation.stage].name,
                                 format_duration_ns(situation.now_ns));
  if (decision.hold()) text += fmt::format("held: {}\n", to_string(decision.reason));
  return text + table.to_string();
}

}  // namespace tandem::sched
