// SPDX-License-Identifier: Apache-2.0
// The outside of files: first lines, guards, macros, names, white space, and paths of somebody's machine.
#include <algorithm>
#include <array>
#include <cctype>

#include "tandem/base/text.hpp"
#include "tests/tidy/tidy.hpp"

namespace tandem::tidy {
namespace {

constexpr size_t kMacrosMax = 6;

bool needs_licence_line(const SourceFile& file) {
  return is_cpp(file.path) || file.path.ends_with(".py") || file.path.ends_with(".cmake") ||
         file.path.ends_with(".sh") || file.text.starts_with("#!");
}

void check_first_lines(const SourceFile& file, std::vector<Finding>& findings) {
  if (!needs_licence_line(file) || file.text.empty()) return;
  const std::vector<std::string_view> lines = split(file.text, '\n');
  const size_t first = file.text.starts_with("#!") ? 1 : 0;
  const std::string mark = is_cpp(file.path) ? "//" : "#";
  const std::string licence = mark + " SPDX-License-Identifier: Apache-2.0";
  if (lines.size() <= first || lines[first] != licence) {
    findings.push_back(
        {file.path, first + 1, "licence", fmt::format("the first line must be '{}'", licence)});
  } else if (is_cpp(file.path) && (lines.size() < 2 || !lines[1].starts_with("// "))) {
    findings.push_back({file.path, 2, "licence", "the second line says in a sentence what the file is",
                        !is_header(file.path)});
  }
}

void check_header(const SourceFile& file, std::set<std::string>& macros, std::vector<Finding>& findings) {
  if (!is_header(file.path)) return;
  const std::string code = without_comments(file.text, false);
  size_t number = 0;
  bool once = false;
  for (std::string_view line : split(code, '\n')) {
    ++number;
    line = trim(line);
    if (line == "#pragma once") once = true;
    if (!line.starts_with("#define ")) continue;
    std::string_view name = trim(line.substr(8));
    name = name.substr(0, name.find_first_of(" ("));
    if (!name.starts_with("TANDEM_")) {
      findings.push_back({file.path, number, "macro",
                          fmt::format("macro '{}' in a header: name it TANDEM_*, or better "
                                      "use a constant or a function",
                                      name)});
    }
    macros.insert(std::string(name));
  }
  if (!once) findings.push_back({file.path, 0, "guard", "a header needs '#pragma once'"});
}

void check_name(const SourceFile& file, std::vector<Finding>& findings) {
  if (!is_cpp(file.path)) return;
  const bool good = std::all_of(file.path.begin(), file.path.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '/' || c == '.';
  });
  if (!good) findings.push_back({file.path, 0, "name", "files are named in snake_case"});
}

// Put together from halves, so that this file does not contain what it looks for.
const std::vector<std::string>& machine_paths() {
  static const std::vector<std::string> paths = {std::string("/wo") + "rk/", std::string("/tmp") + "/h/",
                                                 std::string("/ho") + "me/", std::string("/ro") + "ot/",
                                                 std::string("/Us") + "ers/"};
  return paths;
}

void check_lines(const SourceFile& file, std::vector<Finding>& findings) {
  const bool code = is_cpp(file.path);
  size_t number = 0;
  for (const std::string_view line : split(file.text, '\n')) {
    ++number;
    const auto report = [&](const char* rule, std::string message) {
      findings.push_back({file.path, number, rule, std::move(message)});
    };
    if (line.ends_with("\r")) report("space", "lines end with a newline only, not with a carriage return");
    if (code && line.find('\t') != std::string_view::npos) report("space", "indent with spaces");
    if (code && line.ends_with(" ")) report("space", "no space at the end of a line");
    for (const std::string& path : machine_paths()) {
      const size_t at = line.find(path);
      // Part of a longer path, as in "net/work/", is something else.
      const bool part = at != std::string_view::npos && at > 0 &&
                        (std::isalnum(static_cast<unsigned char>(line[at - 1])) != 0 || line[at - 1] == '}' ||
                         line[at - 1] == ')' || line[at - 1] == '.' || line[at - 1] == '_');
      if (at != std::string_view::npos && !part) {
        report("path",
               fmt::format("'{}...' exists on one machine only: use a relative path or an option", path));
      }
    }
    const size_t todo = line.find(
        "TO"
        "DO");
    const std::string_view after = todo == std::string_view::npos ? "" : line.substr(todo + 4);
    const bool other_word = !after.empty() && std::isalpha(static_cast<unsigned char>(after[0])) != 0;
    if (code && todo != std::string_view::npos && !other_word && !after.starts_with("(#")) {
      report("todo",
             "write TO"
             "DO(#issue), so that somebody will find it");
    }
  }
  if (!file.text.empty() && file.text.back() != '\n') {
    findings.push_back({file.path, 0, "space", "the last line has no end"});
  }
}

}  // namespace

std::vector<Finding> check_form(const std::vector<SourceFile>& files) {
  std::vector<Finding> findings;
  std::set<std::string> macros;
  for (const SourceFile& file : files) {
    check_first_lines(file, findings);
    check_header(file, macros, findings);
    check_name(file, findings);
    check_lines(file, findings);
  }
  if (macros.size() > kMacrosMax) {
    std::string names;
    for (const std::string& name : macros) names += " " + name;
    findings.push_back(
        {"tandem", 0, "macro", fmt::format("{} macros, {} are enough:{}", macros.size(), kMacrosMax, names)});
  }
  return findings;
}

}  // namespace tandem::tidy
