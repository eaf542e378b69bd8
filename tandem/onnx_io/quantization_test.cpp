// SPDX-License-Identifier: Apache-2.0
// Folding of quantize/dequantize pairs and their unfolding. Goal: what the file says of quantization is on
// the values, no pair is lost or invented, and a file written from a graph gives the same graph again.
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include "tandem/ir/text.hpp"
#include "tandem/ir/verify.hpp"
#include "tandem/onnx_io/model_maker.hpp"
#include "tandem/onnx_io/onnx_io.hpp"

namespace tandem::onnx_io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ir::Graph graph_of(const std::string& bytes, const LoadOptions& options = {}) {
  auto loaded = load_bytes(bytes, "", options);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message();
  return loaded.ok() ? std::move(loaded).value() : ir::Graph{};
}

std::vector<std::string> op_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (ir::NodeId id : graph.live_nodes()) names.emplace_back(ir::op_name(graph.node(id).op));
  return names;
}

std::vector<std::string> file_ops(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  std::vector<std::string> names;
  for (const auto& node : model.graph().node()) names.push_back(node.op_type());
  return names;
}

const QuantParams& quant_of(const ir::Graph& graph, std::string_view value) {
  return graph.value(graph.find_value(value)).quant.value();
}

void add_parameters(ModelMaker& maker, const std::string& stem, float scale, uint8_t zero) {
  maker.initializer(stem + "_s", Tensor::scalar<float>(scale))
      .initializer(stem + "_z", Tensor::scalar<uint8_t>(zero));
}

// x -> Q -> DQ, named <x>_q and <x>_dq.
void add_pair(ModelMaker& maker, const std::string& x, const std::string& parameters) {
  maker.node("QuantizeLinear", {x, parameters + "_s", parameters + "_z"}, {x + "_q"});
  maker.node("DequantizeLinear", {x + "_q", parameters + "_s", parameters + "_z"}, {x + "_dq"});
}

// input pair, int8 per-channel weights, int32 bias without zero point, Conv, Relu, output pair.
ModelMaker quantized_conv() {
  ModelMaker maker(13);
  maker.input("x", {1, 1, 4, 4});
  add_parameters(maker, "in", 0.5f, 10);
  add_parameters(maker, "out", 0.25f, 0);
  add_pair(maker, "x", "in");
  maker.initializer("w_q", Tensor::of<int8_t>(Shape{2, 1, 1, 1}, {127, -64}));
  maker.initializer("w_s", Tensor::of<float>(Shape{2}, {0.5f, 0.125f}));
  maker.initializer("w_z", Tensor::of<int8_t>(Shape{2}, {0, 0}));
  maker.node("DequantizeLinear", {"w_q", "w_s", "w_z"}, {"w"}, {{"axis", int64_t{0}}});
  maker.initializer("b_q", Tensor::of<int32_t>(Shape{2}, {1000, -1000}));
  maker.initializer("b_s", Tensor::of<float>(Shape{2}, {0.25f, 0.0625f}));
  maker.node("DequantizeLinear", {"b_q", "b_s"}, {"b"}, {{"axis", int64_t{0}}});
  maker.node("Conv", {"x_dq", "w", "b"}, {"c"}, {}, "conv").node("Relu", {"c"}, {"r"}, {}, "relu");
  add_pair(maker, "r", "out");
  return maker;
}

TEST(FoldQuantization, AWholeConvolution) {
  ModelMaker maker = quantized_conv();
  maker.node("GlobalAveragePool", {"r_dq"}, {"y"}).output("y");
  const ir::Graph graph = graph_of(maker.bytes());
  EXPECT_THAT(op_names(graph), ElementsAre("Requantize", "Conv", "Unary", "GlobalPool"));
  EXPECT_EQ(quant_of(graph, "x_dq"), QuantParams::affine(DType::kU8, 0.5f, 10));
  EXPECT_FALSE(graph.value(graph.find_value("c")).quant);
  EXPECT_EQ(quant_of(graph, "r"), QuantParams::affine(DType::kU8, 0.25f, 0));
  EXPECT_EQ(quant_of(graph, "w"), QuantParams::affine_per_axis(DType::kI8, 0, {0.5f, 0.125f}));
  const ir::Value& bias = graph.value(graph.find_value("b"));
  EXPECT_EQ(bias.quant->dtype, DType::kI32);
  EXPECT_THAT(bias.quant->scale, ElementsAre(0.25f, 0.0625f));
  EXPECT_EQ(bias.constant->as<int32_t>()[1], -1000);
  EXPECT_EQ(bias.dtype, DType::kF32);
}

