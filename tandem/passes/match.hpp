// SPDX-License-Identifier: Apache-2.0
// Small questions that rewrites ask of a graph.
#pragma once

#include <optional>
#include <vector>

#include "tandem/ir/graph.hpp"

namespace tandem::passes {

// The producer of a value if its op is a T, else null. The pointer holds until nodes are added.
template <typename T>
const T* producer_as(const ir::Graph& graph, ir::ValueId id) {
  if (id == ir::kNoValue || graph.value(id).producer == ir::kNoNode) return nullptr;
  return std::get_if<T>(&graph.node(graph.value(id).producer).op);
}

// The one element of a constant real tensor without QuantParams.
std::optional<double> scalar_constant(const ir::Graph& graph, ir::ValueId id);

// The elements of a constant f32 tensor without QuantParams, or nothing.
std::optional<std::vector<float>> float_constant(const ir::Graph& graph, ir::ValueId id);

// True when exactly one node reads the value and it is no graph output: the value may disappear.
bool is_private(const ir::Graph& graph, const std::vector<std::vector<ir::NodeId>>& consumers,
                ir::ValueId id);

// The activation that a node computes on its first input, when it is one: Unary kinds, Clip with constant
// bounds.
std::optional<ir::Activation> activation_of(const ir::Graph& graph, const ir::Node& node);

}  // namespace tandem::passes
