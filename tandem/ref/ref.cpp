// SPDX-License-Identifier: Apache-2.0
// Running a node and running a graph.
#include "tandem/ref/ref.hpp"

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "tandem/ref/fixed_point.hpp"

namespace tandem::ref {
namespace {

bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

ir::InputInfo info_of(const Tensor& t) {
  ir::InputInfo info;
  info.present = true;
  info.dtype = t.dtype();
  info.shape = t.shape();
  info.constant = &t;
  if (!is_float(t.dtype()) && t.shape().rank() <= 1 && t.elements() <= 64) {
    info.ints = *to_int64s(t);
    for (int64_t& element : *info.ints) element = std::max(element, ir::kLowestKnownInt);
  }
  return info;
}

std::vector<ir::InputInfo> infos_of(std::span<const Tensor* const> inputs) {
  std::vector<ir::InputInfo> infos(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr) infos[i] = info_of(*inputs[i]);
  }
  return infos;
}

Outputs eval_any(const ir::Op& op, const Call& call) {
  return std::visit([&](const auto& o) { return eval(o, call); }, op);
}

bool is_cast(const ir::Op& op) {
  return std::holds_alternative<ir::Cast>(op) || std::holds_alternative<ir::CastLike>(op);
}

// The tensors that `convert` makes of some of the inputs, and pointers to all.
template <typename F>
struct Converted {
  Converted(std::span<const Tensor* const> inputs, F&& convert)
      : made(inputs.size()), all(inputs.begin(), inputs.end()) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] == nullptr) continue;
      made[i] = convert(i, *all[i]);
      if (made[i]) all[i] = &*made[i];
    }
  }
  std::vector<std::optional<Tensor>> made;
  std::vector<const Tensor*> all;
};
template <typename F>
Converted(std::span<const Tensor* const>, F&&) -> Converted<F>;

std::optional<Tensor> widen_half(size_t, const Tensor& t) {
  if (is_half(t.dtype())) return cast(t, DType::kF32);
  return std::nullopt;
}

}  // namespace

Outputs run_node(const ir::Op& op, std::span<const Tensor* const> inputs, size_t output_count) {
  const auto infos = infos_of(inputs);
  std::vector<ir::OutputInfo> declared = TANDEM_TRY(ir::infer(op, infos, output_count));
  bool any_half = false;
  for (const Tensor* t : inputs) any_half = any_half || (t != nullptr && is_half(t->dtype()));
  if (!any_half || is_cast(op)) return eval_any(op, Call{inputs, std::move(declared)});

  const Converted wide(inputs, widen_half);
  std::vector<ir::OutputInfo> wide_out = declared;
  for (ir::OutputInfo& out : wide_out) {
    if (is_half(out.dtype)) out.dtype = DType::kF32;
  }
  std::vector<Tensor> outputs = TANDEM_TRY(eval_any(op, Call{wide.all, std::move(wide_out)}));
  for (size_t i = 0; i < outputs.size() && i < declared.size(); ++i) {
    if (outputs[i].dtype() != declared[i].dtype) outputs[i] = cast(outputs[i], declared[i].dtype);
  }
  return outputs;
}

