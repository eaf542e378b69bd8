// SPDX-License-Identifier: Apache-2.0
// Import of hand-made files. Goal: one form in the IR for every form that an opset had, and nothing read
// wrongly in silence.
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include "tandem/onnx_io/model_maker.hpp"
#include "tandem/onnx_io/onnx_io.hpp"

namespace tandem::onnx_io {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

LoadedModel loaded_from(const ModelMaker& maker, const LoadOptions& options = {}) {
  auto loaded = load_model_bytes(maker.bytes(), "", options);
  return std::move(loaded).value();  // ends the program with the error's text
}

// The only node that makes `value`.
const ir::Node& maker_of(const ir::Graph& graph, std::string_view value) {
  return graph.node(graph.value(graph.find_value(value)).producer);
}

template <typename T>
const T& op_of(const ir::Graph& graph, std::string_view value) {
  return std::get<T>(maker_of(graph, value).op);
}

Ints ints(const ir::Graph& graph, const ir::Node& node, size_t input) {
  return *to_int64s(*graph.value(node.inputs.at(input)).constant);
}

double number(const ir::Graph& graph, const ir::Node& node, size_t input) {
  return element_as_double(*graph.value(node.inputs.at(input)).constant, 0);
}

TEST(Load, ConvWithItsAttributes) {
  ModelMaker maker;
  maker.input("x", {-1, 4, 8, 8}).floats("w", {6, 2, 3, 3}, 0.1f).floats("b", {6}, 0);
  maker.node("Conv", {"x", "w", "b"}, {"y"},
             {{"group", int64_t{2}}, {"strides", Ints{2, 2}}, {"pads", Ints{0, 0, 1, 1}}}, "conv1");
  maker.output("y");
  const LoadedModel model = loaded_from(maker);
  const auto& conv = op_of<ir::Conv>(model.graph, "y");
  EXPECT_EQ(conv.group, 2);
  EXPECT_THAT(conv.window.strides, ElementsAre(2, 2));
  EXPECT_THAT(conv.window.pads, ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(model.graph.value(model.graph.find_value("y")).shape, (Shape{kDynamic, 6, 4, 4}));
  EXPECT_EQ(model.report.opset, 17);
  EXPECT_TRUE(model.report.notices.empty());
}

TEST(Load, UnnamedAndDoublyNamedNodesGetNamesOfTheirOwn) {
  ModelMaker maker;
  maker.input("x", {2})
      .node("Relu", {"x"}, {"a"})
      .node("Neg", {"a"}, {"b"}, {}, "same")
      .node("Abs", {"b"}, {"c"}, {}, "same")
      .output("c");
  const ir::Graph graph = loaded_from(maker).graph;
  EXPECT_EQ(maker_of(graph, "a").name, "a");
  EXPECT_EQ(maker_of(graph, "b").name, "same");
  EXPECT_NE(maker_of(graph, "c").name, "same");
  EXPECT_THAT(maker_of(graph, "c").name, HasSubstr("same"));
}

TEST(Load, NodesOutOfOrderAreSorted) {
  ModelMaker maker;
  maker.input("x", {2}).node("Neg", {"a"}, {"y"}).node("Relu", {"x"}, {"a"}).output("y");
  const ir::Graph graph = loaded_from(maker).graph;
  EXPECT_LT(index_of(graph.value(graph.find_value("a")).producer),
            index_of(graph.value(graph.find_value("y")).producer));
}

TEST(Load, ConstantNodesInAllFormsBecomeConstants) {
  ModelMaker maker;
  maker.input("x", {2});
  maker.node("Constant", {}, {"t"},
             {{"value", std::make_shared<const Tensor>(Tensor::of<float>(Shape{2}, {1, 2}))}});
  maker.node("Constant", {}, {"f"}, {{"value_float", 0.5}});
  maker.node("Constant", {}, {"i"}, {{"value_int", int64_t{1}}});
  maker.node("Constant", {}, {"fs"}, {{"value_floats", std::vector<double>{1, 2}}});
  maker.node("Constant", {}, {"is"}, {{"value_ints", Ints{0, 1}}});
  maker.node("Add", {"x", "t"}, {"a"}).node("Mul", {"a", "f"}, {"b"}).node("Add", {"b", "fs"}, {"c"});
  maker.node("Gather", {"c", "is"}, {"y"}).node("Gather", {"c", "i"}, {"z"}).output("y").output("z");
  const LoadedModel model = loaded_from(maker);
  EXPECT_EQ(model.graph.live_nodes().size(), 5u);
  EXPECT_EQ(model.graph.value(model.graph.find_value("i")).shape, Shape{});
  EXPECT_EQ(model.graph.value(model.graph.find_value("fs")).dtype, DType::kF32);
}

TEST(Load, TypedDataOfEveryTypeIsRead) {
  using onnx::TensorProto;
  ModelMaker maker;
  maker.input("x", {1});
  auto& file = *maker.output("x").proto().mutable_graph();
  const auto add = [&](const char* name, int type) -> TensorProto& {
    auto& tensor = *file.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    tensor.add_dims(1);
    file.add_output()->set_name(name);
    return tensor;
  };
  add("f32", TensorProto::FLOAT).add_float_data(1.5f);
  add("f64", TensorProto::DOUBLE).add_double_data(2.5);
  add("f16", TensorProto::FLOAT16).add_int32_data(0x3e00);    // 1.5
  add("bf16", TensorProto::BFLOAT16).add_int32_data(0x3fc0);  // 1.5
  add("i8", TensorProto::INT8).add_int32_data(-5);
  add("u8", TensorProto::UINT8).add_int32_data(200);
  add("i16", TensorProto::INT16).add_int32_data(-300);
  add("u16", TensorProto::UINT16).add_int32_data(60000);
  add("i32", TensorProto::INT32).add_int32_data(-70000);
  add("u32", TensorProto::UINT32).add_uint64_data(4000000000u);
  add("i64", TensorProto::INT64).add_int64_data(-5000000000);
  add("u64", TensorProto::UINT64).add_uint64_data(5000000000u);
  add("bool", TensorProto::BOOL).add_int32_data(1);
  const ir::Graph graph = loaded_from(maker).graph;
  const std::vector<std::pair<const char*, double>> expected = {
      {"f32", 1.5},    {"f64", 2.5},          {"f16", 1.5},           {"bf16", 1.5},
      {"i8", -5},      {"u8", 200},           {"i16", -300},          {"u16", 60000},
      {"i32", -70000}, {"u32", 4000000000.0}, {"i64", -5000000000.0}, {"u64", 5000000000.0},
      {"bool", 1}};
  for (const auto& [name, value] : expected) {
    EXPECT_EQ(element_as_double(*graph.value(graph.find_value(name)).constant, 0), value) << name;
    EXPECT_EQ(to_string(graph.value(graph.find_value(name)).dtype), name);
  }
}

// G22: Clip in all its spellings.
TEST(Load, G22ClipOfOpset6AndClipOfToday) {
  ModelMaker old(6);
  old.input("x", {1}).node("Clip", {"x"}, {"y"}, {{"min", 0.0}, {"max", 6.0}}).output("y");
  ModelMaker initializers(13);
  initializers.input("x", {1})
      .floats("low", {}, 0)
      .floats("high", {}, 6)
      .node("Clip", {"x", "low", "high"}, {"y"})
      .output("y");
  ModelMaker constants(13);
  constants.input("x", {1})
      .node("Constant", {}, {"low"}, {{"value_float", 0.0}})
      .node("Constant", {}, {"high"}, {{"value_float", 6.0}});
  constants.node("Clip", {"x", "low", "high"}, {"y"}).output("y");
  for (const ModelMaker* maker : {&old, &initializers, &constants}) {
    const ir::Graph graph = loaded_from(*maker).graph;
    const ir::Node& clip = maker_of(graph, "y");
    ASSERT_TRUE(std::holds_alternative<ir::Clip>(clip.op));
    EXPECT_EQ(number(graph, clip, 1), 0);
    EXPECT_EQ(number(graph, clip, 2), 6);
  }
  ModelMaker upper(13);
  upper.input("x", {1}).floats("high", {}, 4).node("Clip", {"x", "", "high"}, {"y"}).output("y");
  const ir::Graph graph = loaded_from(upper).graph;
  EXPECT_EQ(maker_of(graph, "y").inputs[1], ir::kNoValue);
  EXPECT_EQ(number(graph, maker_of(graph, "y"), 2), 4);
  ModelMaker dynamic(13);
  dynamic.input("x", {1})
      .input("low", {})
      .input("high", {})
      .node("Clip", {"x", "low", "high"}, {"y"})
      .output("y");
  EXPECT_FALSE(
      loaded_from(dynamic).graph.value(maker_of(loaded_from(dynamic).graph, "y").inputs[1]).is_constant());
}

// G23: initializers that are also inputs.
TEST(Load, G23InitializersListedAsInputs) {
  const auto make = [](int64_t ir_version) {
    ModelMaker maker(8, ir_version);
    maker.input("x", {1, 1, 4, 4}).input("w", {1, 1, 3, 3}).floats("w", {1, 1, 3, 3}, 1);
    maker.node("Conv", {"x", "w"}, {"y"}).output("y");
    return maker;
  };
  const LoadedModel before = loaded_from(make(3));
  EXPECT_EQ(before.graph.inputs.size(), 1u);
  EXPECT_TRUE(before.graph.value(before.graph.find_value("w")).is_constant());
  EXPECT_TRUE(before.report.notices.empty());

  const LoadedModel since = loaded_from(make(8));
  EXPECT_EQ(since.graph.inputs.size(), 1u);
  EXPECT_THAT(since.report.notices, Contains(HasSubstr("'w' is also an input that a caller could override")));

  const LoadedModel kept = loaded_from(make(8), {.keep_overridable_inputs = true});
  EXPECT_EQ(kept.graph.inputs.size(), 2u);
  EXPECT_FALSE(kept.graph.value(kept.graph.find_value("w")).is_constant());
}

ModelMaker batch_norm(int64_t opset, const std::vector<std::string>& outputs,
                      const ir::AttributeMap& attributes) {
  ModelMaker maker(opset);
  maker.input("x", {1, 2, 4, 4});
  for (const char* name : {"scale", "bias", "mean", "var"}) maker.floats(name, {2}, 1);
  maker.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, outputs, attributes, "bn")
      .output("y");
  return maker;
}

// G24, what concerns import: which BatchNormalizations are inference.
TEST(Load, G24BatchNormalizationInAllItsForms) {
  EXPECT_FALSE(op_of<ir::BatchNorm>(loaded_from(batch_norm(9, {"y"}, {})).graph, "y").training);

  const LoadedModel unused = loaded_from(batch_norm(7, {"y", "m", "v", "sm", "sv"}, {}));
  EXPECT_FALSE(op_of<ir::BatchNorm>(unused.graph, "y").training);
  EXPECT_EQ(maker_of(unused.graph, "y").outputs.size(), 1u);

  const LoadedModel training = loaded_from(batch_norm(15, {"y", "m", "v"}, {{"training_mode", int64_t{1}}}));
  EXPECT_TRUE(op_of<ir::BatchNorm>(training.graph, "y").training);
  EXPECT_THAT(training.report.notices, Contains(HasSubstr("training mode")));

  const LoadedModel positions = loaded_from(batch_norm(7, {"y"}, {{"spatial", int64_t{0}}}));
  EXPECT_THAT(positions.report.opaque_ops, Contains(HasSubstr("spatial = 0")));
}

// G25: a graph output that is also a graph input; and a graph without nodes.
TEST(Load, G25PassesAnInputThrough) {
  ModelMaker maker;
  maker.input("input_0", {8})
      .floats("ten", {}, 10)
      .node("Add", {"input_0", "ten"}, {"plus_10"})
      .output("plus_10")
      .output("input_0");
  const ir::Graph graph = loaded_from(maker).graph;
  ASSERT_EQ(graph.outputs.size(), 2u);
  EXPECT_EQ(graph.outputs[1], graph.inputs[0]);
  EXPECT_EQ(graph.value(graph.outputs[1]).name, "input_0");
  ModelMaker empty;
  empty.input("x", {8}).output("x");
  EXPECT_EQ(loaded_from(empty).graph.outputs, loaded_from(empty).graph.inputs);
}

// G26, what concerns import: forms of Reshape and Flatten.
TEST(Load, G26ReshapeAndFlattenForms) {
  ModelMaker old(1);
  old.proto().mutable_opset_import(0)->set_version(6);
  old.input("x", {2, 8, 4, 4})
      .initializer("shape", Tensor::of<int64_t>(Shape{3}, {2, 8, 16}))
      .node("Reshape", {"x", "shape"}, {"y"})
      .output("y");
  EXPECT_EQ(loaded_from(old).graph.value(loaded_from(old).graph.find_value("y")).shape, (Shape{2, 8, 16}));
  const std::vector<std::pair<int64_t, Shape>> expected = {
      {1, Shape{2, 128}}, {0, Shape{1, 256}}, {-1, Shape{64, 4}}};
  for (const auto& [axis, shape] : expected) {
    ModelMaker maker;
    maker.input("x", {2, 8, 4, 4}).node("Flatten", {"x"}, {"y"}, {{"axis", axis}}).output("y");
    const ir::Graph graph = loaded_from(maker).graph;
    EXPECT_EQ(graph.value(graph.find_value("y")).shape, shape) << axis;
  }
}

TEST(Load, AttributesOfOldOpsetsBecomeInputs) {
  ModelMaker maker(9);
  maker.input("x", {2, 6, 4, 4});
  maker.node("Slice", {"x"}, {"slice"}, {{"starts", Ints{1}}, {"ends", Ints{3}}, {"axes", Ints{1}}});
  maker.node("Pad", {"x"}, {"pad"}, {{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}}, {"value", 2.0}});
  maker.node("Unsqueeze", {"x"}, {"unsqueeze"}, {{"axes", Ints{0}}})
      .node("Squeeze", {"unsqueeze"}, {"squeeze"}, {{"axes", Ints{0}}});
  maker.node("ReduceMean", {"x"}, {"mean"}, {{"axes", Ints{2, 3}}, {"keepdims", int64_t{0}}});
  maker.node("TopK", {"x"}, {"top", "index"}, {{"k", int64_t{2}}, {"axis", int64_t{1}}});
  maker.node("Split", {"x"}, {"s0", "s1"}, {{"axis", int64_t{1}}, {"split", Ints{2, 4}}});
  maker.node("Dropout", {"x"}, {"drop"}, {{"ratio", 0.25}});
  maker.node("Upsample", {"x", "scales"}, {"up"}, {{"mode", std::string("nearest")}});
  maker.initializer("scales", Tensor::of<float>(Shape{4}, {1, 1, 2, 2}));
  for (const char* name : {"slice", "pad", "squeeze", "mean", "top", "s1", "drop", "up"}) maker.output(name);
  const ir::Graph graph = loaded_from(maker).graph;
  EXPECT_THAT(ints(graph, maker_of(graph, "slice"), 1), ElementsAre(1));
  EXPECT_THAT(ints(graph, maker_of(graph, "slice"), 2), ElementsAre(3));
  EXPECT_THAT(ints(graph, maker_of(graph, "slice"), 3), ElementsAre(1));
  EXPECT_THAT(ints(graph, maker_of(graph, "pad"), 1), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
  EXPECT_EQ(number(graph, maker_of(graph, "pad"), 2), 2);
  EXPECT_THAT(ints(graph, maker_of(graph, "squeeze"), 1), ElementsAre(0));
  EXPECT_THAT(ints(graph, maker_of(graph, "mean"), 1), ElementsAre(2, 3));
  EXPECT_EQ(graph.value(graph.find_value("mean")).shape, (Shape{2, 6}));
  EXPECT_THAT(ints(graph, maker_of(graph, "top"), 1), ElementsAre(2));
  EXPECT_THAT(ints(graph, maker_of(graph, "s1"), 1), ElementsAre(2, 4));
  EXPECT_EQ(number(graph, maker_of(graph, "drop"), 1), 0.25);
  EXPECT_EQ(graph.value(graph.find_value("up")).shape, (Shape{2, 6, 8, 8}));
  EXPECT_EQ(op_of<ir::Resize>(graph, "up").coordinates, ir::CoordinateRule::kAsymmetric);
}

TEST(Load, AnInputThatTheVersionDoesNotHaveIsRefused) {
  ModelMaker maker(17);
  maker.input("x", {2, 6}).initializer("axes", Tensor::of<int64_t>(Shape{1}, {1}));
  maker.node("ReduceMean", {"x", "axes"}, {"y"}).output("y");
  const auto model = load_bytes(maker.bytes());
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.error().what(), HasSubstr("ReduceMean of opset 17 takes fewer inputs than the 2"));
}

