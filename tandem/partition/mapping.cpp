// SPDX-License-Identifier: Apache-2.0
// From sides of nodes to parts, and the table of reasons.
#include "tandem/partition/mapping.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "tandem/base/check.hpp"
#include "tandem/base/units.hpp"
#include "tandem/ir/cost.hpp"
#include "tandem/partition/mapping_rules.hpp"

namespace tandem::partition {

std::string_view to_string(Side side) {
  switch (side) {
    case Side::kDpu: return "DPU";
    case Side::kCpu: return "CPU";
    case Side::kNothing: return "-";
  }
  return "?";
}

const std::vector<ReasonInfo>& reason_table() {
  static const std::vector<ReasonInfo> table = {
      {Reason::kFits, "fits", "within all limits of the target", ""},
      {Reason::kNoWork, "no-work", "a change of layout or form that needs no computing", ""},
      {Reason::kUnknownOp, "unknown-op", "the operator is known", "write it with known operators"},
      {Reason::kOperator, "operator", "the DPU has an engine for the operator",
       "replace it by one that the DPU has (hard_sigmoid for sigmoid, for example)"},
      {Reason::kNotQuantized, "not-quantized",
       "all activations around the node are quantized with powers of two",
       "quantize with --scheme pow2 and without --keep-float for the node and its neighbours"},
      {Reason::kBits, "bits", "values have 8 bits and a sign", "quantize with 8 bits, signed"},
      {Reason::kComputedWeights, "computed-weights", "weights are constants", "fold what computes them"},
      {Reason::kRank, "rank", "data has a batch, two spatial dimensions and channels",
       "reshape it to four dimensions"},
      {Reason::kKernel, "kernel", "the kernel is within the engine's range", "a smaller kernel"},
      {Reason::kStride, "stride", "the stride is within the engine's range", "a smaller stride"},
      {Reason::kDilation, "dilation",
       "dilation times input channels is at most 256 times the channel parallelism",
       "less dilation, or fewer channels"},
      {Reason::kPad, "pad", "pads are within the engine's range and below the kernel's extent",
       "smaller pads"},
      {Reason::kGroup, "group", "one group, or one per channel",
       "split it: Split, one Conv per group, Concat"},
      {Reason::kChannels, "channels", "at most 256 times the channel parallelism", "fewer channels"},
      {Reason::kWeightDepth, "weight-depth",
       "kernel height times width times groups of input channels fits into the depth of the weight memory",
       "fewer input channels or a smaller kernel"},
      {Reason::kActivation, "activation", "the engine has the fused activation",
       "relu, relu6 or leaky_relu of 26/256"},
      {Reason::kActivationAlone, "activation-alone",
       "the activation follows a convolution or an addition directly",
       "move it there: relu and max pool may change places"},
      {Reason::kSlope, "slope", "LeakyRelu has a slope of 26/256",
       "train with a slope of 26/256 = 0.1015625"},
      {Reason::kConstantOperand, "constant-operand", "both operands of an addition are activations",
       "fold the constant into the bias before it"},
      {Reason::kConcatOutside, "concat-outside", "a Concat with an input from outside is over channels",
       "concatenate over channels, or keep its inputs on the DPU"},
      {Reason::kReshapeInterface, "reshape-interface",
       "a reshape follows a DPU node and keeps the batch dimension", "keep dimension 0"},
      {Reason::kAxis, "axis", "a reduction is over height or width and keeps its dimensions",
       "reduce over height and width with keepdims"},
      {Reason::kOutputPadding, "output-padding", "a transposed convolution has no output padding",
       "choose kernel, stride and pads that need none"},
      {Reason::kScale, "scale", "a resize is nearest, or linear with one scale of 2, 4 or 8",
       "nearest neighbours, or a scale of 2"},
  };
  return table;
}

const ReasonInfo& info_of(Reason reason) {
  const auto& table = reason_table();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [reason](const ReasonInfo& info) { return info.reason == reason; });
  TANDEM_CHECK(found != table.end(), "a reason without a row in the table");
  return *found;
}

