// SPDX-License-Identifier: Apache-2.0
// Goal: run() as a machine: order, freeing, dtypes, errors. Method: small graphs whose results are known by
// hand.
#include "tandem/ref/ref.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/tensor/compare.hpp"
#include "tandem/testing/graph_builder.hpp"
#include "tandem/testing/op_cases.hpp"

namespace tandem::ref {
namespace {

using testing::GraphBuilder;
using ::testing::HasSubstr;

ir::Op unary(ir::UnaryKind kind) { return ir::Unary{kind, 0, 0}; }

std::vector<Tensor> inputs(Tensor t) {
  std::vector<Tensor> v;
  v.push_back(std::move(t));
  return v;
}

std::vector<float> floats(const Tensor& t) { return {t.as<float>().begin(), t.as<float>().end()}; }

TEST(Run, PassesAnInputThroughUnchanged) {
  GraphBuilder b;
  const auto x = b.input("x", {2});
  const auto y = b.add(unary(ir::UnaryKind::kNeg), {x});
  b.output(y);
  b.output(x);
  b.output(y);
  const ir::Graph graph = b.finish();
  const auto out = run(graph, inputs(Tensor::of<float>({2}, {1, -2}))).value();
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(floats(out[0]), (std::vector<float>{-1, 2}));
  EXPECT_EQ(floats(out[1]), (std::vector<float>{1, -2}));
  EXPECT_EQ(floats(out[2]), (std::vector<float>{-1, 2}));
}

TEST(Run, TakesAnyExtentWhereTheGraphIsDynamic) {
  GraphBuilder b;
  const auto x = b.input("x", {kDynamic, 2});
  b.output(b.add(ir::Flatten{}, {x}));
  const ir::Graph graph = b.finish();
  for (int64_t n : {1, 4, 16}) {
    EXPECT_EQ(run(graph, inputs(Tensor(DType::kF32, {n, 2}))).value()[0].shape(), (Shape{n, 2}));
  }
}

TEST(Run, TracesEveryProducedValue) {
  GraphBuilder b;
  const auto x = b.input("x", {1});
  const auto y = b.add(unary(ir::UnaryKind::kNeg), {x});
  const auto z = b.add(unary(ir::UnaryKind::kAbs), {y});
  b.output(z);
  const ir::Graph graph = b.finish();
  std::vector<std::pair<ir::ValueId, float>> seen;
  RunOptions options;
  options.on_value = [&](ir::ValueId id, const Tensor& t) { seen.push_back({id, t.as<float>()[0]}); };
  ASSERT_TRUE(run(graph, inputs(Tensor::of<float>({1}, {3})), options).ok());
  EXPECT_THAT(seen, ::testing::ElementsAre(std::pair(y, -3.0f), std::pair(z, 3.0f)));
}

TEST(Run, AcceptsRealAndStoredFormsOfAQuantizedInput) {
  GraphBuilder b;
  const auto x = b.input("x", {2});
  const auto y = b.add(ir::Requantize{}, {x});
  b.graph().value(x).quant = QuantParams::affine(DType::kU8, 0.5f, 10);
  b.graph().value(y).quant = QuantParams::affine(DType::kU8, 0.25f, 10);
  b.output(y);
  const ir::Graph graph = b.finish();
  // 1.0 and -2.0 are q = 12 and 6 at scale 0.5, zero point 10.
  const auto real = run(graph, inputs(Tensor::of<float>({2}, {1, -2}))).value();
  const auto stored = run(graph, inputs(Tensor::of<uint8_t>({2}, {12, 6}))).value();
  EXPECT_EQ(floats(real[0]), (std::vector<float>{1, -2}));
  EXPECT_EQ(floats(stored[0]), (std::vector<float>{1, -2}));
  RunOptions options;
  options.stored_outputs = true;
  const auto q = run(graph, inputs(Tensor::of<float>({2}, {1, -2})), options).value();
  EXPECT_EQ(q[0].as<uint8_t>()[0], 14);  // 1 / 0.25 + 10
  EXPECT_EQ(q[0].as<uint8_t>()[1], 2);
}

TEST(Run, RefusesWrongInputsByName) {
  GraphBuilder b;
  const auto x = b.input("image", {1, 3});
  b.output(b.add(unary(ir::UnaryKind::kNeg), {x}));
  const ir::Graph graph = b.finish();
  EXPECT_THAT(run(graph, {}).error().message(), HasSubstr("0 inputs"));
  EXPECT_THAT(run(graph, inputs(Tensor(DType::kF32, {1, 4}))).error().message(),
              HasSubstr("'image' has shape [1,4]"));
  EXPECT_THAT(run(graph, inputs(Tensor(DType::kI32, {1, 3}))).error().message(), HasSubstr("'image' is i32"));
}

TEST(Run, NamesTheNodeItCannotRun) {
  GraphBuilder b;
  const auto x = b.input("x", {1});
  ir::Opaque op;
  op.domain = "com.acme";
  op.op_type = "Foo";
  b.output(b.add(op, {x}, "mystery"));
  const Error error = run(b.finish(), inputs(Tensor(DType::kF32, {1}))).error();
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.message(), HasSubstr("'mystery'"));
  EXPECT_THAT(error.message(), HasSubstr("com.acme::Foo"));
}

TEST(Run, StopsWhenAsked) {
  GraphBuilder b;
  const auto x = b.input("x", {1});
  b.output(b.add(unary(ir::UnaryKind::kNeg), {x}));
  CancelToken cancel;
  cancel.request(2);
  RunOptions options;
  options.cancel = &cancel;
  EXPECT_EQ(run(b.finish(), inputs(Tensor(DType::kF32, {1})), options).error().code(),
            ErrorCode::kInterrupted);
}

TEST(RunNode, ComputesHalfFloatsInFloatAndRoundsOnce) {
  // 1 + 2^-11 is no f16: ties to even gives 1.
  const Tensor a = cast(Tensor::of<float>({1}, {1.0f}), DType::kF16);
  const Tensor b = cast(Tensor::of<float>({1}, {0x1p-11f}), DType::kF16);
  const Tensor* operands[] = {&a, &b};
  const auto y = run_node(ir::Binary{}, operands, 1).value();
  EXPECT_EQ(y[0].dtype(), DType::kF16);
  EXPECT_EQ(f16_to_f32(y[0].as<uint16_t>()[0]), 1.0f);
}

// Every case of the table must run, and give finite values of the inferred shape.
TEST(OpCases, AllRun) {
  for (const testing::OpCase& c : testing::op_cases()) {
    const testing::BuiltCase built = testing::build(c, 1);
    const auto out = run(built.graph, built.inputs);
    ASSERT_TRUE(out.ok()) << c.name << ": " << out.error().message();
    for (size_t i = 0; i < out->size(); ++i) {
      EXPECT_EQ((*out)[i].shape(), *built.graph.value(built.graph.outputs[i]).shape) << c.name;
      const Difference d = compare((*out)[i], (*out)[i]).value();
      EXPECT_EQ(d.differing, 0) << c.name;
    }
  }
}

// A quantized case and the same case in real numbers must agree to the resolution of the output; a wrong
// scale, channel or zero point would not.
TEST(OpCases, QuantizedOnesAgreeWithRealArithmetic) {
  for (const testing::OpCase& c : testing::op_cases()) {
    if (c.kind == testing::CaseKind::kFloat) continue;
    const testing::BuiltCase built = testing::build(c, 2);
    const auto fixed = run(built.graph, built.inputs);
    ASSERT_TRUE(fixed.ok()) << c.name << ": " << fixed.error().message();
    ir::Graph real = built.graph;
    std::vector<Tensor> real_inputs;
    for (size_t i = 0; i < built.inputs.size(); ++i) {
      real_inputs.push_back(dequantize(built.inputs[i], *real.value(real.inputs[i]).quant));
    }
    for (uint32_t i = 0; i < real.values().size(); ++i) {
      ir::Value& value = real.value(ir::ValueId{i});
      if (!value.quant) continue;
      if (value.constant)
        value.constant = std::make_shared<const Tensor>(dequantize(*value.constant, *value.quant));
      value.quant.reset();
    }
    const auto expected = run(real, real_inputs);
    ASSERT_TRUE(expected.ok()) << c.name << ": " << expected.error().message();
    const QuantParams& q = *built.graph.value(built.graph.outputs[0]).quant;
    const Tensor rounded = quantize((*expected)[0], q);
    const Tensor back = dequantize(rounded, q);
    // Pow2 average pools and hard sigmoids multiply by constants that are up to 3 % off (3x3: 7/64).
    const bool approximate = c.kind == testing::CaseKind::kPow2;
    const double limit = q.scale[0] * (approximate ? 4.5 : 1.01);
    const Difference d = compare(back, (*fixed)[0]).value();
    EXPECT_LE(d.max_abs, limit) << c.name << ": " << d.to_string();
    EXPECT_GT(back.elements(), d.differing * 3) << c.name << ": " << d.to_string();
  }
}

}  // namespace
}  // namespace tandem::ref
