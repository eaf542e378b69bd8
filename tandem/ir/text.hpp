// SPDX-License-Identifier: Apache-2.0
// The text form of a graph: what a person reads, edits, diffs, and writes tests in.
#pragma once

#include <string>
#include <string_view>

#include "tandem/ir/graph.hpp"

namespace tandem::ir {

struct PrintOptions {
  int64_t constant_elements_max = 16;  // larger constants print a hash instead of their values and cannot be parsed back
};

std::string print(const Graph& graph, const PrintOptions& options = {});
// Errors name line and column.
Result<Graph> parse(std::string_view text);
// Equality of ops by their fields.
bool equal(const Op& a, const Op& b);

}  // namespace tandem::ir
