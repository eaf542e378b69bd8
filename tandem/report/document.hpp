// SPDX-License-Identifier: Apache-2.0
// Document: what a report says, as plain values. How it looks is the business of html.hpp; no domain type
// appears here.
//
// Every string is plain text: it is escaped when rendered, so class names, paths and messages may hold
// anything. Invalid UTF-8 and control characters appear as U+FFFD. NaN and infinite numbers are gaps, and
// counted in a note.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tandem::report {

enum class Tone { kNeutral, kGood, kWarning, kBad };

// An empty line starts a new paragraph.
struct Paragraph {
  std::string text;
};

// Summary tiles: a few figures that a reader should see first.
struct KeyValue {
  std::string label;
  std::string value;
  std::string note = {};  // small, below the value: "95 % interval 88.1 to 92.4 %"
  Tone tone = Tone::kNeutral;
};
struct KeyValues {
  std::vector<KeyValue> items;
};

// kAuto aligns a column right, and sorts it by number, when all its cells are numbers.
enum class Align { kAuto, kLeft, kRight, kCenter };

struct Column {
  std::string title;
  Align align = Align::kAuto;
  Column(std::string text, Align a = Align::kAuto)
      : title(std::move(text)), align(a) {}                                    // NOLINT: implicit by design
  Column(const char* text, Align a = Align::kAuto) : title(text), align(a) {}  // NOLINT
};

// `value` is what the column sorts by; without it a number is read from the text ("1,234", "87.4 %", "2.5
// ms").
struct Cell {
  std::string text;
  std::optional<double> value;
  Cell(std::string words) : text(std::move(words)) {}  // NOLINT: implicit by design
  Cell(const char* words) : text(words) {}             // NOLINT
  Cell(std::string words, double key) : text(std::move(words)), value(key) {}
};

struct Row {
  std::vector<Cell> cells;  // as many as the table has columns
  bool highlighted = false;
};

// A click on a header sorts. Wide tables scroll in their own box.
struct Table {
  std::string caption = {};
  std::vector<Column> columns;
  std::vector<Row> rows = {};
};

// One line. An empty x means 0, 1, 2, ...; otherwise x and y are equally long. Points are joined in the given
// order.
struct Series {
  std::string name;
  std::vector<double> x = {};
  std::vector<double> y;
};

// Long series are thinned for drawing so that every peak stays visible; the note says so.
struct LineChart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Series> series;
  bool log_x = false;  // values <= 0 become gaps
  bool log_y = false;
  bool half_width = false;  // two such charts in a row share a line on wide screens
};

enum class Order { kAsGiven, kDescending, kAscending };

// One value per label. low and high (both or neither) are the ends of an interval drawn over the bar.
struct BarSeries {
  std::string name;
  std::vector<double> values;
  std::vector<double> low = {};
  std::vector<double> high = {};
};

// Sorted by the first series. When there are more labels than drawn_max, the first ones are drawn, the table
// has all.
struct BarChart {
  std::string title;
  std::string value_label;
  std::vector<std::string> labels;
  std::vector<BarSeries> series;
  bool horizontal = false;
  Order order = Order::kAsGiven;
  uint32_t drawn_max = 40;
  bool half_width = false;
};

// Either raw values (binned here; bins = 0 chooses), or counts of equal bins between low and high.
struct Histogram {
  std::string title;
  std::string x_label;
  std::vector<double> values = {};
  uint32_t bins = 0;
  std::vector<double> counts = {};
  double low = 0;
  double high = 0;
  bool half_width = false;
};

// kRowShare: a cell is as strong as its share of the row (confusion matrices). kValue: from the least to the
// greatest.
enum class Shade { kRowShare, kValue };

// Values row by row. Without column labels the matrix is square, and its diagonal is what is right.
struct Heatmap {
  std::string title;
  std::string row_title = "actual";
  std::string column_title = "predicted";
  std::vector<std::string> row_labels;
  std::vector<std::string> column_labels = {};
  std::vector<double> values;
  Shade shade = Shade::kRowShare;
  bool half_width = false;  // for few classes
};

// Encoded PNG, JPEG, GIF or WebP bytes; others show as a tile that says so.
struct Image {
  std::string bytes;
  std::string caption;
  std::string note = {};
  Tone tone = Tone::kNeutral;
};
struct ImageGrid {
  std::string title = {};
  std::vector<Image> images;
};

struct Pre {
  std::string caption = {};
  std::string text;
};

enum class CalloutKind { kNote, kWarning, kError };
struct Callout {
  CalloutKind kind = CalloutKind::kNote;
  std::string title;
  std::string text = {};
};

// A drawing made by our own code. Markup outside a small set of shapes and attributes is refused (svg.hpp).
struct Svg {
  std::string title = {};
  std::string label;  // what a reader who cannot see it should know
  std::string markup;
};

// Folded away until opened.
struct Block;
struct Details {
  std::string summary;
  std::vector<Block> blocks;
  bool open = false;
};

struct Block {
  using Content = std::variant<Paragraph, KeyValues, Table, LineChart, BarChart, Histogram, Heatmap,
                               ImageGrid, Pre, Callout, Svg, Details>;
  Content content;

  Block(Paragraph b)
      : content(std::move(b)) {}  // NOLINT: implicit by design, so that lists of blocks read well
  Block(KeyValues b) : content(std::move(b)) {}  // NOLINT
  Block(Table b) : content(std::move(b)) {}      // NOLINT
  Block(LineChart b) : content(std::move(b)) {}  // NOLINT
  Block(BarChart b) : content(std::move(b)) {}   // NOLINT
  Block(Histogram b) : content(std::move(b)) {}  // NOLINT
  Block(Heatmap b) : content(std::move(b)) {}    // NOLINT
  Block(ImageGrid b) : content(std::move(b)) {}  // NOLINT
  Block(Pre b) : content(std::move(b)) {}        // NOLINT
  Block(Callout b) : content(std::move(b)) {}    // NOLINT
  Block(Svg b) : content(std::move(b)) {}        // NOLINT
  Block(Details b) : content(std::move(b)) {}    // NOLINT
};

struct Section {
  std::string title;
  std::vector<Block> blocks;
};

struct Document {
  std::string title;
  std::string subtitle = {};
  std::vector<Section> sections;
  std::string footer = {};  // program version, seed: what made this report
};

}  // namespace tandem::report
