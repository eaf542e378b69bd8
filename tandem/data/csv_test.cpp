// SPDX-License-Identifier: Apache-2.0
// Goal: CSV as RFC 4180 has it, errors with their line, no path out of the folder.
#include "tandem/data/csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Csv, FieldsAndLines) {
  const auto rows = *parse_csv("a,b\r\n\"x \"\"y\"\"\",\"two\nlines\"\n\n,\nlast,");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_THAT(rows[0].fields, ElementsAre("a", "b"));
  EXPECT_THAT(rows[1].fields, ElementsAre("x \"y\"", "two\nlines"));
  EXPECT_THAT(rows[2].fields, ElementsAre("", ""));
  EXPECT_EQ(rows[2].line, 5);
  EXPECT_THAT(rows[3].fields, ElementsAre("last", ""));
  EXPECT_TRUE(parse_csv("")->empty());
  EXPECT_TRUE(parse_csv("\n  \n")->empty());
  EXPECT_THAT(parse_csv("a\n\"b").error().message(), HasSubstr("line 2"));
  EXPECT_THAT(parse_csv("\"b\"c,d").error().message(), HasSubstr("after a closing quote"));
}

TEST(Csv, HeaderIsOptionalAndFree) {
  EXPECT_EQ(parse_image_list("x.jpg,cat\n", false)->size(), 1u);
  const auto list = *parse_image_list("width,Label,File Name,filename\n3,cat,?,x.jpg\n", false);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].path, "x.jpg");
  EXPECT_EQ(list[0].label, "cat");
  EXPECT_EQ(list[0].line, 2);
}

TEST(Csv, FaultsNameTheLine) {
  EXPECT_THAT(parse_image_list("", false).error().message(), HasSubstr("empty"));
  EXPECT_THAT(parse_image_list("a,b,c\n", false).error().message(), HasSubstr("3 fields"));
  EXPECT_THAT(parse_image_list("x,a\ny\n", false).error().message(), HasSubstr("line 2"));
  EXPECT_THAT(parse_image_list("x,a\nx,b\n", false).error().message(), HasSubstr("twice"));
  EXPECT_THAT(parse_image_list("x,a\n,b\n", false).error().message(), HasSubstr("path is empty"));
  EXPECT_THAT(parse_image_list("x,\n", false).error().message(), HasSubstr("label is empty"));
  EXPECT_THAT(parse_image_list("path,label,split\nx,a,both\n", false).error().message(), HasSubstr("'both'"));
}

TEST(Csv, PathsStayInTheFolder) {
  for (const char* path : {"../x.jpg", "a/../../x.jpg", "..", "a/../.."}) {
    EXPECT_THAT(parse_image_list(std::string(path) + ",a", false).error().message(), HasSubstr("leads out"))
        << path;
  }
  EXPECT_TRUE(parse_image_list("a/../x.jpg,a", false).ok());
  EXPECT_TRUE(parse_image_list("..x.jpg,a", false).ok());
  EXPECT_THAT(parse_image_list("/etc/x.jpg,a", false).error().message(), HasSubstr("absolute"));
  EXPECT_TRUE(parse_image_list("/etc/x.jpg,a", true).ok());
  EXPECT_FALSE(parse_image_list(std::string("a\0b,c", 5), false).ok());
}

}  // namespace
}  // namespace tandem::data
