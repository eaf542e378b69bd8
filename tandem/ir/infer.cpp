// SPDX-License-Identifier: Apache-2.0
// Shape inference over whole graphs. Every dynamic dimension gets a symbol, so that shape computations
// (Shape, Gather, Concat, Reshape and the like) lead back to the dimensions they started from.
#include "tandem/ir/infer.hpp"

#include <algorithm>

#include "tandem/base/check.hpp"
#include "tandem/ir/graph.hpp"
#include "tandem/ir/ops/rules.hpp"
#include "tandem/ir/shape_values.hpp"

namespace tandem::ir {
namespace {

std::string called(const Node& node) { return fmt::format("node '{}' ({})", node.name, op_name(node.op)); }

Shape without_symbols(Shape shape) {
  for (size_t i = 0; i < shape.rank(); ++i) shape[i] = std::max(shape[i], kDynamic);
  return shape;
}

class Inference {
 public:
  explicit Inference(Graph& graph)
      : graph_(graph), shapes_(graph.values().size()), ints_(graph.values().size()) {}

  // Inputs for which this is true share one symbol as dimension 0, whatever the graph says of it.
  static constexpr int64_t kBatch = kDynamic - 1;
  Status run(const std::vector<bool>& batched = {});
  const std::optional<Shape>& shape(ValueId id) const { return shapes_[index_of(id)]; }

 private:
  Status start(ValueId id);
  Status infer_node(const Node& node);
  Status set_output(const Node& node, ValueId id, const OutputInfo& info);
  void name_unknowns(Shape& shape) {
    for (size_t i = 0; i < shape.rank(); ++i) {
      if (shape[i] == kDynamic) shape[i] = next_symbol_--;
    }
  }

  Graph& graph_;
  std::vector<std::optional<Shape>> shapes_;  // with symbols
  std::vector<std::optional<std::vector<int64_t>>> ints_;
  int64_t next_symbol_ = kBatch - 1;
};

// What the graph states of a value before any op has run.
Status Inference::start(ValueId id) {
  Value& value = graph_.value(id);
  if (value.shape) {
    TANDEM_TRY(rules::check_size(*value.shape).context(fmt::format("value '{}'", value.name)));
    for (int64_t d : *value.shape) {
      if (d < kDynamic) return bad_input(fmt::format("value '{}' has a dimension of {}", value.name, d));
    }
  }
  if (value.constant) {
    const Shape& actual = value.constant->shape();
    if (value.shape) TANDEM_TRY(rules::merge(actual, *value.shape, fmt::format("constant '{}'", value.name)));
    value.shape = actual;
    if (!value.quant) value.dtype = value.constant->dtype();
  }
  if (value.producer != kNoNode) return {};
  shapes_[index_of(id)] = value.shape;
  if (value.shape) name_unknowns(*shapes_[index_of(id)]);
  return {};
}

Status Inference::set_output(const Node& node, ValueId id, const OutputInfo& info) {
  Value& value = graph_.value(id);
  std::optional<Shape>& shape = shapes_[index_of(id)];
  shape = info.shape;
  if (std::holds_alternative<Opaque>(node.op))
    shape = value.shape;  // what was declared is all there is
  else
    value.dtype = info.dtype;
  if (shape && value.shape) {
    shape =
        TANDEM_TRY(rules::merge(*shape, *value.shape, fmt::format("output '{}' in the graph", value.name)));
  } else if (value.shape) {
    shape = value.shape;
  }
  if (!shape) return {};
  name_unknowns(*shape);
  value.shape = without_symbols(*shape);
  return {};
}

Status Inference::infer_node(const Node& node) {
  std::vector<InputInfo> in = input_infos(graph_, node);
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in[i].present) continue;
    const size_t index = index_of(node.inputs[i]);
    in[i].shape = shapes_[index];
    if (ints_[index]) in[i].ints = ints_[index];
  }
  const std::vector<OutputInfo> out = TANDEM_TRY(infer(node.op, in, node.outputs.size()));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNoValue) TANDEM_TRY(set_output(node, node.outputs[i], out[i]));
  }
  if (node.outputs.empty() || node.outputs[0] == kNoValue) return {};
  const ValueId first = node.outputs[0];
  ints_[index_of(first)] = evaluate_ints(node.op, in, {graph_.value(first).dtype, shapes_[index_of(first)]});
  return {};
}

Status Inference::run(const std::vector<bool>& batched) {
  const std::vector<NodeId> order = TANDEM_TRY(topological_order(graph_));
  for (uint32_t i = 0; i < graph_.values().size(); ++i) TANDEM_TRY(start(ValueId{i}));
  for (size_t i = 0; i < batched.size(); ++i) {
    if (batched[i]) (*shapes_[index_of(graph_.inputs[i])])[0] = kBatch;
  }
  for (NodeId id : order) {
    const Node& node = graph_.node(id);
    TANDEM_TRY(infer_node(node).context(called(node)));
  }
  return {};
}

