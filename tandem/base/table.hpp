// SPDX-License-Identifier: Apache-2.0
// TextTable: what the program prints on stdout. Columns line up by display width; cells are made safe for a
// terminal.
#pragma once

#include <string>
#include <vector>

namespace tandem {

enum class Align { kLeft, kRight };

struct TableColumn {
  std::string title;
  Align align = Align::kLeft;
};

class TextTable {
 public:
  explicit TextTable(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}
  // Missing cells are empty. Precondition: not more cells than columns.
  void add_row(std::vector<std::string> cells);
  // A line between groups of rows, for example before a sum.
  void add_rule();
  size_t row_count() const;
  // Title line, rule, rows; two spaces between columns, no space at line ends, a newline after each line.
  std::string to_string() const;

 private:
  struct Row {
    std::vector<std::string> cells;
    bool is_rule = false;
  };
  std::vector<TableColumn> columns_;
  std::vector<Row> rows_;
};

}  // namespace tandem
