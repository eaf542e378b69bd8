// SPDX-License-Identifier: Apache-2.0
// Which value of one graph is which of another, when passes or exporters have named some differently.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tandem/ir/graph.hpp"

namespace tandem::jobs {

struct Matching {
  std::map<std::string, std::string> a_of;  // A's value of each value of B that has one
  // "name (op)" of nodes none of whose outputs has a counterpart, in execution order.
  std::vector<std::string> only_a, only_b;
};

// First by the name of the value, then by the name of the node and the number of its output, then by place:
// between two pairs that follow each other in both, nodes of the same op (whatever is fused to it) and output
// shape meet in order. Graph inputs meet by place.
Matching match_values(const ir::Graph& a, const ir::Graph& b);

}  // namespace tandem::jobs
