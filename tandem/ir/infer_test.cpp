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

// The usual export of x.expand(n, -1): Where(wanted == -1, shape of x, wanted).
TEST(InferShapes, ExpandThroughEqualAndWhere) {
  Builder b;
  const ValueId x = b.input("x", {kDynamic, 6});
  const ValueId shape = b.add(ShapeOf{}, {x});
  const ValueId wanted = b.constant(i64s({-1, 6}));
  const ValueId same = b.add(Binary{BinaryKind::kEqual}, {wanted, b.constant(i64s({-1}))});
  const ValueId target = b.add(Where{}, {same, shape, wanted});
  b.output(b.add(Expand{}, {b.constant(Tensor(DType::kF32, {1, 1})), target}, "y"));
  EXPECT_EQ(shape_of(b.finish(), "y"), "[?,6]");
}

// y = x.view(n, heads, c / heads, h * w), with every number computed.
TEST(InferShapes, ArithmeticOnShapes) {
  Builder b;
  const ValueId x = b.input("x", {kDynamic, 8, 3, 5});
  const ValueId shape = b.add(ShapeOf{}, {x});
  const auto dims = [&](int64_t from, int64_t to) {
    return b.add(Slice{}, {shape, b.constant(i64s({from})), b.constant(i64s({to}))});
  };
  const ValueId heads = b.constant(i64s({2}));
  const ValueId depth = b.add(Binary{BinaryKind::kDiv}, {dims(1, 2), heads});
  const ValueId area = b.add(Reduce{ReduceKind::kProd}, {dims(2, INT64_MAX), b.constant(i64s({0}))});
  const ValueId wanted = b.add(Concat{0}, {dims(0, 1), heads, depth, area});
  b.output(b.add(Reshape{}, {x, b.add(Cast{DType::kI64}, {wanted})}, "y"));
  EXPECT_EQ(shape_of(b.finish(), "y"), "[?,2,4,15]");
}

// The batch is followed through ops that keep it: the shape comes from x, the elements from conv(x).
TEST(InferShapes, SymbolsPassThroughOps) {
  Builder b;
  const ValueId x = b.input("x", {kDynamic, 3, 8, 8});
  const ValueId y = b.add(Unary{}, {b.add(Conv{}, {x, b.constant(Tensor(DType::kF32, {4, 3, 1, 1}))})});
  const ValueId n = b.add(Slice{}, {b.add(ShapeOf{}, {x}), b.constant(i64s({0})), b.constant(i64s({1}))});
  const ValueId wanted = b.add(Concat{0}, {n, b.constant(i64s({-1}))});
  b.output(b.add(Reshape{}, {y, wanted}, "flat"));
  EXPECT_EQ(shape_of(b.finish(), "flat"), "[?,256]");
}

TEST(InferShapes, TypesAreSetAndStaleShapesRefinedNotWidened) {
  Builder b;
  const ValueId x = b.input("x", {kDynamic, 4});
  const ValueId y = b.add(Unary{}, {x}, "y");
  const ValueId s = b.add(ShapeOf{}, {y}, "s");
  b.graph().value(y).shape = Shape{2, kDynamic};
  b.output(s);
  const Graph graph = b.finish();
  EXPECT_EQ(shape_of(graph, "y"), "[2,4]");
  EXPECT_EQ(graph.value(graph.find_value("s")).dtype, DType::kI64);
}

TEST(InferShapes, ErrorsNameTheNode) {
  Builder b;
  b.output(b.add(Binary{}, {b.input("a", {2}), b.input("c", {3})}, "sum"));
  const Status status = infer_shapes(b.graph());
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message(),
              HasSubstr("node 'sum' (Binary): shapes [2] and [3] do not broadcast"));
}

TEST(InferShapes, OpaqueOutputsAreWhatWasDeclared) {
  Builder b;
  const ValueId x = b.input("x", {1, 4});
  const ValueId declared = b.add(Opaque{"d", "Foo"}, {x}, "declared");
  b.graph().value(declared).shape = Shape{1, 7};
  const ValueId unknown = b.add(Opaque{"d", "Foo"}, {x}, "unknown");
  // Nothing is known of the type of `unknown`, so adding integers to it is no contradiction.
  b.output(b.add(Binary{}, {unknown, b.constant(i64s({1}))}, "sum"));
  b.output(b.add(Unary{}, {declared}, "y"));
  const Graph graph = b.finish();
  EXPECT_EQ(shape_of(graph, "y"), "[1,7]");
  EXPECT_EQ(shape_of(graph, "sum"), "unknown");
  EXPECT_EQ(graph.value(graph.find_value("sum")).dtype, DType::kI64);
  // The batch of an Opaque cannot be known from that of its input.
  EXPECT_EQ(shape_of(bind_batch(graph, 2).value(), "y"), "unknown");
}

TEST(BindShapes, SetsEveryInputAndSharesConstants) {
  Builder b;
  const ValueId w = b.constant(Tensor(DType::kF32, {4, 3, 3, 3}), "w");
  b.output(b.add(Conv{}, {b.input("x", {kDynamic, 3, kDynamic, kDynamic}), w}, "y"));
  const Graph graph = b.finish();
  EXPECT_EQ(shape_of(graph, "y"), "[?,4,?,?]");
  const Graph bound = bind_shapes(graph, {Shape{2, 3, 7, 5}}).value();
  EXPECT_EQ(shape_of(bound, "y"), "[2,4,5,3]");
  EXPECT_EQ(bound.value(w).constant, graph.value(w).constant);
  EXPECT_EQ(shape_of(graph, "x"), "[?,3,?,?]");  // the original is as it was
  // Bound once, it can be bound anew.
  EXPECT_EQ(shape_of(bind_shapes(bound, {Shape{1, 3, 3, 3}}).value(), "y"), "[1,4,1,1]");
  EXPECT_THAT(bind_shapes(graph, {}).error().message(), HasSubstr("0 shapes given for 1 inputs"));
  EXPECT_THAT(bind_shapes(graph, {Shape{2, 3}}).error().message(), HasSubstr("for input 'x'"));
  EXPECT_THAT(bind_shapes(graph, {Shape{kDynamic, 3, 4, 4}}).error().message(), HasSubstr("is not static"));
  EXPECT_THAT(bind_shapes(graph, {Shape{1, 3, 2, 2}}).error().message(), HasSubstr("node 'y' (Conv)"));
  EXPECT_THAT(bind_shapes(graph, {Shape{1, 5, 4, 4}}).error().message(), HasSubstr("x has 5 channels"));
}

TEST(BindBatch, OnlyDynamicInputsAreBatchedWhenThereAreAny) {
  Builder b;
  const ValueId x = b.input("x", {kDynamic, 4});
  b.output(b.add(Binary{}, {x, b.input("offset", {1, 4})}, "y"));
  const Graph bound = bind_batch(b.finish(), 8).value();
  EXPECT_EQ(shape_of(bound, "offset"), "[1,4]");
  EXPECT_EQ(shape_of(bound, "y"), "[8,4]");
  // All static now; the batch is that of the first input.
  const Graph again = bind_batch(bound, 2).value();
  EXPECT_EQ(shape_of(again, "y"), "[2,4]");
  EXPECT_EQ(shape_of(again, "offset"), "[1,4]");
  EXPECT_THAT(bind_batch(bound, 0).error().message(), HasSubstr("a batch of 0"));
}

}  // namespace
}  // namespace tandem::ir
