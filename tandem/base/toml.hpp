// SPDX-License-Identifier: Apache-2.0
// TOML files as typed reads whose errors name file, line, key, and what was expected. A reader keeps book of
// the keys that were asked for, so that a misspelt one is refused with "did you mean" instead of being
// ignored.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tandem/base/result.hpp"

namespace tandem {

// A parsed value with the line where it stands. Dates are refused.
struct TomlValue {
  using Array = std::vector<TomlValue>;
  using Table = std::vector<std::pair<std::string, TomlValue>>;
  std::variant<bool, int64_t, double, std::string, Array, Table> value;
  int line = 0;

  const TomlValue* find(std::string_view key) const;  // of a table; nullptr when there is none
};

// Error kBadInput with file, line and column; `file` only names it.
Result<TomlValue> parse_toml(std::string_view text, const std::string& file);

// Replaces or adds the value at a dotted path ("background.0.rate"; a bare array name means its only or first
// element): the text is read as TOML and, when that fails, as a string. Error kUsage when the path leads
// nowhere.
Status set_toml(TomlValue& root, std::string_view path, std::string_view text);

// Reads one table. Numbers with units are strings in the file: "3.5ms", "1.2GB/s".
class TomlReader {
 public:
  // `table` outlives the reader. `where` names it in messages: "[[device]] 'cpu'".
  TomlReader(const TomlValue& table, std::string file, std::string where);

  bool has(std::string_view key) const { return table_->find(key) != nullptr; }
  int line() const { return table_->line; }

  // Each: the value, or `other` when the key is absent; an absent key without `other` is an error.
  Result<std::string> text(std::string_view key, std::optional<std::string> other = {});
  Result<bool> flag(std::string_view key, std::optional<bool> other = {});
  Result<double> number(std::string_view key, double low, double high, std::optional<double> other = {});
  Result<int64_t> whole(std::string_view key, int64_t low, int64_t high, std::optional<int64_t> other = {});
  Result<int64_t> duration_ns(std::string_view key, int64_t low, int64_t high,
                              std::optional<int64_t> other = {});
  Result<int64_t> bytes(std::string_view key, std::optional<int64_t> other = {});
  Result<double> bandwidth(std::string_view key, std::optional<double> other = {});  // bytes per second
  // Per second: "800/s", "3/min", "0.5/h".
  Result<double> rate_per_s(std::string_view key, std::optional<double> other = {});
  Result<std::vector<std::string>> texts(std::string_view key);     // [] when absent
  Result<std::vector<double>> numbers(std::string_view key);        // [] when absent
  Result<std::vector<int64_t>> durations_ns(std::string_view key);  // [] when absent
  // One of a few words; its index.
  Result<size_t> choice(std::string_view key, const std::vector<std::string>& words,
                        std::optional<size_t> other = {});
  // Sub-tables: one, or an array of them ([] when absent).
  Result<const TomlValue*> table(std::string_view key);  // nullptr when absent
  Result<std::vector<const TomlValue*>> tables(std::string_view key);

  // Error when the table has a key that nobody asked for. Call last.
  Status finish() const;
  // kBadInput at a key of this table: "scenario.toml:12: [[device]] 'cpu': key 'servers': ...".
  Error error(std::string_view key, const std::string& problem) const;

 private:
  const TomlValue* find(std::string_view key);
  Error missing(std::string_view key, const char* wanted) const;

  const TomlValue* table_;
  std::string file_;
  std::string where_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace tandem