TEST(Load, SoftmaxBeforeOpset13Flattens) {
  ModelMaker old(11);
  old.input("x", {2, 3, 4}).node("Softmax", {"x"}, {"y"}).output("y");
  EXPECT_TRUE(op_of<ir::Softmax>(loaded_from(old).graph, "y").flatten);
  EXPECT_EQ(op_of<ir::Softmax>(loaded_from(old).graph, "y").axis, 1);
  ModelMaker flat(11);
  flat.input("x", {2, 3}).node("Softmax", {"x"}, {"y"}).output("y");
  EXPECT_FALSE(op_of<ir::Softmax>(loaded_from(flat).graph, "y").flatten);
  ModelMaker now(13);
  now.input("x", {2, 3, 4}).node("Softmax", {"x"}, {"y"}).output("y");
  EXPECT_FALSE(op_of<ir::Softmax>(loaded_from(now).graph, "y").flatten);
  EXPECT_EQ(op_of<ir::Softmax>(loaded_from(now).graph, "y").axis, -1);
}

// Opset 6: B [3] lines up with axis 1 of A [2,3,4,5].
TEST(Load, BroadcastAlongAnAxisOfOpset6) {
  ModelMaker maker(6);
  maker.input("x", {2, 3, 4, 5}).floats("b", {3}, 1);
  maker.node("Add", {"x", "b"}, {"y"}, {{"broadcast", int64_t{1}}, {"axis", int64_t{1}}}).output("y");
  const ir::Graph graph = loaded_from(maker).graph;
  EXPECT_EQ(graph.value(maker_of(graph, "y").inputs[1]).shape, (Shape{3, 1, 1}));
  EXPECT_EQ(graph.value(graph.find_value("y")).shape, (Shape{2, 3, 4, 5}));
}

