// SPDX-License-Identifier: Apache-2.0
// extract(): the part of a graph between some values and others, as a graph of its own.
#pragma once

#include <vector>

#include "tandem/ir/graph.hpp"

namespace tandem::partition {

// Nodes that `outputs` need, up to `inputs`. Inputs keep name, dtype, shape and QuantParams: a cut cannot
// lose them. Constants are shared, metadata is copied. Error when an output depends on a graph input that is
// not among `inputs`.
Result<ir::Graph> extract(const ir::Graph& graph, const std::vector<ir::ValueId>& inputs,
                          const std::vector<ir::ValueId>& outputs);

}  // namespace tandem::partition
