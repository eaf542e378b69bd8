// SPDX-License-Identifier: Apache-2.0
// Internal to the room: the page being written, and one render function per kind of block.
#pragma once

#include <string>
#include <string_view>

#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/report/document.hpp"
#include "tandem/report/escape.hpp"

namespace tandem::report {

struct Page {
  std::string out;
  bool has_charts = false;
  int depth = 0;  // of Details in Details

  void markup(std::string_view html) { out += html; }  // trusted: written in this room
  void text(std::string_view words) { out += escape_html(words); }
};

// The class that carries a tone, with a leading space, or nothing.
std::string_view tone_class(Tone tone);

// The column is shown right-aligned and sorted by number: kAuto and every filled cell is a number, or kRight.
bool is_numeric_column(const Table& table, size_t column);

Status render_table(Page& page, const Table& table);

// The frame of a chart: caption, canvas with its label, note, data for the script, and the data as a folded
// table.
struct ChartFrame {
  std::string title;
  std::string label;  // the aria-label
  std::string note;
  Json data;
  Table table;
  std::string_view kind;
  int height_px = 300;
  bool half_width = false;
};
Status render_chart(Page& page, const ChartFrame& frame);

Status render(Page& page, const Paragraph& block);
Status render(Page& page, const KeyValues& block);
Status render(Page& page, const Table& block);
Status render(Page& page, const LineChart& block);
Status render(Page& page, const BarChart& block);
Status render(Page& page, const Histogram& block);
Status render(Page& page, const Heatmap& block);
Status render(Page& page, const ImageGrid& block);
Status render(Page& page, const Pre& block);
Status render(Page& page, const Callout& block);
Status render(Page& page, const Svg& block);
Status render(Page& page, const Details& block);
Status render_blocks(Page& page, const std::vector<Block>& blocks);

}  // namespace tandem::report
