// SPDX-License-Identifier: Apache-2.0
// Numbers of tables: how they are written, and which texts count as one.
#include "tandem/report/number.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstddef>

namespace tandem::report {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string with_separators(std::string digits) {
  const size_t first = digits[0] == '-' ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');  // g++ 12 warns of an overlap in the form with a string
  }
  return digits;
}

// A unit: nothing, "%", "x", or after a space one short word without digits.
bool is_unit(std::string_view rest) {
  if (rest.empty() || rest == "%" || rest == "x") return true;
  if (rest[0] != ' ' || rest.size() < 2 || rest.size() > 9) return false;
  for (const char c : rest.substr(1)) {
    if (c == ' ' || is_digit(c)) return false;
  }
  return true;
}

}  // namespace

std::string format_number(double value) {
  if (std::isnan(value)) return "–";
  if (std::isinf(value)) return value > 0 ? "∞" : "-∞";
  if (value == std::floor(value) && std::fabs(value) < 1e15) {
    return with_separators(fmt::format("{:.0f}", value == 0 ? 0.0 : value));
  }
  return fmt::format("{:.5g}", value);
}

std::optional<double> read_number(std::string_view text) {
  std::string digits;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const bool separates = c == ',' && at > 0 && is_digit(text[at - 1]) && at + 3 < text.size() &&
                           is_digit(text[at + 1]) && is_digit(text[at + 2]) && is_digit(text[at + 3]);
    const bool exponent = (c == 'e' || c == 'E') && at + 1 < text.size() &&
                          (is_digit(text[at + 1]) || text[at + 1] == '-' || text[at + 1] == '+');
    const bool sign = c == '-' && (at == 0 || text[at - 1] == 'e' || text[at - 1] == 'E');
    const bool plus = c == '+' && at > 0 && (text[at - 1] == 'e' || text[at - 1] == 'E');
    if (separates || (c == '+' && at == 0)) continue;
    if (!is_digit(c) && c != '.' && !exponent && !sign && !plus) break;
    digits += c;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (!is_unit(text.substr(at))) return std::nullopt;
  return value;
}

}  // namespace tandem::report
