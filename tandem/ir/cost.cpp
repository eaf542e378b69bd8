// SPDX-License-Identifier: Apache-2.0
// Operation counts per op. MACs are exact; other operations count one per elementary function and element,
// which is what a timing model fits its rates to, not a count of instructions.
#include "tandem/ir/cost.hpp"

#include <algorithm>
#include <array>

#include "tandem/ir/op.hpp"

namespace tandem::ir {
namespace {

// Products of hostile but verified shapes may pass 2^63; a cost that saturates is as good as any.
int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}
int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t extent(int64_t dim) { return dim < 0 ? 1 : dim; }

int64_t elements_of(const Value& value) {
  int64_t n = 1;
  for (int64_t d : value.shape ? value.shape->dims() : std::vector<int64_t>()) n = times(n, extent(d));
  return n;
}

// The operands of one node; an absent one has 0 elements.
class Operands {
 public:
  Operands(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}
  bool has(size_t i) const { return i < node_.inputs.size() && node_.inputs[i] != kNoValue; }
  const Value& input(size_t i) const { return graph_.value(node_.inputs[i]); }
  int64_t in(size_t i) const { return has(i) ? elements_of(input(i)) : 0; }
  int64_t out(size_t i = 0) const {
    const bool present = i < node_.outputs.size() && node_.outputs[i] != kNoValue;
    return present ? elements_of(graph_.value(node_.outputs[i])) : 0;
  }
  const Value* output() const {
    return node_.outputs.empty() || node_.outputs[0] == kNoValue ? nullptr : &graph_.value(node_.outputs[0]);
  }
  size_t count() const { return node_.inputs.size(); }
  // Dimension `axis` of input i, from the end when negative; 1 when unknown.
  int64_t dim(size_t i, int64_t axis) const {
    if (!has(i) || !input(i).shape) return 1;
    const Shape& shape = *input(i).shape;
    const int64_t a = axis < 0 ? axis + static_cast<int64_t>(shape.rank()) : axis;
    return a < 0 || a >= static_cast<int64_t>(shape.rank()) ? 1 : extent(shape[static_cast<size_t>(a)]);
  }

