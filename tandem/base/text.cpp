// SPDX-License-Identifier: Apache-2.0
// Text tools without locale: the same input gives the same output on every machine.
#include "tandem/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace tandem {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct CodeRange {
  uint32_t first;
  uint32_t last;
};

// The usual blocks (Unicode 15, general category Mn and zero-width format characters); not every script in
// the world.
constexpr std::array<CodeRange, 10> kZeroWidth = {{{0x0300, 0x036F},
                                                   {0x0483, 0x0489},
                                                   {0x0591, 0x05BD},
                                                   {0x064B, 0x065F},
                                                   {0x1AB0, 0x1AFF},
                                                   {0x1DC0, 0x1DFF},
                                                   {0x200B, 0x200F},
                                                   {0x20D0, 0x20FF},
                                                   {0xFE00, 0xFE0F},
                                                   {0xFE20, 0xFE2F}}};
// East_Asian_Width W and F, and the emoji planes.
constexpr std::array<CodeRange, 12> kDoubleWidth = {{{0x1100, 0x115F},
                                                     {0x2E80, 0x303E},
                                                     {0x3041, 0x33FF},
                                                     {0x3400, 0x4DBF},
                                                     {0x4E00, 0x9FFF},
                                                     {0xA000, 0xA4CF},
                                                     {0xAC00, 0xD7A3},
                                                     {0xF900, 0xFAFF},
                                                     {0xFE30, 0xFE6F},
                                                     {0xFF00, 0xFF60},
                                                     {0x1F300, 0x1FAFF},
                                                     {0x20000, 0x3FFFD}}};

template <size_t N>
bool in_ranges(uint32_t code, const std::array<CodeRange, N>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [code](const CodeRange& range) { return code >= range.first && code <= range.last; });
}

// Matches one set "[...]" at the front of `pattern`; the length of the set, 0 when it is never closed.
size_t match_set(std::string_view pattern, char c, bool& matches) {
  size_t i = 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool inside = false;
  const size_t first = i;
  while (i < pattern.size() && (pattern[i] != ']' || i == first)) {
    const auto low = static_cast<unsigned char>(pattern[i]);
    auto high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = static_cast<unsigned char>(pattern[i + 2]);
      i += 2;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= low && byte <= high) inside = true;
    ++i;
  }
  if (i >= pattern.size()) return 0;
  matches = inside != negated;
  return i + 1;
}

// How many bytes of `pattern` match the byte `c`; 0 when they do not.
size_t match_one(std::string_view pattern, char c) {
  if (pattern.empty()) return 0;
  if (pattern[0] == '?') return 1;
  if (pattern[0] == '[') {
    bool matches = false;
    const size_t length = match_set(pattern, c, matches);
    if (length > 0) return matches ? length : 0;
  }
  if (pattern[0] == '\\' && pattern.size() > 1) return pattern[1] == c ? 2 : 0;
  return pattern[0] == c ? 1 : 0;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  size_t start = 0;
  while (true) {
    const size_t end = text.find(separator, start);
    if (end == std::string_view::npos) break;
    pieces.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  pieces.push_back(text.substr(start));
  return pieces;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string join(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) text += separator;
    text += pieces[i];
  }
  return text;
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  // On a mismatch only the last '*' has to give way: an earlier one could gain nothing more.
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
      continue;
    }
    const size_t length = match_one(pattern.substr(p), text[t]);
    if (length > 0) {
      p += length;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kNameLengthMax = 256;  // A longer text is no typing mistake; keeps the cost bounded.
  if (name.empty() || name.size() > kNameLengthMax) return std::nullopt;
  const std::string wanted = to_lower(name);
  std::optional<std::string> best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kNameLengthMax) continue;
    const size_t distance = edit_distance(wanted, to_lower(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  if (const auto nearest = nearest_name(name, candidates)) return fmt::format("did you mean '{}'?", *nearest);
  if (candidates.empty()) return "there is nothing to choose from";
  constexpr size_t kShownMax = 12;
  const size_t shown = std::min(kShownMax, candidates.size());
  const std::vector<std::string> some(candidates.begin(),
                                      candidates.begin() + static_cast<std::ptrdiff_t>(shown));
  std::string text = "known: " + join(some, ", ");
  if (candidates.size() > shown) text += fmt::format(" and {} more", candidates.size() - shown);
  return text;
}

std::optional<uint32_t> take_code_point(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xC2 && lead < 0xE0 ? 2
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xF0 && lead < 0xF5 ? 4
                                                      : 0;
  if (length == 1) {
    text.remove_prefix(1);
    return lead;
  }
  uint32_t code = length == 2 ? lead & 0x1Fu : length == 3 ? lead & 0x0Fu : lead & 0x07u;
  bool valid = length != 0 && text.size() >= length;
  for (size_t i = 1; valid && i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    valid = (byte & 0xC0u) == 0x80u;
    code = (code << 6) | (byte & 0x3Fu);
  }
  // Overlong forms, surrogates and what lies beyond Unicode are no characters.
  constexpr std::array<uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  valid = valid && code >= kSmallest[length] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  text.remove_prefix(valid ? length : 1);
  if (!valid) return std::nullopt;
  return code;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const auto code = take_code_point(text);
    if (!code) {
      ++width;
    } else if (in_ranges(*code, kDoubleWidth)) {
      width += 2;
    } else if (*code >= 0x20 && *code != 0x7F && !in_ranges(*code, kZeroWidth)) {
      ++width;
    }
  }
  return width;
}

std::string printable(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::string_view at = text;
    const auto code = take_code_point(text);
    const std::string_view bytes = at.substr(0, at.size() - text.size());
    // 0x80 to 0x9F are control characters too: some terminals obey them.
    if (code && *code >= 0x20 && !(*code >= 0x7F && *code < 0xA0)) {
      clean += bytes;
    } else {
      for (const char c : bytes)
        fmt::format_to(std::back_inserter(clean), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return clean;
}

}  // namespace tandem
