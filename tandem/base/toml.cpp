// SPDX-License-Identifier: Apache-2.0
// The only file that sees toml++.
#include "tandem/base/toml.hpp"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tandem/base/text.hpp"
#include "tandem/base/units.hpp"

namespace tandem {
namespace {

constexpr int kDepthMax = 32;

Result<TomlValue> convert(const toml::node& node, const std::string& file, int depth) {
  TomlValue value;
  value.line = static_cast<int>(node.source().begin.line);
  if (depth > kDepthMax) return bad_input(fmt::format("{}:{}: nested too deeply", file, value.line));
  if (const auto* table = node.as_table()) {
    TomlValue::Table members;
    for (const auto& [key, child] : *table) {
      members.emplace_back(std::string(key.str()), TANDEM_TRY(convert(child, file, depth + 1)));
    }
    value.value = std::move(members);
  } else if (const auto* array = node.as_array()) {
    TomlValue::Array items;
    for (const toml::node& child : *array) items.push_back(TANDEM_TRY(convert(child, file, depth + 1)));
    value.value = std::move(items);
  } else if (const auto* text = node.as_string()) {
    value.value = text->get();
  } else if (const auto* whole = node.as_integer()) {
    value.value = whole->get();
  } else if (const auto* number = node.as_floating_point()) {
    value.value = number->get();
  } else if (const auto* flag = node.as_boolean()) {
    value.value = flag->get();
  } else {
    return bad_input(fmt::format("{}:{}: dates and times are not used here", file, value.line));
  }
  return value;
}

std::optional<double> as_number(const TomlValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value.value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value.value)) return *number;
  return {};
}

// "800/s" and friends.
std::optional<double> parse_rate(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {};
  const std::string_view unit = trim(text.substr(slash + 1));
  const double seconds = unit == "s" ? 1 : unit == "ms" ? 1e-3 : unit == "min" ? 60 : unit == "h" ? 3600 : 0;
  const std::string_view digits = trim(text.substr(0, slash));
  double value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (seconds == 0 || code != std::errc{} || end != digits.data() + digits.size()) return {};
  return value / seconds;
}

// The element that a path piece names.
TomlValue* step_into(TomlValue& value, std::string_view piece) {
  if (auto* table = std::get_if<TomlValue::Table>(&value.value)) {
    for (auto& member : *table) {
      if (member.first == piece) return &member.second;
    }
  }
  if (auto* array = std::get_if<TomlValue::Array>(&value.value)) {
    size_t index = 0;
    const auto [end, code] = std::from_chars(piece.data(), piece.data() + piece.size(), index);
    if (code == std::errc{} && end == piece.data() + piece.size()) {
      return index < array->size() ? &(*array)[index] : nullptr;
    }
    // An element by its name, else the first element's member.
    for (TomlValue& item : *array) {
      const TomlValue* name = item.find("name");
      const auto* text = name != nullptr ? std::get_if<std::string>(&name->value) : nullptr;
      if (text != nullptr && *text == piece) return &item;
    }
    return array->empty() ? nullptr : step_into(array->front(), piece);
  }
  return nullptr;
}

}  // namespace

const TomlValue* TomlValue::find(std::string_view key) const {
  const auto* table = std::get_if<Table>(&value);
  if (table == nullptr) return nullptr;
  for (const auto& member : *table) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Result<TomlValue> parse_toml(std::string_view text, const std::string& file) {
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed) {
    const auto& begin = parsed.error().source().begin;
    return bad_input(fmt::format("{}:{}:{}: not TOML", file, begin.line, begin.column))
        .because(std::string(parsed.error().description()));
  }
  return convert(parsed.table(), file, 0);
}

Status set_toml(TomlValue& root, std::string_view path, std::string_view text) {
  const std::vector<std::string_view> pieces = split(path, '.');
  TomlValue* at = &root;
  for (size_t i = 0; i + 1 < pieces.size(); ++i) {
    TomlValue* next = step_into(*at, pieces[i]);
    if (next == nullptr) {
      return usage_error(fmt::format("there is no '{}' to set", printable(path)))
          .because(fmt::format("'{}' is not in the scenario", printable(pieces[i])));
    }
    at = next;
  }
  if (auto* array = std::get_if<TomlValue::Array>(&at->value); array != nullptr && !array->empty()) {
    at = &array->front();
  }
  auto* table = std::get_if<TomlValue::Table>(&at->value);
  if (table == nullptr || pieces.back().empty()) {
    return usage_error(fmt::format("there is no '{}' to set", printable(path)));
  }
  Result<TomlValue> value = parse_toml(fmt::format("v = {}", text), "value");
  TomlValue parsed{std::string(text), at->line};
  if (value.ok() && value->find("v") != nullptr) parsed = *value->find("v");
  parsed.line = at->line;
  for (auto& member : *table) {
    if (member.first != pieces.back()) continue;
    member.second = std::move(parsed);
    return {};
  }
  table->emplace_back(std::string(pieces.back()), std::move(parsed));
  return {};
}

