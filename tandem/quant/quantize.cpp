// SPDX-License-Identifier: Apache-2.0
// Where params go: which values are quantized, who shares params, how weights and biases become integers.
#include "tandem/quant/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tandem/base/text.hpp"
#include "tandem/ir/verify.hpp"

namespace tandem::quant {
namespace {

using ir::Graph;
using ir::kNoNode;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

// How a node takes part in fixed point.
enum class Role {
  kFloat,     // computed in float; its output may still be stored as integers
  kWeighted,  // Conv, ConvTranspose, Gemm and MatMul with constant weights
  kCompute,   // integer arithmetic on activations: Add, Mul, MatMul of two activations, average pools,
              // activations
  kMove,      // moves or selects elements: input and output share params
};

bool is_constant(const Graph& graph, ValueId id) { return id != kNoValue && graph.value(id).is_constant(); }

Role role_of(const Graph& graph, const Node& node) {
  if (std::holds_alternative<ir::Conv>(node.op) || std::holds_alternative<ir::ConvTranspose>(node.op) ||
      std::holds_alternative<ir::Gemm>(node.op)) {
    const bool plain_bias =
        node.inputs.size() < 3 || node.inputs[2] == kNoValue || is_constant(graph, node.inputs[2]);
    const auto* gemm = std::get_if<ir::Gemm>(&node.op);
    if (gemm != nullptr && (gemm->alpha != 1 || gemm->beta != 1 || gemm->trans_a)) return Role::kFloat;
    return is_constant(graph, node.inputs[1]) && plain_bias ? Role::kWeighted : Role::kFloat;
  }
  if (std::holds_alternative<ir::MatMul>(node.op)) {
    if (is_constant(graph, node.inputs[0])) return Role::kFloat;
    return is_constant(graph, node.inputs[1]) ? Role::kWeighted : Role::kCompute;
  }
  if (const auto* binary = std::get_if<ir::Binary>(&node.op)) {
    const bool arithmetic = binary->kind == ir::BinaryKind::kAdd || binary->kind == ir::BinaryKind::kMul;
    const bool activations = !is_constant(graph, node.inputs[0]) && !is_constant(graph, node.inputs[1]);
    return arithmetic && activations ? Role::kCompute : Role::kFloat;
  }
  if (const auto* pool = std::get_if<ir::Pool>(&node.op)) {
    if (pool->kind == ir::PoolKind::kMax && node.outputs.size() == 1) return Role::kMove;
    return pool->kind == ir::PoolKind::kAverage ? Role::kCompute : Role::kFloat;
  }
  if (const auto* pool = std::get_if<ir::GlobalPool>(&node.op)) {
    if (pool->kind == ir::PoolKind::kMax) return Role::kMove;
    return pool->kind == ir::PoolKind::kAverage ? Role::kCompute : Role::kFloat;
  }
  if (const auto* unary = std::get_if<ir::Unary>(&node.op)) {
    using ir::UnaryKind;
    const UnaryKind k = unary->kind;
    const bool activation = k == UnaryKind::kRelu || k == UnaryKind::kLeakyRelu ||
                            k == UnaryKind::kHardSwish || k == UnaryKind::kHardSigmoid ||
                            k == UnaryKind::kSigmoid || k == UnaryKind::kSilu;
    return activation ? Role::kCompute : Role::kFloat;
  }
  if (std::holds_alternative<ir::Clip>(node.op)) return Role::kCompute;
  const auto* resize = std::get_if<ir::Resize>(&node.op);
  const auto* pad = std::get_if<ir::Pad>(&node.op);
  const bool zero_pad = pad != nullptr && (node.inputs.size() < 3 || node.inputs[2] == kNoValue);
  const bool moves =
      std::holds_alternative<ir::Concat>(node.op) || std::holds_alternative<ir::Reshape>(node.op) ||
      std::holds_alternative<ir::Flatten>(node.op) || std::holds_alternative<ir::Squeeze>(node.op) ||
      std::holds_alternative<ir::Unsqueeze>(node.op) || std::holds_alternative<ir::Transpose>(node.op) ||
      std::holds_alternative<ir::Split>(node.op) || std::holds_alternative<ir::Slice>(node.op) ||
      std::holds_alternative<ir::DepthToSpace>(node.op) ||
      std::holds_alternative<ir::SpaceToDepth>(node.op) || std::holds_alternative<ir::Identity>(node.op) ||
      std::holds_alternative<ir::Expand>(node.op) || std::holds_alternative<ir::Tile>(node.op) ||
      (resize != nullptr && resize->mode == ir::ResizeMode::kNearest) || zero_pad;
  return moves ? Role::kMove : Role::kFloat;
}

// The inputs of a node that are activations in fixed point.
std::vector<ValueId> data_inputs(const Graph& graph, const Node& node, Role role) {
  if (role == Role::kFloat) return {};
  if (role == Role::kWeighted) {
    std::vector<ValueId> data = {node.inputs[0]};
    if (node.inputs.size() > 3 && node.inputs[3] != kNoValue) data.push_back(node.inputs[3]);  // residual
    return data;
  }
  std::vector<ValueId> data;
  const bool all = std::holds_alternative<ir::Concat>(node.op) || role == Role::kCompute;
  const bool one = role == Role::kMove && !std::holds_alternative<ir::Concat>(node.op);
  if (one || std::holds_alternative<ir::Clip>(node.op)) return {node.inputs[0]};
  for (ValueId input : node.inputs) {
    if (all && input != kNoValue && !is_constant(graph, input)) data.push_back(input);
  }
  return data;
}

// Values that must share params.
class Groups {
 public:
  explicit Groups(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0u); }
  uint32_t find(ValueId id) { return find(index_of(id)); }
  void join(ValueId a, ValueId b) { parent_[find(a)] = find(b); }