 private:
  const Graph& graph_;
  const Node& node_;
};

struct Work {
  int64_t macs = 0;
  int64_t other = 0;
};

// Every output element sums over the elements of w that belong to its channel.
int64_t conv_macs(const Operands& o, size_t w) {
  return times(o.out(), o.in(w) / std::max<int64_t>(1, o.dim(w, 0)));
}
int64_t matmul_macs(const Operands& o) { return times(o.out(), o.dim(0, -1)); }

int64_t fused(const Activation& activation, const Operands& o) { return activation ? o.out() : 0; }
int64_t bias(const Operands& o, size_t i) { return o.has(i) ? o.out() : 0; }

Work work(const Conv& op, const Operands& o) {
  return {conv_macs(o, 1), plus(plus(bias(o, 2), bias(o, 3)), fused(op.activation, o))};
}
Work work(const ConvTranspose& op, const Operands& o) {
  // Every input element is multiplied with the elements of w that belong to its channel.
  return {times(o.in(0), o.in(1) / std::max<int64_t>(1, o.dim(1, 0))),
          plus(bias(o, 2), fused(op.activation, o))};
}
Work work(const Pool& op, const Operands& o) {
  int64_t taps = 1;
  for (int64_t k : op.window.kernel) taps = times(taps, k);
  return {0, times(o.out(), taps)};
}
Work work(const GlobalPool&, const Operands& o) { return {0, o.in(0)}; }
Work work(const Gemm& op, const Operands& o) {
  return {times(o.out(), o.dim(0, op.trans_a ? 0 : 1)), plus(bias(o, 2), fused(op.activation, o))};
}
Work work(const MatMul&, const Operands& o) { return {matmul_macs(o), 0}; }

Work work(const Unary&, const Operands& o) { return {0, o.out()}; }
Work work(const Clip&, const Operands& o) { return {0, o.out()}; }
Work work(const Binary& op, const Operands& o) { return {0, plus(o.out(), fused(op.activation, o))}; }
Work work(const Variadic&, const Operands& o) {
  return {0, times(o.out(), std::max<int64_t>(1, static_cast<int64_t>(o.count()) - 1))};
}
Work work(const Where&, const Operands& o) { return {0, o.out()}; }
Work work(const Cast&, const Operands& o) { return {0, o.out()}; }
Work work(const CastLike&, const Operands& o) { return {0, o.out()}; }
Work work(const Identity&, const Operands&) { return {}; }
Work work(const Dropout&, const Operands&) { return {}; }

Work work(const Reduce&, const Operands& o) { return {0, o.in(0)}; }
Work work(const ArgReduce&, const Operands& o) { return {0, o.in(0)}; }
Work work(const CumSum&, const Operands& o) { return {0, o.in(0)}; }
Work work(const TopK&, const Operands& o) { return {0, o.in(0)}; }

// Maximum, exponential of the difference, sum, division.
Work work(const Softmax&, const Operands& o) { return {0, times(4, o.out())}; }
// One multiplication and one addition; in training the sums of x and x^2 besides.
Work work(const BatchNorm& op, const Operands& o) { return {0, times(op.training ? 5 : 2, o.out())}; }
// Sums of x and x^2 (three operations), then scale and bias.
Work work(const LayerNorm&, const Operands& o) { return {0, times(5, o.out())}; }
Work work(const InstanceNorm&, const Operands& o) { return {0, times(5, o.out())}; }
Work work(const GroupNorm&, const Operands& o) { return {0, times(5, o.out())}; }
Work work(const MeanVarianceNorm&, const Operands& o) { return {0, times(5, o.out())}; }
// Square, sum over the window, power, division.
Work work(const Lrn& op, const Operands& o) { return {0, times(plus(op.size, 3), o.out())}; }
Work work(const LpNorm&, const Operands& o) { return {0, times(3, o.out())}; }

Work work(const Reshape&, const Operands&) { return {}; }
Work work(const Flatten&, const Operands&) { return {}; }
Work work(const Squeeze&, const Operands&) { return {}; }
Work work(const Unsqueeze&, const Operands&) { return {}; }
Work work(const Transpose&, const Operands&) { return {}; }
Work work(const Concat&, const Operands&) { return {}; }
Work work(const Split&, const Operands&) { return {}; }
Work work(const Slice&, const Operands&) { return {}; }
Work work(const Pad&, const Operands&) { return {}; }
Work work(const Expand&, const Operands&) { return {}; }
Work work(const Tile&, const Operands&) { return {}; }
Work work(const DepthToSpace&, const Operands&) { return {}; }
Work work(const SpaceToDepth&, const Operands&) { return {}; }
Work work(const Trilu&, const Operands&) { return {}; }
Work work(const Gather&, const Operands&) { return {}; }
Work work(const GatherElements&, const Operands&) { return {}; }
Work work(const GatherNd&, const Operands&) { return {}; }
Work work(const ScatterElements& op, const Operands& o) {
  return {0, op.reduction == ScatterReduction::kNone ? 0 : o.in(2)};
}
Work work(const ScatterNd& op, const Operands& o) {
  return {0, op.reduction == ScatterReduction::kNone ? 0 : o.in(2)};
}
Work work(const OneHot&, const Operands&) { return {}; }
Work work(const Resize& op, const Operands& o) {
  if (op.mode == ResizeMode::kNearest || !o.has(0) || !o.input(0).shape || !o.output() || !o.output()->shape)
    return {};
  // Every axis that changes multiplies the points that are blended; each is one multiply-add.
  int64_t points = 1;
  const Shape &x = *o.input(0).shape, &y = *o.output()->shape;
  for (size_t i = 0; i < std::min(x.rank(), y.rank()); ++i) {
    if (x[i] != y[i]) points = times(points, op.mode == ResizeMode::kLinear ? 2 : 4);
  }
  return {points == 1 ? 0 : times(points, o.out()), 0};
}
Work work(const ShapeOf&, const Operands&) { return {}; }
Work work(const Size&, const Operands&) { return {}; }
Work work(const ConstantOfShape&, const Operands&) { return {}; }
Work work(const Range&, const Operands& o) { return {0, o.out()}; }
Work work(const EyeLike&, const Operands&) { return {}; }
Work work(const NonZero&, const Operands& o) { return {0, o.in(0)}; }

// Division and rounding; subtraction and multiplication.
Work work(const QuantizeLinear&, const Operands& o) { return {0, times(2, o.out())}; }
Work work(const DequantizeLinear&, const Operands& o) { return {0, times(2, o.out())}; }
Work work(const DynamicQuantizeLinear&, const Operands& o) {
  return {0, times(4, o.out())};
}  // and the range of x
Work work(const Requantize&, const Operands& o) { return {0, times(2, o.out())}; }
Work work(const QLinearConv&, const Operands& o) {
  return {conv_macs(o, 3), plus(bias(o, 8), times(2, o.out()))};
}
Work work(const QLinearMatMul&, const Operands& o) { return {matmul_macs(o), times(2, o.out())}; }
Work work(const ConvInteger&, const Operands& o) { return {conv_macs(o, 1), 0}; }
Work work(const MatMulInteger&, const Operands& o) { return {matmul_macs(o), 0}; }

Work work(const SoftmaxCrossEntropyLoss&, const Operands& o) { return {0, plus(times(4, o.in(0)), o.in(1))}; }
Work work(const NegativeLogLikelihoodLoss&, const Operands& o) { return {0, o.in(1)}; }

// Operations per parameter times the parameters: a share of the inputs behind rate and step.
Work step(const Operands& o, size_t tensors_per_parameter, int64_t operations) {
  int64_t parameters = 0;
  for (size_t i = 0; i < (o.count() - std::min<size_t>(o.count(), 2)) / tensors_per_parameter; ++i) {
    parameters = plus(parameters, o.in(2 + i));
  }
  return {0, times(operations, parameters)};
}
Work work(const Adam&, const Operands& o) { return step(o, 4, 10); }
Work work(const Momentum&, const Operands& o) { return step(o, 3, 4); }
Work work(const Adagrad&, const Operands& o) { return step(o, 3, 6); }
Work work(const Opaque&, const Operands&) { return {}; }

int64_t bytes_of(const Value& value) {
  return times(elements_of(value), static_cast<int64_t>(size_of(value.storage())));
}

// The inputs of an op that hold what a network learns.
bool is_weight_input(const Op& op, size_t index, const Value& value) {
  const auto one_of = [index](std::initializer_list<size_t> list) {
    return std::find(list.begin(), list.end(), index) != list.end();
  };
  if (std::holds_alternative<Conv>(op) || std::holds_alternative<ConvTranspose>(op)) return one_of({1, 2});
  if (std::holds_alternative<Gemm>(op)) return one_of({0, 1, 2});
  if (std::holds_alternative<MatMul>(op) || std::holds_alternative<MatMulInteger>(op)) return one_of({0, 1});
  if (std::holds_alternative<BatchNorm>(op) || std::holds_alternative<LayerNorm>(op)) return one_of({1, 2});
  if (std::holds_alternative<InstanceNorm>(op) || std::holds_alternative<GroupNorm>(op))
    return one_of({1, 2});
  if (std::holds_alternative<QLinearConv>(op)) return one_of({3, 8});
  if (std::holds_alternative<QLinearMatMul>(op)) return one_of({0, 3});
  if (std::holds_alternative<ConvInteger>(op)) return index == 1;
  if (std::holds_alternative<DequantizeLinear>(op)) return index == 0;
  if (std::holds_alternative<Gather>(op)) return index == 0 && is_float(value.dtype);  // an embedding
  // A bias or a scale written as an op of its own; single numbers are part of a formula.
  if (std::holds_alternative<Binary>(op)) return is_float(value.dtype) && value.constant->elements() > 1;
  return false;
}

}  // namespace