TEST(FoldQuantization, CanBeSwitchedOff) {
  ModelMaker maker = quantized_conv();
  maker.output("r_dq");
  const ir::Graph graph = graph_of(maker.bytes(), {.fold_quantization = false});
  EXPECT_THAT(op_names(graph), ::testing::Contains("QuantizeLinear"));
}

// A graph output keeps its name; the value that carries the parameters takes it.
TEST(FoldQuantization, AQuantizedGraphOutputKeepsItsName) {
  ModelMaker maker = quantized_conv();
  maker.output("r_dq");
  const ir::Graph graph = graph_of(maker.bytes());
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "r_dq");
  EXPECT_EQ(quant_of(graph, "r_dq").scale[0], 0.25f);
  EXPECT_EQ(ir::op_name(graph.node(graph.value(graph.outputs[0]).producer).op), "Unary");
}

// The Q reads a value that something else reads unquantized: that value must stay real.
TEST(FoldQuantization, AValueWithAnotherReaderGetsARequantize) {
  ModelMaker maker;
  maker.input("x", {4}).node("Relu", {"x"}, {"r"});
  add_parameters(maker, "p", 0.5f, 3);
  add_pair(maker, "r", "p");
  maker.node("Add", {"r", "r_dq"}, {"y"}).output("y");
  const ir::Graph graph = graph_of(maker.bytes());
  EXPECT_THAT(op_names(graph), ElementsAre("Unary", "Requantize", "Binary"));
  EXPECT_FALSE(graph.value(graph.find_value("r")).quant);
  EXPECT_EQ(quant_of(graph, "r_dq").zero_point[0], 3);
}

// G08, what concerns import: one DequantizeLinear that several nodes read needs no copies, the parameters are
// on the value.
TEST(FoldQuantization, G08OneDequantizeWithManyReaders) {
  ModelMaker maker;
  maker.input("x", {4}).node("Relu", {"x"}, {"r"});
  add_parameters(maker, "p", 0.1f, 0);
  add_pair(maker, "r", "p");
  maker.node("Neg", {"r_dq"}, {"a"}).node("Abs", {"r_dq"}, {"b"}).output("a").output("b");
  const ir::Graph graph = graph_of(maker.bytes());
  EXPECT_THAT(op_names(graph), ElementsAre("Unary", "Unary", "Unary"));
  EXPECT_EQ(ir::consumers_of(graph)[index_of(graph.find_value("r"))].size(), 2u);
}

TEST(FoldQuantization, WhatCannotFoldStaysExplicit) {
  // The scale is an input.
  ModelMaker dynamic;
  dynamic.input("x", {4}).input("p_s", {}).initializer("p_z", Tensor::scalar<uint8_t>(0));
  add_pair(dynamic, "x", "p");
  dynamic.output("x_dq");
  EXPECT_THAT(op_names(graph_of(dynamic.bytes())), ElementsAre("QuantizeLinear", "DequantizeLinear"));
  // The integers are a graph output.
  ModelMaker integers;
  integers.input("x", {4});
  add_parameters(integers, "p", 0.5f, 0);
  add_pair(integers, "x", "p");
  integers.output("x_dq").output("x_q", DType::kU8);
  EXPECT_THAT(op_names(graph_of(integers.bytes())), ElementsAre("QuantizeLinear", "DequantizeLinear"));
  // The two sides disagree.
  ModelMaker differing;
  differing.input("x", {4});
  add_parameters(differing, "p", 0.5f, 0);
  add_parameters(differing, "r", 0.25f, 0);
  differing.node("QuantizeLinear", {"x", "p_s", "p_z"}, {"q"})
      .node("DequantizeLinear", {"q", "r_s", "r_z"}, {"y"})
      .output("y");
  EXPECT_THAT(op_names(graph_of(differing.bytes())), ElementsAre("QuantizeLinear", "DequantizeLinear"));
  // A scale of zero.
  ModelMaker zero;
  zero.input("x", {4});
  add_parameters(zero, "p", 0.0f, 0);
  add_pair(zero, "x", "p");
  zero.output("x_dq");
  EXPECT_THAT(op_names(graph_of(zero.bytes())), ElementsAre("QuantizeLinear", "DequantizeLinear"));
}

