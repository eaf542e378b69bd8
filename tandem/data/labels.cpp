// SPDX-License-Identifier: Apache-2.0
// labels.txt, and the order of classes that follows from it.
#include "tandem/data/labels.hpp"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "tandem/base/file.hpp"

namespace tandem::data {
namespace {

constexpr uint64_t kLabelsLimitBytes = 16 << 20;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\v\f";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

Result<Labels> parse_labels(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  Labels labels;
  std::unordered_set<std::string> seen;
  int64_t line = 0, blank = 0;
  while (!text.empty()) {
    ++line;
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string name(trimmed(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (name.empty()) {
      ++blank;
      continue;
    }
    if (!seen.insert(name).second) {
      return bad_input(fmt::format("labels.txt line {}", line))
          .because(fmt::format("'{}' is there twice", name));
    }
    labels.names.push_back(name);
  }
  if (labels.names.empty()) return bad_input("labels.txt names no class");
  if (blank > 0) labels.notes.push_back(fmt::format("labels.txt: {} blank line(s) left out", blank));
  return labels;
}

Result<std::optional<Labels>> find_labels(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "labels.txt").string();
  std::error_code code;
  if (!std::filesystem::exists(path, code)) return std::optional<Labels>();
  const std::string text = TANDEM_TRY(read_file(path, kLabelsLimitBytes));
  return std::optional<Labels>(TANDEM_TRY(parse_labels(text).context(fmt::format("'{}'", path))));
}

std::string list_of(std::span<const std::string> names) {
  constexpr size_t kShown = 20;
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names.size() > kShown && i == kShown / 2) {
      text += ", ...";
      i = names.size() - kShown / 2;
    }
    text += (text.empty() ? "'" : ", '") + names[i] + "'";
  }
  return fmt::format("{} ({})", text.empty() ? "none" : text, names.size());
}

Result<std::vector<std::string>> order_classes(std::vector<std::string> found,
                                               const std::optional<Labels>& labels) {
  if (!labels) return found;
  std::vector<std::string> a = found, b = labels->names;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  if (a == b) return labels->names;
  return bad_input("labels.txt and the data name different classes")
      .because(fmt::format("labels.txt: {}\n  data: {}", list_of(labels->names), list_of(found)))
      .hint("correct labels.txt or remove it");
}

}  // namespace tandem::data
