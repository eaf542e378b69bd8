// SPDX-License-Identifier: Apache-2.0
// Typed reading of attributes.
#include "tandem/onnx_io/attributes.hpp"

namespace tandem::onnx_io {

const ir::AttributeValue* Attributes::find(std::string_view name) {
  read_.insert(std::string(name));
  const auto found = map_.find(std::string(name));
  return found == map_.end() ? nullptr : &found->second;
}

void Attributes::complain(std::string_view name, std::string_view expected) {
  if (!error_) error_ = bad_input(fmt::format("attribute '{}' is {}", name, expected));
}

int64_t Attributes::integer(std::string_view name, int64_t other) {
  const ir::AttributeValue* value = find(name);
  if (value == nullptr) return other;
  if (const int64_t* i = std::get_if<int64_t>(value)) return *i;
  complain(name, "no integer");
  return other;
}

float Attributes::real(std::string_view name, float other) {
  const ir::AttributeValue* value = find(name);
  if (value == nullptr) return other;
  if (const double* d = std::get_if<double>(value)) return static_cast<float>(*d);
  complain(name, "no float");
  return other;
}

std::string Attributes::text(std::string_view name, std::string other) {
  const ir::AttributeValue* value = find(name);
  if (value == nullptr) return other;
  if (const std::string* s = std::get_if<std::string>(value)) return *s;
  complain(name, "no string");
  return other;
}

std::vector<int64_t> Attributes::integers(std::string_view name, std::vector<int64_t> other) {
  const ir::AttributeValue* value = find(name);
  if (value == nullptr) return other;
  if (const auto* list = std::get_if<std::vector<int64_t>>(value)) return *list;
  complain(name, "no list of integers");
  return other;
}

std::vector<float> Attributes::reals(std::string_view name, std::vector<float> other) {
  const ir::AttributeValue* value = find(name);
  if (value == nullptr) return other;
  if (const auto* list = std::get_if<std::vector<double>>(value)) return {list->begin(), list->end()};
  // An empty list carries no type of its own in some writers.
  if (const auto* list = std::get_if<std::vector<int64_t>>(value); list != nullptr && list->empty())
    return {};
  complain(name, "no list of floats");
  return other;
}

ConstTensor Attributes::tensor(std::string_view name) {
  const ir::AttributeValue* value = find(name);
  if (value == nullptr) return nullptr;
  if (const ConstTensor* t = std::get_if<ConstTensor>(value)) return *t;
  complain(name, "no tensor");
  return nullptr;
}

int64_t Attributes::required_integer(std::string_view name) {
  if (!has(name)) complain(name, "missing");
  return integer(name, 0);
}

std::vector<int64_t> Attributes::required_integers(std::string_view name) {
  if (!has(name)) complain(name, "missing");
  return integers(name);
}

Status Attributes::status() const {
  if (error_) return *error_;
  return {};
}

std::vector<std::string> Attributes::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : map_) {
    if (read_.count(name) == 0) names.push_back(name);
  }
  return names;
}

}  // namespace tandem::onnx_io
