// SPDX-License-Identifier: Apache-2.0
// verify(): the invariants of a Graph; every importer and every pass must leave them true.
#pragma once

#include "tandem/ir/graph.hpp"

namespace tandem::ir {

// Nodes in topological index order, ids in range, one producer per value, required inputs present, constants
// and QuantParams consistent with dtype and shape, unique non-empty value names, infer() agrees with the
// shapes in the graph. The message names the node or value. Error code kBadInput.
Status verify(const Graph& graph);

}  // namespace tandem::ir
