// SPDX-License-Identifier: Apache-2.0
// Building of test graphs and random tensors.
#include "tandem/testing/graph_builder.hpp"

#include <cmath>

namespace tandem::testing {

ir::ValueId GraphBuilder::input(std::string name, Shape shape, DType dtype) {
  ir::Value value;
  value.name = std::move(name);
  value.dtype = dtype;
  value.shape = std::move(shape);
  return graph_.add_input(std::move(value));
}

ir::ValueId GraphBuilder::constant(Tensor tensor, std::string name) {
  return graph_.add_constant(name.empty() ? "c" : std::move(name), std::move(tensor));
}

ir::ValueId GraphBuilder::add(ir::Op op, std::vector<ir::ValueId> inputs, std::string name) {
  return add_multi(std::move(op), std::move(inputs), 1, std::move(name))[0];
}

std::vector<ir::ValueId> GraphBuilder::add_multi(ir::Op op, std::vector<ir::ValueId> inputs, size_t outputs,
                                                 std::string name) {
  ir::Node node;
  node.name = name.empty() ? "n" + std::to_string(graph_.nodes().size()) : std::move(name);
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  for (size_t i = 0; i < outputs; ++i) {
    ir::Value value;
    value.name = node.name + (i == 0 ? "" : "." + std::to_string(i));
    node.outputs.push_back(graph_.add_value(std::move(value)));
  }
  const std::vector<ir::ValueId> ids = node.outputs;
  graph_.add_node(std::move(node));
  return ids;
}

ir::Graph GraphBuilder::finish() {
  ir::infer_shapes(graph_).value();
  return std::move(graph_);
}

Tensor random_tensor(Rng& rng, DType dtype, const Shape& shape, double low, double high) {
  Tensor real(DType::kF64, shape);
  for (double& x : real.as<double>()) {
    x = rng.uniform(low, high);
    if (!is_float(dtype)) x = std::min(std::floor(rng.uniform(low, high + 1)), high);
  }
  return cast(real, dtype);
}

}  // namespace tandem::testing