TEST(FoldQuantization, TwoGraphOutputsOfOneQuantizedValueKeepBothNames) {
  ModelMaker maker;
  maker.input("x", {4}).node("Relu", {"x"}, {"r"});
  add_parameters(maker, "p", 0.5f, 0);
  maker.node("QuantizeLinear", {"r", "p_s", "p_z"}, {"q"});
  maker.node("DequantizeLinear", {"q", "p_s", "p_z"}, {"a"})
      .node("DequantizeLinear", {"q", "p_s", "p_z"}, {"b"});
  maker.output("a").output("b");
  const ir::Graph graph = graph_of(maker.bytes());
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "a");
  EXPECT_EQ(graph.value(graph.outputs[1]).name, "b");
  EXPECT_TRUE(quant_of(graph, "a") == quant_of(graph, "b"));
}

// Float weights behind a pair: 0.3 / 0.25 = 1.2 -> 1; -0.4 / 0.25 = -1.6 -> -2.
TEST(FoldQuantization, FloatConstantsBehindAPairAreQuantized) {
  ModelMaker maker;
  maker.input("x", {2}).initializer("w", Tensor::of<float>(Shape{2}, {0.3f, -0.4f}));
  maker.initializer("p_s", Tensor::scalar<float>(0.25f)).initializer("p_z", Tensor::scalar<int8_t>(0));
  add_pair(maker, "w", "p");
  maker.node("Mul", {"x", "w_dq"}, {"y"}).output("y");
  const ir::Graph graph = graph_of(maker.bytes());
  EXPECT_THAT(op_names(graph), ElementsAre("Binary"));
  const auto q = graph.value(graph.find_value("w_dq")).constant->as<int8_t>();
  EXPECT_EQ(q[0], 1);
  EXPECT_EQ(q[1], -2);
}

void expect_round_trip(const ir::Graph& graph) {
  const auto bytes = to_bytes(graph);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message();
  const ir::Graph again = graph_of(*bytes);
  EXPECT_EQ(ir::print(again), ir::print(graph));
  EXPECT_EQ(again.metadata, graph.metadata);
}

TEST(UnfoldQuantization, GivesTheSameGraphAgain) {
  ModelMaker inner = quantized_conv();
  inner.node("GlobalAveragePool", {"r_dq"}, {"y"}).output("y");
  expect_round_trip(graph_of(inner.bytes()));
  ModelMaker output = quantized_conv();
  output.output("r_dq");
  expect_round_trip(graph_of(output.bytes()));
  ModelMaker both;
  both.input("x", {4}).node("Relu", {"x"}, {"r"});
  add_parameters(both, "p", 0.5f, 3);
  add_pair(both, "r", "p");
  both.node("Add", {"r", "r_dq"}, {"y"}).output("y").output("r_dq");
  expect_round_trip(graph_of(both.bytes()));
}

// Conv + residual + Relu in one op, quantized after the activation: the pair must stand behind the Relu.
TEST(UnfoldQuantization, FusedOpsComeApartBeforeThePair) {
  ir::Graph graph;
  ir::Value x{.name = "x", .shape = Shape{1, 2, 4, 4}};
  const ir::ValueId input = graph.add_input(std::move(x));
  const ir::ValueId weight = graph.add_constant("w", Tensor(DType::kF32, Shape{2, 2, 1, 1}));
  ir::Value y{.name = "y", .quant = QuantParams::affine(DType::kU8, 0.5f, 0)};
  const ir::ValueId output = graph.add_value(std::move(y));
  graph.add_node({.name = "conv",
                  .op = ir::Conv{.activation = {ir::ActivationKind::kRelu}},
                  .inputs = {input, weight, ir::kNoValue, input},
                  .outputs = {output}});
  graph.outputs = {output};
  ASSERT_TRUE(ir::infer_shapes(graph).ok());
  const auto bytes = to_bytes(graph);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message();
  EXPECT_THAT(file_ops(*bytes), ElementsAre("Conv", "Add", "Relu", "QuantizeLinear", "DequantizeLinear"));
  const ir::Graph again = graph_of(*bytes);
  EXPECT_THAT(op_names(again), ElementsAre("Conv", "Binary", "Unary"));
  EXPECT_EQ(quant_of(again, "y").scale[0], 0.5f);
}