OpCost cost_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Operands operands(graph, node);
  const Work done = std::visit([&](const auto& op) { return work(op, operands); }, node.op);
  OpCost cost;
  cost.macs = done.macs;
  cost.other_ops = done.other;
  for (ValueId input : node.inputs) {
    if (input == kNoValue) continue;
    const Value& value = graph.value(input);
    int64_t& bytes = value.is_constant() ? cost.weight_bytes : cost.input_bytes;
    bytes = plus(bytes, bytes_of(value));
  }
  for (ValueId output : node.outputs) {
    if (output != kNoValue) cost.output_bytes = plus(cost.output_bytes, bytes_of(graph.value(output)));
  }
  return cost;
}

OpCost total_cost(const Graph& graph) {
  OpCost total;
  for (NodeId id : graph.live_nodes()) {
    const OpCost cost = cost_of(graph, id);
    total.macs = plus(total.macs, cost.macs);
    total.other_ops = plus(total.other_ops, cost.other_ops);
    total.weight_bytes = plus(total.weight_bytes, cost.weight_bytes);
    total.input_bytes = plus(total.input_bytes, cost.input_bytes);
    total.output_bytes = plus(total.output_bytes, cost.output_bytes);
  }
  return total;
}

int64_t parameter_count(const Graph& graph) {
  std::vector<bool> counted(graph.values().size(), false);
  int64_t count = 0;
  for (NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input == kNoValue || counted[index_of(input)] || !graph.value(input).is_constant()) continue;
      if (!is_weight_input(node.op, i, graph.value(input))) continue;
      counted[index_of(input)] = true;
      count = plus(count, graph.value(input).constant->elements());
    }
  }
  return count;
}

}  // namespace tandem::ir
