// SPDX-License-Identifier: Apache-2.0
// Goal: shapes that follow from shape computations, and binding of inputs and batches. Method: small graphs
// with the expected shape written beside them; case numbers are those of the project's case list.
#include "tandem/ir/infer.hpp"

#include <gmock/gmock.h>

#include "tandem/ir/graph.hpp"
#include "tandem/testing/graph_builder.hpp"

namespace tandem::ir {
namespace {

using ::testing::HasSubstr;
using Builder = tandem::testing::GraphBuilder;

Tensor i64s(std::vector<int64_t> values) {
  const int64_t n = static_cast<int64_t>(values.size());
  return Tensor::of<int64_t>(Shape{n}, values);
}

std::string shape_of(const Graph& graph, std::string_view name) {
  const std::optional<Shape>& shape = graph.value(graph.find_value(name)).shape;
  return shape ? shape->to_string() : "unknown";
}

// x -> Shape -> Gather(0) -> Unsqueeze -> Concat(., last...) -> Reshape: the usual export of x.view(n, ...).
Graph view_by_shape(Shape x_shape, std::vector<int64_t> rest) {
  Builder b;
  const ValueId x = b.input("x", std::move(x_shape));
  const ValueId shape = b.add(ShapeOf{}, {x}, "shape");
  const ValueId n = b.add(Gather{}, {shape, b.constant(Tensor::scalar<int64_t>(0))}, "n");
  const ValueId n1 = b.add(Unsqueeze{}, {n, b.constant(i64s({0}))}, "n1");
  const ValueId wanted = b.add(Concat{0}, {n1, b.constant(i64s(std::move(rest)))}, "wanted");
  b.output(b.add(Reshape{}, {x, wanted}, "y"));
  return b.finish();
}

TEST(InferShapes, G26cDynamicBatchSurvivesAComputedReshape) {
  // 8*4*4 = 128 elements beside the batch, which cancels.
  EXPECT_EQ(shape_of(view_by_shape({kDynamic, 8, 4, 4}, {-1}), "y"), "[?,128]");
  EXPECT_EQ(shape_of(view_by_shape({kDynamic, 8, 4, 4}, {8, 16}), "y"), "[?,8,16]");
  EXPECT_EQ(shape_of(view_by_shape({kDynamic, 8, 4, 4}, {8, -1}), "y"), "[?,8,16]");
  EXPECT_EQ(shape_of(view_by_shape({4, 8, 4, 4}, {-1}), "y"), "[4,128]");
  // Two unknowns: what remains for -1 is a product with the second, so it is unknown.
  EXPECT_EQ(shape_of(view_by_shape({kDynamic, 8, kDynamic, 4}, {-1}), "y"), "[?,?]");
  // ... unless the rest cancels: h alone remains.
  EXPECT_EQ(shape_of(view_by_shape({kDynamic, 8, kDynamic, 4}, {32, -1}), "y"), "[?,32,?]");
}

TEST(InferShapes, G26cHoldsForEveryBatch) {
  const Graph graph = view_by_shape({kDynamic, 8, 4, 4}, {-1});
  for (int64_t n : {1, 4, 16}) {
    const Result<Graph> bound = bind_batch(graph, n);
    ASSERT_TRUE(bound.ok()) << bound.error().message();
    EXPECT_EQ(shape_of(*bound, "y"), fmt::format("[{},128]", n));
  }
}

Graph reshape_to(Shape x_shape, std::vector<int64_t> wanted) {
  Builder b;
  const ValueId x = b.input("x", std::move(x_shape));
  b.output(b.add(Reshape{}, {x, b.constant(i64s(std::move(wanted)))}, "view"));
  return b.finish();
}

TEST(BindBatch, G26abBakedBatchIsRefusedByName) {
  for (const Shape& x : {Shape{1, 8, 4, 4}, Shape{kDynamic, 8, 4, 4}}) {
    for (const std::vector<int64_t>& wanted : {std::vector<int64_t>{1, 8, 16}, {1, -1}}) {
      const Graph graph = reshape_to(x, wanted);
      EXPECT_TRUE(bind_batch(graph, 1).ok());
      for (int64_t n : {4, 16}) {
        const Result<Graph> bound = bind_batch(graph, n);
        ASSERT_FALSE(bound.ok());
        EXPECT_EQ(bound.error().code(), ErrorCode::kUnsupported);
        EXPECT_THAT(bound.error().message(),
                    HasSubstr(fmt::format("node 'view' (Reshape) works only for a batch of 1, not {}", n)));
      }
    }
  }
  // The safe spellings pass.
  for (const std::vector<int64_t>& wanted : {std::vector<int64_t>{0, -1}, {-1, 128}, {0, 8, 16}}) {
    const Result<Graph> bound = bind_batch(reshape_to({1, 8, 4, 4}, wanted), 4);
    ASSERT_TRUE(bound.ok()) << bound.error().message();
    EXPECT_EQ((*bound->value(bound->outputs[0]).shape)[0], 4);
  }
}

TEST(InferShapes, G26dFlattenOnEveryAxis) {
  for (const auto& [axis, expected] : std::vector<std::pair<int64_t, std::string>>{
           {1, "[4,128]"}, {0, "[1,512]"}, {-1, "[128,4]"}, {4, "[512,1]"}, {2, "[32,16]"}}) {
    Builder b;
    b.output(b.add(Flatten{axis}, {b.input("x", {4, 8, 4, 4})}, "y"));
    EXPECT_EQ(shape_of(b.finish(), "y"), expected) << axis;
  }
  Builder b;
  b.output(b.add(Flatten{1}, {b.input("x", {kDynamic, 8, 4, 4})}, "y"));
  EXPECT_EQ(shape_of(b.finish(), "y"), "[?,128]");
}

}  // namespace
}  // namespace tandem::ir