TEST(UnfoldQuantization, EveryActivationComesApart) {
  using ir::ActivationKind;
  const std::vector<std::pair<ir::Activation, std::vector<std::string>>> cases = {
      {{ActivationKind::kRelu}, {"Relu"}},
      {{ActivationKind::kClip, 0, 6}, {"Clip"}},
      {{ActivationKind::kLeakyRelu, 0.1f}, {"LeakyRelu"}},
      {{ActivationKind::kHardSigmoid, 0.2f, 0.5f}, {"HardSigmoid"}},
      {{ActivationKind::kHardSwish}, {"HardSwish"}},
      {{ActivationKind::kSigmoid}, {"Sigmoid"}},
      {{ActivationKind::kSilu}, {"Sigmoid", "Mul"}},
      {{ActivationKind::kTanh}, {"Tanh"}},
      {{ActivationKind::kGelu}, {"Gelu"}},
      {{ActivationKind::kGeluTanh}, {"Gelu"}}};
  for (const auto& [activation, expected] : cases) {
    ir::Graph graph;
    const ir::ValueId input = graph.add_input({.name = "x", .shape = Shape{2, 3}});
    const ir::ValueId weight = graph.add_constant("w", Tensor(DType::kF32, Shape{3, 4}));
    const ir::ValueId output = graph.add_value({.name = "y"});
    graph.add_node({.name = "fc",
                    .op = ir::Gemm{.activation = activation},
                    .inputs = {input, weight},
                    .outputs = {output}});
    graph.outputs = {output};
    ASSERT_TRUE(ir::infer_shapes(graph).ok());
    const auto bytes = to_bytes(graph);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message();
    std::vector<std::string> ops = {"Gemm"};
    ops.insert(ops.end(), expected.begin(), expected.end());
    EXPECT_EQ(file_ops(*bytes), ops);
    EXPECT_TRUE(load_bytes(*bytes).ok());
  }
}

// pow2: the scale is written as 2^-5 and comes back as pow2, also on a graph input, which is a fragment's
// contract.
TEST(UnfoldQuantization, Pow2AndQuantizedInputsComeBack) {
  ir::Graph graph;
  graph.name = "pow2";
  const ir::ValueId input = graph.add_input({.name = "x", .shape = Shape{4}, .quant = QuantParams::pow2(5)});
  const ir::ValueId output = graph.add_value({.name = "y", .quant = QuantParams::pow2(-3)});
  graph.add_node(
      {.name = "relu", .op = ir::Unary{ir::UnaryKind::kRelu}, .inputs = {input}, .outputs = {output}});
  graph.outputs = {output};
  ASSERT_TRUE(ir::infer_shapes(graph).ok());
  expect_round_trip(graph);
  const ir::Graph again = graph_of(to_bytes(graph).value());
  EXPECT_EQ(quant_of(again, "x"), QuantParams::pow2(5));
  EXPECT_EQ(quant_of(again, "y"), QuantParams::pow2(-3));
  EXPECT_TRUE(again.metadata.empty());
}

TEST(UnfoldQuantization, RefusesWhatOnnxCannotSay) {
  ir::Graph graph;
  const ir::ValueId input = graph.add_input({.name = "x", .shape = Shape{4}});
  const ir::ValueId output = graph.add_value({.name = "y", .quant = QuantParams::pow2(5, DType::kI8, 4)});
  graph.add_node(
      {.name = "relu", .op = ir::Unary{ir::UnaryKind::kRelu}, .inputs = {input}, .outputs = {output}});
  graph.outputs = {output};
  const auto bytes = to_bytes(graph);
  ASSERT_FALSE(bytes.ok());
  EXPECT_THAT(bytes.error().message(), HasSubstr("'y' saturates at 4 bits of i8"));
}

// 16 bits need opset 21; a fixed older opset is refused with the reason.
TEST(UnfoldQuantization, SixteenBitsRaiseTheOpset) {
  ir::Graph graph;
  const ir::ValueId input = graph.add_input({.name = "x", .shape = Shape{4}});
  const ir::ValueId output =
      graph.add_value({.name = "y", .quant = QuantParams::affine(DType::kI16, 0.5f, 0)});
  graph.add_node(
      {.name = "relu", .op = ir::Unary{ir::UnaryKind::kRelu}, .inputs = {input}, .outputs = {output}});
  graph.outputs = {output};
  ASSERT_TRUE(ir::infer_shapes(graph).ok());
  EXPECT_EQ(load_model_bytes(to_bytes(graph).value(), "")->report.opset, 21);
  const auto fixed = to_bytes(graph, {.opset = 17});
  ASSERT_FALSE(fixed.ok());
  EXPECT_THAT(fixed.error().message(),
              HasSubstr("opset 17 cannot say quantization to 16 bits; it needs opset 21"));
}

}  // namespace
}  // namespace tandem::onnx_io