 private:
  uint32_t find(uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  std::vector<uint32_t> parent_;
};

class Quantizer {
 public:
  Quantizer(Graph graph, const Calibration& calibration, const QuantizeOptions& options)
      : graph_(std::move(graph)), calibration_(calibration), options_(options) {}

  Result<Quantized> run() {
    TANDEM_TRY(check_input());
    TANDEM_TRY(assign_roles());
    separate_concat_inputs();
    separate_outputs();
    TANDEM_TRY(choose_activations());
    for (NodeId id : graph_.live_nodes()) {
      if (role(id) == Role::kWeighted) quantize_weights(id);
    }
    separate_inputs();
    count_nodes();
    TANDEM_TRY(graph_.compact());
    TANDEM_TRY(ir::infer_shapes(graph_));
    TANDEM_TRY(ir::verify(graph_).context("after quantization"));
    return Quantized{std::move(graph_), std::move(report_), std::move(positions_)};
  }

 private:
  Role role(NodeId id) const { return index_of(id) < roles_.size() ? roles_[index_of(id)] : Role::kMove; }

  Status check_input() const {
    for (const ir::Value& value : graph_.values()) {
      if (!value.quant) continue;
      return unsupported(fmt::format("the model is quantized already: value '{}' is {}", value.name,
                                     value.quant->to_string()))
          .hint("start from the float model");
    }
    return {};
  }

  Status assign_roles() {
    std::set<std::string> unknown = options_.keep_float;
    std::vector<std::string> names;
    for (NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      names.push_back(node.name);
      roles_.resize(index_of(id) + 1, Role::kFloat);
      bool asked = options_.keep_float.count(node.name) > 0;
      unknown.erase(node.name);
      for (ValueId output : node.outputs) {
        if (output == kNoValue || options_.keep_float.count(graph_.value(output).name) == 0) continue;
        asked = true;
        unknown.erase(graph_.value(output).name);
      }
      if (asked) {
        report_.float_reasons.push_back(
            fmt::format("{} ({}): kept in float as asked", node.name, ir::describe(node.op)));
        continue;
      }
      roles_[index_of(id)] = role_of(graph_, node);
      if (node.outputs.empty() || graph_.value(node.outputs[0]).dtype != DType::kF32)
        roles_[index_of(id)] = Role::kFloat;
      if (roles_[index_of(id)] == Role::kFloat && !std::holds_alternative<ir::Opaque>(node.op)) {
        report_.float_reasons.push_back(
            fmt::format("{} ({}): no fixed-point form", node.name, ir::describe(node.op)));
      }
    }
    if (!unknown.empty()) {
      return usage_error(fmt::format("no node is named '{}'", *unknown.begin()))
          .hint(did_you_mean(*unknown.begin(), names));
    }
    return {};
  }

  // A new value behind a Requantize node, with the histogram of the old one.
  ValueId requantized(ValueId from, const std::string& suffix) {
    ir::Value value;
    value.name = graph_.value(from).name + suffix;
    value.shape = graph_.value(from).shape;
    const ValueId id = graph_.add_value(std::move(value));
    Node node;
    node.name = graph_.value(id).name;
    node.op = ir::Requantize{};
    node.inputs = {from};
    node.outputs = {id};
    graph_.add_node(std::move(node));
    roles_.resize(graph_.nodes().size(), Role::kFloat);
    origin_[id] = from;
    return id;
  }

