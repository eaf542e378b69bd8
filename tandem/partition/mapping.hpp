// SPDX-License-Identifier: Apache-2.0
// Which node of a quantized graph a DPU runs, and why another one it does not: a reason from one table, the
// limit and the actual value. Sources: UG1414 (supported operators), the open quantizer's own checks, files
// of AMD's compiler.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tandem/ir/graph.hpp"
#include "tandem/partition/dpu_target.hpp"

namespace tandem::partition {

enum class Side : uint8_t {
  kDpu,
  kCpu,
  kNothing,  // a change of layout or of form at the border: no work
};
std::string_view to_string(Side side);

enum class Reason : uint8_t {
  kFits,
  kNoWork,
  kUnknownOp,
  kOperator,
  kNotQuantized,
  kBits,
  kComputedWeights,
  kRank,
  kKernel,
  kStride,
  kDilation,
  kPad,
  kGroup,
  kChannels,
  kWeightDepth,
  kActivation,
  kActivationAlone,
  kSlope,
  kConstantOperand,
  kConcatOutside,
  kReshapeInterface,
  kAxis,
  kOutputPadding,
  kScale,
};

// The table that inspect, split and the documentation share.
struct ReasonInfo {
  Reason reason;
  std::string_view code;  // "activation-alone"
  std::string_view rule;  // what must hold
  std::string_view fix;   // what would bring the node to the DPU
};
const std::vector<ReasonInfo>& reason_table();
const ReasonInfo& info_of(Reason reason);

struct NodeMapping {
  ir::NodeId node = ir::kNoNode;
  Side side = Side::kCpu;
  Reason reason = Reason::kFits;
  std::string limit, actual;  // empty where the reason says all
  int64_t macs = 0;
  int32_t part = -1;  // index of the part, -1 for nodes without work
};

struct MappedPart {
  Side side = Side::kDpu;
  std::vector<ir::NodeId> nodes;
  int64_t macs = 0;
};

struct Mapping {
  std::vector<NodeMapping> nodes;  // in topological order
  std::vector<MappedPart> parts;   // in an order in which they can run
  int64_t dpu_macs = 0, cpu_macs = 0;
  int64_t bytes_across = 0;  // of values that one side makes and the other reads, each once
  // "27 of 29 nodes on the DPU (99.9 % of MACs) in 2 parts, ..."
  std::string summary(const DpuTarget& target) const;
};

// Precondition: the graph verifies and its shapes are static. Parts are convex: whatever leaves a part never
// comes back to it.
Result<Mapping> map_to_dpu(const ir::Graph& graph, const DpuTarget& target);

}  // namespace tandem::partition
