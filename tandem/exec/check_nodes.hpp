// SPDX-License-Identifier: Apache-2.0
// For tests: judges every node of an executable by the reference on the very same inputs, so that small
// differences of one node cannot hide or excuse those of another.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tandem/exec/executable.hpp"
#include "tandem/ref/ref.hpp"
#include "tandem/tensor/compare.hpp"

namespace tandem::exec {

struct NodeDifference {
  std::string node, op, implementation;
  bool quantized = false;
  double max_abs = 0;  // in steps of the stored integer, or reals
  double tolerance =
      0;  // 0 in pow2 and for data movement, 1 in affine, relative to the largest |expected| in f32
};

// f32 nodes: k * eps * max|x| with k for the longest sums of these networks, and for oneDNN's transcendental
// functions.
inline constexpr double kRealTolerance = 3e-5;

// Errors of running are returned as one difference that names them. `tamper` may change what a value is taken
// to be, to see that the judge notices.
inline std::vector<NodeDifference> differences_by_node(
    const ir::Graph& graph, CompileOptions options, const std::vector<Tensor>& inputs,
    const std::function<void(const std::string& value, Tensor&)>& tamper = {}) {
  std::vector<NodeDifference> found;
  const auto fail = [&](const Error& e) {
    found.push_back({"(run)", e.message(), "", false, 1e30, 0});
    return found;
  };
  options.keep_all_values = true;
  Result<Executable> compiled = Executable::compile(graph, options);
  if (!compiled.ok()) return fail(compiled.error());
  const ir::Graph& g = compiled->graph();
  std::map<ir::ValueId, Tensor> values;
  std::vector<TensorView> views;
  for (size_t i = 0; i < inputs.size(); ++i) {
    views.emplace_back(inputs[i]);
    values[g.inputs[i]] = inputs[i].clone();
  }
  compiled->set_observer([&](ir::ValueId id, const TensorView& v) {
    values[id] = v.to_tensor();
    if (tamper) tamper(g.value(id).name, values[id]);
  });
  const Result<std::vector<Tensor>> ran = compiled->run(views);
  if (!ran.ok()) return fail(ran.error());
  for (const ir::NodeId id : g.live_nodes()) {
    const ir::Node& n = g.node(id);
    std::vector<const Tensor*> in;
    std::vector<const QuantParams*> in_quant, out_quant;
    for (const ir::ValueId v : n.inputs) {
      const bool present = v != ir::kNoValue;
      in.push_back(!present ? nullptr : g.value(v).is_constant() ? g.value(v).constant.get() : &values.at(v));
      in_quant.push_back(present && g.value(v).quant ? &*g.value(v).quant : nullptr);
    }
    for (const ir::ValueId v : n.outputs)
      out_quant.push_back(v != ir::kNoValue && g.value(v).quant ? &*g.value(v).quant : nullptr);
    const Result<std::vector<Tensor>> expected = ref::run_stored(n.op, in, in_quant, out_quant);
    if (!expected.ok()) return fail(expected.error());
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      if (n.outputs[o] == ir::kNoValue) continue;
      const Tensor& want = (*expected)[o];
      const Result<Difference> d = compare(want.view(), values.at(n.outputs[o]).view());
      if (!d.ok()) return fail(d.error());
      double largest = 0;
      for (int64_t i = 0; i < want.elements(); ++i)
        largest = std::max(largest, std::abs(element_as_double(want.view(), i)));
      std::string implementation;
      for (const NodeReport& r : compiled->report()) {
        if (r.node == id) implementation = r.implementation;
      }
      const auto& quant = g.value(n.outputs[o]).quant;
      const double tolerance = quant                    ? (quant->scheme == Scheme::kPow2 ? 0 : 1)
                               : is_float(want.dtype()) ? kRealTolerance * (largest + 1e-3)
                                                        : 0;
      found.push_back({n.name, ir::describe(n.op), implementation, quant.has_value(), d->max_abs, tolerance});
    }
  }
  return found;
}

}  // namespace tandem::exec
