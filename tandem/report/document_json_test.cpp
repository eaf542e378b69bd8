// SPDX-License-Identifier: Apache-2.0
// Goal: a report survives the way into a file and back. Method: a document with one block of every kind
// renders to the same page afterwards; every member that is taken away is missed by name.
#include "tandem/report/document_json.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "tandem/report/html.hpp"

namespace tandem::report {
namespace {

using ::testing::HasSubstr;

Document every_block() {
  Document document;
  document.title = "Title";
  document.subtitle = "Sub";
  document.footer = "made by a test";
  Table table{"caption", {{"a", Align::kLeft}, {"b", Align::kAuto}}, {}};
  table.rows.push_back({{Cell("x"), Cell("2.5 ms", 2.5)}, true});
  LineChart line{"line", "x", "y", {{"s", {1, 2, 3}, {4, std::numeric_limits<double>::quiet_NaN(), 6}}}};
  line.log_y = true;
  BarChart bars{"bars", "value", {"p", "q"}, {{"s", {1, 2}, {0.5, 1.5}, {1.5, 2.5}}}};
  bars.order = Order::kDescending;
  Histogram histogram{"histogram", "x", {1, 2, 2, 3}};
  Heatmap map;
  map.title = "map";
  map.row_labels = {"r", "s"};
  map.values = {1, 2, 3, 4};
  const std::string picture("\x89PNG\r\n\x1a\n\0\xff\xfe", 11);
  ImageGrid grid{"grid", {{picture, "caption", "note", Tone::kBad}}};
  Svg svg{"drawing", "a box", "<svg viewBox=\"0 0 1 1\"></svg>"};
  Details details{"more", {Paragraph{"inside"}, Details{"deeper", {Pre{"c", "t"}}, true}}, false};
  document.sections.push_back(
      {"one", {Paragraph{"words"}, KeyValues{{{"k", "v", "n", Tone::kGood}}}, table, line, bars}});
  document.sections.push_back({"two",
                               {histogram, map, grid, Pre{"code", "x = 1"},
                                Callout{CalloutKind::kWarning, "careful", "text"}, svg, details}});
  return document;
}

TEST(DocumentJson, RendersToTheSamePageAfterAFile) {
  const Document before = every_block();
  const auto text = Json::parse(to_json(before).dump());
  ASSERT_TRUE(text.ok());
  const auto after = document_from_json(*text);
  ASSERT_TRUE(after.ok()) << after.error().message();
  const auto first = to_html(before);
  const auto second = to_html(*after);
  ASSERT_TRUE(first.ok()) << first.error().message();
  ASSERT_TRUE(second.ok()) << second.error().message();
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(to_json(*after).dump(), to_json(before).dump());
}

TEST(DocumentJson, NamesWhatIsMissingOrWrong) {
  const auto error_of = [](const char* text) {
    const auto document = document_from_json(*Json::parse(text));
    return document.ok() ? std::string("none") : document.error().message();
  };
  EXPECT_THAT(error_of("[]"), HasSubstr("'document' has a wrong type"));
  EXPECT_THAT(error_of("{}"), HasSubstr("'title' is missing"));
  EXPECT_THAT(error_of(R"({"title":"t","subtitle":1,"sections":[],"footer":""})"), HasSubstr("'subtitle'"));
  EXPECT_THAT(error_of(R"({"title":"t","subtitle":"","footer":"",
      "sections":[{"title":"s","blocks":[{"block":"poem"}]}]})"),
              HasSubstr("'blocks'"));
  EXPECT_THAT(error_of(R"({"title":"t","subtitle":"","footer":"",
      "sections":[{"title":"s","blocks":[{"block":"callout","kind":9,"title":"","text":""}]}]})"),
              HasSubstr("'kind'"));
}

TEST(DocumentJson, RefusesDetailsWithoutEnd) {
  std::string text = R"({"block":"paragraph","text":"x"})";
  for (int i = 0; i < 100; ++i)
    text = R"({"block":"details","summary":"s","open":false,"blocks":[)" + text + "]}";
  text = R"({"title":"t","subtitle":"","footer":"","sections":[{"title":"s","blocks":[)" + text + "]}]}";
  const auto json = Json::parse(text);
  ASSERT_TRUE(json.ok());
  EXPECT_FALSE(document_from_json(*json).ok());
}

}  // namespace
}  // namespace tandem::report
