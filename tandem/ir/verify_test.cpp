// SPDX-License-Identifier: Apache-2.0
// Goal: every invariant of verify() is seen to fail. Method: one valid graph, one planted fault per test.
#include "tandem/ir/verify.hpp"

#include <gmock/gmock.h>

#include "tandem/testing/graph_builder.hpp"

namespace tandem::ir {
namespace {

using ::testing::HasSubstr;

// x [1,2,4,4] -> conv (w [3,2,1,1]) -> relu -> y
struct Faults : ::testing::Test {
  Faults() {
    tandem::testing::GraphBuilder b;
    x = b.input("x", {1, 2, 4, 4});
    w = b.constant(Tensor(DType::kF32, {3, 2, 1, 1}), "w");
    c = b.add(Conv{}, {x, w}, "conv");
    y = b.add(Unary{}, {c}, "relu");
    b.output(y);
    graph = b.finish();
  }
  void expect_fault(const std::string& text) {
    const Status status = verify(graph);
    ASSERT_FALSE(status.ok()) << "not noticed: " << text;
    EXPECT_EQ(status.error().code(), ErrorCode::kBadInput);
    EXPECT_THAT(status.error().message(), HasSubstr(text));
  }
  Node& conv() { return graph.node(NodeId{0}); }
  Node& relu() { return graph.node(NodeId{1}); }
  Graph graph;
  ValueId x, w, c, y;
};

TEST_F(Faults, None) { EXPECT_TRUE(verify(graph).ok()); }

TEST_F(Faults, InputIdOutOfRange) {
  relu().inputs = {ValueId{99}};
  expect_fault("'relu' (Unary) names value 99");
}
TEST_F(Faults, OutputIdOutOfRange) {
  graph.outputs = {ValueId{99}};
  expect_fault("graph output is no value");
}
TEST_F(Faults, AbsentGraphInput) {
  graph.inputs.push_back(kNoValue);
  expect_fault("graph input is no value");
}
TEST_F(Faults, EmptyName) {
  graph.value(c).name.clear();
  expect_fault("has no name");
}
TEST_F(Faults, NameChangedBehindTheIndex) {
  graph.value(c).name = "x";
  expect_fault("the name 'x'");
}
TEST_F(Faults, TwoProducers) {
  relu().outputs = {c};
  expect_fault("value 'conv' has two producers");
}
TEST_F(Faults, OneNodeNamesAnOutputTwice) {
  relu().outputs = {y, y};
  expect_fault("two producers");
}
TEST_F(Faults, ForgottenProducer) {
  graph.value(y).producer = kNoNode;
  expect_fault("value 'relu' and the nodes disagree");
}
TEST_F(Faults, ProducerIsDead) {
  relu().dead = true;
  expect_fault("disagree about its producer");
}
TEST_F(Faults, InputTwice) {
  graph.inputs.push_back(x);
  expect_fault("a graph input twice");
}
TEST_F(Faults, ConstantIsAnInput) {
  graph.inputs.push_back(w);
  expect_fault("value 'w' has more than one source");
}
TEST_F(Faults, ProducedValueIsAnInput) {
  graph.inputs.push_back(c);
  expect_fault("value 'conv' has more than one source");
}
TEST_F(Faults, OutOfOrder) {
  std::swap(graph.node(NodeId{0}), graph.node(NodeId{1}));
  graph.value(c).producer = NodeId{1};
  graph.value(y).producer = NodeId{0};
  expect_fault("reads value 'conv' before it is there");
}
TEST_F(Faults, Cycle) {
  conv().inputs[0] = y;
  expect_fault("reads value 'relu' before it is there");
}
TEST_F(Faults, NothingProducesAnInput) {
  Value lost;
  lost.name = "lost";
  relu().inputs = {graph.add_value(lost)};
  expect_fault("nothing produces it");
}
TEST_F(Faults, NothingProducesTheOutput) {
  Value lost;
  lost.name = "lost";
  graph.outputs = {graph.add_value(lost)};
  expect_fault("nothing produces the graph output 'lost'");
}
TEST_F(Faults, RequiredInputMissing) {
  conv().inputs[1] = kNoValue;
  expect_fault("node 'conv' (Conv): input 1 is missing");
}
TEST_F(Faults, TooManyInputs) {
  relu().inputs = {c, c};
  expect_fault("node 'relu' (Unary): 2 inputs given");
}
TEST_F(Faults, ConstantOfAnotherShape) {
  graph.value(w).shape = Shape{3, 2};
  expect_fault("value 'w': its shape is [3,2]");
}
TEST_F(Faults, ConstantWithoutShape) {
  graph.value(w).shape.reset();
  expect_fault("value 'w': its shape is unknown");
}
TEST_F(Faults, ConstantOfAnotherType) {
  graph.value(w).dtype = DType::kF16;
  expect_fault("value 'w': it is stored as f16 and its constant is f32");
}
TEST_F(Faults, QuantizedConstantStillInFloat) {
  graph.value(w).quant = QuantParams::affine(DType::kI8, 0.5f, 0);
  expect_fault("value 'w': it is stored as i8");
}
TEST_F(Faults, QuantOnIntegers) {
  graph.value(y).quant = QuantParams::affine(DType::kI8, 0.5f, 0);
  EXPECT_TRUE(verify(graph).ok());
  graph.value(y).dtype = DType::kI64;
  expect_fault("its real type is f32, not i64");
}
TEST_F(Faults, QuantAxisOutside) {
  graph.value(y).quant = QuantParams::affine_per_axis(DType::kI8, 4, {1});
  expect_fault("axis 4 of its scales is outside");
}
TEST_F(Faults, QuantScalesOfAnotherCount) {
  graph.value(y).quant = QuantParams::affine_per_axis(DType::kI8, 1, {1, 1});  // 3 channels
  expect_fault("value 'relu': 2 scales");
}
TEST_F(Faults, QuantScaleNotPositive) {
  graph.value(y).quant = QuantParams::affine(DType::kI8, -1, 0);
  expect_fault("not positive");
}
TEST_F(Faults, ShapeContradicts) {
  graph.value(y).shape = Shape{1, 3, 4, 5};
  expect_fault("output 'relu' in the graph has shape [1,3,4,5], expected [1,3,4,4]");
}
TEST_F(Faults, RankContradicts) {
  graph.value(y).shape = Shape{1};
  expect_fault("expected [1,3,4,4]");
}
TEST_F(Faults, TypeContradicts) {
  graph.value(y).dtype = DType::kI64;
  expect_fault("value 'relu' is i64, but node 1 'relu' (Unary) gives f32");
}
TEST_F(Faults, NegativeDimension) {
  graph.value(x).shape = Shape{1, 2, -7, 4};
  expect_fault("value 'x' has a dimension of -7");
}
TEST_F(Faults, HugeShape) {
  graph.value(x).shape = Shape{INT64_MAX, 2, INT64_MAX, 4};
  expect_fault("is too large");
}
TEST_F(Faults, LessPreciseShapesAreNoFault) {
  graph.value(y).shape = Shape{kDynamic, 3, kDynamic, 4};
  EXPECT_TRUE(verify(graph).ok());
  graph.value(y).shape.reset();
  EXPECT_TRUE(verify(graph).ok());
}

}  // namespace
}  // namespace tandem::ir
