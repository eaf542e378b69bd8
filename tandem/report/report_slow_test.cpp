// SPDX-License-Identifier: Apache-2.0
// Goal: a report with every kind of block opens in a browser without an error, a missing chart or spilling
// text, and the judge (tests/check_report.py) refuses each of these faults when planted. The sample stays in
// the temporary directory.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "tandem/base/file.hpp"
#include "tandem/base/rng.hpp"
#include "tandem/report/html.hpp"

namespace tandem::report {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void big_endian(std::string& out, uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(v >> shift & 255u);
}

void chunk(std::string& out, const std::string& type, const std::string& data) {
  big_endian(out, static_cast<uint32_t>(data.size()));
  uint32_t crc = ~0u;  // CRC-32 as in the PNG specification, annex D, bit by bit
  for (const char c : type + data) {
    crc ^= static_cast<unsigned char>(c);
    for (int k = 0; k < 8; ++k) crc = (crc & 1u) ? 0xEDB88320u ^ (crc >> 1) : crc >> 1;
  }
  out += type + data;
  big_endian(out, ~crc);
}

// A gradient of `size` x `size` RGB pixels, stored without compression (one deflate block, so size <= 128).
std::string png(uint32_t size, unsigned hue) {
  std::string raw;
  for (uint32_t y = 0; y < size; ++y) {
    raw += '\0';  // no filter
    for (uint32_t x = 0; x < size; ++x) {
      raw += static_cast<char>((x * 255 / size + hue) & 255u);
      raw += static_cast<char>(y * 255 / size);
      raw += static_cast<char>((hue * 3) & 255u);
    }
  }
  uint32_t a = 1, b = 0;  // Adler-32
  for (const char c : raw) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  const auto length = static_cast<uint16_t>(raw.size());
  std::string packed = "\x78\x01\x01";
  for (const unsigned v : {length & 255u, length >> 8 & 255u, ~length & 255u, ~length >> 8 & 255u}) {
    packed += static_cast<char>(v);
  }
  packed += raw;
  big_endian(packed, b << 16 | a);
  std::string head;
  big_endian(head, size);
  big_endian(head, size);
  head += std::string("\x08\x02\x00\x00\x00", 5);
  std::string out = "\x89PNG\r\n\x1a\n";
  chunk(out, "IHDR", head);
  chunk(out, "IDAT", packed);
  chunk(out, "IEND", "");
  return out;
}

const std::vector<std::string> kGarments = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                            "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
const std::string kHostile = "</script><img src=x onerror=\"console.error('run')\">";
const std::string kLongWord =
    "a_very_long_layer_name_without_any_space_that_goes_on_and_on/and_on/block.12.conv_pw.weight";

// A confusion matrix of n classes: mostly right, mistakes near the diagonal.
Heatmap confusion(std::string title, std::vector<std::string> labels, uint64_t seed) {
  Rng rng(seed);
  const size_t n = labels.size();
  std::vector<double> counts(n * n, 0.0);
  for (size_t r = 0; r < n; ++r) {
    for (int k = 0; k < 100; ++k) {
      const size_t to = rng.uniform() < 0.85 ? r : (r + 1 + rng.below(std::min<size_t>(n, 9) - 1)) % n;
      counts[r * n + to] += 1;
    }
  }
  return {.title = std::move(title), .row_labels = std::move(labels), .values = std::move(counts)};
}

Section overview() {
  return {
      "Summary",
      {KeyValues{{{"Accuracy, INT8", "89.4 %", "95 % interval 86.4 to 91.8 %", Tone::kGood},
                  {"Accuracy, FP32", "89.8 %", "95 % interval 86.8 to 92.2 %"},
                  {"Throughput", "212 img/s", "1 thread, batch 4"},
                  {"Skipped images", "3", "listed below", Tone::kWarning},
                  {"Model", "efficientnet_lite0.onnx"},
                  {"Training images", "1,750"}}},
       Paragraph{"The backbone runs in INT8 on the accelerator; the head is trained in FP32 on the host. The "
                 "difference to FP32 lies within the paired interval.\n\nA second paragraph follows an empty "
                 "line."},
       Callout{CalloutKind::kNote, "No accelerator found.", "The INT8 engine of the CPU stood in for it."},
       Callout{CalloutKind::kWarning, "Three images were skipped.", "They are listed in the last section."},
       Callout{CalloutKind::kError, kHostile, kLongWord + kLongWord}}};
}

Section curves() {
  Rng rng(7);
  Series train{.name = "training"}, held{.name = "held out"}, noisy{.name = "step"};
  LineChart accuracy{
      .title = "Accuracy per epoch", .x_label = "epoch", .y_label = "accuracy", .half_width = true};
  for (int epoch = 1; epoch <= 12; ++epoch) {
    train.x.push_back(epoch);
    train.y.push_back(1.8 * std::exp(-epoch / 4.0) + 0.12);
    held.x.push_back(epoch);
    held.y.push_back(epoch == 5 ? kNan : 1.7 * std::exp(-epoch / 4.2) + 0.25);
  }
  for (int i = 0; i < 10000; ++i) {
    noisy.y.push_back(i > 4000 && i < 4400 ? kNan : 2.5 / (1 + i / 900.0) * (0.8 + 0.4 * rng.uniform()));
  }
  noisy.y[7000] = 9;  // one peak that thinning must keep
  accuracy.series = {
      {.name = "INT8", .x = train.x, .y = {.52, .66, .74, .79, .82, .84, .855, .87, .88, .885, .89, .894}},
      {.name = "FP32", .x = train.x, .y = {.54, .67, .75, .80, .83, .85, .86, .875, .884, .89, .895, .898}}};
  LineChart many{.title = "Nine series", .x_label = "batch", .y_label = "ms", .log_x = true};
  for (int s = 0; s < 9; ++s) {
    Series one{.name = s == 4 ? kHostile : "policy " + std::to_string(s)};
    for (double x = 1; x < 300; x *= 2) {
      one.x.push_back(x);
      one.y.push_back(std::pow(x, 0.3 + 0.06 * s));
    }
    many.series.push_back(std::move(one));
  }
  return {"Training",
          {LineChart{.title = "Loss per epoch",
                     .x_label = "epoch",
                     .y_label = "cross entropy",
                     .series = {train, held},
                     .half_width = true},
           accuracy,
           LineChart{.title = "Loss per step",
                     .x_label = "step",
                     .y_label = "loss (log)",
                     .series = {noisy},
                     .log_y = true},
           many, LineChart{.title = "Never measured", .x_label = "step", .y_label = "J", .series = {}}}};
}

Section bars() {
  Rng rng(11);
  std::vector<double> values, tail;
  for (int i = 0; i < 4000; ++i) values.push_back(rng.normal());
  for (int i = 0; i < 2000; ++i) tail.push_back(std::exp(rng.normal()));
  tail.push_back(std::numeric_limits<double>::infinity());
  BarSeries recall{.name = "recall", .values = {.83, .97, .80, .90, .82, .97, .64, .95, .97, .96}};
  for (const double v : recall.values) {
    recall.low.push_back(v - 0.04);
    recall.high.push_back(std::min(1.0, v + 0.03));
  }
  BarSeries precision{.name = "precision", .values = {.81, .99, .79, .89, .81, .97, .68, .94, .96, .96}};
  std::vector<std::string> layers;
  BarSeries times{.name = "", .values = {}};
  for (int i = 0; i < 60; ++i) {
    layers.push_back(i == 3 ? kLongWord : i == 4 ? kHostile : "block" + std::to_string(i));
    times.values.push_back(i == 9 ? kNan : 5.0 / (1 + i));
  }
  return {"Classes and layers",
          {BarChart{.title = "Recall per class",
                    .value_label = "recall",
                    .labels = kGarments,
                    .series = {recall},
                    .horizontal = true,
                    .order = Order::kDescending,
                    .half_width = true},
           BarChart{.title = "Precision and recall",
                    .value_label = "share",
                    .labels = kGarments,
                    .series = {precision, recall},
                    .horizontal = true,
                    .half_width = true},
           BarChart{.title = "Throughput",
                    .value_label = "images per second",
                    .labels = {"batch 1", "batch 4", "batch 16"},
                    .series = {{.name = "", .values = {181, 212, 214}}},
                    .half_width = true},
           BarChart{.title = "Change of accuracy",
                    .value_label = "points",
                    .labels = kGarments,
                    .series = {{.name = "", .values = {-.4, .2, .9, -1.2, .1, 0, -2.0, .3, .2, -.1}}},
                    .half_width = true},
           Histogram{
               .title = "Activations of the stem", .x_label = "value", .values = values, .half_width = true},
           Histogram{.title = "Latency", .x_label = "ms", .values = tail, .half_width = true},
           BarChart{.title = "Time per layer",
                    .value_label = "ms",
                    .labels = layers,
                    .series = {times},
                    .horizontal = true,
                    .order = Order::kDescending,
                    .drawn_max = 20}}};
}

Section matrices() {
  std::vector<std::string> hundred;
  for (int i = 0; i < 100; ++i) hundred.push_back(i == 40 ? kHostile : "class number " + std::to_string(i));
  Heatmap two = confusion("Two classes", {"daisy", "rose"}, 2);
  two.half_width = true;
  Heatmap sweep{.title = "Accuracy by rate and batch size",
                .row_title = "rate",
                .column_title = "batch",
                .row_labels = {"1e-2", "1e-3", "1e-4"},
                .column_labels = {"8", "16", "32", "64"},
                .values = {.71, .78, .80, .79, .86, .88, .89, .87, .70, .68, kNan, .60},
                .shade = Shade::kValue,
                .half_width = true};
  std::vector<std::string> wild = {"cat", kHostile, kLongWord};
  return {"Confusion",
          {confusion("Confusion matrix", kGarments, 1), two, sweep, confusion("Hostile names", wild, 3),
           confusion("A hundred classes", hundred, 4)}};
}

Section rest() {
  Table wide{.caption = "Layers",
             .columns = {"layer", "operator", "output", "MACs", "ms", "share", "device", "reason"}};
  for (int i = 0; i < 40; ++i) {
    wide.rows.push_back(
        {.cells = {"features.block" + std::to_string(i) + ".conv", i % 3 ? "Conv 3x3 depthwise" : "Conv 1x1",
                   "1 x 112 x 112 x 32", Cell(std::to_string(1 + i * 37 % 23) + ",401,224"),
                   std::to_string(i * 7 % 11) + ".25 ms", std::to_string(i % 9) + ".5 %",
                   i == 7 ? "cpu" : "int8",
                   i == 7   ? "kernel 17 is above the limit of 16"
                   : i == 8 ? kLongWord
                            : ""},
         .highlighted = i == 7});
  }
  ImageGrid grid{.title = "Most confident mistakes"};
  for (unsigned i = 0; i < 8; ++i) {
    grid.images.push_back({png(48 + 8 * i, i * 30), i == 2 ? kHostile : "Shirt taken for T-shirt/top",
                           "97." + std::to_string(i) + " % sure", i % 2 ? Tone::kBad : Tone::kNeutral});
  }
  grid.images.push_back({"no picture at all", kLongWord, "", Tone::kBad});
  const Svg drawing{
      .title = "Where the model is cut",
      .label = "Backbone on the accelerator, head on the host",
      .markup = R"svg(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 90" width="640" height="90">
<g font-size="15" text-anchor="middle" fill="var(--text)">
<rect x="5" y="15" width="380" height="60" rx="10" fill="none" stroke="var(--c1)"/>
<text x="195" y="50">backbone, INT8</text>
<rect x="455" y="15" width="180" height="60" rx="10" fill="none" stroke="var(--c2)"/>
<text x="545" y="50">head, FP32</text></g>
<path d="M385 45 L455 45" stroke="var(--muted)"/></svg>)svg"};
  return {"Details",
          {wide,
           Table{.caption = "Ranking",
                 .columns = {"policy", "P99"},
                 .rows = {{{"fifo", "41.0 ms"}}, {{"least wait", "17.3 ms"}, true}, {{"deadline", "–"}}}},
           Table{.caption = "Nothing was skipped", .columns = {"file", "reason"}}, grid, drawing,
           Pre{.caption = "Command",
               .text = "$ tandem adapt efficientnet_lite0.onnx --data flowers5 -o run1 --epochs 5 --lr "
                       "1e-3 --batch 16 --optimizer adamw --seed 42\n\tdone in 31 s\n" +
                       kHostile},
           Details{"Skipped images",
                   {Paragraph{"Files that could not be read."},
                    Table{.columns = {"file", "reason"}, .rows = {{{"a.jpg", "ends early"}}}},
                    LineChart{.title = "A chart in a fold",
                              .x_label = "x",
                              .y_label = "y",
                              .series = {{.name = "a", .y = {1, 3, 2}}}}}}}};
}

Document sample() {
  return {
      .title = "Adapting EfficientNet-Lite0 to flowers5",
      .subtitle =
          "INT8 backbone, FP32 head, five epochs on 1,750 photographs; judged on 500 that were held back.",
      .sections = {overview(), curves(), bars(), matrices(), rest()},
      .footer = "tandem 0.1.0 · seed 42 · AVX512_VNNI"};
}

struct Verdict {
  int exit_code = -1;
  std::string output;
};

Verdict check(const std::string& file, const std::string& options = "") {
  Verdict verdict;
  FILE* pipe = popen(("python3 tests/check_report.py " + options + " '" + file + "' 2>&1").c_str(), "r");
  if (pipe == nullptr) return verdict;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof buffer, pipe)) verdict.output.append(buffer, n);
  const int status = pclose(pipe);
  verdict.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return verdict;
}