TEST(Load, UnknownOperatorsStayOpaqueWithTheirAttributes) {
  ModelMaker maker;
  maker.opset("com.acme", 3).input("x", {2});
  maker
      .node("Magic", {"x"}, {"y"}, {{"strength", 0.5}, {"modes", std::vector<std::string>{"a", "b"}}}, "m",
            "com.acme")
      .output("y");
  const LoadedModel model = loaded_from(maker);
  const auto& opaque = op_of<ir::Opaque>(model.graph, "y");
  EXPECT_EQ(opaque.domain, "com.acme");
  EXPECT_EQ(opaque.version, 3);
  EXPECT_EQ(std::get<double>(opaque.attributes.at("strength")), 0.5);
  EXPECT_THAT(model.report.opaque_ops,
              ElementsAre("com.acme::Magic (node 'm'): an operator that Tandem does not know"));
}

// The file does not say that 'axes' are integers. Without an idea of that, Reshape cannot be read either, nor
// what uses a wrong guess; nodes that do not depend on it can.
TEST(Load, WhatFollowsFromAnUnknownTypeStaysOpaqueAsWell) {
  ModelMaker maker;
  maker.opset("com.acme", 1).input("x", {2, 3}).node("Magic", {"x"}, {"shape"}, {}, "m", "com.acme");
  maker.node("Identity", {"shape"}, {"same"}).node("Reshape", {"x", "same"}, {"y"}, {}, "r");
  maker.node("Relu", {"x"}, {"z"}).output("y").output("z");
  const LoadedModel model = loaded_from(maker);
  EXPECT_THAT(model.report.opaque_ops,
              ElementsAre(HasSubstr("Magic"), AllOf(HasSubstr("Reshape (node 'r')"),
                                                    HasSubstr("the type of 'same' is not known"))));
  op_of<ir::Opaque>(model.graph, "y");
  op_of<ir::Unary>(model.graph, "z");
  EXPECT_TRUE(load_bytes(to_bytes(model.graph).value()).ok());
}

