// SPDX-License-Identifier: Apache-2.0
// The lists of passes, in the order that they run, and the runner.
#include "tandem/passes/pass_runner.hpp"

#include <algorithm>

#include "tandem/ir/verify.hpp"
#include "tandem/passes/rewrites.hpp"

namespace tandem::passes {

Status clean_up(ir::Graph& graph) {
  // Uses are counted once and taken back as nodes die, so a long dead chain costs no more than its length.
  std::vector<int> uses(graph.values().size(), 0);
  for (ir::NodeId id : graph.live_nodes()) {
    for (ir::ValueId input : graph.node(id).inputs) {
      if (input != ir::kNoValue) ++uses[index_of(input)];
    }
  }
  for (ir::ValueId output : graph.outputs) ++uses[index_of(output)];
  const auto unused = [&](const ir::Node& node) {
    return std::all_of(node.outputs.begin(), node.outputs.end(),
                       [&](ir::ValueId v) { return v == ir::kNoValue || uses[index_of(v)] == 0; });
  };
  std::vector<ir::NodeId> work;
  for (ir::NodeId id : graph.live_nodes()) {
    if (unused(graph.node(id))) work.push_back(id);
  }
  while (!work.empty()) {
    const ir::NodeId id = work.back();
    work.pop_back();
    if (graph.node(id).dead) continue;
    const std::vector<ir::ValueId> inputs = graph.node(id).inputs;
    graph.remove_node(id);
    for (ir::ValueId input : inputs) {
      if (input == ir::kNoValue || --uses[index_of(input)] > 0) continue;
      const ir::NodeId producer = graph.value(input).producer;
      if (producer != ir::kNoNode && unused(graph.node(producer))) work.push_back(producer);
    }
  }
  return graph.compact();
}

Result<std::vector<PassReport>> run(ir::Graph& graph, const std::vector<Pass>& passes,
                                    const PassOptions& options) {
  std::vector<PassReport> reports;
  int number = 0;
  if (options.after_each) TANDEM_TRY(options.after_each(number++, "input", graph));
  for (const Pass& pass : passes) {
    if (std::find(options.disabled.begin(), options.disabled.end(), pass.name) != options.disabled.end())
      continue;
    PassReport report{std::string(pass.name), {}};
    const std::string blame = fmt::format("pass '{}'", pass.name);
    TANDEM_TRY(pass.apply(graph, report.log).context(blame));
    TANDEM_TRY(clean_up(graph).context(blame));
    TANDEM_TRY(ir::infer_shapes(graph).context(blame));
    if (Status ok = ir::verify(graph); !ok) {
      return internal_error(fmt::format("pass '{}' left an invalid graph", pass.name))
          .because(ok.error().message())
          .hint("switch the pass off by its name and report the model");
    }
    if (options.after_each) TANDEM_TRY(options.after_each(number++, pass.name, graph));
    reports.push_back(std::move(report));
  }
  return reports;
}

const std::vector<Pass>& simplify_passes() {
  static const std::vector<Pass> passes = {
      {"fold_constants", fold_constants},
      {"simplify_reshapes", simplify_reshapes},
      {"eliminate_identities", eliminate_identities},
      {"recognize_idioms", recognize_idioms},
      {"fuse_matmul_bias", fuse_matmul_bias},
      {"fold_padding", fold_padding},
      {"fold_batch_norm", fold_batch_norm},
      {"fuse_activation", fuse_activation},
  };
  return passes;
}

const std::vector<Pass>& affine_passes() {
  static const std::vector<Pass> passes = {
      {"fuse_residual", fuse_residual},
      {"fuse_activation", fuse_activation},
  };
  return passes;
}

}  // namespace tandem::passes
