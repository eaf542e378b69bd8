// SPDX-License-Identifier: Apache-2.0
// The pass runner: applies graph rewrites one after the other, cleans up and verifies after each, and blames
// by name.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/ir/graph.hpp"

namespace tandem::passes {

// What a pass tells its caller: rewrites that a user may want to know of ("conv1: BatchNorm 'bn1' folded").
struct PassLog {
  std::vector<std::string> notes;
  int rewrites = 0;
  void note(std::string text) {
    notes.push_back(std::move(text));
    ++rewrites;
  }
};

// A pass changes the graph and may leave dead nodes, unused values and unknown shapes behind: the runner
// cleans up.
struct Pass {
  std::string_view name;
  Status (*apply)(ir::Graph& graph, PassLog& log);
};

struct PassOptions {
  std::vector<std::string> disabled;  // names of passes to leave out
  // Called with the graph before the first pass (name "input") and after each; for numbered dumps.
  std::function<Status(int number, std::string_view name, const ir::Graph&)> after_each;
};

struct PassReport {
  std::string pass;
  PassLog log;
};

// Applies the passes in order. A graph that fails ir::verify() after a pass is an internal error that names
// the pass.
Result<std::vector<PassReport>> run(ir::Graph& graph, const std::vector<Pass>& passes,
                                    const PassOptions& options = {});

// Removes nodes none of whose outputs are used, then compacts. Every pass ends with it.
Status clean_up(ir::Graph& graph);

// The list that every model goes through after import: constants folded, idioms recognised, BatchNorm folded,
// padding and activations fused. Values stay equal within float rounding.
const std::vector<Pass>& simplify_passes();
// What the affine INT8 executor wants in addition: Conv + Add fused, which drops the rounding between them.
const std::vector<Pass>& affine_passes();

}  // namespace tandem::passes
