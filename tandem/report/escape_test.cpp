// SPDX-License-Identifier: Apache-2.0
// Goal: nothing that enters a page as text, data or number can become markup or be misread.
#include "tandem/report/escape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tandem/base/hash.hpp"
#include "tandem/report/assets.hpp"
#include "tandem/report/decimate.hpp"
#include "tandem/report/number.hpp"
#include "tandem/report/svg.hpp"

namespace tandem::report {
namespace {

TEST(EscapeHtml, ReplacesMarkupAndKeepsWords) {
  EXPECT_EQ(escape_html("a < b & \"c\" > 'd'\n\t"), "a &lt; b &amp; &quot;c&quot; &gt; &#39;d&#39;\n\t");
  EXPECT_EQ(escape_html("größer → 猫 \xF0\x9F\x90\x88"), "größer → 猫 \xF0\x9F\x90\x88");
}

TEST(EscapeHtml, ReplacesWhatIsNoText) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(escape_html(std::string("a\0b", 3)), "a" + bad + "b");
  EXPECT_EQ(escape_html("\x1B[31m\x7F"), bad + "[31m" + bad);
  EXPECT_EQ(escape_html("\xFF"), bad);
  EXPECT_EQ(escape_html("\xC3"), bad);                                // ends early
  EXPECT_EQ(escape_html("\xC0\xBC"), bad + bad);                      // '<' in an overlong form
  EXPECT_EQ(escape_html("\xE0\x80\xBC"), bad + bad + bad);            // the same, longer
  EXPECT_EQ(escape_html("\xED\xA0\x80"), bad + bad + bad);            // a surrogate
  EXPECT_EQ(escape_html("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // above U+10FFFF
  EXPECT_EQ(escape_html("\xE2\x82<"), bad + bad + "&lt;");
}

TEST(ScriptJson, CannotEndTheScript) {
  const Json value = Json::object({{"</script>", "<!-- & \xE2\x80\xA8\xE2\x80\xA9"}});
  const std::string text = script_json(value);
  EXPECT_EQ(text, R"({"\u003c/script\u003e":"\u003c!-- \u0026 \u2028\u2029"})");
  EXPECT_EQ(*Json::parse(text), value);
}

TEST(Base64, GivesTheVectorsOfRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xFF\xFE\xFD"), "//79");
}

TEST(Assets, HashesAreThoseOfTheTexts) {
  for (const Asset& asset : {page_style(), page_script(), chart_library(), chart_licence()}) {
    ASSERT_FALSE(asset.text.empty());
    EXPECT_EQ(sha256_hex(asset.text), asset.sha256);
    // The parser would turn these into something else, and the hash would not match.
    EXPECT_EQ(asset.text.find('\r'), std::string_view::npos);
    EXPECT_EQ(asset.text.find("</script"), std::string_view::npos);
    EXPECT_EQ(asset.text.find("<!--"), std::string_view::npos);
  }
}

TEST(FormatNumber, IsShortAndPlain) {
  EXPECT_EQ(format_number(0), "0");
  EXPECT_EQ(format_number(-0.0), "0");
  EXPECT_EQ(format_number(999), "999");
  EXPECT_EQ(format_number(-1234567), "-1,234,567");
  EXPECT_EQ(format_number(0.123456), "0.12346");
  EXPECT_EQ(format_number(2.5e-9), "2.5e-09");
  EXPECT_EQ(format_number(std::numeric_limits<double>::quiet_NaN()), "–");
  EXPECT_EQ(format_number(-std::numeric_limits<double>::infinity()), "-∞");
}

TEST(ReadNumber, TakesNumbersWithUnitsOnly) {
  EXPECT_EQ(read_number("1,234"), 1234);
  EXPECT_EQ(read_number("-0.5"), -0.5);
  EXPECT_EQ(read_number("+3"), 3);
  EXPECT_EQ(read_number("87.4 %"), 87.4);
  EXPECT_EQ(read_number("87.4%"), 87.4);
  EXPECT_EQ(read_number("2.5 ms"), 2.5);
  EXPECT_EQ(read_number("3.1x"), 3.1);
  EXPECT_EQ(read_number("1e-3"), 1e-3);
  EXPECT_EQ(read_number("1E+3"), 1e3);
  for (const char* text :
       {"", "-", "3x3 conv", "2024-01-05", "1.2.3", "12 of 30", "conv1", "e5", ".", "1,2", "nan", "1e999"}) {
    EXPECT_FALSE(read_number(text).has_value()) << text;
  }
}

TEST(Decimate, KeepsShortSeriesWhole) {
  EXPECT_EQ(decimate(std::vector<double>{3, 1, 2}, 8), (std::vector<size_t>{0, 1, 2}));
  EXPECT_TRUE(decimate({}, 8).empty());
}

TEST(Decimate, KeepsEndsPeaksAndGaps) {
  std::vector<double> y(1000, 0.0);
  y[333] = 5;
  y[666] = -5;
  y[800] = std::numeric_limits<double>::quiet_NaN();
  const std::vector<size_t> kept = decimate(y, 60);
  EXPECT_LE(kept.size(), 60u);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_TRUE(std::adjacent_find(kept.begin(), kept.end()) == kept.end());
  for (const size_t i : {0, 333, 666, 800, 999})
    EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), i)) << i;
}

