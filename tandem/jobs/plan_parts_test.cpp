// SPDX-License-Identifier: Apache-2.0
// Goal: the parts of a plan give what the whole gives, on every engine, and a plan that does not fit its
// model is refused with the name of what is wrong. Method: a small quantized network cut after its last
// quantized value; each member of the plan made wrong in turn.
#include "tandem/jobs/plan_parts.hpp"

#include <gtest/gtest.h>

#include "tandem/jobs/forward.hpp"
#include "tandem/testing/graph_builder.hpp"

namespace tandem::jobs {
namespace {

using testing::GraphBuilder;

// x -> q -> conv (u8) | global average -> flatten -> gemm + mean of x: the second part also reads the model's
// input.
ir::Graph network() {
  Rng rng(5);
  GraphBuilder b;
  const ir::ValueId x = b.input("x", {kDynamic, 4, 6, 6});
  const ir::ValueId q = b.add(ir::Requantize{}, {x}, "q");
  b.graph().value(q).quant = QuantParams::affine(DType::kU8, 1.0F / 64, 128);
  ir::Conv conv;
  conv.window.kernel = {3, 3};
  conv.window.pads = {1, 1, 1, 1};
  const ir::ValueId w = b.constant(testing::random_tensor(rng, DType::kI8, {8, 4, 3, 3}, -100, 100), "w");
  b.graph().value(w).dtype = DType::kF32;
  b.graph().value(w).quant = QuantParams::affine(DType::kI8, 0.01F, 0);
  const ir::ValueId y = b.add(conv, {q, w}, "conv");
  b.graph().value(y).quant = QuantParams::affine(DType::kU8, 0.05F, 128);
  const ir::ValueId flat = b.add(ir::Flatten{}, {b.add(ir::GlobalPool{}, {y}, "pool")}, "flat");
  const ir::ValueId v = b.constant(testing::random_tensor(rng, DType::kF32, {8, 4}), "v");
  const ir::ValueId scores = b.add(ir::Gemm{}, {flat, v}, "fc");
  const ir::ValueId mean = b.add(ir::Flatten{}, {b.add(ir::GlobalPool{}, {x}, "mean")}, "mean_flat");
  b.output(b.add(ir::Binary{}, {scores, mean}, "sum"));
  return b.finish();
}

plan::Plan two_parts(const ir::Graph& g) {
  const auto contract = [&](const char* name) { return plan::contract_of(g, g.find_value(name)); };
  return {"m.onnx",
          "",
          {{"body", "int8", {"q", "conv"}, {contract("x")}, {contract("conv")}},
           {"end",
            "host",
            {"pool", "flat", "fc", "mean", "mean_flat", "sum"},
            {contract("conv"), contract("x")},
            {contract("sum")}}}};
}

std::vector<float> scores(Forward& forward, int64_t batches) {
  Rng rng(9);
  std::vector<float> all;
  int64_t left = batches;
  const auto source = [&]() -> Result<std::optional<std::vector<Tensor>>> {
    if (left-- == 0) return std::optional<std::vector<Tensor>>();
    std::vector<Tensor> inputs;  // the last batch is a smaller one
    inputs.push_back(testing::random_tensor(rng, DType::kF32, {left == 0 ? 1 : 2, 4, 6, 6}));
    return std::optional<std::vector<Tensor>>(std::move(inputs));
  };
  const auto sink = [&](size_t, std::vector<Tensor> outputs) -> Status {
    const auto values = outputs.at(0).as<float>();
    all.insert(all.end(), values.begin(), values.end());
    return {};
  };
  const Status ran = forward.run(source, sink);
  EXPECT_TRUE(ran.ok()) << ran.error().message();
  return all;
}

TEST(PlanParts, GiveWhatTheWholeGivesOnEveryEngine) {
  const ir::Graph g = network();
  for (const Engine engine : {Engine::kInt8, Engine::kHost, Engine::kRef}) {
    ForwardOptions options;
    options.engine = engine;
    options.threads = 2;
    options.micro_batch = 2;
    auto whole = Forward::create(g, options);
    auto parts = Forward::create(g, two_parts(g), options);
    ASSERT_TRUE(whole.ok()) << whole.error().message();
    ASSERT_TRUE(parts.ok()) << parts.error().message();
    const std::vector<float> expected = scores(*whole, 5), got = scores(*parts, 5);
    ASSERT_EQ(expected.size(), 4u * 9);
    ASSERT_EQ(got.size(), expected.size());
    // On the host the plan still rounds what crosses the cut to its contract: half a step of 0.05, times the
    // weights of the end, averaged over 36 pixels.
    const float close = engine == Engine::kHost ? 0.05F : 1e-5F;
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], close) << to_string(engine) << i;
  }
}

TEST(PlanParts, WhatDoesNotFitTheModelIsRefusedByName) {
  const ir::Graph g = network();
  ASSERT_TRUE(cut_parts(g, two_parts(g)).ok());
  const auto refused = [&](const char* names, auto&& change) {
    plan::Plan plan = two_parts(g);
    change(plan);
    const auto cut = cut_parts(g, plan);
    ASSERT_FALSE(cut.ok()) << names;
    EXPECT_EQ(cut.error().code(), ErrorCode::kBadInput);
    EXPECT_NE(cut.error().message().find(names), std::string::npos) << cut.error().message();
  };
  refused("'conv'", [](plan::Plan& p) { p.parts[1].inputs[0].quant->scale[0] *= 2; });
  refused("'conv'", [](plan::Plan& p) { p.parts[0].outputs[0].dtype = DType::kI8; });
  refused("'conv'", [](plan::Plan& p) { p.parts[0].outputs[0].shape = Shape{kDynamic, 9, 6, 6}; });
  refused("'nothing'", [](plan::Plan& p) { p.parts[0].outputs[0].value = "nothing"; });
  refused("'q'", [](plan::Plan& p) { p.parts[0].nodes = {"conv"}; });
  refused("'more'", [](plan::Plan& p) { p.parts[1].nodes.push_back("more"); });
  refused("'sum'", [](plan::Plan& p) { p.parts.pop_back(); });
  refused("'x'", [](plan::Plan& p) { p.parts[1].inputs.pop_back(); });
  refused("'conv'", [](plan::Plan& p) { p.parts.erase(p.parts.begin()); });
}

}  // namespace
}  // namespace tandem::jobs
