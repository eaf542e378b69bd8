// SPDX-License-Identifier: Apache-2.0
// Arguments to targets. CLI11 splits the command line; conversions and messages are ours, so that every
// mistake is explained the same way.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <deque>

#include "apps/cli/verb.hpp"
#include "tandem/base/overload.hpp"
#include "tandem/base/text.hpp"

namespace tandem::cli {
namespace {

template <typename Number>
std::optional<Number> number_from(std::string_view text) {
  Number number{};
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || rest != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

template <typename Number>
Result<Number> one_number(const Flag& flag, const std::string& text) {
  if (const std::optional<Number> number = number_from<Number>(text)) return *number;
  const char* kind = std::is_floating_point_v<Number> ? "a number"
                     : std::is_unsigned_v<Number>     ? "a whole number from 0 on"
                                                      : "a whole number";
  return usage_error(fmt::format("{} wants {}, not '{}'", flag.long_name(), kind, text));
}

template <typename Number>
Result<std::vector<Number>> numbers(const Flag& flag, const std::string& text) {
  std::vector<Number> list;
  for (const std::string_view piece : split(text, ',')) {
    list.push_back(TANDEM_TRY(one_number<Number>(flag, std::string(trim(piece)))));
  }
  return list;
}

// Precondition: one text at least.
Status assign(const Flag& flag, const std::vector<std::string>& texts) {
  const std::string& text = texts.back();
  for (const std::string& given : texts) {
    if (flag.choices.empty()) break;
    if (std::find(flag.choices.begin(), flag.choices.end(), given) != flag.choices.end()) continue;
    return usage_error(fmt::format("{} does not know '{}'", flag.long_name(), given))
        .hint(did_you_mean(given, flag.choices));
  }
  const auto single = [&](auto* target) -> Status {
    using Number = std::remove_pointer_t<decltype(target)>;
    *target = TANDEM_TRY(one_number<Number>(flag, text));
    return {};
  };
  return std::visit(Overload{
                        [](bool*) -> Status { return {}; },
                        [&](std::string* target) -> Status { return *target = text, Status(); },
                        [&](int64_t* target) { return single(target); },
                        [&](uint64_t* target) { return single(target); },
                        [&](int* target) { return single(target); },
                        [&](double* target) { return single(target); },
                        [&](std::optional<int64_t>* target) -> Status {
                          *target = TANDEM_TRY(one_number<int64_t>(flag, text));
                          return {};
                        },
                        [&](std::optional<double>* target) -> Status {
                          *target = TANDEM_TRY(one_number<double>(flag, text));
                          return {};
                        },
                        [&](std::vector<std::string>* target) -> Status { return *target = texts, Status(); },
                        [&](std::vector<int64_t>* target) -> Status {
                          *target = TANDEM_TRY(numbers<int64_t>(flag, text));
                          return {};
                        },
                        [&](std::optional<std::vector<double>>* target) -> Status {
                          *target = TANDEM_TRY(numbers<double>(flag, text));
                          return {};
                        },
                    },
                    flag.target);
}

bool repeats(const Flag& flag) { return std::holds_alternative<std::vector<std::string>*>(flag.target); }

// A flag and what was found on the command line.
struct Slot {
  const Flag* flag;
  std::vector<std::string> texts;
  bool on = false;
  CLI::Option* option = nullptr;
};

void add_to(CLI::App& app, Slot& slot) {
  const Flag& flag = *slot.flag;
  if (flag.is_switch()) {
    slot.on = *std::get<bool*>(flag.target);
    slot.option = app.add_flag(flag.names, slot.on);
    return;
  }
  slot.option = app.add_option(flag.names, slot.texts);
  if (flag.positional()) {
    if (!repeats(flag)) slot.option->expected(1)->allow_extra_args(false);
    return;
  }
  slot.option->type_size(1)->expected(1)->allow_extra_args(false);
  slot.option->multi_option_policy(repeats(flag) ? CLI::MultiOptionPolicy::TakeAll
                                                 : CLI::MultiOptionPolicy::Throw);
}

// All spellings, for "did you mean".
std::vector<std::string> spellings(const std::vector<Flag>& flags) {
  std::vector<std::string> names = {"--help"};
  for (const Flag& flag : flags) {
    if (flag.positional()) continue;
    for (std::string_view name : split(flag.names, ',')) {
      if (name.front() == '!') name.remove_prefix(1);
      if (name.starts_with("--")) names.emplace_back(name);
    }
  }
  return names;
}

Error unknown_argument(const Verb& verb, const std::vector<Flag>& flags,
                       const std::vector<std::string>& extras) {
  for (const std::string& extra : extras) {
    if (extra.size() < 2 || extra.front() != '-') continue;
    const std::string name = extra.substr(0, extra.find('='));
    return usage_error(fmt::format("tandem {} has no flag '{}'", verb.name, name))
        .hint(did_you_mean(name, spellings(flags)));
  }
  return usage_error(fmt::format("tandem {} does not expect '{}'", verb.name, extras.front()))
      .hint(fmt::format("see tandem {} --help", verb.name));
}

}  // namespace

std::string Flag::long_name() const {
  std::string best;
  for (const std::string_view name : split(names, ',')) {
    if (name.front() != '!' && (best.empty() || name.starts_with("--"))) best = name;
  }
  return best;
}

std::vector<Flag> common_flags(Session& session) {
  std::vector<Flag> flags;
  flags.push_back({"--json",
                   &session.json,
                   "Write the result as JSON to FILE; - is stdout, in place of the tables",
                   "FILE",
                   {},
                   Takes::kFile});
  flags.push_back(
      {"--strict", &session.strict, "Fail with exit code 1 where something is skipped or falls back"});
  flags.push_back({"-q,--quiet", &session.quiet, "No notes and no progress on stderr; errors stay"});
  return flags;
}

Status parse_arguments(const Verb& verb, Session& session, const std::vector<std::string>& arguments,
                       bool& help) {
  std::vector<Flag> flags = verb.flags;
  for (Flag& flag : common_flags(session)) flags.push_back(std::move(flag));
  // Help is found first: it must work however wrong the rest is.
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument == "--help" || argument == "-h") return help = true, Status();
  }
  std::deque<Slot> slots;
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  try {
    for (const Flag& flag : flags) {
      slots.push_back({&flag, {}});
      add_to(app, slots.back());
    }
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::ArgumentMismatch& mismatch) {
    // "--top: 1 required TEXT missing"
    const std::string what = mismatch.what();
    const bool missing = what.ends_with("missing");
    return usage_error(missing ? what.substr(0, what.find(':')) + " wants a value" : what)
        .hint(fmt::format("see tandem {} --help", verb.name));
  } catch (const CLI::Error& error) {
    return usage_error(error.what()).hint(fmt::format("see tandem {} --help", verb.name));
  }
  if (const std::vector<std::string> extras = app.remaining(); !extras.empty()) {
    return unknown_argument(verb, flags, extras);
  }
  for (const Slot& slot : slots) {
    const bool given = slot.option->count() > 0;
    if (!given && slot.flag->required) {
      return usage_error(fmt::format("{} is missing", slot.flag->long_name()))
          .because(slot.flag->help)
          .hint(fmt::format("see tandem {} --help", verb.name));
    }
    if (!given) continue;
    if (slot.flag->is_switch())
      *std::get<bool*>(slot.flag->target) = slot.on;
    else if (!slot.texts.empty())
      TANDEM_TRY(assign(*slot.flag, slot.texts));
  }
  return {};
}

}  // namespace tandem::cli