// Without an unknown operator before it, the same mistake is the file's.
TEST(Load, AShapeOfFloatsIsRefused) {
  ModelMaker maker;
  maker.input("x", {2, 3}).input("shape", {2}).node("Reshape", {"x", "shape"}, {"y"}).output("y");
  const auto loaded = load_bytes(maker.bytes());
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.error().message(), HasSubstr("expected integers"));
}

TEST(Load, ResizeOfOpset11ByTheCoordinatesOfTensorFlow) {
  const auto rule_of = [](const char* nearest) {
    ModelMaker maker(11);
    maker.input("x", {1, 1, 4, 4}).floats("roi", {0}, 0).floats("scales", {4}, 1);
    maker.node("Resize", {"x", "roi", "scales"}, {"y"},
               {{"coordinate_transformation_mode", std::string("tf_half_pixel_for_nn")},
                {"nearest_mode", std::string(nearest)}});
    const ir::Graph graph = loaded_from(maker.output("y")).graph;
    const auto* resize = std::get_if<ir::Resize>(&maker_of(graph, "y").op);
    return resize == nullptr ? std::string_view("opaque") : ir::enum_name(resize->nearest);
  };
  EXPECT_EQ(rule_of("floor"), "round_prefer_ceil");
  EXPECT_EQ(rule_of("round_prefer_floor"), "ceil");
  EXPECT_EQ(rule_of("ceil"), "opaque");
}