// Produced shapes follow from the inputs. Those of Opaque ops do not: they stay when the inputs were only
// made more precise, and are forgotten when something changed.
void forget_shapes(Graph& graph, bool opaque_too) {
  for (const Node& node : graph.nodes()) {
    if (node.dead || (std::holds_alternative<Opaque>(node.op) && !opaque_too)) continue;
    for (ValueId id : node.outputs) {
      if (id != kNoValue) graph.value(id).shape.reset();
    }
  }
}

// The inputs whose dimension 0 is the batch.
Result<std::vector<bool>> batched_inputs(const Graph& graph) {
  std::optional<int64_t> extent;  // of the batch as the graph has it
  for (ValueId id : graph.inputs) {
    const Value& input = graph.value(id);
    if (!input.shape) return unsupported(fmt::format("the rank of input '{}' is not known", input.name));
    if (input.shape->rank() == 0) continue;
    if (!extent || (*input.shape)[0] == kDynamic) extent = (*input.shape)[0];
  }
  if (!extent) return bad_input("no input has a dimension that could be the batch");
  std::vector<bool> batched;
  for (ValueId id : graph.inputs) {
    const Shape& shape = *graph.value(id).shape;
    batched.push_back(shape.rank() > 0 && shape[0] == *extent);
  }
  return batched;
}

// A Reshape whose constant has a number where its input has the batch works for that one batch only.
Status refuse_baked_batch(const Graph& graph, const std::vector<bool>& batched, int64_t batch) {
  Graph probe = graph;
  forget_shapes(probe, true);
  Inference inference(probe);
  TANDEM_TRY(inference.run(batched));
  for (NodeId id : probe.live_nodes()) {
    const Node& node = probe.node(id);
    if (!std::holds_alternative<Reshape>(node.op)) continue;
    const std::vector<InputInfo> in = input_infos(probe, node);
    const std::optional<Shape>& x = inference.shape(node.inputs[0]);
    if (!x || !in[1].ints) continue;
    const std::vector<int64_t>& wanted = *in[1].ints;
    for (size_t i = 0; i < std::min(x->rank(), wanted.size()); ++i) {
      const bool fixed = wanted[i] > 0 && wanted[i] != batch && (i == 0 || wanted[i] == 1);
      if ((*x)[i] != Inference::kBatch || !fixed) continue;
      return unsupported(
                 fmt::format("{} works only for a batch of {}, not {}", called(node), wanted[i], batch))
          .because(fmt::format("its constant shape [{}] has a number where its input has the batch",
                               fmt::join(wanted, ",")))
          .hint("export the model with a dynamic batch, or with 0 or -1 in that place");
    }
  }
  return {};
}

}  // namespace

Status infer_shapes(Graph& graph) { return Inference(graph).run(); }

Result<Graph> bind_shapes(const Graph& graph, const std::vector<Shape>& input_shapes) {
  if (input_shapes.size() != graph.inputs.size()) {
    return bad_input(fmt::format("{} shapes given for {} inputs", input_shapes.size(), graph.inputs.size()));
  }
  Graph bound = graph;
  bool changed = false;
  for (size_t i = 0; i < input_shapes.size(); ++i) {
    Value& input = bound.value(bound.inputs[i]);
    const Shape& shape = input_shapes[i];
    if (!shape.is_static())
      return bad_input(fmt::format("shape {} for input '{}' is not static", shape.to_string(), input.name));
    if (input.shape && input.shape->rank() != shape.rank()) {
      return bad_input(fmt::format("shape {} for input '{}' of shape {}", shape.to_string(), input.name,
                                   input.shape->to_string()));
    }
    changed |= input.shape && !rules::merge(*input.shape, shape, "input").ok();
    input.shape = shape;
  }
  forget_shapes(bound, changed);
  TANDEM_TRY(infer_shapes(bound));
  return bound;
}

Result<Graph> bind_batch(const Graph& graph, int64_t batch) {
  if (batch < 1 || batch > rules::kMaxAttribute)
    return bad_input(fmt::format("a batch of {} is not possible", batch));
  const std::vector<bool> batched = TANDEM_TRY(batched_inputs(graph));
  TANDEM_TRY(refuse_baked_batch(graph, batched, batch));
  Graph bound = graph;
  bool changed = false;
  for (size_t i = 0; i < batched.size(); ++i) {
    if (!batched[i]) continue;
    int64_t& extent = (*bound.value(bound.inputs[i]).shape)[0];
    changed |= extent != kDynamic && extent != batch;
    extent = batch;
  }
  forget_shapes(bound, changed);
  TANDEM_TRY(infer_shapes(bound));
  return bound;
}

}  // namespace tandem::ir
