// SPDX-License-Identifier: Apache-2.0
// Heatmaps. Small ones are tables with coloured cells (readable anywhere, also on paper); large ones are
// drawn on a canvas, with a line that names the cell under the pointer and a table of the greatest cells off
// the diagonal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tandem/report/number.hpp"
#include "tandem/report/page.hpp"

namespace tandem::report {
namespace {

constexpr size_t kTableColumnsMax = 16;
constexpr size_t kTableRowsMax = 40;
constexpr size_t kCanvasMax = 1000;
constexpr size_t kListMax = 500;

struct Matrix {
  const Heatmap& block;
  const std::vector<std::string>& columns;
  bool square;

  size_t n_rows() const { return block.row_labels.size(); }
  size_t n_columns() const { return columns.size(); }
  double at(size_t r, size_t c) const { return block.values[r * n_columns() + c]; }
  double row_sum(size_t r) const {
    double sum = 0;
    for (size_t c = 0; c < n_columns(); ++c) {
      if (std::isfinite(at(r, c))) sum += at(r, c);
    }
    return sum;
  }
};

// How strong each cell is drawn, 0 to 1, row by row.
std::vector<double> strengths(const Matrix& m) {
  std::vector<double> out(m.block.values.size(), 0.0);
  double least = INFINITY, greatest = -INFINITY;
  for (const double v : m.block.values) {
    if (!std::isfinite(v)) continue;
    least = std::min(least, v);
    greatest = std::max(greatest, v);
  }
  for (size_t r = 0; r < m.n_rows(); ++r) {
    const double sum = m.row_sum(r);
    for (size_t c = 0; c < m.n_columns(); ++c) {
      const double v = m.at(r, c);
      if (!std::isfinite(v)) continue;
      double share = 0;
      if (m.block.shade == Shade::kRowShare) {
        share = sum > 0 ? v / sum : 0;
      } else {
        // Halved first, so that the range cannot overflow; one value only is drawn in the middle.
        const double range = greatest / 2 - least / 2;
        share = range > 0 ? (v / 2 - least / 2) / range : 0.5;
      }
      out[r * m.n_columns() + c] = std::clamp(share, 0.0, 1.0);
    }
  }
  return out;
}

// Few mistakes must still be seen: the square root lifts a share of 1 % to a tenth of the full strength.
int percent_of_strength(Shade shade, double share) {
  return static_cast<int>(std::lround(100 * (shade == Shade::kRowShare ? std::sqrt(share) : share)));
}

// Which text colour reads on the tint: the change comes at another strength in each scheme.
std::string_view strength_class(int percent) {
  return percent >= 82 ? " full" : percent >= 60 ? " half" : "";
}

void cell_table(Page& page, const Matrix& m) {
  const std::vector<double> strength = strengths(m);
  page.markup("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
  page.text(m.block.title);
  page.markup(fmt::format("\"><table class=\"heat\" style=\"--n:{}\">", m.n_columns()));
  const bool upright =
      std::any_of(m.columns.begin(), m.columns.end(), [](const auto& c) { return c.size() > 5; });
  page.markup("<thead><tr><th class=\"corner\" scope=\"col\"><span>");
  page.text(m.block.row_title);
  page.markup(" ↓</span> <span>");
  page.text(m.block.column_title);
  page.markup(" →</span></th>");
  for (const std::string& label : m.columns) {
    page.markup(upright ? "<th scope=\"col\"><span class=\"up\" title=\""
                        : "<th scope=\"col\"><span title=\"");
    page.text(label);
    page.markup("\">");
    page.text(label);
    page.markup("</span></th>");
  }
  page.markup("</tr></thead><tbody>\n");
  for (size_t r = 0; r < m.n_rows(); ++r) {
    page.markup("<tr><th scope=\"row\" title=\"");
    page.text(m.block.row_labels[r]);
    page.markup("\">");
    page.text(m.block.row_labels[r]);
    page.markup("</th>");
    for (size_t c = 0; c < m.n_columns(); ++c) {
      const int percent = percent_of_strength(m.block.shade, strength[r * m.n_columns() + c]);
      const bool wrong = m.square && r != c;
      const bool zero = m.at(r, c) == 0 && m.block.shade == Shade::kRowShare;
      page.markup(fmt::format("<td class=\"{}{}{}\" style=\"--s:{}%\">", wrong ? "off" : "on",
                              strength_class(percent), zero ? " zero" : "", percent));
      page.text(format_number(m.at(r, c)));
      page.markup("</td>");
    }
    page.markup("</tr>\n");
  }
  page.markup("</tbody></table></div>");
}

// The greatest cells (off the diagonal of a square matrix), greatest first.
Table greatest_cells(const Matrix& m, size_t& total) {
  std::vector<size_t> cells;
  for (size_t r = 0; r < m.n_rows(); ++r) {
    for (size_t c = 0; c < m.n_columns(); ++c) {
      const double v = m.at(r, c);
      if (std::isfinite(v) && v != 0 && !(m.square && r == c)) cells.push_back(r * m.n_columns() + c);
    }
  }
  total = cells.size();
  std::stable_sort(cells.begin(), cells.end(),
                   [&](size_t a, size_t b) { return m.block.values[a] > m.block.values[b]; });
  if (cells.size() > kListMax) cells.resize(kListMax);
  const bool shares = m.block.shade == Shade::kRowShare;
  Table table{.caption = m.square ? "Most frequent confusions" : "Greatest values",
              .columns = {{m.block.row_title, Align::kLeft},
                          {m.block.column_title, Align::kLeft},
                          {shares ? "count" : "value", Align::kRight}}};
  if (shares) table.columns.push_back({"share of row", Align::kRight});
  for (const size_t i : cells) {
    const size_t r = i / m.n_columns();
    const double v = m.block.values[i];
    Row row{.cells = {m.block.row_labels[r], m.columns[i % m.n_columns()], Cell(format_number(v), v)}};
    const double share = m.row_sum(r) > 0 ? 100 * v / m.row_sum(r) : 0;
    if (shares) row.cells.push_back(Cell(fmt::format("{:.1f} %", share), share));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Json canvas_data(const Matrix& m) {
  const std::vector<double> strength = strengths(m);
  Json cells = Json::array();
  for (size_t r = 0; r < m.n_rows(); ++r) {
    for (size_t c = 0; c < m.n_columns(); ++c) {
      const double v = m.at(r, c);
      const int percent = percent_of_strength(m.block.shade, strength[r * m.n_columns() + c]);
      if (v == 0 && percent == 0) continue;
      cells.push(
          Json::array().push(static_cast<int64_t>(r)).push(static_cast<int64_t>(c)).push(v).push(percent));
    }
  }
  return Json::object({{"type", "heatmap"},
                       {"rows", m.block.row_labels},
                       {"columns", m.columns},
                       {"rowTitle", m.block.row_title},
                       {"columnTitle", m.block.column_title},
                       {"square", m.square},
                       {"shares", m.block.shade == Shade::kRowShare},
                       {"cells", std::move(cells)}});
}

}  // namespace

Status render(Page& page, const Heatmap& block) {
  const bool square = block.column_labels.empty();
  const Matrix m{block, square ? block.row_labels : block.column_labels, square};
  if (block.values.size() != m.n_rows() * m.n_columns()) {
    return internal_error(fmt::format("heatmap '{}' has {} values, expected {} x {}", block.title,
                                      block.values.size(), m.n_rows(), m.n_columns()));
  }
  if (m.n_columns() <= kTableColumnsMax && m.n_rows() <= kTableRowsMax) {
    page.markup(block.half_width ? "<figure class=\"block heat half\">" : "<figure class=\"block heat\">");
    page.markup("<figcaption>");
    page.text(block.title);
    page.markup("</figcaption>");
    if (block.values.empty()) {
      page.markup("<p class=\"none\">No data</p>");
    } else {
      cell_table(page, m);
    }
    page.markup("</figure>\n");
    return {};
  }
  ChartFrame frame{.title = block.title, .kind = "heatmap"};
  frame.label =
      fmt::format("Heatmap: {}. {} rows ({}) by {} columns ({}). The greatest cells follow as a table.",
                  block.title, m.n_rows(), block.row_title, m.n_columns(), block.column_title);
  size_t total = 0;
  frame.table = greatest_cells(m, total);
  if (total > kListMax) {
    frame.note = fmt::format("The table lists the {} greatest of {} cells.", kListMax,
                             format_number(static_cast<double>(total)));
  }
  if (std::max(m.n_rows(), m.n_columns()) <= kCanvasMax) {
    frame.data = canvas_data(m);
  } else {
    frame.note += fmt::format(" Too large to draw (more than {} classes).", kCanvasMax);
  }
  return render_chart(page, frame);
}

}  // namespace tandem::report
