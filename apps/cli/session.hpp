// SPDX-License-Identifier: Apache-2.0
// Session: what one call of the program shares: where output goes, how loud it is, and whether it should
// stop.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/cancel.hpp"
#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/jobs/hooks.hpp"

namespace tandem::cli {

struct Session {
  bool quiet = false;
  bool strict = false;
  std::string json;     // file; "-": stdout; empty: none
  std::string command;  // as it was typed, for reports
  const CancelToken* cancel = nullptr;

  jobs::JobHooks hooks() const;
  // To stdout; nothing when JSON goes there.
  void print(std::string_view text) const;
  // A line on stderr that begins with "note: "; nothing when quiet.
  void note(std::string_view text) const;
  // At most a few notes, then how many more.
  void notes(const std::vector<std::string>& texts) const;
  // Where --json asks for it.
  Status write_json(const Json& json_value) const;
  // With --strict an error kGateFailed that lists what did not run as asked; else the same as notes.
  Status accept_fallbacks(const std::vector<std::string>& fallbacks) const;
};

// what / because / hint on stderr.
void print_error(const Error& error);

}  // namespace tandem::cli
