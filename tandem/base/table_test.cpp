// SPDX-License-Identifier: Apache-2.0
// Goal: tables line up for a reader, whatever the cells hold.
#include "tandem/base/table.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(TextTable, AlignsByWidth) {
  TextTable table({{"op", Align::kLeft}, {"ms", Align::kRight}, {"note", Align::kLeft}});
  table.add_row({"conv", "12.5"});
  table.add_row({"\xE7\x8C\xAB", "3", "\xC2\xB5"});
  table.add_rule();
  table.add_row({"all", "15.5", "x\ny"});
  EXPECT_EQ(table.to_string(),
            "op      ms  note\n"
            "----  ----  ------\n"
            "conv  12.5\n"
            "\xE7\x8C\xAB       3  \xC2\xB5\n"
            "----  ----  ------\n"
            "all   15.5  x\\x0ay\n");
  EXPECT_EQ(table.row_count(), 3u);
}

TEST(TextTable, EmptyTableHasOnlyItsTitles) {
  EXPECT_EQ(TextTable({{"a"}, {"b"}}).to_string(), "a  b\n-  -\n");
}

TEST(TextTableDeathTest, RefusesMoreCellsThanColumns) {
  TextTable table({{"a"}});
  EXPECT_DEATH(table.add_row({"1", "2"}), "more cells than columns");
}

}  // namespace
}  // namespace tandem
