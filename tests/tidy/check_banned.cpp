// SPDX-License-Identifier: Apache-2.0
// Names that are not used here, each with what to use instead.
#include <algorithm>
#include <array>
#include <iterator>

#include "tandem/base/text.hpp"
#include "tests/tidy/tidy.hpp"

namespace tandem::tidy {
namespace {

enum class Scope {
  kEverywhere,
  kLibrary,      // tandem/ without tests, benchmarks, fuzzers and testing/.
  kWithoutTests  // Everything but those, tests/ and examples/.
};

struct Ban {
  std::string_view pattern;  // Words and signs; a space stands for any white space, also none between signs.
  std::string_view instead;
  Scope scope = Scope::kEverywhere;
  std::string_view allowed_in = "";  // A glob of paths that may.
};

constexpr Ban kBans[] = {
    {"using namespace", "qualified names"},
    {"std::shared_ptr<Buffer>", "shared_ptr<const Buffer>: shared weights do not change"},
    {"malloc(", "std::vector or Buffer"},
    {"calloc(", "std::vector or Buffer"},
    {"realloc(", "std::vector or Buffer"},
    {"std::mt19937", "tandem::Rng (base/rng.hpp)"},
    {"std::mt19937_64", "tandem::Rng (base/rng.hpp)"},
    {"std::random_device", "tandem::Rng with a seed that the user can give"},
    {"std::default_random_engine", "tandem::Rng (base/rng.hpp)"},
    {"std::minstd_rand", "tandem::Rng (base/rng.hpp)"},
    {"std::shuffle", "Rng::shuffle (base/rng.hpp)"},
    {"std::sample", "tandem::Rng (base/rng.hpp)"},
    {"rand(", "tandem::Rng (base/rng.hpp)"},
    {"srand(", "tandem::Rng (base/rng.hpp)"},
    {"getenv(", "an options struct: no environment variable steers behaviour", Scope::kWithoutTests},
    {"secure_getenv(", "an options struct: no environment variable steers behaviour", Scope::kWithoutTests},
    {"setenv(", "an options struct: no environment variable steers behaviour", Scope::kWithoutTests},
    {"putenv(", "an options struct: no environment variable steers behaviour", Scope::kWithoutTests},
    {"system(", "posix_spawn with an argument list", Scope::kWithoutTests},
    {"popen(", "posix_spawn with an argument list", Scope::kWithoutTests},
    {"sprintf(", "fmt::format"},
    {"vsprintf(", "fmt::format"},
    {"strcpy(", "std::string"},
    {"strcat(", "std::string"},
    {"strtok(", "split (base/text.hpp)"},
    {"gets(", "read_file (base/file.hpp)"},
    {"atoi(", "std::from_chars, or base/units.hpp: errors must be seen"},
    {"atof(", "std::from_chars, or base/units.hpp: errors must be seen"},
    {"atol(", "std::from_chars, or base/units.hpp: errors must be seen"},
    {"std::stoi(", "std::from_chars, or base/units.hpp: it throws"},
    {"std::stol(", "std::from_chars, or base/units.hpp: it throws"},
    {"std::stoll(", "std::from_chars, or base/units.hpp: it throws"},
    {"std::stoul(", "std::from_chars, or base/units.hpp: it throws"},
    {"std::stoull(", "std::from_chars, or base/units.hpp: it throws"},
    {"std::stof(", "std::from_chars, or base/units.hpp: it throws"},
    {"std::stod(", "std::from_chars, or base/units.hpp: it throws"},
    {"std::regex", "glob_match or split (base/text.hpp)"},
    {"std::format(", "fmt::format: g++ 12 has none"},
    {"std::expected", "Result (base/result.hpp): g++ 12 has none"},
    {"std::source_location", "__builtin_FILE() and __builtin_LINE(): clang 14 refuses it"},
    {"std::views::", "a plain loop: clang 14 refuses it"},
    {"std::async(", "Workers (base/workers.hpp)"},
    {".detach()", "std::jthread that somebody joins"},
    {"std::thread ", "std::jthread or Workers (base/workers.hpp)"},
    {"std::cout", "return data; the program prints", Scope::kLibrary},
    {"std::cerr", "log::warn (base/log.hpp)", Scope::kLibrary},
    {"std::clog", "log::info (base/log.hpp)", Scope::kLibrary},
    {"std::printf(", "return data; the program prints", Scope::kLibrary},
    {"printf(", "return data; the program prints", Scope::kLibrary},
    {"puts(", "return data; the program prints", Scope::kLibrary},
    {"fmt::print(", "return data; the program prints", Scope::kLibrary},
    {"throw ", "an Error: exceptions are no part of our API", Scope::kLibrary},
    {"throw;", "an Error: exceptions are no part of our API", Scope::kLibrary},
    {"abort(", "TANDEM_CHECK (base/check.hpp)", Scope::kLibrary, "tandem/base/*"},
    {"exit(", "an Error that travels to main", Scope::kLibrary},
    {"assert(", "TANDEM_CHECK (base/check.hpp)"},
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool in_scope(Scope scope, std::string_view path) {
  switch (scope) {
    case Scope::kEverywhere: return true;
    case Scope::kLibrary: return path.starts_with("tandem/") && !is_test_role(path);
    case Scope::kWithoutTests: return path.starts_with("apps/") || !is_test_role(path);
  }
  return true;
}

// Code with every run of white space made one space, and where each character came from.
struct Squeezed {
  std::string text;
  std::vector<size_t> offsets;
};

Squeezed squeeze(std::string_view code) {
  Squeezed squeezed;
  for (size_t i = 0; i < code.size(); ++i) {
    const bool space = code[i] == ' ' || code[i] == '\n' || code[i] == '\t';
    if (space && !squeezed.text.empty() && squeezed.text.back() == ' ') continue;
    if (space && squeezed.text.ends_with("::")) continue;  // "std:: rand" is "std::rand".
    // "rand (" is "rand(".
    if (code[i] == '(' && squeezed.text.size() > 1 && squeezed.text.back() == ' ' &&
        is_word(squeezed.text[squeezed.text.size() - 2])) {
      squeezed.text.pop_back();
      squeezed.offsets.pop_back();
    }
    squeezed.text += space ? ' ' : code[i];
    squeezed.offsets.push_back(i);
  }
  return squeezed;
}

// Finds `pattern` where it is not part of a longer word, and not a member or another namespace's name.
std::vector<size_t> find_all(std::string_view text, std::string_view pattern) {
  std::vector<size_t> places;
  for (size_t at = text.find(pattern); at != std::string_view::npos; at = text.find(pattern, at + 1)) {
    const char before = at > 0 ? text[at - 1] : ' ';
    const char last = pattern.back();
    const size_t end = at + pattern.size();
    if (is_word(pattern[0]) && (is_word(before) || before == '.' || before == '>')) continue;
    if (is_word(last) && end < text.size() && is_word(text[end])) continue;
    if (is_word(pattern[0]) && before == ':' && !pattern.starts_with("std::")) {
      // "::rand(" and "std::rand(" are the banned one, "other::rand(" is not.
      const std::string_view left = text.substr(0, at);
      const bool global = left.size() < 3 || !is_word(left[left.size() - 3]);
      if (!global && !left.ends_with("std::")) continue;
    }
    places.push_back(at);
  }
  return places;
}

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](auto ending) { return text.ends_with(ending); });
}