TomlReader::TomlReader(const TomlValue& table, std::string file, std::string where)
    : table_(&table), file_(std::move(file)), where_(std::move(where)) {}

const TomlValue* TomlReader::find(std::string_view key) {
  asked_.emplace(key);
  return table_->find(key);
}

Error TomlReader::error(std::string_view key, const std::string& problem) const {
  const TomlValue* value = table_->find(key);
  const int line = value != nullptr ? value->line : table_->line;
  return bad_input(fmt::format("{}:{}: {}: key '{}': {}", file_, line, where_, printable(key), problem));
}

Error TomlReader::missing(std::string_view key, const char* wanted) const {
  return error(key, "is missing").hint(fmt::format("give {}", wanted));
}

Result<std::string> TomlReader::text(std::string_view key, std::optional<std::string> other) {
  const TomlValue* value = find(key);
  if (value == nullptr) return other ? Result<std::string>(*other) : missing(key, "a text in quotes");
  if (const auto* text = std::get_if<std::string>(&value->value)) return *text;
  return error(key, "wants a text in quotes");
}

Result<bool> TomlReader::flag(std::string_view key, std::optional<bool> other) {
  const TomlValue* value = find(key);
  if (value == nullptr) return other ? Result<bool>(*other) : missing(key, "true or false");
  if (const auto* flag = std::get_if<bool>(&value->value)) return *flag;
  return error(key, "wants true or false");
}

Result<double> TomlReader::number(std::string_view key, double low, double high,
                                  std::optional<double> other) {
  const TomlValue* value = find(key);
  if (value == nullptr) return other ? Result<double>(*other) : missing(key, "a number");
  const std::optional<double> number = as_number(*value);
  if (!number) return error(key, "wants a number");
  if (!(*number >= low && *number <= high)) {
    return error(key, fmt::format("{} is out of range: {} to {}", *number, low, high));
  }
  return *number;
}

Result<int64_t> TomlReader::whole(std::string_view key, int64_t low, int64_t high,
                                  std::optional<int64_t> other) {
  const TomlValue* value = find(key);
  if (value == nullptr) return other ? Result<int64_t>(*other) : missing(key, "a whole number");
  const auto* whole = std::get_if<int64_t>(&value->value);
  if (whole == nullptr) return error(key, "wants a whole number");
  if (*whole < low || *whole > high) {
    return error(key, fmt::format("{} is out of range: {} to {}", *whole, low, high));
  }
  return *whole;
}

Result<int64_t> TomlReader::duration_ns(std::string_view key, int64_t low, int64_t high,
                                        std::optional<int64_t> other) {
  const TomlValue* value = find(key);
  if (value == nullptr) return other ? Result<int64_t>(*other) : missing(key, "a time such as \"3.5ms\"");
  const auto* text = std::get_if<std::string>(&value->value);
  if (text == nullptr) return error(key, "wants a time with its unit in quotes, such as \"3.5ms\"");
  const Result<int64_t> parsed = parse_duration_ns(*text);
  if (!parsed.ok())
    return error(key, parsed.error().what())
        .because(parsed.error().because_text())
        .hint(parsed.error().hint_text());
  if (*parsed < low || *parsed > high) {
    return error(key, fmt::format("{} is out of range: {} to {}", *text, format_duration_ns(low),
                                  format_duration_ns(high)));
  }
  return *parsed;
}

Result<int64_t> TomlReader::bytes(std::string_view key, std::optional<int64_t> other) {
  const TomlValue* value = find(key);
  if (value == nullptr) return other ? Result<int64_t>(*other) : missing(key, "a size such as \"1.5MiB\"");
  const auto* text = std::get_if<std::string>(&value->value);
  if (text == nullptr) return error(key, "wants a size with its unit in quotes, such as \"1.5MiB\"");
  const Result<uint64_t> parsed = parse_bytes(*text);
  if (!parsed.ok())
    return error(key, parsed.error().what())
        .because(parsed.error().because_text())
        .hint(parsed.error().hint_text());
  if (*parsed > uint64_t{1} << 50) return error(key, "is out of range: 0 to 1PiB");
  return static_cast<int64_t>(*parsed);
}

