// SPDX-License-Identifier: Apache-2.0
// Exact decimal parsing and short printing of quantities.
#include "tandem/base/units.hpp"

#include <array>
#include <cmath>
#include <span>

#include "tandem/base/text.hpp"

namespace tandem {
namespace {

__extension__ using Wide = unsigned __int128;  // ISO C++ has no 128-bit integer; both compilers do.

struct Unit {
  const char* name;
  uint64_t factor;
};

constexpr std::array<Unit, 7> kTimes = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"\xC2\xB5s", 1'000},
                                         {"ms", 1'000'000},
                                         {"s", 1'000'000'000},
                                         {"min", 60'000'000'000},
                                         {"h", 3'600'000'000'000}}};
constexpr std::array<Unit, 12> kBytes = {{{"", 1},
                                          {"b", 1},
                                          {"kb", 1'000},
                                          {"mb", 1'000'000},
                                          {"gb", 1'000'000'000},
                                          {"tb", 1'000'000'000'000},
                                          {"kib", uint64_t{1} << 10},
                                          {"mib", uint64_t{1} << 20},
                                          {"gib", uint64_t{1} << 30},
                                          {"tib", uint64_t{1} << 40},
                                          {"pib", uint64_t{1} << 50},
                                          {"eib", uint64_t{1} << 60}}};
constexpr std::array<Unit, 5> kCounts = {
    {{"", 1}, {"k", 1'000}, {"m", 1'000'000}, {"g", 1'000'000'000}, {"t", 1'000'000'000'000}}};

// What the messages need to know about one kind of quantity.
struct Kind {
  const char* noun;
  std::span<const Unit> units;
  const char* units_text;
  bool ignores_case;
  uint64_t largest;
};

Error cannot_parse(std::string_view text, const Kind& kind, std::string because) {
  const std::string_view shown = text.substr(0, 80);
  return usage_error(fmt::format("cannot read '{}' as {}", printable(shown), kind.noun))
      .because(std::move(because))
      .hint(fmt::format("write a number and one of: {}", kind.units_text));
}

Result<uint64_t> parse_quantity(std::string_view text, const Kind& kind) {
  const std::string_view trimmed = trim(text);
  uint64_t digits = 0;
  uint64_t scale = 1;
  size_t digit_count = 0;
  bool has_point = false;
  size_t at = 0;
  for (; at < trimmed.size(); ++at) {
    const char c = trimmed[at];
    if (c == '.' && !has_point) {
      has_point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    // 18 digits fit 64 bits; the product with any factor then fits 128.
    if (digits != 0 && ++digit_count >= 18) return cannot_parse(text, kind, "it has more than 18 digits");
    if (has_point && scale > UINT64_MAX / 10) return cannot_parse(text, kind, "it has more than 18 digits");
    digits = digits * 10 + static_cast<uint64_t>(c - '0');
    if (has_point) scale *= 10;
  }
  const bool has_digit = at > (has_point ? size_t{1} : size_t{0});
  if (!has_digit) {
    return cannot_parse(
        text, kind, trimmed.starts_with("-") ? "it must not be negative" : "it does not start with a number");
  }
  const std::string_view unit_text = trim(trimmed.substr(at));
  const std::string wanted = kind.ignores_case ? to_lower(unit_text) : std::string(unit_text);
  for (const Unit& unit : kind.units) {
    if (wanted != unit.name) continue;
    const Wide value = (Wide{digits} * unit.factor + scale / 2) / scale;
    if (value > kind.largest) return cannot_parse(text, kind, "it is too large");
    return static_cast<uint64_t>(value);
  }
  if (unit_text.empty()) return cannot_parse(text, kind, "the unit is missing");
  return cannot_parse(text, kind,
                      fmt::format("the unit '{}' is unknown", printable(unit_text.substr(0, 20))));
}

// Three significant digits without a trailing zero after the point; value in [0, 1000).
std::string short_number(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals > 0) {
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string short_form(double value, double step, std::span<const char* const> units) {
  if (std::isnan(value)) return "nan";
  if (value < 0) return "-" + short_form(-value, step, units);
  size_t i = 0;
  // 999.5 would print as 1000 in its own unit.
  const double limit = step == 1024 ? 1023.5 : 999.5;
  while (i + 1 < units.size() && value >= limit) {
    value /= step;
    ++i;
  }
  return short_number(value) + units[i];
}

constexpr Kind kDurationKind = {"a duration", kTimes, "ns us ms s min h", false, INT64_MAX};
constexpr Kind kBytesKind = {"a size in bytes", kBytes, "B kB MB GB TB KiB MiB GiB TiB", true, UINT64_MAX};
constexpr Kind kBandwidthKind = {"a bandwidth", kBytes, "B/s kB/s MB/s GB/s TB/s KiB/s MiB/s GiB/s TiB/s",
                                 true, UINT64_MAX};
constexpr Kind kCountKind = {"a count", kCounts, "k M G T, or nothing", true, UINT64_MAX};

}  // namespace

Result<int64_t> parse_duration_ns(std::string_view text) {
  // "2min05s" is a sum: a piece ends where a digit follows its unit.
  const auto is_number = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  const std::string_view trimmed = trim(text);
  uint64_t total_ns = 0;
  size_t start = 0;
  do {
    size_t end = start;
    while (end < trimmed.size() && is_number(trimmed[end])) ++end;
    while (end < trimmed.size() && !is_number(trimmed[end])) ++end;
    const auto piece = parse_quantity(trimmed.substr(start, end - start), kDurationKind);
    if (!piece.ok()) return cannot_parse(text, kDurationKind, piece.error().because_text());
    total_ns += *piece;  // Both are at most INT64_MAX, so the sum fits.
    if (total_ns > INT64_MAX) return cannot_parse(text, kDurationKind, "it is too large");
    start = end;
  } while (start < trimmed.size());
  return static_cast<int64_t>(total_ns);
}

std::string format_duration_ns(int64_t duration_ns) {
  if (duration_ns < 0) return "-" + format_duration_ns(duration_ns == INT64_MIN ? INT64_MAX : -duration_ns);
  constexpr int64_t kSecond = 1'000'000'000;
  // 59.95 s and more would print as 60.0s.
  if (duration_ns < 59'950'000'000) {
    static constexpr std::array<const char*, 4> kNames = {"ns", "us", "ms", "s"};
    return short_form(static_cast<double>(duration_ns), 1000, kNames);
  }
  const int64_t seconds = duration_ns / kSecond + (duration_ns % kSecond >= kSecond / 2 ? 1 : 0);
  if (seconds < 3600) return fmt::format("{}min{:02}s", seconds / 60, seconds % 60);
  const int64_t minutes = seconds / 60 + (seconds % 60 >= 30 ? 1 : 0);
  return fmt::format("{}h{:02}min", minutes / 60, minutes % 60);
}

Result<uint64_t> parse_bytes(std::string_view text) { return parse_quantity(text, kBytesKind); }

std::string format_bytes(uint64_t bytes) {
  static constexpr std::array<const char*, 7> kNames = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return short_form(static_cast<double>(bytes), 1024, kNames);
}

Result<uint64_t> parse_bandwidth_bytes_per_s(std::string_view text) {
  const std::string_view trimmed = trim(text);
  if (!trimmed.ends_with("/s")) return cannot_parse(text, kBandwidthKind, "it does not end with '/s'");
  auto bytes = parse_quantity(trimmed.substr(0, trimmed.size() - 2), kBandwidthKind);
  if (!bytes.ok()) return cannot_parse(text, kBandwidthKind, bytes.error().because_text());
  return *bytes;
}

std::string format_bandwidth(double bytes_per_s) {
  static constexpr std::array<const char*, 5> kNames = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return short_form(bytes_per_s, 1000, kNames);
}

Result<uint64_t> parse_count(std::string_view text) { return parse_quantity(text, kCountKind); }

std::string format_count(double count) {
  static constexpr std::array<const char*, 5> kNames = {"", "k", "M", "G", "T"};
  return short_form(count, 1000, kNames);
}

}  // namespace tandem
