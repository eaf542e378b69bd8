// SPDX-License-Identifier: Apache-2.0
// The only place of the text form that is compiled for every op.
#include "tandem/ir/text_syntax.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <type_traits>

#include "tandem/base/text.hpp"

namespace tandem::ir::syntax {
namespace {

template <typename T>
FieldPointer pointer_to(const T& member) {
  if constexpr (std::is_enum_v<T> && !std::is_same_v<T, DType>) {
    static_assert(sizeof(T) == 1);
    const auto& names = EnumNames<T>::names;
    return EnumField{reinterpret_cast<const uint8_t*>(&member), names.data(), names.size()};
  } else {
    return &member;
  }
}

template <size_t... I>
std::optional<Op> op_named(std::string_view name, std::index_sequence<I...>) {
  std::optional<Op> op;
  ((std::variant_alternative_t<I, AnyOp>::kName == name
        ? static_cast<void>(op.emplace(std::in_place_index<I>))
        : void()),
   ...);
  return op;
}

template <size_t... I>
std::vector<std::string> op_names(std::index_sequence<I...>) {
  return {std::string(std::variant_alternative_t<I, AnyOp>::kName)...};
}

template <typename T>
std::string number(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  return std::string(buffer, end);
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "_" && std::all_of(name.begin(), name.end(), is_name_char);
}

std::string quoted(std::string_view text) {
  std::string_view rest = text;
  std::string out = "\"";
  while (!rest.empty()) {
    const std::string_view before = rest;
    const std::optional<uint32_t> code_point = take_code_point(rest);
    const std::string_view taken = before.substr(0, before.size() - rest.size());
    const unsigned char byte = static_cast<unsigned char>(taken[0]);
    if (taken == "\"" || taken == "\\")
      out += fmt::format("\\{}", taken);
    else if (taken == "\n")
      out += "\\n";
    else if (!code_point || byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += taken;
  }
  return out + "\"";
}

std::string print_number(float value) { return number(value); }
std::string print_number(double value) { return number(value); }

std::vector<Field> fields_of(const Op& op) {
  std::vector<Field> fields;
  std::visit(
      [&](const auto& o) {
        std::decay_t<decltype(o)>::fields(o, [&](std::string_view name, const auto& member) {
          fields.push_back({name, pointer_to(member)});
        });
      },
      op);
  return fields;
}

std::optional<Op> op_named(std::string_view name) {
  return op_named(name, std::make_index_sequence<std::variant_size_v<AnyOp>>());
}

std::vector<std::string> op_names() {
  return op_names(std::make_index_sequence<std::variant_size_v<AnyOp>>());
}

std::string_view op_word(const Op& op) {
  return std::holds_alternative<Opaque>(op) ? Opaque::kName : op_name(op);
}

}  // namespace tandem::ir::syntax
