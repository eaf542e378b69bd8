// SPDX-License-Identifier: Apache-2.0
// Goal: whatever the document holds, the page stays well-formed, loads nothing, and says what it left out.
#include "tandem/report/html.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "tandem/base/file.hpp"
#include "tandem/report/assets.hpp"
#include "tandem/report/escape.hpp"

namespace tandem::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
const std::string kHostile = "</script><img src=x onerror=\"alert(1)\">'&\xFF";

std::string page(std::vector<Block> blocks) {
  auto html = to_html({.title = "T", .sections = {{"S", std::move(blocks)}}});
  EXPECT_TRUE(html.ok()) << html.error().message();
  return html.ok() ? *html : "";
}

// The page without the embedded style and scripts: what the document itself made.
std::string body(const std::string& html) {
  const size_t begin = html.find("<main>");
  return html.substr(begin, html.find("</main>") - begin);
}

Error error_of(Block block) {
  auto html = to_html({.title = "T", .sections = {{"Sec", {std::move(block)}}}});
  EXPECT_FALSE(html.ok());
  return html.ok() ? Error(ErrorCode::kInternal, "") : html.error();
}

// What the script will read: the data of the first chart.
Json chart_data(const std::string& html) {
  const std::string open = "<script type=\"application/json\">";
  const size_t begin = html.find(open) + open.size();
  auto json = Json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  EXPECT_TRUE(json.ok());
  return json.ok() ? *json : Json();
}

