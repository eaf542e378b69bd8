// SPDX-License-Identifier: Apache-2.0
// Goal: params go where they must, and degenerate weights have defined results. Method: small graphs; the conditions of
// public bug reports (cases G12 to G17, named in the tests); the reference runs the result.
#include "tandem/quant/quantize.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/ir/text.hpp"
#include "tandem/ref/ref.hpp"
#include "tandem/tensor/compare.hpp"
#include "tandem/testing/graph_builder.hpp"

namespace tandem::quant {
namespace {

using ir::ValueId;
using testing::GraphBuilder;
using testing::random_tensor;

ValueId conv(GraphBuilder& b, ValueId x, Tensor w, const std::vector<float>& bias, std::string name, int64_t group = 1) {
  ir::Conv op;
  op.group = group;
  const int64_t k = w.shape()[2];
  op.window.pads = {k / 2, k / 2, k / 2, k / 2};
  const int64_t channels = w.shape()[0];
  return b.add(op, {x, b.constant(std::move(w)), b.constant(Tensor::of<float>({channels}, bias))}, std::move(name));
}

Tensor filled(Shape shape, float value) {
  Tensor t(DType::kF32, std::move(shape));
  for (float& x : t.as<float>()) x = value;
  return t;
}

std::vector<Tensor> one(Tensor t) {
  std::vector<Tensor> v;
  v.push_back(std::move(t));
  return v;
}

// Calibrates with what the reference computes on `inputs`.
Calibration observe(const ir::Graph& graph, const std::vector<Tensor>& inputs) {
  Calibration c;
  ref::RunOptions options;
  options.on_value = [&](ValueId id, const Tensor& t) {
    if (t.dtype() == DType::kF32) c.seen[id].add(t.as<float>());
  };
  EXPECT_TRUE(ref::run(graph, inputs, options).ok());
  for (size_t i = 0; i < graph.inputs.size(); ++i) c.seen[graph.inputs[i]].add(inputs[i].as<float>());
  c.images = 1;
  return c;
}

Quantized quantized(const ir::Graph& graph, const std::vector<Tensor>& inputs, QuantizeOptions options = {}) {
  auto result = quantize(graph, observe(graph, inputs), options);
  EXPECT_TRUE(result.ok()) << result.error().message();
  return std::move(*result);
}

QuantParams params_of(const ir::Graph& graph, std::string_view value) {
  const ValueId id = graph.find_value(value);
  if (id != ir::kNoValue && graph.value(id).quant) return *graph.value(id).quant;
  ADD_FAILURE() << "no params on '" << value << "' of\n" << ir::print(graph);
  return {};
}

TEST(Quantize, StaysCloseToTheFloatModelInBothSchemes) {
  Rng rng(3);
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 3, 8, 8});
  const ValueId a = b.add(ir::Unary{ir::UnaryKind::kRelu},
                          {conv(b, x, random_tensor(rng, DType::kF32, {8, 3, 3, 3}), std::vector<float>(8, 0.1f), "a")}, "relu");
  const ValueId c = conv(b, a, random_tensor(rng, DType::kF32, {8, 8, 3, 3}), std::vector<float>(8, -0.2f), "c");
  b.output(b.add(ir::Binary{}, {c, a}, "sum"));
  const ir::Graph graph = b.finish();
  const auto inputs = one(random_tensor(rng, DType::kF32, {1, 3, 8, 8}));
  const auto expected = ref::run(graph, inputs);
  for (Scheme scheme : {Scheme::kAffine, Scheme::kPow2}) {
    QuantizeOptions options;
    options.scheme = scheme;
    const Quantized q = quantized(graph, inputs, options);
    const auto actual = ref::run(q.graph, inputs);
    ASSERT_TRUE(actual.ok()) << actual.error().message();
    EXPECT_GT(compare((*expected)[0], (*actual)[0])->sqnr_db, scheme == Scheme::kAffine ? 30 : 22);
    EXPECT_EQ(params_of(q.graph, "relu").dtype, scheme == Scheme::kAffine ? DType::kU8 : DType::kI8);
    EXPECT_FALSE(q.graph.value(q.graph.inputs[0]).quant.has_value());
    EXPECT_FALSE(q.graph.value(q.graph.outputs[0]).quant.has_value());
  }
}

TEST(Quantize, CaseG12RaisesTheWeightScaleSoThatTheBiasFits) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 1, 4, 4});
  b.output(conv(b, x, filled({2, 1, 1, 1}, 1e-7f), {5.0f, -4.5f}, "c"));
  const ir::Graph graph = b.finish();
  const auto inputs = one(filled({1, 1, 4, 4}, 63.75f));  // u8: scale 0.25
  const Quantized q = quantized(graph, inputs);
  EXPECT_EQ(q.report.raised_scales, (std::vector<std::string>{"c"}));
  const auto out = ref::run(q.graph, inputs);
  ASSERT_TRUE(out.ok());
  EXPECT_NEAR((*out)[0].as<float>()[0], 5.0f, 1e-5);
  EXPECT_NEAR((*out)[0].as<float>()[16], -4.5f, 1e-5);
}

