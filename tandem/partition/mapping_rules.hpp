// SPDX-License-Identifier: Apache-2.0
// The rules behind map_to_dpu(): one function per family of ops, asked in topological order.
#pragma once

#include <map>

#include "tandem/partition/mapping.hpp"

namespace tandem::partition {

class MappingRules {
 public:
  MappingRules(const ir::Graph& graph, const DpuTarget& target)
      : graph_(graph), target_(target), consumers_(ir::consumers_of(graph)) {}
  // Precondition: the nodes before this one have been mapped.
  NodeMapping map(ir::NodeId id);

 private:
  struct Verdict {
    Side side = Side::kDpu;
    Reason reason = Reason::kFits;
    std::string limit, actual;
  };
  static Verdict cpu(Reason reason, std::string limit = "", std::string actual = "") {
    return {Side::kCpu, reason, std::move(limit), std::move(actual)};
  }
  static bool fits(const Verdict& verdict) { return verdict.reason == Reason::kFits; }

  Verdict judge(const ir::Node& node);
  Verdict rule(const ir::Node& node, const ir::Conv& conv) const;
  Verdict rule(const ir::Node& node, const ir::ConvTranspose& conv) const;
  Verdict rule(const ir::Node& node, const ir::Pool& pool) const;
  Verdict rule(const ir::Node& node, const ir::GlobalPool& pool) const;
  Verdict rule(const ir::Node& node, const ir::Gemm& gemm) const;
  Verdict rule(const ir::Node& node, const ir::MatMul& matmul) const;
  Verdict rule(const ir::Node& node, const ir::Binary& binary) const;
  Verdict rule(const ir::Node& node, const ir::Unary& unary) const;
  Verdict rule(const ir::Node& node, const ir::Clip& clip) const;
  Verdict rule(const ir::Node& node, const ir::Concat& concat) const;
  Verdict rule(const ir::Node& node, const ir::Reduce& reduce) const;
  Verdict rule(const ir::Node& node, const ir::Resize& resize) const;
  Verdict rule(const ir::Node& node, const ir::Pad& pad) const;
  Verdict rule(const ir::Node& node, const ir::Transpose& transpose) const;
  Verdict rule(const ir::Node& node, const ir::Requantize& requantize) const;
  Verdict rule(const ir::Node& node, const ir::Identity& identity) const;
  Verdict rule(const ir::Node& node, const ir::Opaque& opaque) const;
  Verdict rule_reshape(const ir::Node& node) const;

  Verdict quantized(const ir::Node& node, size_t data_inputs) const;
  Verdict weights_are_constant(const ir::Node& node) const;
  Verdict activation(const ir::Activation& fused, const std::set<std::string>& known) const;
  Verdict alu_window(const ir::Window& window, const std::vector<int64_t>& kernel, const Shape& x) const;
  Verdict depthwise(const ir::Window& window, const Shape& x, const Shape& w,
                    const ir::Activation& fused) const;
  Verdict dense(int64_t kernel_area, int64_t inputs, int64_t outputs) const;
  Verdict matrix(const ir::Node& node, bool transposed, const ir::Activation& fused) const;
  const ir::Value& value(ir::ValueId id) const { return graph_.value(id); }
  const ir::Value& input(const ir::Node& node, size_t i) const { return graph_.value(node.inputs[i]); }
  bool is_quantized(ir::ValueId id, int depth = 0) const;
  bool from_dpu(ir::ValueId id) const;

  const ir::Graph& graph_;
  const DpuTarget& target_;
  std::vector<std::vector<ir::NodeId>> consumers_;
  std::map<ir::NodeId, Side> sides_;
};

}  // namespace tandem::partition