namespace {

bool any(std::span<const QuantParams* const> quant) {
  for (const QuantParams* q : quant) {
    if (q != nullptr) return true;
  }
  return false;
}

// What infer() is to know of stored inputs: quantized ones count as f32.
std::vector<ir::InputInfo> real_infos(std::span<const Tensor* const> inputs,
                                      std::span<const QuantParams* const> quant) {
  std::vector<ir::InputInfo> infos = infos_of(inputs);
  for (size_t i = 0; i < infos.size(); ++i) {
    if (!infos[i].present || quant[i] == nullptr) continue;
    infos[i].dtype = DType::kF32;
    infos[i].constant = nullptr;
    infos[i].ints.reset();
  }
  return infos;
}

FixedOutputs eval_fixed_any(const ir::Op& op, const FixedCall& fixed) {
  return std::visit(
      [&](const auto& o) -> FixedOutputs {
        if constexpr (requires {
                        { eval_fixed(o, fixed) } -> std::same_as<FixedOutputs>;
                      })
          return eval_fixed(o, fixed);
        else
          return std::nullopt;
      },
      op);
}

// The general rule: dequantized to double, computed in double, rounded once.
Outputs eval_dequantized(const ir::Op& op, const FixedCall& fixed) {
  const Converted real(fixed.call.in, [&](size_t i, const Tensor& t) -> std::optional<Tensor> {
    if (fixed.in_quant[i] != nullptr) return dequantize_f64(t, *fixed.in_quant[i]);
    if (t.dtype() == DType::kF32 || is_half(t.dtype())) return cast(t, DType::kF64);
    return std::nullopt;
  });
  Call call{real.all, fixed.call.out};
  for (ir::OutputInfo& out : call.out) {
    if (out.dtype == DType::kF32 || is_half(out.dtype)) out.dtype = DType::kF64;
  }
  std::vector<Tensor> outputs = TANDEM_TRY(eval_any(op, call));
  for (size_t i = 0; i < outputs.size() && i < fixed.call.out.size(); ++i) {
    if (fixed.out_quant[i] != nullptr)
      outputs[i] = quantize_f64(outputs[i], *fixed.out_quant[i]);
    else if (outputs[i].dtype() != fixed.call.out[i].dtype)
      outputs[i] = cast(outputs[i], fixed.call.out[i].dtype);
  }
  return outputs;
}

}  // namespace

Outputs run_stored(const ir::Op& op, std::span<const Tensor* const> inputs,
                   std::span<const QuantParams* const> input_quant,
                   std::span<const QuantParams* const> output_quant) {
  TANDEM_CHECK(inputs.size() == input_quant.size(), "one QuantParams pointer per input");
  if (!any(input_quant)) {
    std::vector<Tensor> outputs = TANDEM_TRY(run_node(op, inputs, output_quant.size()));
    for (size_t i = 0; i < outputs.size() && i < output_quant.size(); ++i) {
      if (output_quant[i] == nullptr) continue;
      outputs[i] = quantize(cast(outputs[i], DType::kF32), *output_quant[i]);
    }
    return outputs;
  }
  const auto infos = real_infos(inputs, input_quant);
  const FixedCall fixed{Call{inputs, TANDEM_TRY(ir::infer(op, infos, output_quant.size()))}, input_quant,
                        output_quant};
  if (FixedOutputs outputs = eval_fixed_any(op, fixed)) return std::move(*outputs);
  return eval_dequantized(op, fixed);
}

namespace {

Outputs refuse(const ir::Opaque& op) {
  return unsupported(fmt::format("operator {}{}{} is not known", op.domain,
                                 op.domain.empty() ? "" : "::", op.op_type))
      .hint("'tandem inspect' lists all operators that cannot run.");
}

// Brings a given input into the stored form of `value`, after checking it.
Result<Tensor> accept_input(const ir::Value& value, const Tensor& given) {
  bool fits = !value.shape || value.shape->rank() == given.shape().rank();
  for (size_t d = 0; fits && value.shape && d < given.shape().rank(); ++d) {
    fits = (*value.shape)[d] == kDynamic || (*value.shape)[d] == given.shape()[d];
  }
  if (!fits) {
    return bad_input(fmt::format("input '{}' has shape {}", value.name, given.shape().to_string()))
        .because(fmt::format("the graph expects {}", value.shape->to_string()));
  }
  if (given.dtype() == value.storage()) return given.clone();
  if (value.quant && given.dtype() == DType::kF32) return quantize(given, *value.quant);
  return bad_input(fmt::format("input '{}' is {}", value.name, to_string(given.dtype())))
      .because(fmt::format("the graph expects {}", to_string(value.dtype)));
}

// The state of one run: stored tensors of values, and how many readers still wait for each.
class Runner {
 public:
  Runner(const ir::Graph& graph, const RunOptions& options)
      : graph_(graph), options_(options), held_(graph.values().size()), readers_(graph.values().size(), 0) {
    for (ir::NodeId id : graph.live_nodes()) {
      for (ir::ValueId input : graph.node(id).inputs) {
        if (input != ir::kNoValue) ++readers_[index_of(input)];
      }
    }
    for (ir::ValueId output : graph.outputs) ++readers_[index_of(output)];
  }

