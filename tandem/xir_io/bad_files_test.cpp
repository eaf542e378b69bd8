// SPDX-License-Identifier: Apache-2.0
// Bad models: each gets a message with code kBadInput, or becomes a model with Opaque ops; nothing ends the
// process.
#include <gtest/gtest.h>

#include "tandem/xir_io/xir_io.hpp"

namespace tandem::xir_io {
namespace {

XOp data(const std::string& name, std::vector<int32_t> shape) {
  XOp op;
  op.name = name;
  op.type = "data";
  op.attributes["shape"] = shape;
  op.attributes["data_type"] = std::string("FLOAT32");
  op.tensor = {name, std::move(shape), "FLOAT32", {}};
  return op;
}

XOp make(const std::string& type, const std::string& name, std::vector<XArgument> arguments,
         Attributes attributes, std::vector<int32_t> shape) {
  XOp op;
  op.name = name;
  op.type = type;
  op.arguments = std::move(arguments);
  op.attributes = std::move(attributes);
  op.tensor = {name, std::move(shape), "FLOAT32", {}};
  return op;
}

XModel with(std::vector<XOp> ops) {
  XModel model;
  model.name = "bad";
  model.ops = std::move(ops);
  return model;
}

std::string refusal(const XModel& model) {
  const Result<LoadedModel> result = import_model(model);
  if (result.ok()) return "";
  EXPECT_EQ(result.error().code(), ErrorCode::kBadInput) << result.error().message();
  return result.error().message();
}

std::string opaque_reason(const XModel& model) {
  const Result<LoadedModel> result = import_model(model);
  if (!result.ok()) return result.error().message();
  return result->report.opaque_ops.empty() ? "" : result->report.opaque_ops[0];
}

TEST(BadFiles, AnEmptyModelHasNoOps) { EXPECT_NE(refusal(with({})).find("no ops"), std::string::npos); }

TEST(BadFiles, NegativeAndHugeShapesAreRefused) {
  EXPECT_NE(refusal(with({data("x", {1, -2, 3, 4})})).find("shape"), std::string::npos);
  EXPECT_NE(refusal(with({data("x", {2147483647, 2147483647, 2147483647})})), "");
}

TEST(BadFiles, ConstantsOfTheWrongLengthAreRefused) {
  XOp constant = data("c", {4});
  constant.type = "const";
  constant.attributes["data"] = Blob{"abc"};
  EXPECT_NE(refusal(with({constant})).find("3 bytes"), std::string::npos);
}

TEST(BadFiles, AttributesOfAnotherTypeMakeTheOpOpaque) {
  const XModel wrong =
      with({data("x", {1, 4, 4, 2}),
            make("fix", "f", {{"input", {0}}},
                 {{"fix_point", std::string("five")}, {"bit_width", int32_t{8}}}, {1, 4, 4, 2})});
  EXPECT_NE(opaque_reason(wrong).find("fix_point"), std::string::npos);
  const XModel kernel = with({data("x", {1, 4, 4, 2}), make("maxpool2d", "p", {{"input", {0}}},
                                                            {{"kernel", int32_t{2}}}, {1, 2, 2, 2})});
  EXPECT_NE(opaque_reason(kernel).find("kernel"), std::string::npos);
}

TEST(BadFiles, AShapeThatTheRuleContradictsMakesTheOpOpaque) {
  const XModel model = with({data("x", {1, 4, 4, 2}), make("relu", "r", {{"input", {0}}}, {}, {1, 4, 4, 3})});
  EXPECT_NE(opaque_reason(model).find("[1,4,4,2]"), std::string::npos);
}

TEST(BadFiles, ChannelsThatDoNotAgreeMakeTheConvolutionOpaque) {
  XOp weights = data("w", {2, 3, 3, 7});
  weights.type = "const";
  weights.attributes["data"] = Blob{std::string(2 * 3 * 3 * 7 * 4, '\0')};
  const XModel model = with(
      {data("x", {1, 8, 8, 2}), weights,
       make("conv2d", "c", {{"input", {0}}, {"weights", {1}}},
            {{"kernel", std::vector<int32_t>{3, 3}}, {"stride", std::vector<int32_t>{1, 1}}}, {1, 6, 6, 2})});
  EXPECT_NE(opaque_reason(model).find("channels"), std::string::npos);
}

TEST(BadFiles, AFloatModelCannotBeWrittenWithAffineParams) {
  ir::Graph graph;
  ir::Value x;
  x.name = "x";
  x.shape = Shape{1, 2, 3, 4};
  x.quant = QuantParams::affine(DType::kU8, 0.1f, 3);
  graph.outputs = {graph.add_input(std::move(x))};
  const Result<XModel> written = export_model(graph);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(written.error().message().find("--scheme pow2"), std::string::npos);
}

}  // namespace
}  // namespace tandem::xir_io