TEST(Load, SpaceToDepthWithTheBlockFastestPermutesChannels) {
  ModelMaker maker(28, 13);
  maker.input("x", {1, 2, 4, 4});
  maker.node("SpaceToDepth", {"x"}, {"y"}, {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}});
  const ir::Graph graph = loaded_from(maker.output("y")).graph;
  op_of<ir::Gather>(graph, "y");
  // DCR puts channel c of place p at 2 p + c; CRD wants it at 4 c + p.
  EXPECT_THAT(ints(graph, maker_of(graph, "y"), 1), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
}

TEST(Load, ScalesOfBlocksAreRepeated) {
  ModelMaker maker(21, 10);
  maker.input("x", {2, 5}, DType::kU8).floats("scale", {2, 2}, 0.5f);
  maker.node("DequantizeLinear", {"x", "scale"}, {"y"}, {{"axis", int64_t{1}}, {"block_size", int64_t{3}}});
  const ir::Graph graph = loaded_from(maker.output("y")).graph;
  const ir::Node& repeat = graph.node(graph.value(maker_of(graph, "y").inputs.at(1)).producer);
  EXPECT_EQ(std::get<ir::Gather>(repeat.op).axis, 1);
  EXPECT_THAT(ints(graph, repeat, 1), ElementsAre(0, 0, 0, 1, 1));
}

