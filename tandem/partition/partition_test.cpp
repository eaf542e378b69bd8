// SPDX-License-Identifier: Apache-2.0
// Goal: the classifier is found by structure in the forms that networks have, and parts are complete. Method:
// small hand-made networks.
#include <gtest/gtest.h>

#include "tandem/partition/classifier.hpp"
#include "tandem/partition/extract.hpp"
#include "tandem/testing/graph_builder.hpp"

namespace tandem::partition {
namespace {

using ir::ValueId;
using testing::GraphBuilder;

ValueId conv(GraphBuilder& b, ValueId x, int64_t in, int64_t out, int64_t k, std::string name) {
  ir::Conv op;
  op.window.kernel = {k, k};
  op.window.pads = {k / 2, k / 2, k / 2, k / 2};
  return b.add(op, {x, b.constant(Tensor(DType::kF32, {out, in, k, k}))}, std::move(name));
}

TEST(FindClassifier, TakesTheInputOfTheLastGemm) {
  GraphBuilder b;
  const ValueId f = conv(b, b.input("x", {kDynamic, 3, 8, 8}), 3, 16, 3, "body");
  const ValueId flat = b.add(ir::Flatten{}, {b.add(ir::GlobalPool{}, {f})}, "flat");
  const ValueId hidden = b.add(ir::Gemm{}, {flat, b.constant(Tensor(DType::kF32, {16, 12}))}, "fc1");
  const ValueId act = b.add(ir::Unary{ir::UnaryKind::kHardSwish}, {hidden}, "act");
  const ValueId y = b.add(ir::Gemm{}, {act, b.constant(Tensor(DType::kF32, {12, 5}))}, "fc2");
  b.output(b.add(ir::Softmax{}, {y}));
  const ir::Graph graph = b.finish();
  const auto cut = find_classifier(graph);
  ASSERT_TRUE(cut.ok()) << cut.error().message();
  EXPECT_EQ(cut->features, act);
  EXPECT_EQ(cut->feature_count, 12);
  EXPECT_EQ(cut->class_count, 5);
  EXPECT_EQ(cut->classifier, "fc2");
  EXPECT_FALSE(cut->needs_global_average);
}

TEST(FindClassifier, TakesTheMapBeforeAPointConvThatIsPooled) {
  GraphBuilder b;
  const ValueId f = conv(b, b.input("x", {kDynamic, 3, 8, 8}), 3, 16, 3, "body");
  const ValueId c = conv(b, f, 16, 7, 1, "classifier");
  const ValueId pool = b.add(ir::GlobalPool{}, {b.add(ir::Unary{ir::UnaryKind::kRelu}, {c})});
  b.output(b.add(ir::Flatten{}, {pool}));
  const ir::Graph graph = b.finish();
  const auto cut = find_classifier(graph);
  ASSERT_TRUE(cut.ok()) << cut.error().message();
  EXPECT_EQ(cut->features, f);
  EXPECT_TRUE(cut->needs_global_average);
  EXPECT_EQ(cut->feature_count, 16);
  EXPECT_EQ(cut->class_count, 7);
}

TEST(FindClassifier, RefusesADetectorAndNamesTheObstacle) {
  GraphBuilder b;
  const ValueId f = conv(b, b.input("x", {kDynamic, 3, 8, 8}), 3, 16, 3, "body");
  b.output(conv(b, f, 16, 7, 1, "boxes"));
  const ir::Graph graph = b.finish();
  const auto cut = find_classifier(graph);
  ASSERT_FALSE(cut.ok());
  EXPECT_NE(cut.error().message().find("boxes"), std::string::npos);
  EXPECT_NE(cut.error().message().find("--features"), std::string::npos);
  const auto named = find_classifier(graph, "body");
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->features, f);
  EXPECT_EQ(find_classifier(graph, "bodi").error().code(), ErrorCode::kUsage);
}

TEST(Extract, KeepsContractsAndRefusesAPathAround) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 3, 8, 8});
  const ValueId a = conv(b, x, 3, 3, 3, "a");
  b.graph().value(a).quant = QuantParams::pow2(4);
  const ValueId c = conv(b, a, 3, 3, 3, "c");
  const ValueId sum = b.add(ir::Binary{}, {c, x}, "sum");
  b.output(sum);
  const ir::Graph graph = b.finish();
  const auto part = extract(graph, {a}, {c});
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->live_nodes().size(), 1u);
  EXPECT_EQ(part->value(part->inputs[0]).name, "a");
  EXPECT_EQ(part->value(part->inputs[0]).quant, QuantParams::pow2(4));
  EXPECT_FALSE(extract(graph, {a}, {sum}).ok());  // x reaches the sum past the cut.
  EXPECT_TRUE(extract(graph, {a, x}, {sum}).ok());
}

}  // namespace
}  // namespace tandem::partition
