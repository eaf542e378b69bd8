// SPDX-License-Identifier: Apache-2.0
// Goal: classes come out by falling score, shares of 1 stay as they are. Method: hand-computed values.
#include "tandem/jobs/predict.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace tandem::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

TEST(TopClasses, FallByScoreThenByIndexWithNanLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> scores = {1, 3, nan, 3, -2};
  EXPECT_THAT(top_classes(scores, 5), ElementsAre(1, 3, 0, 4, 2));
  EXPECT_THAT(top_classes(scores, 2), ElementsAre(1, 3));
  EXPECT_THAT(top_classes(scores, 99).size(), 5u);
}

TEST(AsProbabilities, IsTheSoftmaxOfLogitsAndLeavesSharesAlone) {
  // e^0 : e^ln(3) = 1 : 3.
  const std::vector<float> logits = {0, std::log(3.0F)};
  EXPECT_THAT(as_probabilities(logits), ElementsAre(FloatNear(0.25F, 1e-6F), FloatNear(0.75F, 1e-6F)));
  const std::vector<float> shares = {0.25F, 0.75F};
  EXPECT_EQ(as_probabilities(shares), shares);
  // Between 0 and 1, but not shares: the sum is 1.5.
  const std::vector<float> small = {0.75F, 0.75F};
  EXPECT_THAT(as_probabilities(small), ElementsAre(FloatNear(0.5F, 1e-6F), FloatNear(0.5F, 1e-6F)));
  // The largest is taken off first, so nothing overflows.
  const std::vector<float> large = {1000, 1000};
  EXPECT_THAT(as_probabilities(large), ElementsAre(FloatNear(0.5F, 1e-6F), FloatNear(0.5F, 1e-6F)));
}

ir::Graph with_output(Shape shape) {
  ir::Graph graph;
  ir::Value value;
  value.name = "y";
  value.shape = std::move(shape);
  graph.outputs.push_back(graph.add_input(std::move(value)));
  return graph;
}

TEST(ClassCount, IsTheOnlyWideDimensionBehindTheBatch) {
  EXPECT_EQ(class_count(with_output({kDynamic, 10})).value(), 10);
  EXPECT_EQ(class_count(with_output({1, 7, 1, 1})).value(), 7);
  EXPECT_EQ(class_count(with_output({4, 1})).value(), 1);
  const auto map = class_count(with_output({1, 7, 5, 1}));
  ASSERT_FALSE(map.ok());
  EXPECT_EQ(map.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(map.error().message(), HasSubstr("[1,7,5,1]"));
  EXPECT_FALSE(class_count(with_output({5})).ok());
}

}  // namespace
}  // namespace tandem::jobs
