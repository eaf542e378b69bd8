// SPDX-License-Identifier: Apache-2.0
// Json over nlohmann's parser and serializer, which stay inside this file.
#include "tandem/base/json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tandem/base/check.hpp"

namespace tandem {
namespace {

using Library = nlohmann::ordered_json;

constexpr int kDepthMax = 256;

// Builds our value from the parser's events; refuses deep nesting, which would overflow the stack of any
// later walk.
class Builder : public nlohmann::json_sax<Library> {
 public:
  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(int64_t{value})); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(INT64_MAX)) return add(Json(static_cast<double>(value)));
    return add(Json(static_cast<int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t&) override { return add(Json(double{value})); }
  bool string(string_t& value) override { return add(Json(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool key(string_t& value) override {
    keys_.back() = value;
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    error_ = e.what();
    // The library's text starts with an identifier in brackets that means nothing to our user.
    if (const size_t end = error_.find("] "); end != std::string::npos) error_ = error_.substr(end + 2);
    position_ = position;
    return false;
  }

  Json root;
  const std::string& error() const { return error_; }
  size_t position() const { return position_; }

 private:
  bool add(Json value) {
    if (stack_.empty()) {
      root = std::move(value);
      return true;
    }
    if (stack_.back().is_array())
      stack_.back().push(std::move(value));
    else
      stack_.back().set(keys_.back(), std::move(value));
    return true;
  }
  bool open(Json value) {
    if (stack_.size() >= kDepthMax) {
      error_ = fmt::format("nested deeper than {} levels", kDepthMax);
      return false;
    }
    stack_.push_back(std::move(value));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    Json value = std::move(stack_.back());
    stack_.pop_back();
    keys_.pop_back();
    return add(std::move(value));
  }
  std::vector<Json> stack_;
  std::vector<std::string> keys_;
  std::string error_;
  size_t position_ = 0;
};

Library to_library(const Json& value) {
  if (value.is_bool()) return value.as_bool();
  if (value.is_int()) return value.as_int();
  if (value.is_number()) {
    const double number = value.as_number();
    if (!std::isfinite(number)) return nullptr;
    return number;
  }
  if (value.is_string()) return value.as_string();
  if (value.is_array()) {
    Library out = Library::array();
    for (const Json& item : value.items()) out.push_back(to_library(item));
    return out;
  }
  if (value.is_object()) {
    Library out = Library::object();
    for (const auto& [key, member] : value.members()) out[key] = to_library(member);
    return out;
  }
  return nullptr;
}

}  // namespace

bool Json::as_bool(bool other) const {
  const bool* value = std::get_if<bool>(&value_);
  return value ? *value : other;
}

int64_t Json::as_int(int64_t other) const {
  if (const int64_t* value = std::get_if<int64_t>(&value_)) return *value;
  if (const double* value = std::get_if<double>(&value_)) {
    if (std::nearbyint(*value) == *value && std::abs(*value) < 9.0e18) return static_cast<int64_t>(*value);
  }
  return other;
}

double Json::as_number(double other) const {
  if (const int64_t* value = std::get_if<int64_t>(&value_)) return static_cast<double>(*value);
  const double* value = std::get_if<double>(&value_);
  return value ? *value : other;
}

std::string Json::as_string(std::string other) const {
  const std::string* value = std::get_if<std::string>(&value_);
  return value ? *value : std::move(other);
}

const Json::Array& Json::items() const {
  static const Array empty;
  const Array* value = std::get_if<Array>(&value_);
  return value ? *value : empty;
}

const Json::Object& Json::members() const {
  static const Object empty;
  const Object* value = std::get_if<Object>(&value_);
  return value ? *value : empty;
}

const Json* Json::find(std::string_view key) const {
  for (const auto& [name, member] : members()) {
    if (name == key) return &member;
  }
  return nullptr;
}

const Json& Json::operator[](std::string_view key) const {
  static const Json null;
  const Json* member = find(key);
  return member ? *member : null;
}

Json& Json::set(std::string key, Json value) {
  if (is_null()) value_ = Object{};
  Object* object = std::get_if<Object>(&value_);
  TANDEM_CHECK(object != nullptr, "set() on a Json that is no object");
  for (auto& [name, member] : *object) {
    if (name == key) {
      member = std::move(value);
      return *this;
    }
  }
  object->emplace_back(std::move(key), std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  if (is_null()) value_ = Array{};
  Array* array = std::get_if<Array>(&value_);
  TANDEM_CHECK(array != nullptr, "push() on a Json that is no array");
  array->push_back(std::move(value));
  return *this;
}

size_t Json::size() const {
  if (is_array()) return items().size();
  return members().size();
}

std::string Json::dump(int indent) const {
  return to_library(*this).dump(indent, ' ', false, Library::error_handler_t::replace);
}

Result<Json> Json::parse(std::string_view text) {
  Builder builder;
  if (Library::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root);
  return bad_input("not valid JSON").because(builder.error());
}

}  // namespace tandem
