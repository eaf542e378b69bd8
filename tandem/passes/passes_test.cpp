// SPDX-License-Identifier: Apache-2.0
// Goal: every rewrite keeps the function and leaves alone what it must not touch. Method: small graphs run by
// the reference before and after; hand-written conditions from public bug reports (cases G18, G24, G26, named
// in the tests).
#include <gtest/gtest.h>

#include <cmath>

#include "tandem/ir/verify.hpp"
#include "tandem/passes/pass_runner.hpp"
#include "tandem/passes/rewrites.hpp"
#include "tandem/ref/ref.hpp"
#include "tandem/tensor/compare.hpp"
#include "tandem/testing/graph_builder.hpp"

namespace tandem::passes {
namespace {

using ir::BinaryKind;
using ir::UnaryKind;
using ir::ValueId;
using testing::GraphBuilder;
using testing::random_tensor;

template <typename T>
int count(const ir::Graph& graph) {
  int n = 0;
  for (ir::NodeId id : graph.live_nodes()) n += std::holds_alternative<T>(graph.node(id).op);
  return n;
}

int count_unary(const ir::Graph& graph, UnaryKind kind) {
  int n = 0;
  for (ir::NodeId id : graph.live_nodes()) {
    const auto* op = std::get_if<ir::Unary>(&graph.node(id).op);
    n += op != nullptr && op->kind == kind;
  }
  return n;
}

// Applies one pass through the runner and demands that outputs move by at most `tolerance`.
void apply(ir::Graph& graph, const Pass& pass, double tolerance = 1e-5) {
  Rng rng(11);
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs)
    inputs.push_back(random_tensor(rng, graph.value(id).dtype, *graph.value(id).shape, -4, 4));
  const auto before = ref::run(graph, inputs);
  ASSERT_TRUE(before.ok()) << before.error().message();
  const auto reports = run(graph, {pass});
  ASSERT_TRUE(reports.ok()) << reports.error().message();
  const auto after = ref::run(graph, inputs);
  ASSERT_TRUE(after.ok()) << after.error().message();
  ASSERT_EQ(before->size(), after->size());
  for (size_t i = 0; i < before->size(); ++i) {
    const auto close = all_close((*before)[i], (*after)[i], tolerance, tolerance);
    EXPECT_TRUE(close.ok()) << close.error().message();
  }
}

Tensor filled(Shape shape, float value) {
  Tensor t(DType::kF32, std::move(shape));
  for (float& x : t.as<float>()) x = value;
  return t;
}

ValueId scalar(GraphBuilder& b, float value) { return b.constant(Tensor::scalar(value)); }

struct ConvNet {
  Rng rng{5};
  GraphBuilder b;
  ValueId conv(ValueId x, int64_t in, int64_t out, bool bias = true) {
    std::vector<ValueId> inputs = {x, b.constant(random_tensor(rng, DType::kF32, {out, in, 3, 3}))};
    if (bias) inputs.push_back(b.constant(random_tensor(rng, DType::kF32, {out})));
    ir::Conv op;
    op.window.kernel = {3, 3};
    op.window.pads = {1, 1, 1, 1};
    return b.add(op, inputs);
  }
  ValueId bn(ValueId x, int64_t channels, size_t outputs = 1, bool training = false) {
    ir::BatchNorm op;
    op.training = training;
    return b.add_multi(op,
                       {x, b.constant(random_tensor(rng, DType::kF32, {channels}, 0.5, 2)),
                        b.constant(random_tensor(rng, DType::kF32, {channels})),
                        b.constant(random_tensor(rng, DType::kF32, {channels})),
                        b.constant(random_tensor(rng, DType::kF32, {channels}, 0.5, 2))},
                       outputs)[0];
  }
};

const Pass kFoldBatchNorm{"fold_batch_norm", fold_batch_norm};
const Pass kRecognize{"recognize_idioms", recognize_idioms};
const Pass kFuseActivation{"fuse_activation", fuse_activation};
const Pass kFuseResidual{"fuse_residual", fuse_residual};

TEST(FoldBatchNorm, CaseG24FoldsConvThenNormAndChains) {
  for (bool bias : {true, false}) {
    ConvNet n;
    ValueId x = n.b.input("x", {1, 3, 6, 6});
    x = n.bn(n.conv(x, 3, 4, bias), 4);
    x = n.bn(n.conv(x, 4, 2, bias), 2);
    n.b.output(x);
    ir::Graph graph = n.b.finish();
    apply(graph, kFoldBatchNorm);
    EXPECT_EQ(count<ir::BatchNorm>(graph), 0);
    EXPECT_EQ(count<ir::Conv>(graph), 2);
  }
}

TEST(FoldBatchNorm, CaseG24KeepsNormAfterRelu) {
  ConvNet n;
  const ValueId x = n.b.input("x", {1, 3, 6, 6});
  n.b.output(n.bn(n.b.add(ir::Unary{UnaryKind::kRelu}, {n.conv(x, 3, 4)}), 4));
  ir::Graph graph = n.b.finish();
  apply(graph, kFoldBatchNorm);
  EXPECT_EQ(count<ir::BatchNorm>(graph), 1);
}

TEST(FoldBatchNorm, CaseG24KeepsAConvOutputThatTheUserAskedFor) {
  ConvNet n;
  const ValueId conv = n.conv(n.b.input("x", {1, 3, 6, 6}), 3, 4);
  n.b.output(n.bn(conv, 4));
  n.b.output(conv);
  ir::Graph graph = n.b.finish();
  apply(graph, kFoldBatchNorm);
  EXPECT_EQ(count<ir::BatchNorm>(graph), 1);
}

TEST(FreezeBatchNorm, CaseG24cUsesRunningStatisticsWhereNobodyReadsThoseOfTheBatch) {
  // y = (x - mean) * scale / sqrt(variance + epsilon) + bias = (3 - 1) * 2 / sqrt(4) + 5 = 7; by the batch it
  // would be 5.
  for (const bool read : {false, true}) {
    GraphBuilder b;
    const ValueId x = b.input("x", {2, 1, 1, 1});
    const auto one = [&](float v) { return b.constant(Tensor::of<float>({1}, {v})); };
    ir::BatchNorm op;
    op.training = true;
    op.epsilon = 0;
    const auto made = b.add_multi(op, {x, one(2), one(5), one(1), one(4)}, 3, "bn");
    b.output(made[0]);
    if (read) b.output(made[1]);
    ir::Graph graph = b.finish();
    const auto report = run(graph, {{"freeze_batch_norm", freeze_batch_norm}});
    ASSERT_TRUE(report.ok()) << report.error().message();
    std::vector<Tensor> inputs;
    inputs.push_back(Tensor::of<float>({2, 1, 1, 1}, {3, 3}));
    const auto y = ref::run(graph, inputs);
    ASSERT_TRUE(y.ok());
    EXPECT_EQ(report->front().log.notes.size(), read ? 0u : 1u);
    if (read) {
      EXPECT_TRUE(std::get<ir::BatchNorm>(graph.node(graph.live_nodes()[0]).op).training);
    } else {
      EXPECT_FLOAT_EQ((*y)[0].as<float>()[0], 7);
    }
  }
}

TEST(FoldBatchNorm, FoldsIntoGemmOfEitherOrientation) {
  for (bool trans_b : {false, true}) {
    ConvNet n;
    const ValueId x = n.b.input("x", {2, 5});
    ir::Gemm op;
    op.trans_b = trans_b;
    const Shape w = trans_b ? Shape{3, 5} : Shape{5, 3};
    n.b.output(n.bn(n.b.add(op, {x, n.b.constant(random_tensor(n.rng, DType::kF32, w))}), 3));
    ir::Graph graph = n.b.finish();
    apply(graph, kFoldBatchNorm);
    EXPECT_EQ(count<ir::BatchNorm>(graph), 0);
  }
}

// Case G18: the spellings of hard-swish.
TEST(RecognizeIdioms, CaseG18FindsHardSwishInItsSpellings) {
  for (int variant = 0; variant < 6; ++variant) {
    ConvNet n;
    GraphBuilder& b = n.b;
    const ValueId t = n.conv(b.input("x", {1, 3, 4, 4}), 3, 4);
    const auto mul = [&](ValueId p, ValueId q) { return b.add(ir::Binary{BinaryKind::kMul}, {p, q}); };
    const auto div = [&](ValueId p, ValueId q) { return b.add(ir::Binary{BinaryKind::kDiv}, {p, q}); };
    const auto gate = [&] {
      const ValueId sum = b.add(ir::Binary{BinaryKind::kAdd}, {t, scalar(b, 3)});
      return b.add(ir::Clip{}, {sum, scalar(b, 0), scalar(b, 6)});
    };
    ValueId y{};
    if (variant == 0) y = div(mul(t, gate()), scalar(b, 6));
    if (variant == 1) y = mul(mul(gate(), t), scalar(b, 1.0f / 6));
    if (variant == 2) y = mul(b.add(ir::Unary{UnaryKind::kHardSigmoid, 1.0f / 6, 0.5f}, {t}), t);
    if (variant == 3) y = mul(t, div(gate(), scalar(b, 6)));
    if (variant == 4) y = mul(div(t, scalar(b, 6)), gate());
    if (variant == 5) y = mul(scalar(b, 1.0f / 6), mul(t, gate()));
    b.output(y);
    ir::Graph graph = b.finish();
    apply(graph, kRecognize, 1e-6);
    EXPECT_EQ(count_unary(graph, UnaryKind::kHardSwish), 1) << "variant " << variant;
    EXPECT_EQ(graph.live_nodes().size(), 2u) << "variant " << variant;
  }
}

TEST(RecognizeIdioms, CaseG18LeavesTheNearMissAlone) {
  ConvNet n;
  const ValueId t = n.conv(n.b.input("x", {1, 3, 4, 4}), 3, 4);
  n.b.output(n.b.add(ir::Binary{BinaryKind::kMul},
                     {n.b.add(ir::Unary{UnaryKind::kHardSigmoid, 0.2f, 0.5f}, {t}), t}));
  ir::Graph graph = n.b.finish();
  apply(graph, kRecognize);
  EXPECT_EQ(count_unary(graph, UnaryKind::kHardSwish), 0);
}

TEST(RecognizeIdioms, FindsSiluGeluAndLayerNorm) {
  GraphBuilder b;
  const ValueId x = b.input("x", {2, 8});
  const auto bin = [&](BinaryKind kind, ValueId p, ValueId q) { return b.add(ir::Binary{kind}, {p, q}); };
  b.output(bin(BinaryKind::kMul, x, b.add(ir::Unary{UnaryKind::kSigmoid}, {x})));
  const ValueId erf =
      b.add(ir::Unary{UnaryKind::kErf}, {bin(BinaryKind::kDiv, x, scalar(b, std::sqrt(2.0f)))});
  const ValueId one_plus = bin(BinaryKind::kAdd, erf, scalar(b, 1));
  b.output(bin(BinaryKind::kMul, bin(BinaryKind::kMul, x, one_plus), scalar(b, 0.5f)));
  const ValueId axes = b.constant(Tensor::of<int64_t>({1}, {-1}));
  const ValueId mean = b.add(ir::Reduce{ir::ReduceKind::kMean, true, false}, {x, axes});
  const ValueId centred = bin(BinaryKind::kSub, x, mean);
  const ValueId square = bin(BinaryKind::kPow, centred, scalar(b, 2));
  const ValueId variance = b.add(ir::Reduce{ir::ReduceKind::kMean, true, false}, {square, axes});
  const ValueId root =
      b.add(ir::Unary{UnaryKind::kSqrt}, {bin(BinaryKind::kAdd, variance, scalar(b, 1e-5f))});
  const ValueId scaled =
      bin(BinaryKind::kMul, bin(BinaryKind::kDiv, centred, root), b.constant(filled({8}, 2)));
  b.output(bin(BinaryKind::kAdd, scaled, b.constant(filled({8}, -1))));
  ir::Graph graph = b.finish();
  apply(graph, kRecognize);
  EXPECT_EQ(count_unary(graph, UnaryKind::kSilu), 1);
  EXPECT_EQ(count_unary(graph, UnaryKind::kGelu), 1);
  EXPECT_EQ(count<ir::LayerNorm>(graph), 1);
  EXPECT_EQ(graph.live_nodes().size(), 3u);
}

TEST(FuseActivation, MovesReluAndClipIntoConvButNotASharedValue) {
  ConvNet n;
  const ValueId a = n.conv(n.b.input("x", {1, 3, 4, 4}), 3, 4);
  const ValueId r = n.b.add(ir::Clip{}, {a, scalar(n.b, 0), scalar(n.b, 6)});
  const ValueId c = n.conv(r, 4, 4);
  n.b.output(n.b.add(ir::Unary{UnaryKind::kRelu}, {c}));
  n.b.output(c);  // Shared with the user: stays unfused.
  ir::Graph graph = n.b.finish();
  apply(graph, kFuseActivation);
  EXPECT_EQ(count<ir::Clip>(graph), 0);
  EXPECT_EQ(count_unary(graph, UnaryKind::kRelu), 1);
}

TEST(FuseResidual, AddsInsideTheLaterConvWithItsActivation) {
  ConvNet n;
  const ValueId x = n.b.input("x", {1, 4, 4, 4});
  const ValueId left = n.conv(x, 4, 4);
  const ValueId right = n.conv(left, 4, 4);
  ir::Binary add{BinaryKind::kAdd};
  add.activation.kind = ir::ActivationKind::kRelu;
  n.b.output(n.b.add(add, {right, left}));
  ir::Graph graph = n.b.finish();
  apply(graph, kFuseResidual);
  EXPECT_EQ(count<ir::Binary>(graph), 0);
  EXPECT_EQ(count<ir::Conv>(graph), 2);
}

TEST(SimplifyReshapes, CaseG26FreesTheShapeChainOfAFlatten) {
  GraphBuilder b;
  const ValueId x = b.input("x", {kDynamic, 8, 4, 4});
  const ValueId shape = b.add(ir::ShapeOf{}, {x});
  const ValueId batch = b.add(ir::Gather{0}, {shape, b.constant(Tensor::of<int64_t>({1}, {0}))});
  const ValueId target = b.add(ir::Concat{0}, {batch, b.constant(Tensor::of<int64_t>({1}, {-1}))});
  b.output(b.add(ir::Reshape{}, {x, target}));
  ir::Graph graph = b.finish();
  ASSERT_TRUE(run(graph, simplify_passes()).ok());
  EXPECT_EQ(graph.live_nodes().size(), 1u);
  for (int64_t n : {1, 4, 16}) {
    Rng rng(1);
    const std::vector<Tensor> in = [&] {
      std::vector<Tensor> v;
      v.push_back(random_tensor(rng, DType::kF32, {n, 8, 4, 4}));
      return v;
    }();
    const auto out = ref::run(graph, in);
    ASSERT_TRUE(out.ok()) << out.error().message();
    EXPECT_EQ((*out)[0].shape(), (Shape{n, 128}));
  }
}

TEST(EliminateIdentities, KeepsOutputNamesAndPassThroughInputs) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4});
  const ValueId y = b.add(ir::Unary{UnaryKind::kRelu}, {b.add(ir::Identity{}, {x})});
  b.output(b.add(ir::Identity{}, {y}, "wanted"));
  b.output(b.add(ir::Identity{}, {x}, "copy"));
  ir::Graph graph = b.finish();
  apply(graph, {"eliminate_identities", eliminate_identities});
  EXPECT_EQ(count<ir::Identity>(graph), 1);  // x to "copy" must stay: x keeps its own name.
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "wanted");
  EXPECT_EQ(graph.value(graph.outputs[1]).name, "copy");
}

