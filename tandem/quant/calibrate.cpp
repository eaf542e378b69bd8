// SPDX-License-Identifier: Apache-2.0
// Calibration over the fast executor.
#include "tandem/quant/calibrate.hpp"

#include "tandem/exec/executable.hpp"

namespace tandem::quant {
namespace {

// The executor's graph has the same values under the same names; ids may differ.
std::map<ir::ValueId, ir::ValueId> ids_by_name(const ir::Graph& from, const ir::Graph& to) {
  std::map<ir::ValueId, ir::ValueId> ids;
  for (size_t i = 0; i < from.values().size(); ++i) {
    const ir::Value& value = from.values()[i];
    const ir::ValueId same = to.find_value(value.name);
    if (same == ir::kNoValue || value.is_constant() || value.dtype != DType::kF32 || value.quant) continue;
    ids.emplace(ir::ValueId{static_cast<uint32_t>(i)}, same);
  }
  return ids;
}

Status refuse_never_finite(const ir::Graph& graph, const Calibration& calibration) {
  for (const auto& [id, seen] : calibration.seen) {
    if (!seen.empty() || seen.not_finite() == 0) continue;
    const ir::Value& value = graph.value(id);
    const std::string node = value.producer == ir::kNoNode ? "an input" : graph.node(value.producer).name;
    return bad_input(fmt::format("value '{}' of '{}' was never a finite number during calibration", value.name, node))
        .because("NaN or infinite weights, or preprocessing that the model was not trained with")
        .hint("look at the weights of that node, and at the preprocessing (mean, std, range)");
  }
  return {};
}

}  // namespace

Result<Calibration> calibrate(const ir::Graph& graph, const BatchSource& next, const CalibrateOptions& options) {
  if (graph.inputs.size() != 1) {
    return unsupported(fmt::format("calibration feeds one input, the model has {}", graph.inputs.size()));
  }
  Calibration calibration;
  std::map<int64_t, exec::Executable> by_batch;
  while (true) {
    if (options.cancel != nullptr) TANDEM_TRY(options.cancel->check());
    std::optional<Tensor> batch = TANDEM_TRY(next());
    if (!batch) break;
    const int64_t images = batch->shape()[0];
    auto found = by_batch.find(images);
    if (found == by_batch.end()) {
      exec::CompileOptions compile;
      compile.input_shapes = {batch->shape()};
      compile.keep_all_values = true;
      exec::Executable executable = TANDEM_TRY(exec::Executable::compile(graph, compile).context("calibrating"));
      executable.set_observer([&calibration, ids = ids_by_name(executable.graph(), graph)](ir::ValueId id, const TensorView& t) {
        const auto known = ids.find(id);
        if (known != ids.end()) calibration.seen[known->second].add(t.as<float>());
      });
      found = by_batch.emplace(images, std::move(executable)).first;
    }
    const TensorView view(*batch);
    calibration.seen[graph.inputs[0]].add(batch->as<float>());
    TANDEM_TRY(found->second.run(std::span<const TensorView>(&view, 1)).context("calibrating"));
    calibration.images += images;
    if (options.progress) options.progress(calibration.images);
  }
  if (calibration.images == 0) {
    return bad_input("calibration got no image").hint("give a folder with at least one readable image");
  }
  TANDEM_TRY(refuse_never_finite(graph, calibration));
  return calibration;
}

}  // namespace tandem::quant
