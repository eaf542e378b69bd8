// SPDX-License-Identifier: Apache-2.0
// Image lists as CSV (RFC 4180: quoted fields, doubled quotes, line breaks inside quotes).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/result.hpp"

namespace tandem::data {

struct CsvRow {
  int64_t line = 0;  // where it starts, from 1
  std::vector<std::string> fields;
};

// Empty lines are left out. Errors name the line.
Result<std::vector<CsvRow>> parse_csv(std::string_view text);

enum class Part : uint8_t { kUnsaid, kTrain, kVal };

struct ImageListEntry {
  int64_t line = 0;
  std::string path;
  std::string label;
  Part part = Part::kUnsaid;
};

// Rows of path,label. A first row that names columns (path|file|filename|image and label|class, any order,
// optionally split with train|val|validation|valid|test) is a header; columns it does not know are left out.
// Refuses empty and repeated paths, paths that lead out of the folder, and absolute paths unless allowed.
Result<std::vector<ImageListEntry>> parse_image_list(std::string_view text, bool allow_absolute_paths);

}  // namespace tandem::data
