// SPDX-License-Identifier: Apache-2.0
// Goal: a class of the data is never counted as another class of the model. Method: every rule of
// match_classes, and inputs that none of them fits.
#include "tandem/jobs/evaluate.hpp"

#include <gmock/gmock.h>

namespace tandem::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;

TEST(MatchClasses, TakesNamesThenNumbersThenPlaces) {
  std::string how;
  EXPECT_THAT(match_classes(Names{"dog", "cat"}, Names{"cat", "cow", "dog"}, 3, &how).value(),
              ElementsAre(2, 0));
  EXPECT_EQ(how, "by name");
  EXPECT_THAT(match_classes(Names{"7", "12"}, {}, 1000, &how).value(), ElementsAre(7, 12));
  EXPECT_EQ(how, "by number");
  // Names that are numbers are names first.
  EXPECT_THAT(match_classes(Names{"1", "0"}, Names{"0", "1"}, 2, &how).value(), ElementsAre(1, 0));
  EXPECT_EQ(how, "by name");
  EXPECT_THAT(match_classes(Names{"a", "b", "c"}, {}, 3, &how).value(), ElementsAre(0, 1, 2));
  EXPECT_THAT(how, HasSubstr("by place"));
}

TEST(MatchClasses, RefusesWhatItWouldHaveToGuess) {
  // The model has names, the data other ones: by place would be a guess.
  const auto other = match_classes(Names{"x", "y", "z"}, Names{"a", "b", "c"}, 3);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code(), ErrorCode::kBadInput);
  EXPECT_THAT(other.error().message(), HasSubstr("'x'"));
  EXPECT_THAT(other.error().message(), HasSubstr("'a'"));
  EXPECT_FALSE(match_classes(Names{"x", "y"}, {}, 3).ok());
  EXPECT_FALSE(match_classes(Names{"3"}, {}, 3).ok());
  EXPECT_FALSE(match_classes(Names{"-1"}, {}, 3).ok());
  EXPECT_FALSE(match_classes(Names{"a"}, Names{"a", "b"}, 3).ok());
}

}  // namespace
}  // namespace tandem::jobs
