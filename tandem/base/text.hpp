// SPDX-License-Identifier: Apache-2.0
// Small text tools: splitting, trimming, glob patterns, display width of UTF-8, and "did you mean".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

// Every piece between separators, empty ones too; "" gives one empty piece. The pieces view into `text`.
std::vector<std::string_view> split(std::string_view text, char separator);
// Without ASCII white space at both ends.
std::string_view trim(std::string_view text);
std::string join(const std::vector<std::string>& pieces, std::string_view separator);
// ASCII only; other bytes stay as they are.
std::string to_lower(std::string_view text);

// Shell pattern over the whole text: '*' any run, '?' one byte, '[a-z]' and '[!a-z]' one byte of a set, '\'
// quotes the next byte. A '[' that is never closed stands for itself. Time is O(pattern * text).
bool glob_match(std::string_view pattern, std::string_view text);

// Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours, in bytes.
size_t edit_distance(std::string_view a, std::string_view b);
// The candidate nearest to `name` (case ignored), if it is near enough to be a typing mistake; the first on
// ties.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates);
// A hint for an error: "did you mean 'x'?", else "known: a, b, c" (at most 12 names, then how many more).
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

// One code point taken from the front of `text`; a byte that starts no valid UTF-8 is taken alone and gives
// nullopt. Precondition: text is not empty.
std::optional<uint32_t> take_code_point(std::string_view& text);
// Columns on a terminal: combining marks 0, East Asian wide and emoji 2, else 1; an invalid byte counts 1.
size_t display_width(std::string_view text);
// Safe to print: control characters and invalid UTF-8 become \xNN.
std::string printable(std::string_view text);

}  // namespace tandem
