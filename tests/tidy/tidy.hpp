// SPDX-License-Identifier: Apache-2.0
// The house rules as functions over source texts: files in, findings out. tidy_test.cpp runs them over this
// tree and, with a planted fault each, over small invented ones.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/result.hpp"

namespace tandem::tidy {

struct SourceFile {
  std::string path;  // Relative to the root of the repository, with '/'.
  std::string text;
};

struct Finding {
  std::string path;
  size_t line = 0;  // 0: the file as a whole.
  std::string rule;
  std::string message;
  bool warning = false;  // Printed, but does not fail the test.
};

std::string to_string(const Finding& finding);

// What one tandem_layer() call says.
struct Room {
  std::string name;
  std::vector<std::string> depends;
  std::vector<std::string> test_depends;
};

// Every text file that the rules look at, sorted by path; build folders, runs and environments are left out.
Result<std::vector<SourceFile>> read_tree(const std::string& root);

// The text with comments (and, if asked, what stands inside quotes) replaced by spaces; lines and columns
// stay.
std::string without_comments(std::string_view text, bool blank_strings);

// Rooms by name, from tandem/<room>/CMakeLists.txt. Broken calls become findings.
std::map<std::string, Room> read_rooms(const std::vector<SourceFile>& files, std::vector<Finding>& findings);

// The dependency table: no cycle, no unknown room, none that comes later in the top CMakeLists.txt.
std::vector<Finding> check_rooms(const std::vector<SourceFile>& files);
// Includes: ours as the table allows, third-party as the list in check_includes.cpp allows.
std::vector<Finding> check_includes(const std::vector<SourceFile>& files);
// Names that have a better replacement here.
std::vector<Finding> check_banned(const std::vector<SourceFile>& files);
// First lines, guards, macros, white space, machine paths, TODOs.
std::vector<Finding> check_form(const std::vector<SourceFile>& files);
// Lengths of lines, functions and files: a warning over the guidance, an error at double.
std::vector<Finding> check_sizes(const std::vector<SourceFile>& files);

std::vector<Finding> check_all(const std::vector<SourceFile>& files);

// Small questions about paths.
bool is_header(std::string_view path);
bool is_cpp(std::string_view path);          // .hpp or .cpp
bool is_test_role(std::string_view path);    // _test, _slow_test, _bench, _fuzz, or outside the library
std::string room_of(std::string_view path);  // "" outside tandem/
size_t line_at(std::string_view text, size_t offset);

}  // namespace tandem::tidy
