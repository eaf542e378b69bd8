// SPDX-License-Identifier: Apache-2.0
// What nodes cost: MACs, other element operations and bytes, from static shapes.
#pragma once

#include "tandem/ir/graph.hpp"

namespace tandem::ir {

// Precondition: the graph verifies. Dynamic dimensions count as 1 (bind the batch first for exact figures).
// A constant that several nodes read counts in each of them.
OpCost cost_of(const Graph& graph, NodeId node);
OpCost total_cost(const Graph& graph);
// Number of elements of all constants that a network learns: inputs of Conv, Gemm, MatMul, normalizations,
// embeddings, and tensors of more than one element that are added or multiplied. The running statistics of
// BatchNorm are not counted.
int64_t parameter_count(const Graph& graph);

}  // namespace tandem::ir
