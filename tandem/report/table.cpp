// SPDX-License-Identifier: Apache-2.0
// Tables: alignment by content, sort keys for the script, a scroll box of their own.
#include <fmt/format.h>

#include "tandem/report/number.hpp"
#include "tandem/report/page.hpp"

namespace tandem::report {
namespace {

constexpr size_t kTallRows = 24;  // above this the table scrolls under a fixed header
constexpr size_t kLongCell = 30;  // bytes; longer text wraps, shorter stays on one line

bool is_blank(std::string_view text) { return text.empty() || text == "-" || text == "–" || text == "n/a"; }

std::optional<double> sort_key(const Cell& cell) { return cell.value ? cell.value : read_number(cell.text); }

Status check_shape(const Table& table) {
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const size_t cells = table.rows[r].cells.size();
    if (cells != table.columns.size()) {
      return internal_error(fmt::format("table '{}': row {} has {} cells, expected {}", table.caption, r,
                                        cells, table.columns.size()));
    }
  }
  return {};
}

std::string_view cell_class(const Table& table, size_t column, bool numeric, std::string_view text) {
  if (numeric) return " class=\"num\"";
  if (text.size() > kLongCell) return " class=\"long\"";
  return table.columns[column].align == Align::kCenter ? " class=\"mid\"" : "";
}

}  // namespace

bool is_numeric_column(const Table& table, size_t column) {
  if (table.columns[column].align != Align::kAuto) return table.columns[column].align == Align::kRight;
  bool any = false;
  for (const Row& row : table.rows) {
    const Cell& cell = row.cells[column];
    if (!cell.value && is_blank(cell.text)) continue;
    if (!sort_key(cell)) return false;
    any = true;
  }
  return any;
}

Status render_table(Page& page, const Table& table) {
  TANDEM_TRY(check_shape(table));
  const bool tall = table.rows.size() > kTallRows;
  page.markup(tall ? "<div class=\"scroll tall\"" : "<div class=\"scroll\"");
  page.markup(" tabindex=\"0\" role=\"region\" aria-label=\"");
  page.text(table.caption.empty() ? "Table" : table.caption);
  page.markup("\"><table class=\"sortable\"><thead><tr>");
  std::vector<bool> numeric(table.columns.size());
  for (size_t c = 0; c < table.columns.size(); ++c) {
    numeric[c] = is_numeric_column(table, c);
    page.markup("<th scope=\"col\"");
    page.markup(cell_class(table, c, numeric[c], {}));
    page.markup("><button type=\"button\">");
    page.text(table.columns[c].title);
    page.markup("</button></th>");
  }
  page.markup("</tr></thead><tbody>\n");
  for (const Row& row : table.rows) {
    page.markup(row.highlighted ? "<tr class=\"hot\">" : "<tr>");
    for (size_t c = 0; c < row.cells.size(); ++c) {
      page.markup("<td");
      page.markup(cell_class(table, c, numeric[c], row.cells[c].text));
      const auto key = sort_key(row.cells[c]);
      if (numeric[c] && key) page.markup(fmt::format(" data-v=\"{}\"", *key));
      page.markup(">");
      page.text(row.cells[c].text);
      page.markup("</td>");
    }
    page.markup("</tr>\n");
  }
  if (table.rows.empty()) {
    page.markup(fmt::format("<tr class=\"none\"><td colspan=\"{}\">No rows</td></tr>",
                            table.columns.empty() ? 1 : table.columns.size()));
  }
  page.markup("</tbody></table></div>");
  return {};
}

Status render(Page& page, const Table& block) {
  page.markup("<figure class=\"block table\">");
  if (!block.caption.empty()) {
    page.markup("<figcaption>");
    page.text(block.caption);
    page.markup("</figcaption>");
  }
  TANDEM_TRY(render_table(page, block));
  page.markup("</figure>\n");
  return {};
}

}  // namespace tandem::report