  const Histogram* histogram(ValueId id) const {
    const auto moved = origin_.find(id);
    const auto found = calibration_.seen.find(moved == origin_.end() ? id : moved->second);
    return found == calibration_.seen.end() ? nullptr : &found->second;
  }

  // A Concat forces one scale on its inputs. Someone else who reads such an input keeps the finer one.
  void separate_concat_inputs() {
    const auto consumers = ir::consumers_of(graph_);
    for (NodeId id : graph_.live_nodes()) {
      if (!std::holds_alternative<ir::Concat>(graph_.node(id).op) || role(id) != Role::kMove) continue;
      for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
        const ValueId input = graph_.node(id).inputs[i];
        if (is_constant(graph_, input) || index_of(input) >= consumers.size()) continue;
        if (consumers[index_of(input)].size() > 1) graph_.node(id).inputs[i] = requantized(input, ".concat");
      }
    }
  }

  // What a user reads stays real: inner users of a graph output read a quantized copy.
  void separate_outputs() {
    for (ValueId output : std::vector<ValueId>(graph_.outputs)) {
      if (graph_.value(output).producer == kNoNode) continue;
      ValueId copy = kNoValue;
      for (NodeId id : graph_.live_nodes()) {
        if (role(id) == Role::kFloat) continue;
        for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
          if (graph_.node(id).inputs[i] != output) continue;
          if (copy == kNoValue) copy = requantized(output, ".inner");
          graph_.node(id).inputs[i] = copy;
        }
      }
    }
  }