TEST(Decimate, HoldsItsLimitForEveryLength) {
  for (size_t n = 9; n < 400; ++n) {
    std::vector<double> y(n);
    for (size_t i = 0; i < n; ++i)
      y[i] = i % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : double(i * 7919 % 101);
    const std::vector<size_t> kept = decimate(y, 8);
    EXPECT_LE(kept.size(), 8u);
    EXPECT_EQ(kept.back(), n - 1);
  }
}

TEST(CheckSvg, PassesShapesAndText) {
  EXPECT_TRUE(
      check_svg("<svg viewBox=\"0 0 9 9\"><g transform=\"translate(1 2)\"><rect fill=\"url(#a)\"/></g>\n"
                "<text fill=\"var(--text)\">a &lt; b</text></svg>")
          .ok());
}

TEST(CheckSvg, RefusesWhatRunsLinksOrLoads) {
  for (const char* markup : {"",
                             "text",
                             "<p></p>",
                             "<svg>",
                             "<svg></g></svg>",
                             "</svg>",
                             "<svg></svg><svg></svg>",
                             "<svg></svg>tail",
                             "<svg/><svg/>",
                             "<svg><script>x</script></svg>",
                             "<svg onload=\"x\"></svg>",
                             "<svg><a href=\"x\"></a></svg>",
                             "<svg><use href=\"#a\"/></svg>",
                             "<svg><image href=\"http://x\"/></svg>",
                             "<svg><foreignObject/></svg>",
                             "<svg><style>*{}</style></svg>",
                             "<svg style=\"a\"></svg>",
                             "<svg><rect fill=\"url(http://x)\"/></svg>",
                             "<svg><rect fill=\"url(#a) url(http://x)\"/></svg>",
                             "<svg><rect fill=\"&#117;rl(x)\"/></svg>",
                             "<svg><rect fill=\"\\75rl(x)\"/></svg>",
                             "<svg><!-- c --></svg>",
                             "<svg><![CDATA[x]]></svg>",
                             "<?xml?><svg></svg>",
                             "<svg><rect fill='a'/></svg>",
                             "<svg><rect fill=a/></svg>",
                             "<svg><rect fill=\"a/></svg>",
                             "<svg><rect fill=\"<b>\"/></svg>",
                             "<svg><rect/ fill=\"a\"></svg>",
                             "<svg",
                             "<svg><",
                             "<SVG></SVG>"}) {
    EXPECT_FALSE(check_svg(markup).ok()) << markup;
  }
}

}  // namespace
}  // namespace tandem::report
