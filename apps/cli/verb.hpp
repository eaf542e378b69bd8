// SPDX-License-Identifier: Apache-2.0
// Verb: a subcommand as data: its flags with where their values go, its help, and what it does. Parsing,
// help, the reference page and shell completion all read the same table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apps/cli/session.hpp"
#include "tandem/base/result.hpp"

namespace tandem::cli {

// Where a value goes. Lists of numbers are written with commas; a list of texts is a flag given several
// times, or the rest of the positionals.
using Target = std::variant<bool*, std::string*, int64_t*, uint64_t*, int*, double*, std::optional<int64_t>*,
                            std::optional<double>*, std::vector<std::string>*, std::vector<int64_t>*,
                            std::optional<std::vector<double>>*>;

// What a shell should offer for the value.
enum class Takes : uint8_t { kText, kFile, kFolder, kPath };

struct Flag {
  std::string names;  // "-o,--output", "--fp32,!--no-fp32" for a pair, or "MODEL" for a positional
  Target target;
  std::string help;
  std::string placeholder = {};  // "FILE"; of positionals their name
  std::vector<std::string> choices = {};
  Takes takes = Takes::kText;
  bool required = false;

  bool positional() const { return names.front() != '-'; }
  bool is_switch() const { return std::holds_alternative<bool*>(target); }
  std::string long_name() const;  // "--output"; "MODEL"
};

struct Example {
  std::string command;  // after "tandem "
  std::string what;
};

struct Verb {
  std::string name;
  std::string summary;  // one line
  std::string description = {};
  std::vector<Flag> flags;
  std::vector<Example> examples = {};
  std::function<Status(Session&)> run;
};

// Every verb has these besides its own.
std::vector<Flag> common_flags(Session& session);

// Sets the targets. Errors are kUsage and name the flag. `help` is set when help was asked for, and nothing
// else then.
Status parse_arguments(const Verb& verb, Session& session, const std::vector<std::string>& arguments,
                       bool& help);

std::string help_text(const Verb& verb);
std::string overview(const std::vector<Verb>& verbs);
std::string reference_page(const std::vector<Verb>& verbs);  // Markdown
// shell: bash, zsh or fish.
std::string completion_script(const std::vector<Verb>& verbs, std::string_view shell);

// One per subcommand, in cmd_<verb>.cpp. The verb owns where its flags' values go.
Verb adapt_verb();
Verb bench_verb();
Verb doctor_verb();
Verb eval_verb();
Verb inspect_verb();
Verb quantize_verb();
Verb report_verb();
Verb run_verb();
Verb simulate_verb();
Verb sweep_verb();
Verb verify_verb();

// The table of all, with help and completion.
std::vector<Verb> all_verbs();

}  // namespace tandem::cli
