// SPDX-License-Identifier: Apache-2.0
// Goal: errors keep code, message and context on their way up. Method: hand-made chains.
#include "tandem/base/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace tandem {
namespace {

Result<int> parse_digit(char c) {
  if (c < '0' || c > '9') return bad_input(fmt::format("'{}' is no digit", c)).hint("use 0 to 9");
  return c - '0';
}

Result<int> twice(char c) {
  const int value = TANDEM_TRY(parse_digit(c).context("doubling"));
  return 2 * value;
}

Status only_even(char c) {
  const int value = TANDEM_TRY(parse_digit(c));
  if (value % 2 != 0) return bad_input("odd");
  return {};
}

TEST(Result, CarriesAValue) { EXPECT_EQ(twice('4').value(), 8); }

TEST(Result, CarriesAnErrorWithContextAndHint) {
  const auto result = twice('x');
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::kBadInput);
  EXPECT_EQ(result.error().message(), "doubling: 'x' is no digit\n  hint: use 0 to 9");
}

TEST(Result, TryWorksWithMoveOnlyValuesAndStatus) {
  auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(3); };
  auto use = [&]() -> Result<int> {
    std::unique_ptr<int> p = TANDEM_TRY(make());
    TANDEM_TRY(only_even('2'));
    return *p;
  };
  EXPECT_EQ(*use(), 3);
  EXPECT_TRUE(only_even('4').ok());
  EXPECT_FALSE(only_even('3').ok());
}

TEST(ResultDeathTest, ValueOfAnErrorAborts) {
  EXPECT_DEATH((void)parse_digit('y').value(), "'y' is no digit");
}

}  // namespace
}  // namespace tandem