class BanChecker {
 public:
  BanChecker(const SourceFile& file, std::vector<Finding>& findings)
      : file_(file),
        code_(without_comments(file.text, true)),
        squeezed_(squeeze(code_)),
        findings_(findings) {}

  void check() {
    for (const Ban& ban : kBans) {
      if (!in_scope(ban.scope, file_.path) || glob_match(ban.allowed_in, file_.path)) continue;
      for (const size_t at : find_all(squeezed_.text, ban.pattern)) {
        // "void assert(" and "std::thread " inside "std::jthread" are other things; so is a declaration of a
        // member.
        report(at, fmt::format("'{}' is not used here: use {}", trim(ban.pattern), ban.instead));
      }
    }
    check_distributions();
    check_new_and_delete();
    check_virtual();
  }

 private:
  void report(size_t at, std::string message) {
    findings_.push_back({file_.path, line_at(code_, squeezed_.offsets[at]), "banned", std::move(message)});
  }

  void check_distributions() {
    const std::string_view text = squeezed_.text;
    for (size_t at = text.find("std::"); at != std::string_view::npos; at = text.find("std::", at + 1)) {
      size_t end = at + 5;
      while (end < text.size() && is_word(text[end])) ++end;
      const std::string_view name = text.substr(at, end - at);
      if (!name.ends_with("_distribution")) continue;
      report(at, fmt::format("'{}' is not used here: use tandem::Rng, whose numbers are the same everywhere",
                             name));
    }
  }

  void check_new_and_delete() {
    const std::string_view text = squeezed_.text;
    for (const size_t at : find_all(text, "new")) {
      if (ends_with_any(text.substr(0, at), {"operator ", "operator"}) ||
          text.substr(0, at).ends_with("#include <")) {
        continue;
      }
      report(at, "'new' is not used here: use a value, std::vector or std::make_unique");
    }
    for (const size_t at : find_all(text, "delete")) {
      if (ends_with_any(text.substr(0, at), {"= ", "=", "operator ", "operator"})) continue;
      report(at, "'delete' is not used here: let an owner do it");
    }
  }

  void check_virtual() {
    static constexpr std::array<std::string_view, 3> kInterfaces = {"/device.hpp", "/policy.hpp",
                                                                    "/clock.hpp"};
    if (!in_scope(Scope::kLibrary, file_.path)) return;
    if (std::any_of(kInterfaces.begin(), kInterfaces.end(),
                    [&](auto name) { return file_.path.ends_with(name); }))
      return;
    for (const size_t at : find_all(squeezed_.text, "virtual")) {
      report(at,
             "'virtual': the interfaces are Device, Policy and Clock; use a variant or a function argument");
    }
  }

  const SourceFile& file_;
  std::string code_;
  Squeezed squeezed_;
  std::vector<Finding>& findings_;
};

}  // namespace

std::vector<Finding> check_banned(const std::vector<SourceFile>& files) {
  std::vector<Finding> findings;
  for (const SourceFile& file : files) {
    if (is_cpp(file.path)) BanChecker(file, findings).check();
  }
  return findings;
}

}  // namespace tandem::tidy
