// SPDX-License-Identifier: Apache-2.0
// GraphBuilder: small graphs for tests, one call per node. Shapes are inferred by finish().
#pragma once

#include <string>
#include <vector>

#include "tandem/base/rng.hpp"
#include "tandem/ir/graph.hpp"

namespace tandem::testing {

class GraphBuilder {
 public:
  ir::ValueId input(std::string name, Shape shape, DType dtype = DType::kF32);
  ir::ValueId constant(Tensor tensor, std::string name = "");
  // One node with one output.
  ir::ValueId add(ir::Op op, std::vector<ir::ValueId> inputs, std::string name = "");
  // One node with several outputs.
  std::vector<ir::ValueId> add_multi(ir::Op op, std::vector<ir::ValueId> inputs, size_t outputs, std::string name = "");
  void output(ir::ValueId id) { graph_.outputs.push_back(id); }
  ir::Graph& graph() { return graph_; }
  // Infers shapes and returns the graph; aborts the test program when it is not valid.
  ir::Graph finish();

 private:
  ir::Graph graph_;
};

// Uniform in [low, high); integers include both ends.
Tensor random_tensor(Rng& rng, DType dtype, const Shape& shape, double low = -1, double high = 1);

}  // namespace tandem::testing
