// SPDX-License-Identifier: Apache-2.0
// What nodes cost: MACs, other element operations and bytes, from static shapes.
#pragma once

#include "tandem/ir/graph.hpp"

namespace tandem::ir {

// Precondition: the graph verifies. Dynamic dimensions count as 1 (bind the batch first for exact figures).
OpCost cost_of(const Graph& graph, NodeId node);
OpCost total_cost(const Graph& graph);
// Number of elements of all constants that are weights (inputs of Conv, Gemm, MatMul, BatchNorm and the like).
int64_t parameter_count(const Graph& graph);

}  // namespace tandem::ir