class ReportInBrowser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v python3 >/dev/null && command -v chromium >/dev/null") != 0) {
      GTEST_SKIP() << "needs python3 and chromium";
    }
    directory_ = ::testing::TempDir() + "tandem-report";
    ASSERT_TRUE(make_directories(directory_).ok());
  }
  Verdict check_html(const std::string& html, const std::string& name, const std::string& options = "") {
    const std::string path = directory_ + "/" + name + ".html";
    EXPECT_TRUE(write_file(path, html).ok());
    return check(path, options);
  }
  // A small good report with `html` planted before `</main>` and `from` replaced by `to`.
  Verdict check_with_fault(const std::string& name, const std::string& html, const std::string& from = "",
                           const std::string& to = "") {
    std::string page = *to_html({.title = "Small",
                                 .sections = {{"One",
                                               {LineChart{.title = "Loss",
                                                          .x_label = "x",
                                                          .y_label = "y",
                                                          .series = {{.name = "a", .y = {3, 1, 2}}}}}}}});
    page.insert(page.find("</main>"), html);
    if (!from.empty()) {
      const size_t at = page.find(from);
      EXPECT_NE(at, std::string::npos) << from;
      if (at != std::string::npos) page.replace(at, from.size(), to);
    }
    return check_html(page, name, "--view phone-light");  // one view is enough to see a fault
  }
  void expect_refused(const Verdict& verdict, const std::string& why) {
    EXPECT_EQ(verdict.exit_code, 1) << verdict.output;
    EXPECT_NE(verdict.output.find(why), std::string::npos) << verdict.output;
  }
  std::string directory_;
};

