// SPDX-License-Identifier: Apache-2.0
// Json: an ordered JSON value. Object members keep their order, so the same program writes the same bytes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tandem/base/result.hpp"

namespace tandem {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;                                 // null
  Json(std::nullptr_t) {}                           // NOLINT: implicit by design
  Json(bool value) : value_(value) {}               // NOLINT
  Json(int value) : value_(int64_t{value}) {}       // NOLINT
  Json(int64_t value) : value_(value) {}            // NOLINT
  Json(uint64_t value) : value_(static_cast<int64_t>(value)) {}  // NOLINT
  Json(uint32_t value) : value_(int64_t{value}) {}  // NOLINT
  Json(double value) : value_(value) {}             // NOLINT; NaN and infinities print as null
  Json(float value) : value_(double{value}) {}      // NOLINT
  Json(std::string value) : value_(std::move(value)) {}           // NOLINT
  Json(std::string_view value) : value_(std::string(value)) {}    // NOLINT
  Json(const char* value) : value_(std::string(value)) {}         // NOLINT
  Json(Array value) : value_(std::move(value)) {}                 // NOLINT
  template <typename T>
  Json(const std::vector<T>& items) : value_(Array(items.begin(), items.end())) {}  // NOLINT
  static Json object() { return Json(Object{}, 0); }
  static Json object(std::initializer_list<Member> members) { return Json(Object(members), 0); }
  static Json array() { return Json(Array{}); }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<int64_t>(value_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // The value, or `other` when the type differs.
  bool as_bool(bool other = false) const;
  int64_t as_int(int64_t other = 0) const;  // a double with an integral value counts
  double as_number(double other = 0) const;
  std::string as_string(std::string other = {}) const;
  // Empty when the type differs.
  const Array& items() const;
  const Object& members() const;

  // The member, or null when there is none or this is no object.
  const Json& operator[](std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  // Sets a member; turns null into an object. Precondition: null or object.
  Json& set(std::string key, Json value);
  // Appends to an array; turns null into one. Precondition: null or array.
  Json& push(Json value);
  size_t size() const;

  // Compact when indent < 0. Numbers print shortest round-trip; invalid UTF-8 is replaced.
  std::string dump(int indent = -1) const;
  // Errors name the line and column. Depth is bounded.
  static Result<Json> parse(std::string_view text);

  friend bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }

 private:
  Json(Object members, int) : value_(std::move(members)) {}
  const Json* find(std::string_view key) const;
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

}  // namespace tandem
