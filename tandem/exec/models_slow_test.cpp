// SPDX-License-Identifier: Apache-2.0
// Real networks: the answer that ONNX Runtime gave for a stored input, and every node of the quantized ones
// within one step of the reference on the same inputs. Which implementation ran is part of the judgement.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "tandem/exec/check_nodes.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/passes/pass_runner.hpp"
#include "tandem/testing/npz.hpp"
#include "tandem/testing/shared_path.hpp"

namespace tandem::exec {
namespace {

struct Model {
  const char* name;
  bool quantized;
  double cosine;  // of the logits, at least; quantized ones round differently op by op
};

class Models : public ::testing::TestWithParam<Model> {};

Result<ir::Graph> load(const std::string& path, bool quantized) {
  ir::Graph graph = TANDEM_TRY(onnx_io::load(path));
  TANDEM_TRY(passes::run(graph, passes::simplify_passes()));
  if (quantized) TANDEM_TRY(passes::run(graph, passes::affine_passes()));
  return graph;
}

TEST_P(Models, GiveTheStoredAnswer) {
  const Model& m = GetParam();
  TANDEM_SHARED_OR_SKIP(path, std::string("models/") + m.name + ".onnx");
  TANDEM_SHARED_OR_SKIP(pair_path, std::string("models/") + m.name + ".ref.npz");
  const Result<ir::Graph> graph = load(path, m.quantized);
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  const Result<std::map<std::string, Tensor>> pair = tandem::testing::read_npz(pair_path);
  ASSERT_TRUE(pair.ok()) << pair.error().message();
  CompileOptions options;
  options.input_shapes = {pair->at("x").shape()};
  Result<Executable> e = Executable::compile(*graph, options);
  ASSERT_TRUE(e.ok()) << e.error().message();
  const std::vector<TensorView> in{pair->at("x").view()};
  const Result<std::vector<Tensor>> got = e->run(in);
  ASSERT_TRUE(got.ok()) << got.error().message();
  ir::Graph bound = e->graph();
  Tensor y = (*got)[0].clone();
  const auto& quant = bound.value(bound.outputs[0]).quant;
  if (quant) y = dequantize(y.view(), *quant);
  const Difference d = compare(pair->at("y").view(), y.view()).value();
  std::printf("%s: %s\n", m.name, d.to_string().c_str());
  EXPECT_GE(d.cosine, m.cosine);
  int reference = 0;
  for (const NodeReport& r : e->report()) {
    if (r.reference || !r.fallback_reason.empty()) {
      std::printf("  %s %s: %s (%s)\n", r.name.c_str(), r.op.c_str(), r.implementation.c_str(),
                  r.fallback_reason.c_str());
      reference += r.reference ? 1 : 0;
    }
  }
  EXPECT_EQ(reference, 0);
}

TEST_P(Models, EveryNodeIsRight) {
  const Model& m = GetParam();
  TANDEM_SHARED_OR_SKIP(path, std::string("models/") + m.name + ".onnx");
  TANDEM_SHARED_OR_SKIP(pair_path, std::string("models/") + m.name + ".ref.npz");
  const ir::Graph graph = load(path, m.quantized).value();
  std::vector<Tensor> inputs;
  inputs.push_back(tandem::testing::read_npz(pair_path).value().at("x").clone());
  CompileOptions options;
  options.input_shapes = {inputs[0].shape()};
  for (const NodeDifference& d : differences_by_node(graph, options, inputs)) {
    EXPECT_LE(d.max_abs, d.tolerance) << d.node << " " << d.op << " by " << d.implementation;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shared, Models,
    ::testing::Values(Model{"efficientnet_lite0", false, 0.999999},
                      Model{"mobilenet_v2_float", false, 0.999999},
                      Model{"resnet20_cifar10", false, 0.999999}, Model{"resnet8_float", false, 0.999999},
                      Model{"squeezenet1_0", false, 0.999999}, Model{"vww_float", false, 0.999999},
                      Model{"ppocr_cls", false, 0.999999}, Model{"mobilenet_v2_qdq", true, 0.99},
                      Model{"tf2_mobilenet_v2_ptq_qdq", true, 0.99}, Model{"resnet8_qdq", true, 0.99},
                      Model{"vww_qdq", true, 0.98}),
    [](const ::testing::TestParamInfo<Model>& model) { return std::string(model.param.name); });

}  // namespace
}  // namespace tandem::exec
