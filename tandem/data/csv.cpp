// SPDX-License-Identifier: Apache-2.0
// A CSV reader by hand, and the checks that make rows into a list of images.
#include "tandem/data/csv.hpp"

#include <array>
#include <cctype>
#include <filesystem>
#include <unordered_set>

namespace tandem::data {
namespace {

constexpr int kMissing = -1;

struct Columns {
  int path = 0;
  int label = 1;
  int split = kMissing;
  bool header = false;
};

Error at_line(int64_t line, std::string reason) {
  return bad_input(fmt::format("CSV line {}", line)).because(std::move(reason));
}

std::string trimmed_lower(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

template <size_t N>
bool among(const std::array<const char*, N>& names, const std::string& text) {
  for (const char* name : names) {
    if (text == name) return true;
  }
  return false;
}

constexpr std::array kPathNames = {"path",     "file",  "filename",  "file_name",
                                   "filepath", "image", "image_path"};
constexpr std::array kLabelNames = {"label", "labels", "class", "class_name", "category"};
constexpr std::array kSplitNames = {"split", "part", "subset"};

Result<Columns> find_columns(const CsvRow& first) {
  Columns found{kMissing, kMissing, kMissing, false};
  for (size_t i = 0; i < first.fields.size(); ++i) {
    const std::string name = trimmed_lower(first.fields[i]);
    const int column = static_cast<int>(i);
    if (found.path == kMissing && among(kPathNames, name)) found.path = column;
    if (found.label == kMissing && among(kLabelNames, name)) found.label = column;
    if (found.split == kMissing && among(kSplitNames, name)) found.split = column;
  }
  if (found.path != kMissing && found.label != kMissing) {
    found.header = true;
    return found;
  }
  if (first.fields.size() == 2) return Columns{};
  return at_line(first.line,
                 fmt::format("expected path,label or a header that names such columns; it has {} fields",
                             first.fields.size()));
}

Status check_path(const std::string& path, int64_t line, bool allow_absolute_paths) {
  if (path.empty()) return at_line(line, "the path is empty");
  if (path.find('\0') != std::string::npos) return at_line(line, "the path holds a zero byte");
  const std::filesystem::path p(path);
  if (p.is_absolute()) {
    if (allow_absolute_paths) return {};
    return Error(at_line(line, fmt::format("the path '{}' is absolute", path)))
        .hint("make it relative to the CSV's folder, or allow absolute paths");
  }
  const auto normal = p.lexically_normal();
  if (normal.begin() != normal.end() && *normal.begin() == "..") {
    return Error(at_line(line, fmt::format("the path '{}' leads out of the CSV's folder", path)))
        .hint("only files below the CSV's folder are read");
  }
  return {};
}

Result<Part> part_of(const std::string& text, int64_t line) {
  constexpr std::array kVal = {"val", "validation", "valid", "test"};
  const std::string name = trimmed_lower(text);
  if (name.empty()) return Part::kUnsaid;
  if (name == "train" || name == "training") return Part::kTrain;
  if (among(kVal, name)) return Part::kVal;
  return at_line(line, fmt::format("split '{}' is neither train nor val", text));
}

}  // namespace

Result<std::vector<CsvRow>> parse_csv(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  std::vector<CsvRow> rows;
  CsvRow row;
  std::string field;
  int64_t line = 1;
  size_t i = 0;
  while (i < text.size()) {
    row = {line, {}};
    bool more = true;
    bool any_quoted = false;
    while (more) {
      field.clear();
      if (i < text.size() && text[i] == '"') {
        any_quoted = true;
        const int64_t opened = line;
        ++i;
        while (true) {
          if (i >= text.size()) return at_line(opened, "a quote is not closed");
          if (text[i] == '"') {
            ++i;
            if (i >= text.size() || text[i] != '"') break;
          } else if (text[i] == '\n') {
            ++line;
          }
          field += text[i++];
        }
        if (i < text.size() && text[i] != ',' && text[i] != '\n' && text[i] != '\r') {
          return at_line(line, "text after a closing quote");
        }
      } else {
        while (i < text.size() && text[i] != ',' && text[i] != '\n') field += text[i++];
        if (!field.empty() && field.back() == '\r') field.pop_back();
      }
      if (i < text.size() && text[i] == '\r') ++i;
      row.fields.push_back(field);
      more = i < text.size() && text[i] == ',';
      if (i < text.size()) {
        if (text[i] == '\n') {
          ++line;
        } else if (text[i] != ',') {
          return at_line(line, "text after a closing quote");
        }
        ++i;
      }
    }
    if (row.fields.size() > 1 || any_quoted || !trimmed_lower(row.fields[0]).empty()) rows.push_back(row);
  }
  return rows;
}

Result<std::vector<ImageListEntry>> parse_image_list(std::string_view text, bool allow_absolute_paths) {
  const std::vector<CsvRow> rows = TANDEM_TRY(parse_csv(text));
  if (rows.empty()) return bad_input("the CSV is empty");
  const Columns columns = TANDEM_TRY(find_columns(rows.front()));
  std::vector<ImageListEntry> entries;
  std::unordered_set<std::string> seen;
  for (size_t i = columns.header ? 1 : 0; i < rows.size(); ++i) {
    const CsvRow& row = rows[i];
    if (row.fields.size() != rows.front().fields.size()) {
      return at_line(row.line, fmt::format("it has {} fields, the first line has {}", row.fields.size(),
                                           rows.front().fields.size()));
    }
    ImageListEntry entry;
    entry.line = row.line;
    entry.path = row.fields[static_cast<size_t>(columns.path)];
    entry.label = row.fields[static_cast<size_t>(columns.label)];
    TANDEM_TRY(check_path(entry.path, row.line, allow_absolute_paths));
    if (entry.label.empty()) return at_line(row.line, "the label is empty");
    if (columns.split != kMissing) {
      entry.part = TANDEM_TRY(part_of(row.fields[static_cast<size_t>(columns.split)], row.line));
    }
    if (!seen.insert(entry.path).second)
      return at_line(row.line, fmt::format("'{}' is listed twice", entry.path));
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace tandem::data
