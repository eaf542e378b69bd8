// SPDX-License-Identifier: Apache-2.0
// Sizes are guidance: over it is worth a thought (a warning), at double it is refused.
#include <algorithm>
#include <cctype>

#include "tandem/base/text.hpp"
#include "tests/tidy/tidy.hpp"

namespace tandem::tidy {
namespace {

constexpr size_t kLineColumns = 110;
constexpr size_t kFunctionLines = 70;
constexpr size_t kHeaderLines = 300;
constexpr size_t kSourceLines = 600;
constexpr size_t kTestLines = 800;

class SizeChecker {
 public:
  SizeChecker(const SourceFile& file, std::vector<Finding>& findings) : file_(file), findings_(findings) {}

  void check() {
    const std::vector<std::string_view> lines = split(file_.text, '\n');
    const size_t limit = is_header(file_.path)                                          ? kHeaderLines
                         : is_test_role(file_.path) && !file_.path.starts_with("apps/") ? kTestLines
                                                                                        : kSourceLines;
    judge(0, "file", lines.size() - 1, limit, "lines");
    judge_lines(lines);
    check_functions();
  }

 private:
  // One warning per file, an error per line that is far too long.
  void judge_lines(const std::vector<std::string_view>& lines) {
    size_t first = 0;
    size_t count = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
      const size_t width = display_width(lines[i]);
      if (width >= 2 * kLineColumns) {
        judge(i + 1, "line", width, kLineColumns, "columns");
      } else if (width > kLineColumns) {
        if (count++ == 0) first = i + 1;
      }
    }
    if (count == 0) return;
    findings_.push_back(
        {file_.path, first, "size",
         fmt::format("{} lines have more than {} columns, this one is the first", count, kLineColumns),
         true});
  }

  void judge(size_t line, const char* what, size_t size, size_t limit, const char* unit) {
    if (size <= limit) return;
    findings_.push_back(
        {file_.path, line, "size",
         fmt::format("{} of {} {}, {} is the guidance and {} the end", what, size, unit, limit, 2 * limit),
         size < 2 * limit});
  }

  // A body is a brace whose statement has a parenthesis, inside nothing but namespaces and types.
  void check_functions() {
    struct Brace {
      bool container = false;
      bool function = false;
      size_t offset = 0;
    };
    const std::string code = without_comments(file_.text, true);
    std::vector<Brace> open;
    size_t statement = 0;
    for (size_t i = 0; i < code.size(); ++i) {
      if (code[i] == '{') {
        const std::string_view head = std::string_view(code).substr(statement, i - statement);
        const bool inside_container =
            std::all_of(open.begin(), open.end(), [](const Brace& b) { return b.container; });
        const bool container = is_container(head);
        open.push_back({container, inside_container && !container && is_function(head), i});
        statement = i + 1;
      } else if (code[i] == '}') {
        if (open.empty()) return;  // Braces behind #if: no use in guessing.
        const Brace brace = open.back();
        open.pop_back();
        if (brace.function) {
          const size_t first = line_at(code, brace.offset);
          judge(first, "function", line_at(code, i) - first + 1, kFunctionLines, "lines");
        }
        statement = i + 1;
      } else if (code[i] == ';') {
        statement = i + 1;
      }
    }
  }

  static bool has_word(std::string_view head, std::string_view word) {
    for (size_t at = head.find(word); at != std::string_view::npos; at = head.find(word, at + 1)) {
      const bool starts = at == 0 || !is_name(head[at - 1]);
      const size_t end = at + word.size();
      if (starts && (end == head.size() || !is_name(head[end]))) return true;
    }
    return false;
  }
  static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  static bool is_container(std::string_view head) {
    if (has_word(head, "namespace") || has_word(head, "extern")) return true;
    const bool type = has_word(head, "struct") || has_word(head, "class") || has_word(head, "union") ||
                      has_word(head, "enum");
    return type && head.find('(') == std::string_view::npos && head.find('=') == std::string_view::npos;
  }
  static bool is_function(std::string_view head) {
    const std::string_view text = trim(head);
    return text.find('(') != std::string_view::npos && !text.ends_with("=");
  }

  const SourceFile& file_;
  std::vector<Finding>& findings_;
};

}  // namespace

std::vector<Finding> check_sizes(const std::vector<SourceFile>& files) {
  std::vector<Finding> findings;
  for (const SourceFile& file : files) {
    if (is_cpp(file.path)) SizeChecker(file, findings).check();
  }
  return findings;
}

}  // namespace tandem::tidy
