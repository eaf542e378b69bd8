// SPDX-License-Identifier: Apache-2.0
// How op structs show their attributes: each has kName and a static fields(self, f) that calls f(name,
// member) for every attribute. Text form, equality, hashing and JSON are written once over this. A member is
// one of: int64_t, float, bool, std::string, std::vector<int64_t>, std::vector<float>, DType, ConstTensor,
// Window, Activation, AttributeMap, or an enum with EnumNames.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace tandem::ir {

// Specialised beside each enum: static constexpr std::array names, in the order of the enumerators from 0.
template <typename E>
struct EnumNames;

template <typename E>
constexpr std::string_view enum_name(E value) {
  return EnumNames<E>::names[static_cast<size_t>(value)];
}

template <typename E>
std::optional<E> enum_from_name(std::string_view name) {
  for (size_t i = 0; i < EnumNames<E>::names.size(); ++i) {
    if (EnumNames<E>::names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace tandem::ir