  Status choose_activations() {
    std::set<ValueId> wanted;
    Groups groups(graph_.values().size());
    const auto mark = [&](ValueId id) {
      if (!is_constant(graph_, id) && !graph_.is_output(id) && graph_.value(id).dtype == DType::kF32)
        wanted.insert(id);
    };
    for (NodeId id : graph_.live_nodes()) {
      if (role(id) != Role::kWeighted && role(id) != Role::kCompute) continue;
      for (ValueId input : data_inputs(graph_, graph_.node(id), role(id))) mark(input);
    }
    // Moves carry the wish of their readers upward: in reverse order so that chains resolve in one sweep.
    std::vector<NodeId> order = TANDEM_TRY(ir::topological_order(graph_));
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const Node& node = graph_.node(*it);
      if (role(*it) != Role::kMove || std::holds_alternative<ir::Requantize>(node.op)) continue;
      const bool read = std::any_of(node.outputs.begin(), node.outputs.end(),
                                    [&](ValueId v) { return v != kNoValue && wanted.count(v) > 0; });
      if (!read) continue;
      for (ValueId input : data_inputs(graph_, node, Role::kMove)) {
        mark(input);
        for (ValueId output : node.outputs) {
          if (output != kNoValue && wanted.count(output) > 0) groups.join(input, output);
        }
      }
    }
    order_positions(order, wanted, groups);
    std::map<uint32_t, Histogram> merged;
    for (ValueId id : wanted) {
      const Histogram* seen = histogram(id);
      if (seen == nullptr)
        return internal_error(fmt::format("value '{}' was not calibrated", graph_.value(id).name));
      merged[groups.find(id)].merge(*seen);
    }
    for (ValueId id : wanted) {
      const Histogram& seen = merged[groups.find(id)];
      const QuantParams params = activation_params(groups.find(id), seen);
      graph_.value(id).quant = params;
      report_value(id, params, *histogram(id));
    }
    return {};
  }

  // Groups are known by their first value in the order of the network; weights follow what their node reads.
  void order_positions(const std::vector<NodeId>& order, const std::set<ValueId>& wanted, Groups& groups) {
    if (options_.scheme != Scheme::kPow2) return;
    const auto see = [&](ValueId id) {
      if (id == kNoValue || wanted.count(id) == 0) return;
      const std::string& name = graph_.value(id).name;
      if (group_name_.emplace(groups.find(id), name).second) positions_.push_back(name);
    };
    for (ValueId id : graph_.inputs) see(id);
    for (NodeId id : order) {
      if (role(id) == Role::kWeighted) positions_.push_back(graph_.node(id).name + ".weight");
      for (ValueId output : graph_.node(id).outputs) see(output);
    }
  }

  // A hard sigmoid ends at 1, which position 7 almost holds; there the DPU's integer form, which clamps later
  // than the function does, gives the same numbers.
  bool is_hard_sigmoid(const std::string& value) const {
    const ValueId id = graph_.find_value(value);
    if (id == kNoValue || graph_.value(id).producer == kNoNode) return false;
    const ir::Op& op = graph_.node(graph_.value(id).producer).op;
    if (const auto* conv = std::get_if<ir::Conv>(&op))
      return conv->activation.kind == ir::ActivationKind::kHardSigmoid;
    const auto* unary = std::get_if<ir::Unary>(&op);
    return unary != nullptr && unary->kind == ir::UnaryKind::kHardSigmoid;
  }

  int offset(const std::string& position) const {
    const auto found = options_.fix_offset.find(position);
    return found == options_.fix_offset.end() ? 0 : found->second;
  }

  QuantParams activation_params(uint32_t group, const Histogram& seen) const {
    QuantParams params = choose_activation(seen, options_.method, options_.scheme);
    if (options_.scheme != Scheme::kPow2) return params;
    const std::string& name = group_name_.at(group);
    if (is_hard_sigmoid(name) && seen.min() >= 0 && seen.max() <= 1) return QuantParams::pow2(7);
    return QuantParams::pow2(params.fix_point() + offset(name));
  }

  void report_value(ValueId id, const QuantParams& params, const Histogram& seen) {
    ValueReport row{graph_.value(id).name, params, seen.min(), seen.max(), 0};
    if (seen.min() == seen.max()) report_.constant_values.push_back(row.value);
    // What rounds to the last step is not clipped.
    const double high = (static_cast<double>(params.highest()) + 0.5) * double{params.scale[0]};
    const double low = (static_cast<double>(params.lowest()) - 0.5) * double{params.scale[0]};
    int64_t clipped = 0;
    for (int i = 0; i < Histogram::kBins; ++i) {
      if (i * seen.width() > high) clipped += seen.positive(i);
      if (-i * seen.width() < low) clipped += seen.negative(i);
    }
    if (seen.count() > 0)
      row.clipped_fraction = static_cast<double>(clipped) / static_cast<double>(seen.count());
    report_.activations.push_back(std::move(row));
  }

  // The axis of the weights that is the output channel, -1 when one scale must do.
  static int64_t channel_axis(const Node& node) {
    if (std::holds_alternative<ir::Conv>(node.op)) return 0;
    if (const auto* op = std::get_if<ir::ConvTranspose>(&node.op)) return op->group == 1 ? 1 : -1;
    if (const auto* op = std::get_if<ir::Gemm>(&node.op)) return op->trans_b ? 0 : 1;
    return -1;  // MatMul weights may be of any rank; its result has no bias that would need more.
  }

  void quantize_weights(NodeId id) {
    const Node& node = graph_.node(id);
    const auto x_quant = graph_.value(node.inputs[0]).quant;  // a copy: adding constants moves the values
    const ir::Value& w_value = graph_.value(node.inputs[1]);
    if (!x_quant || w_value.dtype != DType::kF32 || w_value.quant) return;
    const ConstTensor w = w_value.constant;
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
    const int64_t axis = channel_axis(node);
    const ConstTensor bias = has_bias ? flat_bias(*graph_.value(node.inputs[2]).constant,
                                                  axis < 0 ? 1 : w->shape()[static_cast<size_t>(axis)])
                                      : nullptr;
    QuantParams params = choose_weights(*w, axis, options_.scheme, options_.weight_bits);
    const bool affine = options_.scheme == Scheme::kAffine;
    const int moved = offset(node.name + ".weight");
    if (!affine && moved != 0)
      params = QuantParams::pow2(params.fix_point() + moved, params.dtype, params.bits);
    if (affine && bias) raise_for_bias(node, *x_quant, *bias, params);
    Tensor q = tandem::quantize(*w, params);
    report_dead(node, *w, q, params);
    const std::string name = node.name;
    const ValueId w_id =
        graph_.add_constant(name + ".weight", std::make_shared<const Tensor>(std::move(q)), params);
    ValueId b_id = kNoValue;
    if (bias) {
      const QuantParams b_params = affine ? bias_params(*x_quant, params) : choose_pow2_bias(*bias);
      b_id = graph_.add_constant(name + ".bias",
                                 std::make_shared<const Tensor>(quantize_bias(*bias, b_params)), b_params);
    }
    Node& target = graph_.node(id);
    target.inputs[1] = w_id;
    if (bias) target.inputs[2] = b_id;
  }

  // A bias may come as [1,O], or as one number for all channels: [O] here.
  static ConstTensor flat_bias(const Tensor& bias, int64_t channels) {
    const auto values = bias.as<float>();
    std::vector<float> flat(values.begin(), values.end());
    if (flat.size() == 1 && channels > 1) flat.assign(static_cast<size_t>(channels), flat[0]);
    return std::make_shared<const Tensor>(Tensor::of<float>(Shape{static_cast<int64_t>(flat.size())}, flat));
  }

  // bias / (s_x * s_w) must fit an i32; where it does not, s_w grows. The weights of such a channel are then
  // so small against its bias that they round to zero anyway.
  void raise_for_bias(const Node& node, const QuantParams& x, const Tensor& bias, QuantParams& params) {
    constexpr double kBiasMax = 2147483647.0 - 256;  // Room for the float rounding of s_x * s_w.
    const auto b = bias.as<float>();
    bool raised = false;
    for (size_t c = 0; c < b.size(); ++c) {
      float& s_w = params.scale[params.per_tensor() || params.scale.size() == 1 ? 0 : c];
      const double least = std::abs(double{b[c]}) / kBiasMax / double{x.scale[0]};
      if (double{s_w} >= least) continue;
      s_w = std::nextafter(static_cast<float>(least), std::numeric_limits<float>::infinity());
      raised = true;
    }
    if (raised) report_.raised_scales.push_back(node.name);
  }

  static QuantParams bias_params(const QuantParams& x, const QuantParams& w) {
    std::vector<float> scales;
    for (float s : w.scale) scales.push_back(x.scale[0] * s);
    if (w.per_tensor()) return QuantParams::affine(DType::kI32, scales[0], 0);
    return QuantParams::affine_per_axis(DType::kI32, 0, std::move(scales));
  }

  Tensor quantize_bias(const Tensor& bias, const QuantParams& params) {
    if (params.scheme == Scheme::kPow2) {
      const double scale = params.scale[0];
      const double low = (static_cast<double>(params.lowest()) - 0.5) * scale;
      const double high = (static_cast<double>(params.highest()) + 0.5) * scale;
      for (float b : bias.as<float>()) report_.saturated_biases += double{b} < low || double{b} >= high;
    }
    return tandem::quantize(bias, params);
  }

  void report_dead(const Node& node, const Tensor& w, const Tensor& q, const QuantParams& params) {
    if (params.per_tensor()) return;
    const size_t axis = static_cast<size_t>(params.axis);
    const int64_t channels = w.shape()[axis], inner = w.shape().strides()[axis];
    std::vector<bool> alive(static_cast<size_t>(channels), false);
    const auto values = q.as<int8_t>();
    for (int64_t i = 0; i < q.elements(); ++i) {
      if (values[static_cast<size_t>(i)] != 0) alive[static_cast<size_t>(i / inner % channels)] = true;
    }
    for (int64_t c = 0; c < channels; ++c) {
      if (!alive[static_cast<size_t>(c)]) {
        report_.dead_channels.push_back(fmt::format("{}: channel {} of {}", node.name, c, channels));
      }
    }
  }

  // A graph input is real; its quantized users read a Requantize of it.
  void separate_inputs() {
    for (ValueId input : graph_.inputs) {
      auto quant = graph_.value(input).quant;
      if (!quant) continue;
      graph_.value(input).quant.reset();
      ir::Value value;
      value.name = graph_.value(input).name + ".quantized";
      value.shape = graph_.value(input).shape;
      value.quant = std::move(quant);
      const ValueId id = graph_.add_value(std::move(value));
      const bool was_output = graph_.is_output(input);
      graph_.replace_uses(input, id);
      if (was_output) std::replace(graph_.outputs.begin(), graph_.outputs.end(), id, input);
      Node node;
      node.name = graph_.value(id).name;
      node.op = ir::Requantize{};
      node.inputs = {input};
      node.outputs = {id};
      graph_.add_node(std::move(node));
    }
  }

  void count_nodes() {
    for (NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      if (std::holds_alternative<ir::Requantize>(node.op)) continue;
      const bool in_integers = role(id) != Role::kFloat && !node.inputs.empty() &&
                               node.inputs[0] != kNoValue && graph_.value(node.inputs[0]).quant.has_value();
      ++(in_integers ? report_.quantized_nodes : report_.float_nodes);
    }
  }

  Graph graph_;
  const Calibration& calibration_;
  const QuantizeOptions& options_;
  QuantizeReport report_;
  std::vector<Role> roles_;
  std::vector<std::string> positions_;
  std::map<uint32_t, std::string> group_name_;  // of groups that share params
  std::map<ValueId, ValueId> origin_;           // requantized copy -> the value whose histogram it has
};

}  // namespace

Result<Quantized> quantize(const Graph& graph, const Calibration& calibration,
                           const QuantizeOptions& options) {
  return Quantizer(graph, calibration, options).run();
}

}  // namespace tandem::quant
