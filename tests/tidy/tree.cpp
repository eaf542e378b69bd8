// SPDX-License-Identifier: Apache-2.0
// Reading the tree, and seeing C++ without its comments and strings.
#include <algorithm>
#include <array>
#include <filesystem>

#include "tandem/base/file.hpp"
#include "tests/tidy/tidy.hpp"

namespace tandem::tidy {
namespace {

constexpr uint64_t kBlobBytes = uint64_t{1} << 20;

bool is_skipped_folder(const std::string& name) {
  static constexpr std::array<std::string_view, 7> kSkipped = {"build", "run",    "runs",       ".git",
                                                               ".venv", "corpus", "__pycache__"};
  return std::find(kSkipped.begin(), kSkipped.end(), name) != kSkipped.end();
}

bool is_text(const std::filesystem::path& path) {
  static constexpr std::array<std::string_view, 14> kEndings = {".hpp", ".cpp", ".py",   ".cmake", ".txt",
                                                                ".md",  ".sh",  ".json", ".yml",   ".toml",
                                                                ".in",  ".js",  ".css",  ".supp"};
  const std::string ending = path.extension().string();
  const bool known = std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
  // Programs without an ending, such as tools/setup and Makefile.
  return known || (ending.empty() && path.filename() != "LICENSE");
}

// Where the quoted text that starts at `begin` (its opening quote) ends: one past the closing quote.
size_t end_of_quoted(std::string_view text, size_t begin) {
  const char quote = text[begin];
  size_t i = begin + 1;
  while (i < text.size() && text[i] != quote && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;
  return std::min(text.size(), i + 1);
}

size_t end_of_raw_string(std::string_view text, size_t quote) {
  const size_t open = text.find('(', quote);
  if (open == std::string_view::npos) return text.size();
  const std::string close = ")" + std::string(text.substr(quote + 1, open - quote - 1)) + "\"";
  const size_t end = text.find(close, open);
  return end == std::string_view::npos ? text.size() : end + close.size();
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void blank(std::string& out, size_t begin, size_t end) {
  for (size_t i = begin; i < end && i < out.size(); ++i) {
    if (out[i] != '\n') out[i] = ' ';
  }
}

}  // namespace

std::string to_string(const Finding& finding) {
  return fmt::format("{}:{}: {}{}: {}", finding.path, finding.line, finding.warning ? "warning: " : "",
                     finding.rule, finding.message);
}

Result<std::vector<SourceFile>> read_tree(const std::string& root) {
  std::vector<SourceFile> files;
  std::error_code code;
  auto entry = std::filesystem::recursive_directory_iterator(root, code);
  for (; !code && entry != std::filesystem::recursive_directory_iterator(); entry.increment(code)) {
    const auto& path = entry->path();
    if (entry->is_directory()) {
      if (is_skipped_folder(path.filename().string())) entry.disable_recursion_pending();
      continue;
    }
    if (!entry->is_regular_file() || !is_text(path)) continue;
    const std::string relative = path.lexically_relative(root).generic_string();
    if (entry->file_size() > kBlobBytes) {
      files.push_back({relative, ""});
      continue;
    }
    files.push_back({relative, TANDEM_TRY(read_file(path.string()))});
  }
  if (code) return io_error(fmt::format("cannot list '{}'", root)).because(code.message());
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::string without_comments(std::string_view text, bool blank_strings) {
  std::string out(text);
  size_t i = 0;
  while (i < text.size()) {
    const std::string_view rest = text.substr(i);
    size_t end = i + 1;
    if (rest.starts_with("//")) {
      end = std::min(text.find('\n', i), text.size());
      blank(out, i, end);
    } else if (rest.starts_with("/*")) {
      const size_t close = text.find("*/", i + 2);
      end = close == std::string_view::npos ? text.size() : close + 2;
      blank(out, i, end);
    } else if (text[i] == '"') {
      const bool raw = i > 0 && text[i - 1] == 'R' && (i < 2 || !is_word(text[i - 2]));
      end = raw ? end_of_raw_string(text, i) : end_of_quoted(text, i);
      if (blank_strings && end > i + 2) blank(out, i + 1, end - 1);
    } else if (text[i] == '\'' && (i == 0 || !is_word(text[i - 1]))) {
      // After a digit or letter it separates digits: 1'000.
      end = end_of_quoted(text, i);
      if (blank_strings && end > i + 2) blank(out, i + 1, end - 1);
    }
    i = end;
  }
  return out;
}

bool is_header(std::string_view path) { return path.ends_with(".hpp"); }
bool is_cpp(std::string_view path) { return path.ends_with(".hpp") || path.ends_with(".cpp"); }

bool is_test_role(std::string_view path) {
  return !path.starts_with("tandem/") || path.starts_with("tandem/testing/") || path.ends_with("_test.cpp") ||
         path.ends_with("_bench.cpp") || path.ends_with("_fuzz.cpp");
}

std::string room_of(std::string_view path) {
  if (!path.starts_with("tandem/")) return "";
  path.remove_prefix(7);
  const size_t slash = path.find('/');
  return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash));
}

size_t line_at(std::string_view text, size_t offset) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  return 1 + static_cast<size_t>(std::count(text.begin(), end, '\n'));
}

std::vector<Finding> check_all(const std::vector<SourceFile>& files) {
  std::vector<Finding> all;
  for (const auto check : {check_rooms, check_includes, check_banned, check_form, check_sizes}) {
    for (Finding& finding : check(files)) all.push_back(std::move(finding));
  }
  return all;
}

}  // namespace tandem::tidy