TEST(Quantize, CaseG13ADeadFilterKeepsItsBias) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 4, 4, 4});
  Tensor w = filled({4, 1, 3, 3}, 0.05f);
  for (size_t i = 18; i < 27; ++i) w.as<float>()[i] = 1e-26f;
  b.output(conv(b, x, std::move(w), {0, 0, -1.2157f, 0}, "dw", 4));
  const ir::Graph graph = b.finish();
  const auto inputs = one(filled({1, 4, 4, 4}, 1.0f));
  const Quantized q = quantized(graph, inputs);
  EXPECT_EQ(q.report.dead_channels, (std::vector<std::string>{"dw: channel 2 of 4"}));
  EXPECT_NEAR((*ref::run(q.graph, inputs))[0].as<float>()[32], -1.2157f, 1e-5);
}

TEST(Quantize, CaseG14AValueThatIsAlwaysZeroStaysLoadable) {
  GraphBuilder b;
  const ValueId r = b.add(ir::Unary{ir::UnaryKind::kRelu}, {b.input("x", {1, 1, 4, 4})}, "relu");
  b.output(conv(b, r, filled({2, 1, 1, 1}, 0.0f), {1.0f, 2.0f}, "c"));
  const ir::Graph graph = b.finish();
  const Quantized q = quantized(graph, one(filled({1, 1, 4, 4}, -1.0f)));
  EXPECT_EQ(params_of(q.graph, "relu").scale[0], 1.0f);
  EXPECT_FALSE(q.report.constant_values.empty());
  const auto out = ref::run(q.graph, one(filled({1, 1, 4, 4}, 1e6f)));  // Saturates, and stays finite.
  ASSERT_TRUE(out.ok());
  EXPECT_EQ((*out)[0].as<float>()[0], 1.0f);
}

TEST(Quantize, CaseG15OneSharedBiasBecomesOnePerInputScale) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 8, 2, 2});
  const ValueId w = b.constant(filled({8, 8, 1, 1}, 0.1f));
  const ValueId bias = b.constant(filled({8}, 0.25f));
  std::vector<Tensor> inputs = one(filled({1, 8, 2, 2}, 1.0f));
  for (int i = 0; i < 4; ++i) {
    const ValueId scaled = b.add(ir::Binary{ir::BinaryKind::kMul}, {x, b.constant(Tensor::scalar(std::pow(0.3f, static_cast<float>(i))))});
    b.output(b.add(ir::Conv{}, {scaled, w, bias}, "conv" + std::to_string(i)));
  }
  const ir::Graph graph = b.finish();
  const auto expected = ref::run(graph, inputs);
  const Quantized q = quantized(graph, inputs);
  const auto actual = ref::run(q.graph, inputs);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(all_close((*expected)[i], (*actual)[i], 0.01, 1e-4).ok()) << i;
  }
}

TEST(Quantize, CaseG17ConcatSharesAScaleAndTheOtherReaderKeepsItsOwn) {
  Rng rng(8);
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 2, 4, 4});
  const ValueId a = conv(b, x, filled({4, 2, 1, 1}, 0.5f), std::vector<float>(4, 0), "a");
  const ValueId c = conv(b, x, filled({4, 2, 1, 1}, 20.0f), std::vector<float>(4, 0), "coarse");
  const ValueId cat = b.add(ir::Concat{1}, {a, c}, "cat");
  b.output(conv(b, cat, filled({2, 8, 1, 1}, 0.1f), {0, 0}, "after"));
  b.output(conv(b, a, filled({2, 4, 1, 1}, 0.1f), {0, 0}, "other"));
  const ir::Graph graph = b.finish();
  const auto inputs = one(random_tensor(rng, DType::kF32, {1, 2, 4, 4}));
  const Quantized q = quantized(graph, inputs);
  EXPECT_EQ(params_of(q.graph, "a.concat"), params_of(q.graph, "cat"));
  EXPECT_EQ(params_of(q.graph, "coarse"), params_of(q.graph, "cat"));
  EXPECT_LT(params_of(q.graph, "a").scale[0] * 10, params_of(q.graph, "cat").scale[0]);
}

TEST(Quantize, KeepsNamedNodesInFloatAndRefusesUnknownNames) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 1, 4, 4});
  b.output(conv(b, conv(b, x, filled({1, 1, 1, 1}, 2.0f), {0}, "first"), filled({1, 1, 1, 1}, 3.0f), {0}, "second"));
  const ir::Graph graph = b.finish();
  const auto inputs = one(filled({1, 1, 4, 4}, 0.3f));
  QuantizeOptions options;
  options.keep_float = {"second"};
  const Quantized q = quantized(graph, inputs, options);
  EXPECT_EQ(q.report.quantized_nodes, 1);
  EXPECT_FALSE(q.graph.value(q.graph.find_value("first")).quant.has_value());
  options.keep_float = {"secnd"};
  const auto refused = quantize(graph, observe(graph, inputs), options);
  EXPECT_EQ(refused.error().code(), ErrorCode::kUsage);
  EXPECT_NE(refused.error().message().find("second"), std::string::npos);
  EXPECT_EQ(quantize(q.graph, observe(graph, inputs), {}).error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace tandem::quant
