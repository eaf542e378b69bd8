// SPDX-License-Identifier: Apache-2.0
// Help of a verb, the list of verbs, and the reference page, all from the table of verbs.
#include <algorithm>

#include "apps/cli/verb.hpp"
#include "tandem/base/overload.hpp"
#include "tandem/base/text.hpp"

namespace tandem::cli {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kFlagColumn = 28;

// Words of `text` in lines of at most kWidth, each after `indent` spaces; the first line starts at column
// `used`.
std::string wrapped(std::string_view text, size_t indent, size_t used) {
  std::string out;
  size_t column = used;
  for (const std::string_view line : split(text, '\n')) {
    if (!out.empty()) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    bool first = true;
    for (const std::string_view word : split(line, ' ')) {
      if (!first && column + 1 + word.size() > kWidth) {
        out += "\n" + std::string(indent, ' ');
        column = indent;
        first = true;
      }
      if (!first) {
        out += ' ';
        ++column;
      }
      out += word;
      column += word.size();
      first = false;
    }
  }
  return out;
}

std::string list_text(const std::vector<std::string>& items) { return join(items, ","); }

// The value before anything is parsed; empty when it says nothing.
std::string default_text(const Flag& flag) {
  return std::visit(Overload{
                        [](const bool*) { return std::string(); },
                        [](const std::string* v) { return *v; },
                        [](const int64_t* v) { return *v == 0 ? std::string() : fmt::format("{}", *v); },
                        [](const uint64_t* v) { return fmt::format("{}", *v); },
                        [](const int* v) { return *v == 0 ? std::string() : fmt::format("{}", *v); },
                        [](const double* v) { return fmt::format("{}", *v); },
                        [](const std::optional<int64_t>*) { return std::string(); },
                        [](const std::optional<double>*) { return std::string(); },
                        [](const std::vector<std::string>* v) { return list_text(*v); },
                        [](const std::vector<int64_t>* v) {
                          std::vector<std::string> items;
                          for (const int64_t item : *v) items.push_back(fmt::format("{}", item));
                          return list_text(items);
                        },
                        [](const std::optional<std::vector<double>>*) { return std::string(); },
                    },
                    flag.target);
}

// "-o, --output FILE", "--[no-]fp32".
std::string spelled(const Flag& flag) {
  const std::vector<std::string_view> names = split(flag.names, ',');
  std::string text;
  if (names.size() == 2 && names[1].front() == '!') {
    text = fmt::format("--[no-]{}", names[0].substr(2));
  } else {
    for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  if (flag.positional() || flag.is_switch()) return text;
  return text + " " + (flag.choices.empty() ? flag.placeholder : join(flag.choices, "|"));
}

std::string flag_line(const Flag& flag) {
  std::string head = "  " + spelled(flag);
  if (head.size() + 2 > kFlagColumn)
    head += "\n" + std::string(kFlagColumn, ' ');
  else
    head.resize(kFlagColumn, ' ');
  std::string text = flag.help;
  if (const std::string value = default_text(flag); !value.empty()) text += fmt::format(" [{}]", value);
  return head + wrapped(text, kFlagColumn, kFlagColumn) + "\n";
}

std::string usage_line(const Verb& verb) {
  std::string line = "tandem " + verb.name;
  for (const Flag& flag : verb.flags) {
    if (!flag.positional()) continue;
    const bool many = std::holds_alternative<std::vector<std::string>*>(flag.target);
    const std::string name = flag.names + (many ? "..." : "");
    line += flag.required ? " " + name : " [" + name + "]";
  }
  for (const Flag& flag : verb.flags) {
    if (flag.positional() || !flag.required) continue;
    line += fmt::format(" {} {}", flag.long_name(),
                        flag.choices.empty() ? flag.placeholder : join(flag.choices, "|"));
  }
  return line + " [flags]";
}

}  // namespace

std::string help_text(const Verb& verb) {
  std::string text = fmt::format("tandem {}: {}\n\nusage: {}\n", verb.name, verb.summary, usage_line(verb));
  if (!verb.description.empty()) text += "\n" + wrapped(verb.description, 0, 0) + "\n";
  std::string positionals, flags;
  for (const Flag& flag : verb.flags) (flag.positional() ? positionals : flags) += flag_line(flag);
  Session defaults;
  for (const Flag& flag : common_flags(defaults)) flags += flag_line(flag);
  flags += flag_line({"-h,--help", &defaults.quiet, "This text"});
  if (!positionals.empty()) text += "\n" + positionals;
  text += "\nflags:\n" + flags;
  if (!verb.examples.empty()) text += "\nexamples:\n";
  for (const Example& example : verb.examples) {
    text += fmt::format("  tandem {}\n      {}\n", example.command, example.what);
  }
  return text;
}

std::string overview(const std::vector<Verb>& verbs) {
  std::string text =
      "tandem: vision models on a pair of a host CPU and a fixed-point accelerator\n\n"
      "usage: tandem VERB [arguments]\n       tandem --version\n\nverbs:\n";
  size_t width = 0;
  for (const Verb& verb : verbs) width = std::max(width, verb.name.size());
  for (const Verb& verb : verbs) text += fmt::format("  {:{}}  {}\n", verb.name, width, verb.summary);
  text +=
      "\nTables go to stdout, notes and progress to stderr. tandem VERB --help tells more.\n"
      "exit codes: 0 ok, 1 a gate failed, 2 usage, 3 bad input, 4 unsupported, 5 device, 6 internal,\n"
      "            7 cannot read or write, 130 interrupted, 143 terminated\n";
  return text;
}

std::string reference_page(const std::vector<Verb>& verbs) {
  std::string page =
      "# Command line\n\nMade from `tandem help --markdown`; a test keeps it in step.\n\n```\n" +
      overview(verbs) + "```\n";
  for (const Verb& verb : verbs) {
    page += fmt::format("\n## tandem {}\n\n```\n{}```\n", verb.name, help_text(verb));
  }
  return page;
}

}  // namespace tandem::cli