TEST(EliminateIdentities, KeepsAnIdentityThatRounds) {
  GraphBuilder b;
  const ValueId y = b.add(ir::Identity{}, {b.input("x", {4})});
  b.graph().value(y).quant = QuantParams::affine(DType::kU8, 0.1f, 0);
  b.output(b.add(ir::Unary{UnaryKind::kNeg}, {y}));
  ir::Graph graph = b.finish();
  ASSERT_TRUE(run(graph, {{"eliminate_identities", eliminate_identities}}).ok());
  EXPECT_EQ(count<ir::Identity>(graph), 1);
}

TEST(FoldPadding, MovesZeroPadsIntoTheConvAndLeavesOthers) {
  for (float fill : {0.0f, 1.0f}) {
    ConvNet n;
    const ValueId x = n.b.input("x", {1, 3, 5, 5});
    const ValueId pads = n.b.constant(Tensor::of<int64_t>({8}, {0, 0, 0, 1, 0, 0, 2, 1}));
    n.b.output(n.conv(n.b.add(ir::Pad{}, {x, pads, scalar(n.b, fill)}), 3, 2));
    ir::Graph graph = n.b.finish();
    apply(graph, {"fold_padding", fold_padding});
    EXPECT_EQ(count<ir::Pad>(graph), fill == 0 ? 0 : 1);
  }
}

TEST(PassRunner, BlamesThePassThatBreaksTheGraph) {
  GraphBuilder b;
  b.output(b.add(ir::Unary{UnaryKind::kRelu}, {b.input("x", {4})}));
  ir::Graph graph = b.finish();
  const Pass breaker{"breaker", [](ir::Graph& g, PassLog&) -> Status {
                       g.value(g.outputs[0]).shape = Shape{5};
                       return {};
                     }};
  const auto result = run(graph, {breaker});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message().find("breaker"), std::string::npos) << result.error().message();
}

TEST(CleanUp, RemovesChainsThatNobodyReads) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4});
  ValueId unused = x;
  for (int i = 0; i < 5; ++i) unused = b.add(ir::Unary{UnaryKind::kNeg}, {unused});
  b.output(b.add(ir::Unary{UnaryKind::kRelu}, {x}));
  ir::Graph graph = b.finish();
  ASSERT_TRUE(clean_up(graph).ok());
  EXPECT_EQ(graph.nodes().size(), 1u);
}

}  // namespace
}  // namespace tandem::passes
