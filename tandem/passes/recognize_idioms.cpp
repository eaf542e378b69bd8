// SPDX-License-Identifier: Apache-2.0
// Functions that exporters write out in primitive ops become one op again.
#include <cmath>

#include "tandem/passes/match.hpp"
#include "tandem/passes/rewrites.hpp"

namespace tandem::passes {
namespace {

using ir::BinaryKind;
using ir::Graph;
using ir::kNoValue;
using ir::UnaryKind;
using ir::ValueId;

constexpr double kRelativeTolerance = 1e-6;  // Constants are written with float or decimal precision.

bool near(double a, double b) {
  return std::abs(a - b) <= kRelativeTolerance * std::max(std::abs(a), std::abs(b));
}

// A binary node of the given kind without activation, whose value carries no QuantParams unless it is the
// `root`.
const ir::Node* binary(const Graph& graph, ValueId id, BinaryKind kind) {
  const auto* op = producer_as<ir::Binary>(graph, id);
  if (op == nullptr || op->kind != kind || op->activation) return nullptr;
  return &graph.node(graph.value(id).producer);
}

const ir::Node* unary(const Graph& graph, ValueId id, UnaryKind kind) {
  const auto* op = producer_as<ir::Unary>(graph, id);
  if (op == nullptr || op->kind != kind) return nullptr;
  return &graph.node(graph.value(id).producer);
}

// The other operand of a commutative node that has the constant `c` (or any when NaN) on one side.
struct ScaledBy {
  ValueId x = kNoValue;
  double constant = 0;
};
std::optional<ScaledBy> with_constant(const Graph& graph, const ir::Node& node, bool commutative = true) {
  if (const auto c = scalar_constant(graph, node.inputs[1])) return ScaledBy{node.inputs[0], *c};
  if (!commutative) return std::nullopt;
  if (const auto c = scalar_constant(graph, node.inputs[0])) return ScaledBy{node.inputs[1], *c};
  return std::nullopt;
}

// id = x * factor, by Mul or Div.
std::optional<ScaledBy> scaled(const Graph& graph, ValueId id) {
  if (const ir::Node* mul = binary(graph, id, BinaryKind::kMul)) return with_constant(graph, *mul);
  if (const ir::Node* div = binary(graph, id, BinaryKind::kDiv)) {
    auto found = with_constant(graph, *div, false);
    if (found && found->constant != 0) {
      found->constant = 1 / found->constant;
      return found;
    }
  }
  return std::nullopt;
}

// id = x + constant.
std::optional<ScaledBy> shifted(const Graph& graph, ValueId id) {
  const ir::Node* add = binary(graph, id, BinaryKind::kAdd);
  return add ? with_constant(graph, *add) : std::nullopt;
}

// id = clip(t + 3, 0, 6); returns t.
ValueId relu6_of_plus_three(const Graph& graph, ValueId id) {
  if (graph.value(id).producer == ir::kNoNode) return kNoValue;
  const ir::Node& node = graph.node(graph.value(id).producer);
  const auto clip = activation_of(graph, node);
  if (!clip || clip->kind != ir::ActivationKind::kClip || clip->alpha != 0 || clip->beta != 6)
    return kNoValue;
  const auto sum = shifted(graph, node.inputs[0]);
  return sum && near(sum->constant, 3) ? sum->x : kNoValue;
}

// id is a gate g(t) with hard-swish = t * g(t): HardSigmoid(1/6, 0.5), or clip(t + 3, 0, 6) times `factor`.
bool is_hard_gate(const Graph& graph, ValueId id, ValueId t, double outer_factor) {
  if (const auto* op = producer_as<ir::Unary>(graph, id);
      op != nullptr && op->kind == UnaryKind::kHardSigmoid) {
    return near(outer_factor, 1) && near(op->alpha, 1.0 / 6) && near(op->beta, 0.5) &&
           graph.node(graph.value(id).producer).inputs[0] == t;
  }
  if (relu6_of_plus_three(graph, id) == t) return near(outer_factor, 1.0 / 6);
  const auto inner = scaled(graph, id);
  return inner && relu6_of_plus_three(graph, inner->x) == t && near(inner->constant * outer_factor, 1.0 / 6);
}

// id = t * gate(t), in either order, times outer_factor. Returns t.
ValueId hard_swish_input(const Graph& graph, ValueId id, double outer_factor) {
  const ir::Node* mul = binary(graph, id, BinaryKind::kMul);
  if (mul == nullptr) return kNoValue;
  for (size_t side = 0; side < 2; ++side) {
    const ValueId t = mul->inputs[side], gate = mul->inputs[1 - side];
    if (is_hard_gate(graph, gate, t, outer_factor)) return t;
    // (t / 6) * clip(t + 3, 0, 6).
    const auto part = scaled(graph, t);
    if (part && is_hard_gate(graph, gate, part->x, outer_factor * part->constant)) return part->x;
  }
  return kNoValue;
}

ValueId match_hard_swish(const Graph& graph, ValueId id) {
  if (const ValueId t = hard_swish_input(graph, id, 1); t != kNoValue) return t;
  const auto outer = scaled(graph, id);
  return outer ? hard_swish_input(graph, outer->x, outer->constant) : kNoValue;
}

ValueId match_silu(const Graph& graph, ValueId id) {
  const ir::Node* mul = binary(graph, id, BinaryKind::kMul);
  if (mul == nullptr) return kNoValue;
  for (size_t side = 0; side < 2; ++side) {
    const ir::Node* sigmoid = unary(graph, mul->inputs[1 - side], UnaryKind::kSigmoid);
    if (sigmoid != nullptr && sigmoid->inputs[0] == mul->inputs[side]) return mul->inputs[side];
  }
  return kNoValue;
}

// id = 1 + erf(x / sqrt 2) or 1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)).
std::optional<UnaryKind> gelu_gate(const Graph& graph, ValueId id, ValueId x) {
  const auto sum = shifted(graph, id);
  if (!sum || !near(sum->constant, 1)) return std::nullopt;
  if (const ir::Node* erf = unary(graph, sum->x, UnaryKind::kErf)) {
    const auto inner = scaled(graph, erf->inputs[0]);
    if (inner && inner->x == x && std::abs(inner->constant - std::sqrt(0.5)) < 1e-4) return UnaryKind::kGelu;
    return std::nullopt;
  }
  const ir::Node* tanh = unary(graph, sum->x, UnaryKind::kTanh);
  const auto outer = tanh ? scaled(graph, tanh->inputs[0]) : std::nullopt;
  if (!outer || std::abs(outer->constant - std::sqrt(2 / 3.14159265358979323846)) > 1e-4) return std::nullopt;
  const ir::Node* cubic = binary(graph, outer->x, BinaryKind::kAdd);
  if (cubic == nullptr) return std::nullopt;
  for (size_t side = 0; side < 2; ++side) {
    const auto term = scaled(graph, cubic->inputs[1 - side]);
    if (cubic->inputs[side] != x || !term || std::abs(term->constant - 0.044715) > 1e-6) continue;
    const ir::Node* pow = binary(graph, term->x, BinaryKind::kPow);
    if (pow != nullptr && pow->inputs[0] == x && scalar_constant(graph, pow->inputs[1]) == 3.0)
      return UnaryKind::kGeluTanh;
  }
  return std::nullopt;
}

struct Gelu {
  ValueId x = kNoValue;
  UnaryKind kind = UnaryKind::kGelu;
};

// 0.5 * x * (1 + ...), in the three associations that exporters write.
std::optional<Gelu> match_gelu(const Graph& graph, ValueId id) {
  if (const auto outer = scaled(graph, id); outer && near(outer->constant, 0.5)) {
    if (const ir::Node* mul = binary(graph, outer->x, BinaryKind::kMul)) {
      for (size_t side = 0; side < 2; ++side) {
        const ValueId x = mul->inputs[side];
        if (const auto kind = gelu_gate(graph, mul->inputs[1 - side], x)) return Gelu{x, *kind};
      }
    }
  }
  const ir::Node* mul = binary(graph, id, BinaryKind::kMul);
  if (mul == nullptr) return std::nullopt;
  for (size_t side = 0; side < 2; ++side) {
    const ValueId a = mul->inputs[side], b = mul->inputs[1 - side];
    if (const auto half = scaled(graph, a); half && near(half->constant, 0.5)) {
      if (const auto kind = gelu_gate(graph, b, half->x)) return Gelu{half->x, *kind};
    }
    if (const auto half = scaled(graph, b); half && near(half->constant, 0.5)) {
      if (const auto kind = gelu_gate(graph, half->x, a)) return Gelu{a, *kind};
    }
  }
  return std::nullopt;
}

struct LayerNormMatch {
  ValueId x = kNoValue, scale = kNoValue, bias = kNoValue;
  float epsilon = 0;
};

bool reduces_last_axis(const Graph& graph, ValueId id, ValueId x) {
  const auto* op = producer_as<ir::Reduce>(graph, id);
  if (op == nullptr || op->kind != ir::ReduceKind::kMean || !op->keepdims) return false;
  const ir::Node& node = graph.node(graph.value(id).producer);
  const auto& shape = graph.value(x).shape;
  if (node.inputs[0] != x || node.inputs.size() < 2 || node.inputs[1] == kNoValue || !shape) return false;
  const auto axis = scalar_constant(graph, node.inputs[1]);
  return axis && (*axis == -1 || *axis == static_cast<double>(shape->rank()) - 1);
}

// (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + bias over the last axis.
std::optional<LayerNormMatch> match_layer_norm(const Graph& graph, ValueId id) {
  const ir::Node* add = binary(graph, id, BinaryKind::kAdd);
  if (add == nullptr) return std::nullopt;
  for (size_t side = 0; side < 2; ++side) {
    const ir::Node* mul = binary(graph, add->inputs[side], BinaryKind::kMul);
    if (mul == nullptr || !float_constant(graph, add->inputs[1 - side])) continue;
    for (size_t inner = 0; inner < 2; ++inner) {
      const ir::Node* div = binary(graph, mul->inputs[inner], BinaryKind::kDiv);
      if (div == nullptr || !float_constant(graph, mul->inputs[1 - inner])) continue;
      const ir::Node* sub = binary(graph, div->inputs[0], BinaryKind::kSub);
      const ir::Node* root = unary(graph, div->inputs[1], UnaryKind::kSqrt);
      if (sub == nullptr || root == nullptr || !reduces_last_axis(graph, sub->inputs[1], sub->inputs[0]))
        continue;
      const auto variance = shifted(graph, root->inputs[0]);
      if (!variance || producer_as<ir::Reduce>(graph, variance->x) == nullptr) continue;
      const ValueId square = graph.node(graph.value(variance->x).producer).inputs[0];
      if (!reduces_last_axis(graph, variance->x, square)) continue;
      const ir::Node* pow = binary(graph, square, BinaryKind::kPow);
      const ir::Node* product = binary(graph, square, BinaryKind::kMul);
      const bool squares = (pow != nullptr && pow->inputs[0] == div->inputs[0] &&
                            scalar_constant(graph, pow->inputs[1]) == 2.0) ||
                           (product != nullptr && product->inputs[0] == div->inputs[0] &&
                            product->inputs[1] == div->inputs[0]);
      if (!squares) continue;
      return LayerNormMatch{sub->inputs[0], mul->inputs[1 - inner], add->inputs[1 - side],
                            static_cast<float>(variance->constant)};
    }
  }
  return std::nullopt;
}

// The match lies within values that carry no QuantParams between x and id: walking from id stops at x.
bool unquantized_between(const Graph& graph, ValueId x, ValueId id) {
  std::vector<ValueId> work = graph.node(graph.value(id).producer).inputs;
  for (size_t steps = 0; !work.empty() && steps < 64; ++steps) {
    const ValueId v = work.back();
    work.pop_back();
    if (v == kNoValue || v == x || graph.value(v).is_constant()) continue;
    if (graph.value(v).quant || graph.value(v).producer == ir::kNoNode) return false;
    const auto& inputs = graph.node(graph.value(v).producer).inputs;
    work.insert(work.end(), inputs.begin(), inputs.end());
  }
  return work.empty();
}

void replace(Graph& graph, ir::NodeId id, ir::Op op, std::vector<ValueId> inputs, PassLog& log) {
  ir::Node& node = graph.node(id);
  log.note(fmt::format("'{}' ends a written-out {}", node.name, ir::describe(op)));
  node.op = std::move(op);
  node.inputs = std::move(inputs);
}

}  // namespace

Status recognize_idioms(ir::Graph& graph, PassLog& log) {
  for (ir::NodeId id : TANDEM_TRY(ir::topological_order(graph))) {
    if (!std::holds_alternative<ir::Binary>(graph.node(id).op)) continue;
    const ValueId y = graph.node(id).outputs[0];
    if (graph.value(y).dtype != DType::kF32) continue;
    const auto usable = [&](ValueId x) { return x != kNoValue && unquantized_between(graph, x, y); };
    if (const ValueId t = match_hard_swish(graph, y); usable(t)) {
      replace(graph, id, ir::Unary{UnaryKind::kHardSwish}, {t}, log);
    } else if (const ValueId s = match_silu(graph, y); usable(s)) {
      replace(graph, id, ir::Unary{UnaryKind::kSilu}, {s}, log);
    } else if (const auto gelu = match_gelu(graph, y); gelu && usable(gelu->x)) {
      replace(graph, id, ir::Unary{gelu->kind}, {gelu->x}, log);
    } else if (const auto norm = match_layer_norm(graph, y); norm && usable(norm->x)) {
      replace(graph, id, ir::LayerNorm{-1, norm->epsilon}, {norm->x, norm->scale, norm->bias}, log);
    }
  }
  return {};
}

}  // namespace tandem::passes
