// SPDX-License-Identifier: Apache-2.0
// Results on stdout, everything else on stderr.
#include "apps/cli/session.hpp"

#include <unistd.h>

#include <cstdio>

#include "tandem/base/file.hpp"
#include "tandem/base/text.hpp"

namespace tandem::cli {
namespace {

constexpr size_t kNotesShown = 5;

void write_to(FILE* file, std::string_view text) { std::fwrite(text.data(), 1, text.size(), file); }

// Lines of foreign text (paths, names of nodes) must not steer the terminal; our own line ends stay.
std::string safe_lines(std::string_view text) {
  std::string safe;
  for (const std::string_view line : split(text, '\n')) {
    if (!safe.empty()) safe += '\n';
    safe += printable(line);
  }
  return safe;
}

}  // namespace

jobs::JobHooks Session::hooks() const {
  jobs::JobHooks hooks;
  hooks.cancel = cancel;
  const ProgressMode mode = quiet ? ProgressMode::kQuiet : ProgressMode::kAuto;
  hooks.progress = [mode](std::string_view label, uint64_t total, std::string_view unit) {
    ProgressOptions options;
    options.label = label;
    options.total = total;
    options.unit = unit;
    options.mode = mode;
    return Progress(std::move(options));
  };
  hooks.note = [this](const std::string& sentence) { note(sentence); };
  return hooks;
}

void Session::print(std::string_view text) const {
  if (json != "-") write_to(stdout, text);
}

void Session::note(std::string_view text) const {
  if (quiet) return;
  // A progress bar may stand in the line.
  const std::string_view start = isatty(STDERR_FILENO) == 1 ? "\r\x1b[K" : "";
  write_to(stderr, fmt::format("{}note: {}\n", start, safe_lines(text)));
}

void Session::notes(const std::vector<std::string>& texts) const {
  for (size_t i = 0; i < texts.size() && i < kNotesShown; ++i) note(texts[i]);
  if (texts.size() > kNotesShown) note(fmt::format("and {} more", texts.size() - kNotesShown));
}

Status Session::write_json(const Json& json_value) const {
  if (json.empty()) return {};
  const std::string text = json_value.dump(2) + "\n";
  if (json != "-") return write_file(json, text);
  write_to(stdout, text);
  return {};
}

Status Session::accept_fallbacks(const std::vector<std::string>& fallbacks) const {
  if (fallbacks.empty()) return {};
  if (!strict) {
    notes(fallbacks);
    return {};
  }
  std::vector<std::string> shown(
      fallbacks.begin(),
      fallbacks.begin() + static_cast<std::ptrdiff_t>(std::min(fallbacks.size(), 2 * kNotesShown)));
  if (shown.size() < fallbacks.size())
    shown.push_back(fmt::format("and {} more", fallbacks.size() - shown.size()));
  return Error(ErrorCode::kGateFailed, "not everything runs as asked")
      .because(join(shown, "\n  "))
      .hint("leave out --strict to accept it");
}

void print_error(const Error& error) { write_to(stderr, "error: " + safe_lines(error.message()) + "\n"); }

}  // namespace tandem::cli
