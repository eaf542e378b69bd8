// SPDX-License-Identifier: Apache-2.0
// Goal: in pow2 the fast executor is the reference, bit for bit, on real networks. Method: float models
// beside the checkout are calibrated on their stored images and quantized; every node is judged on the same
// inputs, then the whole network.
#include <gtest/gtest.h>

#include "tandem/exec/check_nodes.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/passes/pass_runner.hpp"
#include "tandem/quant/quantize.hpp"
#include "tandem/testing/npz.hpp"
#include "tandem/testing/shared_path.hpp"

namespace tandem::quant {
namespace {

class Pow2Models : public ::testing::TestWithParam<const char*> {};

Result<Quantized> quantized(const std::string& path, const Tensor& images) {
  ir::Graph graph = TANDEM_TRY(onnx_io::load(path));
  TANDEM_TRY(passes::run(graph, passes::simplify_passes()));
  bool given = false;
  const BatchSource once = [&]() -> Result<std::optional<Tensor>> {
    if (std::exchange(given, true)) return std::optional<Tensor>();
    return std::optional<Tensor>(images.clone());
  };
  const Calibration seen = TANDEM_TRY(calibrate(graph, once));
  QuantizeOptions options;
  options.scheme = Scheme::kPow2;
  return quantize(graph, seen, options);
}

TEST_P(Pow2Models, EqualTheReferenceBitForBit) {
  TANDEM_SHARED_OR_SKIP(path, std::string("models/") + GetParam() + ".onnx");
  TANDEM_SHARED_OR_SKIP(pair_path, std::string("models/") + GetParam() + ".ref.npz");
  std::vector<Tensor> inputs;
  inputs.push_back(testing::read_npz(pair_path).value().at("x").clone());
  const auto made = quantized(path, inputs[0]);
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_GT(made->report.quantized_nodes, 5);
  exec::CompileOptions options;
  options.input_shapes = {inputs[0].shape()};
  for (const exec::NodeDifference& d : exec::differences_by_node(made->graph, options, inputs)) {
    EXPECT_LE(d.max_abs, d.tolerance) << d.node << " " << d.op << " by " << d.implementation;
  }
  auto fast = exec::Executable::compile(made->graph, options);
  ASSERT_TRUE(fast.ok()) << fast.error().message();
  const TensorView view(inputs[0]);
  const auto is = fast->run(std::span<const TensorView>(&view, 1));
  const auto should = ref::run(made->graph, inputs);
  ASSERT_TRUE(is.ok() && should.ok());
  const Difference whole = compare((*should)[0].view(), (*is)[0].view()).value();
  // Nodes that stay in float may round in another order; without them there is no difference.
  EXPECT_LE(whole.max_abs, made->report.float_nodes == 0 ? 0.0 : 1e-4) << whole.to_string();
}

INSTANTIATE_TEST_SUITE_P(Shared, Pow2Models,
                         ::testing::Values("efficientnet_lite0", "resnet8_float", "squeezenet1_0",
                                           "mobilenet_v2_float", "resnet20_cifar10", "vww_float"),
                         [](const ::testing::TestParamInfo<const char*>& model) {
                           return std::string(model.param);
                         });

}  // namespace
}  // namespace tandem::quant