TEST(Load, BlocksOfAHugeAxisAreNotSpelledOut) {
  ModelMaker maker(21, 10);
  maker.input("x", {int64_t{1} << 40}, DType::kU8).floats("scale", {1}, 1);
  maker.node("DequantizeLinear", {"x", "scale"}, {"y"}, {{"axis", int64_t{0}}, {"block_size", int64_t{1}}});
  const auto model = load_model_bytes(maker.output("y").bytes(), "");
  EXPECT_TRUE(!model.ok() || model->report.opaque_ops.size() == 1);
}

// What a sub-graph reads by name must survive a way through the IR, also when the value got another name
// meanwhile.
TEST(Load, ValuesThatASubgraphCapturesBecomeInputsOfTheOpaque) {
  ModelMaker maker;
  maker.input("x", {2}).input("c", {}, DType::kBool).node("Relu", {"x"}, {"hidden"}, {}, "relu");
  auto& branch_node =
      *maker.node("If", {"c"}, {"y"}, {}, "choice").output("y").proto().mutable_graph()->mutable_node(1);
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& attribute = *branch_node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    auto& body = *attribute.mutable_g();
    body.set_name(name);
    auto& node = *body.add_node();
    node.set_op_type("Neg");
    node.add_input("hidden");
    node.add_output("r");
    body.add_output()->set_name("r");
  }
  ir::Graph graph = loaded_from(maker).graph;
  const ir::Node& choice = maker_of(graph, "y");
  ASSERT_EQ(choice.inputs.size(), 2u);
  EXPECT_EQ(graph.value(choice.inputs[1]).name, "hidden");
  graph.rename(choice.inputs[1], "renamed");
  const auto bytes = to_bytes(graph);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message();
  onnx::ModelProto written;
  ASSERT_TRUE(written.ParseFromString(*bytes));
  ASSERT_EQ(written.graph().node_size(), 3);
  EXPECT_EQ(written.graph().node(1).op_type(), "Identity");
  EXPECT_EQ(written.graph().node(1).output(0), "hidden");
  EXPECT_EQ(written.graph().node(2).input_size(), 1);
  EXPECT_TRUE(load_bytes(*bytes).ok());
}

