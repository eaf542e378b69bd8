// SPDX-License-Identifier: Apache-2.0
// Layout of a TextTable.
#include "tandem/base/table.hpp"

#include <algorithm>

#include "tandem/base/check.hpp"
#include "tandem/base/text.hpp"

namespace tandem {

void TextTable::add_row(std::vector<std::string> cells) {
  TANDEM_CHECK(cells.size() <= columns_.size(), "more cells than columns");
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(Row{std::move(cells), false});
}

void TextTable::add_rule() { rows_.push_back(Row{{}, true}); }

size_t TextTable::row_count() const {
  return static_cast<size_t>(
      std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return !row.is_rule; }));
}

std::string TextTable::to_string() const {
  std::vector<size_t> widths;
  for (const TableColumn& column : columns_) widths.push_back(display_width(column.title));
  for (const Row& row : rows_) {
    for (size_t i = 0; i < row.cells.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row.cells[i]));
  }
  std::string text;
  const auto end_line = [&text] {
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  const auto put = [&](const std::string& cell, size_t i) {
    const std::string fill(widths[i] - display_width(cell), ' ');
    if (i > 0) text += "  ";
    text += columns_[i].align == Align::kRight ? fill + cell : cell + fill;
  };
  const auto rule = [&] {
    for (size_t i = 0; i < columns_.size(); ++i) put(std::string(widths[i], '-'), i);
    end_line();
  };
  for (size_t i = 0; i < columns_.size(); ++i) put(columns_[i].title, i);
  end_line();
  rule();
  for (const Row& row : rows_) {
    if (row.is_rule) {
      rule();
      continue;
    }
    for (size_t i = 0; i < row.cells.size(); ++i) put(row.cells[i], i);
    end_line();
  }
  return text;
}

}  // namespace tandem