  Status feed(std::span<const Tensor> inputs) {
    if (inputs.size() != graph_.inputs.size()) {
      return bad_input(fmt::format("{} inputs were given", inputs.size()))
          .because(fmt::format("the graph has {}", graph_.inputs.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ir::ValueId id = graph_.inputs[i];
      held_[index_of(id)] = TANDEM_TRY(accept_input(graph_.value(id), inputs[i]));
    }
    return {};
  }

  Status run_node_of_graph(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    std::vector<const Tensor*> inputs;
    std::vector<const QuantParams*> in_quant, out_quant;
    for (ir::ValueId input : node.inputs) {
      inputs.push_back(input == ir::kNoValue ? nullptr : stored(input));
      in_quant.push_back(quant_of(input));
      if (input != ir::kNoValue && inputs.back() == nullptr) return bad_input("an input has no value");
    }
    for (ir::ValueId output : node.outputs) out_quant.push_back(quant_of(output));
    std::vector<Tensor> outputs = TANDEM_TRY(run_stored(node.op, inputs, in_quant, out_quant));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == ir::kNoValue) continue;
      if (i >= outputs.size()) return unsupported(fmt::format("output {} is not computed", i));
      if (options_.on_value) options_.on_value(node.outputs[i], outputs[i]);
      if (readers_[index_of(node.outputs[i])] > 0) held_[index_of(node.outputs[i])] = std::move(outputs[i]);
    }
    for (ir::ValueId input : node.inputs) {
      if (input != ir::kNoValue && --readers_[index_of(input)] == 0) held_[index_of(input)].reset();
    }
    return {};
  }

  Result<Tensor> output(ir::ValueId id) {
    const ir::Value& value = graph_.value(id);
    const Tensor* t = stored(id);
    if (t == nullptr) return bad_input(fmt::format("output '{}' is produced by no node", value.name));
    const bool last = --readers_[index_of(id)] == 0;
    if (value.quant && !options_.stored_outputs) return dequantize(*t, *value.quant);
    return last && held_[index_of(id)] ? std::move(*held_[index_of(id)]) : t->clone();
  }

 private:
  const Tensor* stored(ir::ValueId id) const {
    if (held_[index_of(id)]) return &*held_[index_of(id)];
    return graph_.value(id).constant.get();
  }
  const QuantParams* quant_of(ir::ValueId id) const {
    if (id == ir::kNoValue || !graph_.value(id).quant) return nullptr;
    return &*graph_.value(id).quant;
  }

  const ir::Graph& graph_;
  const RunOptions& options_;
  std::vector<std::optional<Tensor>> held_;
  std::vector<int> readers_;
};

}  // namespace

Outputs eval(const ir::Opaque& op, const Call&) { return refuse(op); }

Outputs run(const ir::Graph& graph, std::span<const Tensor> inputs, const RunOptions& options) {
  Runner runner(graph, options);
  TANDEM_TRY(runner.feed(inputs));
  const std::vector<ir::NodeId> order = TANDEM_TRY(ir::topological_order(graph));
  for (ir::NodeId id : order) {
    if (options.cancel != nullptr) TANDEM_TRY(options.cancel->check());
    const ir::Node& node = graph.node(id);
    TANDEM_TRY(runner.run_node_of_graph(id).context(
        fmt::format("running node '{}' ({})", node.name, ir::describe(node.op))));
  }
  std::vector<Tensor> outputs;
  for (ir::ValueId id : graph.outputs) outputs.push_back(TANDEM_TRY(runner.output(id)));
  return outputs;
}

}  // namespace tandem::ref