TEST(Load, LocalFunctionsAreInlined) {
  ModelMaker maker;
  maker.opset("local", 1)
      .input("x", {2})
      .node("Twice", {"x"}, {"y"}, {{"slope", 0.5}}, "call", "local")
      .output("y");
  auto& function = *maker.proto().add_functions();
  function.set_domain("local");
  function.set_name("Twice");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("slope");
  auto& opset = *function.add_opset_import();
  opset.set_version(17);
  auto& leaky = *function.add_node();
  leaky.set_op_type("LeakyRelu");
  leaky.add_input("a");
  leaky.add_output("t");
  auto& slope = *leaky.add_attribute();
  slope.set_name("alpha");
  slope.set_type(onnx::AttributeProto::FLOAT);
  slope.set_ref_attr_name("slope");
  auto& add = *function.add_node();
  add.set_op_type("Add");
  add.add_input("t");
  add.add_input("t");
  add.add_output("b");
  const LoadedModel model = loaded_from(maker);
  EXPECT_EQ(model.graph.live_nodes().size(), 2u);
  EXPECT_TRUE(model.report.opaque_ops.empty());
  const ir::Node& sum = maker_of(model.graph, "y");
  EXPECT_EQ(std::get<ir::Unary>(model.graph.node(model.graph.value(sum.inputs[0]).producer).op).alpha, 0.5f);
}

TEST(Load, AFunctionThatCallsItselfIsRefused) {
  ModelMaker maker;
  maker.opset("local", 1).input("x", {2}).node("Loop", {"x"}, {"y"}, {}, "call", "local").output("y");
  auto& function = *maker.proto().add_functions();
  function.set_domain("local");
  function.set_name("Loop");
  function.add_input("a");
  function.add_output("b");
  auto& inner = *function.add_node();
  inner.set_op_type("Loop");
  inner.set_domain("local");
  inner.add_input("a");
  inner.add_output("b");
  const auto loaded = load_bytes(maker.bytes());
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.error().message(), HasSubstr("'Loop' calls functions more than 32 deep"));
}

TEST(Load, ANewerOpsetWorksWithANotice) {
  ModelMaker maker(29, 14);
  maker.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
  const LoadedModel model = loaded_from(maker);
  EXPECT_THAT(model.report.notices, Contains(HasSubstr("opset 29 is newer")));
  EXPECT_THAT(model.report.notices, Contains(HasSubstr("IR version 14 is newer")));
}

TEST(Load, StringsAndSequencesAreRefusedByName) {
  ModelMaker maker;
  maker.input("x", {2}).output("x");
  maker.proto().mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(8);
  const auto strings = load_bytes(maker.bytes());
  ASSERT_FALSE(strings.ok());
  EXPECT_EQ(strings.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(strings.error().message(), HasSubstr("'x' has element type STRING"));
}

TEST(Load, MetadataTravels) {
  ModelMaker maker;
  maker.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
  auto& entry = *maker.proto().add_metadata_props();
  entry.set_key("tandem.labels");
  entry.set_value("[\"a\"]");
  const ir::Graph graph = loaded_from(maker).graph;
  EXPECT_EQ(graph.metadata.at("tandem.labels"), "[\"a\"]");
  const auto again = load_bytes(to_bytes(graph).value());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->metadata, graph.metadata);
}

}  // namespace
}  // namespace tandem::onnx_io