size_t count(std::string_view text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

std::vector<Block> every_block_with(const std::string& word) {
  Table table{
      .caption = word, .columns = {word, Column(word, Align::kCenter)}, .rows = {{{word, word}, true}}};
  Heatmap small{.title = word, .row_title = word, .column_title = word, .row_labels = {word}, .values = {1}};
  Heatmap large{
      .title = word, .row_labels = std::vector<std::string>(17, word), .values = std::vector<double>(289, 1)};
  return {
      Paragraph{word},
      KeyValues{{{word, word, word, Tone::kBad}}},
      table,
      LineChart{.title = word, .x_label = word, .y_label = word, .series = {{.name = word, .y = {1, 2}}}},
      BarChart{
          .title = word, .value_label = word, .labels = {word}, .series = {{.name = word, .values = {1}}}},
      Histogram{.title = word, .x_label = word, .values = {1, 2, 3}},
      small,
      large,
      ImageGrid{word, {{"\xFF\xD8\xFF bytes", word, word}, {word, word}}},
      Pre{word, word},
      Callout{CalloutKind::kError, word, word},
      Svg{word, word, "<svg><text>" + escape_html(word) + "</text></svg>"},
      Details{word, {Paragraph{word}}}};
}

TEST(Html, EscapesHostileTextInEveryBlock) {
  const auto html = to_html({.title = kHostile,
                             .subtitle = kHostile,
                             .sections = {{kHostile, every_block_with(kHostile)}},
                             .footer = kHostile});
  ASSERT_TRUE(html.ok()) << html.error().message();
  EXPECT_THAT(*html, Not(HasSubstr("<img src=x")));
  EXPECT_THAT(*html, Not(HasSubstr("onerror=\"")));
  EXPECT_THAT(*html, Not(HasSubstr("\xFF")));
  // Script elements: the data of four charts, the library and our own; each is closed once.
  EXPECT_EQ(count(*html, "<script"), 6u);
  EXPECT_EQ(count(*html, "</script>"), 6u);
}

TEST(Html, HasTheSameStructureWhateverTheTextIs) {
  const std::string plain = page(every_block_with("w"));
  const std::string hostile = page(every_block_with(kHostile));
  for (const std::string tag :
       {"<p", "<div", "<span", "<td", "<th", "<li", "<img", "<canvas", "<details", "<section"}) {
    EXPECT_EQ(count(body(plain), tag), count(body(hostile), tag)) << tag;
  }
}

TEST(Html, LoadsNothingFromElsewhere) {
  const std::string html = page(every_block_with("word"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(HasSubstr("src=\"http")));
  EXPECT_THAT(html, Not(HasSubstr("url(")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
  // Addresses stand in licence notices only.
  for (const std::string scheme : {"http://", "https://"}) {
    EXPECT_THAT(body(html), Not(HasSubstr(scheme)));
    EXPECT_THAT(std::string(page_style().text), Not(HasSubstr(scheme)));
    EXPECT_THAT(std::string(page_script().text), Not(HasSubstr(scheme)));
  }
}

TEST(Html, KeepsTheLicenceOfTheChartLibrary) {
  const std::string html = page(every_block_with("word"));
  EXPECT_THAT(html, HasSubstr("Chart.js v3"));
  EXPECT_THAT(html, HasSubstr("Chart.js Contributors"));
  EXPECT_THAT(html, HasSubstr("Permission is hereby granted"));
  EXPECT_THAT(page({Paragraph{"no chart"}}), Not(HasSubstr("Chart.js Contributors")));
}

TEST(Html, IsTheSameForTheSameDocument) {
  EXPECT_EQ(page(every_block_with("w")), page(every_block_with("w")));
}

TEST(Html, NonFiniteValuesBecomeGapsAndAreCounted) {
  const std::string html =
      page({LineChart{.title = "L",
                      .x_label = "x",
                      .y_label = "y",
                      .series = {{.name = "a", .x = {1, 2, 3, kInf, 5}, .y = {kNan, 20, kInf, 40, 50}}}}});
  // The first gap has no x before it, so it is dropped; the others keep the x before them.
  EXPECT_EQ(chart_data(html)["series"].items()[0]["points"].dump(),
            "[[2.0,20.0],[2.0,null],[2.0,null],[5.0,50.0]]");
  EXPECT_THAT(html, HasSubstr("3 points without a finite value left out."));
}

TEST(Html, LogAxesLeaveOutWhatIsNotPositive) {
  const std::string html = page({LineChart{.title = "L",
                                           .x_label = "x",
                                           .y_label = "y",
                                           .series = {{.name = "a", .y = {5, 0, -1, 8}}},
                                           .log_y = true}});
  EXPECT_EQ(chart_data(html)["series"].items()[0]["points"].dump(),
            "[[0.0,5.0],[0.0,null],[0.0,null],[3.0,8.0]]");
  EXPECT_THAT(html, HasSubstr("2 points without a finite positive value left out."));
}

TEST(Html, LongSeriesAreThinnedWithoutLosingPeaks) {
  Series series{.name = "a", .y = std::vector<double>(10000, 1.0)};
  series.y[6543] = 77;
  const std::string html =
      page({LineChart{.title = "L", .x_label = "x", .y_label = "y", .series = {series}}});
  const std::string points = chart_data(html)["series"].items()[0]["points"].dump();
  EXPECT_LE(chart_data(html)["series"].items()[0]["points"].size(), 1200u);
  EXPECT_THAT(points, HasSubstr("[6543.0,77.0]"));
  EXPECT_THAT(points, HasSubstr("[9999.0,1.0]"));
  EXPECT_THAT(html, HasSubstr("10,000 points, thinned for drawing"));
  EXPECT_LT(html.size(),
            page_style().text.size() + page_script().text.size() + chart_library().text.size() + 120000);
}

TEST(Html, ChartsWithNothingToDrawSaySo) {
  const std::string html = page(
      {LineChart{.title = "L", .series = {}},
       LineChart{.title = "L", .series = {{.name = "a", .y = {kNan, kNan}}}},
       BarChart{.title = "B", .labels = {"x"}, .series = {{.name = "", .values = {kInf}}}},
       Histogram{.title = "H", .values = {kNan}}, Heatmap{.title = "M", .row_labels = {}, .values = {}}});
  EXPECT_EQ(count(html, "No data"), 5u);
  EXPECT_EQ(count(html, "<canvas"), 0u);
}

TEST(Html, ChartsCarryALabelAndTheirData) {
  const std::string html = page(
      {BarChart{.title = "Recall",
                .value_label = "share",
                .labels = {"cat", "dog", "eel"},
                .series = {{.name = "", .values = {.5, .9, .7}, .low = {.4, .8, .6}, .high = {.6, 1, .8}}},
                .order = Order::kDescending}});
  EXPECT_THAT(html, HasSubstr("aria-label=\"Bar chart: Recall. share of 3 items."));
  EXPECT_EQ(chart_data(html)["labels"].dump(), R"(["dog","eel","cat"])");
  EXPECT_EQ(chart_data(html)["series"].items()[0]["low"].dump(), "[0.8,0.6,0.4]");
  EXPECT_THAT(html, HasSubstr("<td class=\"num\" data-v=\"0.9\">0.9</td>"));
}

TEST(Html, BarsBeyondTheLimitStayInTheTable) {
  BarChart chart{.title = "B",
                 .value_label = "ms",
                 .labels = {},
                 .series = {{.name = "", .values = {}}},
                 .drawn_max = 2};
  for (int i = 0; i < 5; ++i) {
    chart.labels.push_back("layer" + std::to_string(i));
    chart.series[0].values.push_back(i);
  }
  const std::string html = page({chart});
  EXPECT_EQ(chart_data(html)["labels"].size(), 2u);
  EXPECT_THAT(html, HasSubstr("The first 2 of 5 are drawn"));
  EXPECT_THAT(html, HasSubstr("<td>layer4</td>"));
}

TEST(Html, HistogramCountsEveryFiniteValueOnce) {
  const std::string html =
      page({Histogram{.title = "H", .x_label = "v", .values = {0, 1, 2, 3, 4, 4, kNan}, .bins = 4}});
  EXPECT_EQ(chart_data(html)["counts"].dump(),
            "[1.0,1.0,1.0,3.0]");  // the greatest value belongs to the last bin
  EXPECT_EQ(chart_data(html)["edges"].dump(), "[0.0,1.0,2.0,3.0,4.0]");
  EXPECT_THAT(html, HasSubstr("1 value that is not finite left out."));
}

TEST(Html, HistogramOfExtremeValuesStaysFinite) {
  const double most = std::numeric_limits<double>::max();
  for (const std::vector<double>& values : {std::vector<double>{-most, 0, most},
                                            {5, 5, 5},
                                            {0},
                                            {1e-320, 2e-320},
                                            {1e300, 1e300 * (1 + 1e-15)}}) {
    const Json data = chart_data(page({Histogram{.title = "H", .values = values}}));
    double sum = 0;
    for (const Json& c : data["counts"].items()) sum += c.as_number();
    EXPECT_EQ(sum, static_cast<double>(values.size()));
    for (const Json& edge : data["edges"].items()) EXPECT_TRUE(edge.is_number());
  }
}

TEST(Html, TablesAlignNumbersAndSortByThem) {
  const std::string html = page({Table{.caption = "c",
                                       .columns = {"name", "time", "kernel", Column("n", Align::kLeft)},
                                       .rows = {{{"a", "1,024.5 ms", "3x3", "1"}},
                                                {{"b", "–", "5x5", "2"}},
                                                {{"c", Cell("fast", 0.5), "1x1", "3"}, true}}}});
  EXPECT_THAT(html, HasSubstr("<td class=\"num\" data-v=\"1024.5\">1,024.5 ms</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"num\" data-v=\"0.5\">fast</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"num\">–</td>"));
  EXPECT_THAT(html, HasSubstr("<td>3x3</td><td>1</td>"));
  EXPECT_EQ(count(html, "<tr class=\"hot\">"), 1u);
}

TEST(Html, EmptyTablesSaySo) {
  EXPECT_THAT(page({Table{.caption = "c", .columns = {"a", "b"}}}),
              HasSubstr("<td colspan=\"2\">No rows</td>"));
  EXPECT_THAT(page({Table{.caption = "c", .columns = {}}}), HasSubstr("No rows"));
}

TEST(Html, ConfusionMatricesOfAnySizeRender) {
  for (const size_t n :
       {size_t{1}, size_t{2}, size_t{16}, size_t{17}, size_t{100}, size_t{1000}, size_t{1001}}) {
    std::vector<std::string> labels(n, "c");
    std::vector<double> values(n * n, 0.0);
    for (size_t i = 0; i < n; ++i) values[i * n + i] = 9;
    values[n - 1] = n > 1 ? 4 : 9;
    const std::string html = page({Heatmap{.title = "M", .row_labels = labels, .values = values}});
    EXPECT_EQ(count(html, "<canvas"), n > 16 && n <= 1000 ? 1u : 0u) << n;
    if (n > 1 && n <= 16) {
      EXPECT_EQ(count(html, "class=\"off"), n * n - n);
    }
    if (n > 16) {
      EXPECT_THAT(html, HasSubstr("<td class=\"num\" data-v=\"4\">4</td><td class=\"num\" data-v=\"30.7"));
    }
  }
}

TEST(Html, PicturesGoInAsDataAndOthersAsATile) {
  const std::string html = page({ImageGrid{
      "g", {{"\xFF\xD8\xFFx", "jpeg"}, {std::string("\x89PNG\r\n\x1a\n"), "png"}, {"text", "no"}}}});
  EXPECT_THAT(html, HasSubstr("src=\"data:image/jpeg;base64,/9j/eA==\""));
  EXPECT_THAT(html, HasSubstr("src=\"data:image/png;base64,iVBORw0KGgo=\""));
  EXPECT_EQ(count(html, "not a picture"), 1u);
}

TEST(Html, InconsistentDocumentsAreErrorsThatNameTheBlock) {
  EXPECT_THAT(error_of(Table{.caption = "tab", .columns = {"a"}, .rows = {{{"1", "2"}}}}).message(),
              HasSubstr("table 'tab': row 0 has 2 cells, expected 1"));
  EXPECT_THAT(error_of(LineChart{.title = "L", .series = {{.name = "s", .x = {1}, .y = {1, 2}}}}).message(),
              HasSubstr("report section 'Sec': line chart 'L': series 's' has 1 x and 2 y values"));
  EXPECT_THAT(
      error_of(BarChart{.title = "B", .labels = {"a"}, .series = {{.name = "s", .values = {1}, .low = {0}}}})
          .message(),
      HasSubstr("bar chart 'B'"));
  EXPECT_THAT(error_of(Heatmap{.title = "M", .row_labels = {"a"}, .values = {1, 2}}).message(),
              HasSubstr("1 x 1"));
  EXPECT_THAT(error_of(Histogram{.title = "H", .counts = {1}, .low = 1, .high = 1}).message(),
              HasSubstr("histogram 'H'"));
  EXPECT_THAT(error_of(Svg{"d", "l", "<svg onload=\"x\"></svg>"}).message(), HasSubstr("'onload'"));
  Details deep{"d", {}};
  for (int i = 0; i < 10; ++i) deep = Details{"d", {deep}};
  EXPECT_THAT(error_of(deep).message(), HasSubstr("too deeply"));
}

TEST(Html, ContentsAppearWithThreeSections) {
  EXPECT_THAT(page({}), Not(HasSubstr("<nav")));
  const auto html = to_html({.title = "T", .sections = {{"A", {}}, {"B", {}}, {"C <", {}}}});
  EXPECT_THAT(*html, HasSubstr("<a href=\"#s3\">C &lt;</a>"));
}

TEST(WriteReport, LeavesAWholeFileOrAnErrorThatNamesIt) {
  const std::string path = ::testing::TempDir() + "/tandem-report-test.html";
  ASSERT_TRUE(write_report({.title = "T", .sections = {}}, path).ok());
  EXPECT_EQ(*read_file(path), *to_html({.title = "T", .sections = {}}));
  std::filesystem::remove(path);
  const Status failed = write_report({.title = "T", .sections = {}}, "/nowhere/at/all.html");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::kIo);
  EXPECT_THAT(failed.error().message(), HasSubstr("/nowhere/at/all.html"));
}

}  // namespace
}  // namespace tandem::report