TEST_F(ReportInBrowser, ShowsEveryKindOfBlock) {
  const auto html = to_html(sample());
  ASSERT_TRUE(html.ok()) << html.error().message();
  const Verdict verdict = check_html(*html, "sample");
  EXPECT_EQ(verdict.exit_code, 0) << verdict.output;
}

TEST_F(ReportInBrowser, AcceptsTheSmallReportThatFaultsArePlantedIn) {
  const Verdict verdict = check_with_fault("small", "");
  EXPECT_EQ(verdict.exit_code, 0) << verdict.output;
}

TEST_F(ReportInBrowser, RefusesBrokenCharts) {
  expect_refused(check_with_fault("broken-data", "", "\"type\":\"line\"", "\"type\":\"lime\""),
                 "console error");
  expect_refused(check_with_fault("no-points", "", "[[0.0,3.0],[1.0,1.0],[2.0,2.0]]", "[]"), "nothing drawn");
  expect_refused(check_with_fault("blank", "<canvas aria-label='blank'></canvas>"),
                 "nothing drawn on the canvas: blank");
  expect_refused(check_with_fault("no-canvas", "<figure class=chart>Loss</figure>"), "no canvas");
}

TEST_F(ReportInBrowser, RefusesTextThatOverflows) {
  const std::string word(200, 'w');
  expect_refused(check_with_fault("word", "<p style='overflow-wrap:normal'>" + word + "</p>"),
                 "scrolls sideways");
  expect_refused(check_with_fault("cut", "<p style='overflow-wrap:normal;overflow:hidden'>" + word + "</p>"),
                 "overflows by");
  expect_refused(check_with_fault("phone", "<p style='width:700px'>wide</p>"),
                 "phone-light: the page scrolls sideways");
  expect_refused(
      check_with_fault("low", "<div style='height:9px;overflow:hidden'><p>one</p><p>two</p></div>"),
      "cut off");
  expect_refused(check_with_fault("viewport", "", "name=\"viewport\"", "name=\"viewpoint\""), "laid out");
}

TEST_F(ReportInBrowser, RefusesErrorsAndForeignLoads) {
  // The page's own policy stops the foreign script; that, too, is a console error.
  expect_refused(check_with_fault("script", "<script>console.error('planted')</script>"),
                 "Content Security Policy");
  expect_refused(
      check_with_fault("error", "<script>console.error('planted')</script>", "http-equiv", "data-x"),
      "planted");
  expect_refused(
      check_with_fault("throw", "<script>throw new Error('thrown')</script>", "http-equiv", "data-x"),
      "thrown");
  expect_refused(check_with_fault("load", "<img src='https://example.org/x.png'>", "http-equiv", "data-x"),
                 "example.org");
  expect_refused(check_with_fault("picture", "<img src='data:image/png;base64,iVBORw0KGgo='>"),
                 "does not decode");
  expect_refused(check_html("<!doctype html><title>x</title>", "empty", "--view paper"), "no text");
}

}  // namespace
}  // namespace tandem::report
