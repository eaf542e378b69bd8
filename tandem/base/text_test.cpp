// SPDX-License-Identifier: Apache-2.0
// Goal: text tools keep their contracts on ordinary, empty and hostile text.
#include "tandem/base/text.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Text, SplitKeepsEmptyPieces) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(split("x,", ','), (std::vector<std::string_view>{"x", ""}));
}

TEST(Text, TrimJoinLower) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(to_lower("CoNv_2D\xC3\x84"), "conv_2d\xC3\x84");
}

TEST(Text, GlobMatchesTheWholeText) {
  EXPECT_TRUE(glob_match("conv*", "conv1/weight"));
  EXPECT_TRUE(glob_match("*weight", "conv1/weight"));
  EXPECT_TRUE(glob_match("a*b*c", "aXXbYbZc"));
  EXPECT_TRUE(glob_match("?[0-9][!x]", "a5y"));
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_TRUE(glob_match("**", ""));
  EXPECT_TRUE(glob_match("\\*", "*"));
  EXPECT_TRUE(glob_match("[]]", "]"));
  EXPECT_TRUE(glob_match("[a", "[a"));
  EXPECT_FALSE(glob_match("conv", "conv1"));
  EXPECT_FALSE(glob_match("?[0-9][!x]", "a5x"));
  EXPECT_FALSE(glob_match("\\*", "x"));
  EXPECT_FALSE(glob_match("", "x"));
}

TEST(Text, GlobStaysQuickOnManyStars) {
  // A backtracking matcher would need 2^30 steps here.
  const std::string pattern = "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b";
  EXPECT_FALSE(glob_match(pattern, std::string(2000, 'a')));
}

TEST(Text, EditDistanceCountsSwapsAsOne) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("affien", "affine"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(Text, DidYouMeanOnlyForTypingMistakes) {
  const std::vector<std::string> names = {"minmax", "percentile", "mse", "entropy"};
  EXPECT_EQ(did_you_mean("precentile", names), "did you mean 'percentile'?");
  EXPECT_EQ(did_you_mean("MinMax", names), "did you mean 'minmax'?");
  EXPECT_EQ(did_you_mean("histogram", names), "known: minmax, percentile, mse, entropy");
  EXPECT_EQ(did_you_mean("x", std::vector<std::string>(14, "longer")),
            "known: longer, longer, longer, longer, longer, longer, longer, longer, longer, longer, longer, "
            "longer and 2 more");
  EXPECT_EQ(nearest_name("", names), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(100000, 'a'), names), std::nullopt);
}

TEST(Text, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("\xC2\xB5s"), 2u);         // micro sign
  EXPECT_EQ(display_width("\xE7\x8C\xAB"), 2u);      // one wide ideograph
  EXPECT_EQ(display_width("e\xCC\x81"), 1u);         // e and a combining acute accent
  EXPECT_EQ(display_width("\xF0\x9F\x90\xB1"), 2u);  // an emoji
  EXPECT_EQ(display_width("\xFFz"), 2u);             // invalid byte
}

TEST(Text, PrintableEscapesWhatATerminalObeys) {
  EXPECT_EQ(printable("ok \xC2\xB5"), "ok \xC2\xB5");
  EXPECT_EQ(printable("\x1b[31m\n"), "\\x1b[31m\\x0a");
  EXPECT_EQ(printable("\xC2\x9B"), "\\xc2\\x9b");           // one-character form of ESC [
  EXPECT_EQ(printable("\xC0\x80"), "\\xc0\\x80");           // overlong zero
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable("\xE7\x8C"), "\\xe7\\x8c");           // cut short
}

}  // namespace
}  // namespace tandem
