// SPDX-License-Identifier: Apache-2.0
// What printing and parsing of the text form share: characters, numbers, and the attributes of an op without
// its type.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tandem/ir/op.hpp"

namespace tandem::ir::syntax {

// Names of these characters need no quotes.
inline bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '/' || c == '-';
}
bool is_plain_name(std::string_view name);
// In quotes, with \" \\ \n and \xNN for control characters and bytes that are no UTF-8.
std::string quoted(std::string_view text);
// The shortest decimal that reads back as the same number; nan, inf, -inf.
std::string print_number(float value);
std::string print_number(double value);

// An enumerator with the names of its type. All enums of ops are stored in a byte.
struct EnumField {
  const uint8_t* value = nullptr;
  const std::string_view* names = nullptr;
  size_t count = 0;
};

// One attribute. Only fields_of() knows the types of all ops; what works on attributes is written once over
// this.
using FieldPointer =
    std::variant<const int64_t*, const float*, const bool*, const std::string*, const std::vector<int64_t>*,
                 const std::vector<float>*, const DType*, const ConstTensor*, const Window*,
                 const Activation*, const AttributeMap*, EnumField>;
struct Field {
  std::string_view name;
  FieldPointer at;
};
// The attributes of the op in order; they point into it.
std::vector<Field> fields_of(const Op& op);

// The op of that kName with default attributes, or nothing.
std::optional<Op> op_named(std::string_view name);
std::vector<std::string> op_names();
// "Conv", and "Opaque" for every Opaque.
std::string_view op_word(const Op& op);

}  // namespace tandem::ir::syntax