namespace {

class Parts {
 public:
  explicit Parts(size_t nodes) : parent_(nodes) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t a, size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<size_t> parent_;
};

// A node's level is how often the side has changed on the way to it, at most: nodes of one level and side
// that touch form a part, and no path leaves a part and comes back.
void form_parts(const ir::Graph& graph, Mapping& mapping) {
  std::map<ir::NodeId, size_t> place;
  for (size_t i = 0; i < mapping.nodes.size(); ++i) place[mapping.nodes[i].node] = i;
  std::vector<int> level(mapping.nodes.size(), 0);
  std::vector<Side> side(mapping.nodes.size());
  std::vector<bool> started(mapping.nodes.size(), false);  // has a working node on or before it
  Parts parts(mapping.nodes.size());
  for (size_t i = 0; i < mapping.nodes.size(); ++i) {
    std::vector<size_t> before;
    for (const ir::ValueId id : graph.node(mapping.nodes[i].node).inputs) {
      if (id != ir::kNoValue && graph.value(id).producer != ir::kNoNode)
        before.push_back(place[graph.value(id).producer]);
    }
    side[i] = mapping.nodes[i].side;
    started[i] = side[i] != Side::kNothing;
    for (const size_t b : before) {
      if (side[i] == Side::kNothing && started[b]) side[i] = side[b];  // it goes with what it follows
      started[i] = started[i] || started[b];
    }
    for (const size_t b : before) {
      if (started[b]) level[i] = std::max(level[i], level[b] + (side[b] != side[i]));
    }
    for (const size_t b : before) {
      if (started[b] && level[b] == level[i] && side[b] == side[i]) parts.join(b, i);
    }
  }
  std::vector<size_t> order(mapping.nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return level[a] < level[b]; });
  std::map<size_t, int32_t> index;
  for (const size_t i : order) {
    if (mapping.nodes[i].side == Side::kNothing) continue;
    const auto [found, is_new] = index.emplace(parts.find(i), static_cast<int32_t>(mapping.parts.size()));
    if (is_new) mapping.parts.push_back({mapping.nodes[i].side, {}, 0});
    MappedPart& part = mapping.parts[static_cast<size_t>(found->second)];
    part.nodes.push_back(mapping.nodes[i].node);
    part.macs += mapping.nodes[i].macs;
    mapping.nodes[i].part = found->second;
  }
}

int64_t bytes_of(const ir::Value& value) {
  return value.shape->elements() * static_cast<int64_t>(size_of(value.storage()));
}

void count_bytes(const ir::Graph& graph, Mapping& mapping) {
  std::map<ir::NodeId, Side> side;
  for (const NodeMapping& node : mapping.nodes) side[node.node] = node.side;
  const auto consumers = ir::consumers_of(graph);
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    const ir::Value& value = graph.values()[i];
    if (value.producer == ir::kNoNode || side[value.producer] == Side::kNothing) continue;
    const bool crosses = std::any_of(consumers[i].begin(), consumers[i].end(), [&](ir::NodeId reader) {
      return side[reader] != Side::kNothing && side[reader] != side[value.producer];
    });
    if (crosses) mapping.bytes_across += bytes_of(value);
  }
}

}  // namespace

Result<Mapping> map_to_dpu(const ir::Graph& graph, const DpuTarget& target) {
  for (const ir::Value& value : graph.values()) {
    if (value.shape && value.shape->is_static()) continue;
    return unsupported(fmt::format("value '{}' has no static shape", value.name))
        .hint("give the sizes of the inputs");
  }
  Mapping mapping;
  MappingRules rules(graph, target);
  for (const ir::NodeId id : TANDEM_TRY(ir::topological_order(graph))) {
    NodeMapping node = rules.map(id);
    node.macs = ir::cost_of(graph, id).macs;
    (node.side == Side::kDpu ? mapping.dpu_macs : mapping.cpu_macs) += node.macs;
    mapping.nodes.push_back(std::move(node));
  }
  form_parts(graph, mapping);
  count_bytes(graph, mapping);
  return mapping;
}

std::string Mapping::summary(const DpuTarget& target) const {
  int64_t dpu_nodes = 0, working = 0, dpu_parts = 0, cpu_parts = 0;
  for (const NodeMapping& node : nodes) {
    working += node.side != Side::kNothing;
    dpu_nodes += node.side == Side::kDpu;
  }
  for (const MappedPart& part : parts) ++(part.side == Side::kDpu ? dpu_parts : cpu_parts);
  const double all = static_cast<double>(std::max<int64_t>(1, dpu_macs + cpu_macs));
  return fmt::format(
      "{}: {} of {} nodes on the DPU ({:.1f} % of MACs) in {} part{}, {} CPU part{}, {} across", target.name,
      dpu_nodes, working, 100 * static_cast<double>(dpu_macs) / all, dpu_parts, dpu_parts == 1 ? "" : "s",
      cpu_parts, cpu_parts == 1 ? "" : "s", format_bytes(static_cast<uint64_t>(bytes_across)));
}

}  // namespace tandem::partition
