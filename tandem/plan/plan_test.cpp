// SPDX-License-Identifier: Apache-2.0
// Goal: a plan survives JSON and refuses what cannot run. Method: a hand-made two-part plan, planted faults.
#include "tandem/plan/plan.hpp"

#include <gtest/gtest.h>

namespace tandem::plan {
namespace {

Plan two_parts() {
  const Contract x{"x", DType::kF32, Shape{kDynamic, 3, 8, 8}, std::nullopt};
  const Contract f{"features", DType::kU8, Shape{kDynamic, 16}, QuantParams::affine(DType::kU8, 0.1f, 0)};
  const Contract y{"logits", DType::kF32, Shape{kDynamic, 4}, std::nullopt};
  return Plan{"m.onnx",
              "abc",
              {Part{"backbone", "int8", {"conv"}, {x}, {f}}, Part{"head", "host", {"fc"}, {f}, {y}}}};
}

TEST(Plan, SurvivesJson) {
  const Plan plan = two_parts();
  const auto json = Json::parse(to_json(plan).dump(2));
  ASSERT_TRUE(json.ok());
  const auto back = from_json(*json);
  ASSERT_TRUE(back.ok()) << back.error().message();
  ASSERT_EQ(back->parts.size(), 2u);
  EXPECT_EQ(back->parts[0].outputs, plan.parts[0].outputs);
  EXPECT_EQ(back->parts[1].inputs, plan.parts[1].inputs);
  EXPECT_EQ(back->parts[1].nodes, plan.parts[1].nodes);
  EXPECT_EQ(back->model_hash, "abc");
}

TEST(Plan, RefusesPartsOutOfOrderAndSharedNodes) {
  Plan plan = two_parts();
  std::swap(plan.parts[0], plan.parts[1]);
  EXPECT_FALSE(verify(plan).ok());
  plan = two_parts();
  plan.parts[1].nodes = {"conv"};
  EXPECT_FALSE(verify(plan).ok());
}

TEST(Plan, NamesWhatIsWrong) {
  Json json = to_json(two_parts());
  json.set("version", 99);
  EXPECT_EQ(from_json(json).error().code(), ErrorCode::kUnsupported);
  json = to_json(two_parts());
  json.set("parts", 3);
  EXPECT_NE(from_json(json).error().message().find("parts"), std::string::npos);
}

}  // namespace
}  // namespace tandem::plan