Result<double> TomlReader::bandwidth(std::string_view key, std::optional<double> other) {
  const TomlValue* value = find(key);
  if (value == nullptr)
    return other ? Result<double>(*other) : missing(key, "a bandwidth such as \"1.2GB/s\"");
  const auto* text = std::get_if<std::string>(&value->value);
  if (text == nullptr) return error(key, "wants a bandwidth with its unit in quotes, such as \"1.2GB/s\"");
  const Result<uint64_t> parsed = parse_bandwidth_bytes_per_s(*text);
  if (!parsed.ok())
    return error(key, parsed.error().what())
        .because(parsed.error().because_text())
        .hint(parsed.error().hint_text());
  if (*parsed < 1) return error(key, "must not be 0");
  return static_cast<double>(*parsed);
}

Result<double> TomlReader::rate_per_s(std::string_view key, std::optional<double> other) {
  const TomlValue* value = find(key);
  if (value == nullptr) return other ? Result<double>(*other) : missing(key, "a rate such as \"800/s\"");
  const auto* text = std::get_if<std::string>(&value->value);
  const std::optional<double> rate = text != nullptr ? parse_rate(*text) : std::nullopt;
  if (!rate)
    return error(key, "wants a rate with its unit in quotes, such as \"800/s\"")
        .hint("units: /s /ms /min /h");
  if (!(*rate > 0 && *rate <= 1e9))
    return error(key, fmt::format("{} is out of range: above 0 to 1e9/s", *text));
  return *rate;
}

Result<std::vector<std::string>> TomlReader::texts(std::string_view key) {
  const TomlValue* value = find(key);
  std::vector<std::string> texts;
  if (value == nullptr) return texts;
  const auto* array = std::get_if<TomlValue::Array>(&value->value);
  if (array == nullptr) return error(key, "wants a list of texts");
  for (const TomlValue& item : *array) {
    const auto* text = std::get_if<std::string>(&item.value);
    if (text == nullptr) return error(key, "wants a list of texts");
    texts.push_back(*text);
  }
  return texts;
}

Result<std::vector<double>> TomlReader::numbers(std::string_view key) {
  const TomlValue* value = find(key);
  std::vector<double> numbers;
  if (value == nullptr) return numbers;
  const auto* array = std::get_if<TomlValue::Array>(&value->value);
  if (array == nullptr) return error(key, "wants a list of numbers");
  for (const TomlValue& item : *array) {
    const std::optional<double> number = as_number(item);
    if (!number || !std::isfinite(*number)) return error(key, "wants a list of numbers");
    numbers.push_back(*number);
  }
  return numbers;
}

Result<std::vector<int64_t>> TomlReader::durations_ns(std::string_view key) {
  std::vector<int64_t> times;
  for (const std::string& text : TANDEM_TRY(texts(key))) {
    const Result<int64_t> parsed = parse_duration_ns(text);
    if (!parsed.ok()) return error(key, parsed.error().what()).because(parsed.error().because_text());
    times.push_back(*parsed);
  }
  return times;
}

Result<size_t> TomlReader::choice(std::string_view key, const std::vector<std::string>& words,
                                  std::optional<size_t> other) {
  if (find(key) == nullptr && other) return *other;
  const std::string word = TANDEM_TRY(text(key));
  const auto at = std::find(words.begin(), words.end(), word);
  if (at == words.end()) {
    return error(key, fmt::format("does not know '{}'", printable(word))).hint(did_you_mean(word, words));
  }
  return static_cast<size_t>(at - words.begin());
}

Result<const TomlValue*> TomlReader::table(std::string_view key) {
  const TomlValue* value = find(key);
  if (value != nullptr && !std::holds_alternative<TomlValue::Table>(value->value)) {
    return error(key, "wants a table").hint(fmt::format("write [{}]", key));
  }
  return value;
}

Result<std::vector<const TomlValue*>> TomlReader::tables(std::string_view key) {
  const TomlValue* value = find(key);
  std::vector<const TomlValue*> tables;
  if (value == nullptr) return tables;
  const auto* array = std::get_if<TomlValue::Array>(&value->value);
  if (array == nullptr) return error(key, "wants a list of tables").hint(fmt::format("write [[{}]]", key));
  for (const TomlValue& item : *array) {
    if (!std::holds_alternative<TomlValue::Table>(item.value)) {
      return error(key, "wants a list of tables").hint(fmt::format("write [[{}]]", key));
    }
    tables.push_back(&item);
  }
  return tables;
}

Status TomlReader::finish() const {
  const auto* table = std::get_if<TomlValue::Table>(&table_->value);
  if (table == nullptr) return {};
  for (const auto& member : *table) {
    if (asked_.count(member.first) > 0) continue;
    return error(member.first, "is not known here")
        .hint(did_you_mean(member.first, {asked_.begin(), asked_.end()}));
  }
  return {};
}

}  // namespace tandem
