// SPDX-License-Identifier: Apache-2.0
// One row per executor.
#include "tests/ops/executors.hpp"

#include "tandem/exec/executable.hpp"
#include "tandem/ref/ref.hpp"

namespace tandem::ops {
namespace {

Result<std::vector<Tensor>> run_ref(const ir::Graph& graph, std::span<const Tensor> inputs) {
  return ref::run(graph, inputs);
}

// Compiles for these very shapes. Inputs and outputs are real numbers here, stored ones there.
Result<std::vector<Tensor>> run_exec(const ir::Graph& graph, std::span<const Tensor> inputs) {
  exec::CompileOptions options;
  for (const Tensor& input : inputs) options.input_shapes.push_back(input.shape());
  exec::Executable executable = TANDEM_TRY(exec::Executable::compile(graph, options));
  std::vector<Tensor> stored;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& quant = graph.value(graph.inputs[i]).quant;
    stored.push_back(quant && inputs[i].dtype() == DType::kF32 ? quantize(inputs[i], *quant)
                                                               : inputs[i].clone());
  }
  const std::vector<TensorView> views(stored.begin(), stored.end());
  std::vector<Tensor> outputs = TANDEM_TRY(executable.run(views));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& quant = graph.value(graph.outputs[i]).quant;
    if (quant) outputs[i] = dequantize(outputs[i], *quant);
  }
  return outputs;
}

}  // namespace

const std::vector<Executor>& executors() {
  static const std::vector<Executor> all = {{"ref", run_ref}, {"exec", run_exec}};
  return all;
}

}  // namespace tandem::ops
