// SPDX-License-Identifier: Apache-2.0
// Policy: places a stage on a device, or holds it until the next event. The same objects drive the simulator
// and the live runtime. decide() reads no clock, takes no lock and allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/sched/cost.hpp"

namespace tandem::sched {

// Why a decision came out as it did.
enum class Reason : uint8_t {
  kFixed,     // the policy is static
  kTurn,      // random or round-robin
  kShortest,  // shortest queue
  kCheapest,  // least cost
  kMargin,    // another device was cheaper, but not by the margin
  kDwell,     // another device was cheaper, but the placement changed too recently
  kBelowThreshold,
  kAboveThreshold,
  kWaits,  // hold: the fast device is busy and the line is short
  kWorkFunction,
  kPath,       // least cost over the stages ahead
  kExplores,   // learning: the less known placement
  kExploits,   // learning: the placement that did best
  kFallback,   // the wanted device is lost or cannot run the stage
  kNobodyCan,  // hold: no device can run the stage now
};
const char* to_string(Reason reason);

struct Decision {
  DeviceId device = kNoDevice;  // kNoDevice: hold
  Reason reason = Reason::kNobodyCan;
  int32_t priority = 0;  // for queues that order by it; higher goes first
  // What the policy computed on the way, for those that compute it; total_ns == kCannotRun otherwise.
  std::array<CostTerms, kDevicesMax> terms{};
  bool hold() const { return device == kNoDevice; }
};

class Policy {
 public:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;
  // Postcondition: hold, or a device that is available and can run the stage.
  virtual Decision decide(const Situation& situation) = 0;
  virtual void completed(const Feedback&) {}
};

struct PolicyOptions {
  int64_t switch_ns = 0;   // switching penalty in costs
  double risk = 0;         // weight of the uncertainty
  double margin = 0.1;     // cost-hysteresis: a move must save this share of the present cost
  int64_t dwell_ns = 0;    // cost-hysteresis: and come this long after the last one
  int32_t threshold = 1;   // threshold: stages that may wait for the fast device
  bool hold = false;       // threshold: the driver keeps one line, stages wait in it instead of at a device
  uint32_t horizon = 16;   // lookahead: stages
  double exploration = 1;  // learning: width of the confidence bound
  double safety = 4;       // learning: a placement is tried only below this many times the cheapest cost
  DeviceId accelerator = DeviceId{1};
  uint64_t seed = 1;
};

// What a policy may know at its construction.
struct PolicyContext {
  const Program& program;  // outlives the policy
  const LinkTable& links;  // idle links; read during construction only
};

struct PolicyInfo {
  std::string_view name;
  std::string_view summary;
};
// The table of all policies, in the order of the documentation.
std::vector<PolicyInfo> policies();

// Error kUsage with a "did you mean" for an unknown name, kBadInput for options out of range (it names option
// and range).
Result<std::unique_ptr<Policy>> make_policy(std::string_view name, const PolicyOptions& options,
                                            const PolicyContext& context);

// One line per device: each cost term, and which was chosen and why.
std::string explain(const Situation& situation, const Decision& decision,
                    const std::vector<std::string>& device_names);

}  // namespace tandem::sched
