// SPDX-License-Identifier: Apache-2.0
// Goal: params go where they must, and degenerate weights have defined results. Method: small graphs; the
// conditions of public bug reports (cases G12 to G17, named in the tests); the reference runs the result.
#include "tandem/quant/quantize.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/exec/executable.hpp"
#include "tandem/ir/text.hpp"
#include "tandem/passes/pass_runner.hpp"
#include "tandem/ref/ref.hpp"
#include "tandem/tensor/compare.hpp"
#include "tandem/testing/graph_builder.hpp"

namespace tandem::quant {
namespace {

using ir::ValueId;
using testing::GraphBuilder;
using testing::random_tensor;

ValueId conv(GraphBuilder& b, ValueId x, Tensor w, const std::vector<float>& bias, std::string name,
             int64_t group = 1) {
  ir::Conv op;
  op.group = group;
  const int64_t k = w.shape()[2];
  op.window.pads = {k / 2, k / 2, k / 2, k / 2};
  const int64_t channels = w.shape()[0];
  return b.add(op, {x, b.constant(std::move(w)), b.constant(Tensor::of<float>({channels}, bias))},
               std::move(name));
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
  const ValueId a = b.add(
      ir::Unary{ir::UnaryKind::kRelu},
      {conv(b, x, random_tensor(rng, DType::kF32, {8, 3, 3, 3}), std::vector<float>(8, 0.1f), "a")}, "relu");
  const ValueId c =
      conv(b, a, random_tensor(rng, DType::kF32, {8, 8, 3, 3}), std::vector<float>(8, -0.2f), "c");
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
    const ValueId scaled = b.add(ir::Binary{ir::BinaryKind::kMul},
                                 {x, b.constant(Tensor::scalar(std::pow(0.3f, static_cast<float>(i))))});
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
  b.output(conv(b, conv(b, x, filled({1, 1, 1, 1}, 2.0f), {0}, "first"), filled({1, 1, 1, 1}, 3.0f), {0},
                "second"));
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

TEST(Quantize, CaseG10BothInputsOfALeadingSumGetScalesOfTheirOwn) {
  GraphBuilder b;
  const ValueId x = b.input("a", {1, 2, 4, 4}), y = b.input("b", {1, 2, 4, 4});
  const ValueId sum = b.add(ir::Binary{ir::BinaryKind::kAdd}, {x, y}, "sum");
  b.output(conv(b, sum, filled({1, 2, 1, 1}, 1.0f), {0}, "conv"));
  const ir::Graph graph = b.finish();
  std::vector<Tensor> inputs = one(filled({1, 2, 4, 4}, 0.5f));
  inputs.push_back(filled({1, 2, 4, 4}, 40.0f));
  const Quantized q = quantized(graph, inputs);
  EXPECT_FLOAT_EQ(params_of(q.graph, "a.quantized").scale[0], 0.5f / 255);
  EXPECT_FLOAT_EQ(params_of(q.graph, "b.quantized").scale[0], 40.0f / 255);
  EXPECT_EQ(q.report.float_nodes, 0);
}

TEST(Quantize, CaseG10AnIdentityBranchSharesTheParamsOfItsProducer) {
  // y = Conv(x) + Identity(x): what is a pure copy needs no scale of its own, and the Add is in integers.
  Rng rng(4);
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 2, 4, 4});
  const ValueId same = b.add(ir::Identity{}, {x}, "copy");
  const ValueId c = conv(b, x, random_tensor(rng, DType::kF32, {2, 2, 3, 3}), {0, 0}, "conv");
  const ValueId sum = b.add(ir::Binary{ir::BinaryKind::kAdd}, {c, same}, "sum");
  b.output(conv(b, sum, filled({1, 2, 1, 1}, 1.0f), {0}, "last"));
  const Quantized q = quantized(b.finish(), one(random_tensor(rng, DType::kF32, {1, 2, 4, 4})));
  EXPECT_EQ(params_of(q.graph, "copy"), params_of(q.graph, "x.quantized"));
  EXPECT_EQ(q.report.float_nodes, 0);
}

TEST(Quantize, CaseG11NamesOfNodesAndOfValuesAreTakenInEveryStyle) {
  GraphBuilder b;
  ValueId v = b.input("x", {1, 1, 4, 4});
  for (const char* name : {"/m/conv/Conv", "onnx::Sub_640", "a:0"})
    v = conv(b, v, filled({1, 1, 1, 1}, 2.0f), {0}, name);
  b.output(v);
  ir::Graph graph = b.finish();
  graph.value(graph.node(graph.find_node("a:0")).inputs[0]).name = "tensor:1";
  const auto inputs = one(filled({1, 1, 4, 4}, 0.3f));
  QuantizeOptions options;
  options.keep_float = {"/m/conv/Conv", "tensor:1"};  // the second one is what onnx::Sub_640 makes
  const Quantized q = quantized(graph, inputs, options);
  EXPECT_EQ(q.report.float_nodes, 2);
  EXPECT_EQ(q.report.quantized_nodes, 1);
  options.keep_float = {"/m/conv/Cnv"};
  const auto refused = quantize(graph, observe(graph, inputs), options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("/m/conv/Conv"), std::string::npos) << refused.error().message();
}

TEST(Quantize, CaseG16ReluStaysWhereTheZeroPointIsNotTheLeastInteger) {
  // r = Relu(conv(x)), n = other(x) below 0 too; both u8 with scale 0.05 and zero point 100, so u8 alone
  // would let r reach -5. Conv and Relu become one op, and its clamp at 0 must survive.
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 1, 2, 2});
  const ValueId c = conv(b, x, filled({1, 1, 1, 1}, 1.0f), {0}, "conv");
  const ValueId r = b.add(ir::Unary{ir::UnaryKind::kRelu}, {c}, "r");
  const ValueId n = conv(b, x, filled({1, 1, 1, 1}, 1.0f), {0}, "n");
  ir::Concat concat;
  concat.axis = 1;
  b.output(b.add(concat, {r, n}, "cat"));
  ir::Graph graph = b.finish();
  const auto params = [](int32_t zero) { return QuantParams::affine(DType::kU8, 0.05f, zero); };
  for (const int32_t zero : {100, 0}) {
    ir::Graph g = graph;
    for (const char* name : {"r", "n", "cat", "x"}) g.value(g.find_value(name)).quant = params(zero);
    ASSERT_TRUE(passes::run(g, passes::simplify_passes()).ok());
    EXPECT_EQ(g.live_nodes().size(), 3u);  // Relu is inside its Conv.
    std::vector<Tensor> inputs =
        one(tandem::quantize(Tensor::of<float>({1, 1, 2, 2}, {-3, -1, 1, 3}).view(), params(zero)));
    ref::RunOptions stored;
    stored.stored_outputs = true;
    const auto judged = ref::run(g, inputs, stored);
    ASSERT_TRUE(judged.ok()) << judged.error().message();
    const auto u = static_cast<uint8_t>(zero);
    // -3 / 0.05 = -60: below 0 only the second branch goes, where the zero point leaves room.
    const std::vector<uint8_t> low = zero == 100 ? std::vector<uint8_t>{40, 80} : std::vector<uint8_t>{0, 0};
    const std::vector<uint8_t> expected = {
        u,      u,      static_cast<uint8_t>(zero + 20), static_cast<uint8_t>(zero + 60),
        low[0], low[1], static_cast<uint8_t>(zero + 20), static_cast<uint8_t>(zero + 60)};
    const auto y = (*judged)[0].as<uint8_t>();
    EXPECT_EQ(std::vector<uint8_t>(y.begin(), y.end()), expected);
    exec::Executable fast = exec::Executable::compile(g).value();
    const TensorView view(inputs[0]);
    const auto z = fast.run(std::span<const TensorView>(&view, 1));
    ASSERT_TRUE(z.ok()) << z.error().message();
    EXPECT_EQ(std::vector<uint8_t>((*z)[0].as<uint8_t>().begin(), (*z)[0].as<uint8_t>().end()), expected);
  }
}

}  // namespace
}  // namespace tandem::quant
