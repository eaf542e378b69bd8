// SPDX-License-Identifier: Apache-2.0
// Protocol buffer wire format (varints and length-delimited fields) with the field numbers of onnx.proto.
#include "tests/ops/model_names.hpp"

#include <algorithm>
#include <optional>

namespace tandem::ops {
namespace {

std::optional<uint64_t> take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// Calls fn(field number, integer value, bytes) for every field of a message.
template <typename F>
void for_each_field(std::string_view message, F&& fn) {
  while (!message.empty()) {
    const auto key = take_varint(message);
    if (!key) return;
    uint64_t value = 0;
    std::string_view bytes;
    size_t length = 0;
    switch (*key & 7) {
      case 0: {
        const auto number = take_varint(message);
        if (!number) return;
        value = *number;
        break;
      }
      case 1: length = 8; break;
      case 2: {
        const auto number = take_varint(message);
        if (!number) return;
        length = *number;
        break;
      }
      case 5: length = 4; break;
      default: return;
    }
    if (length > message.size()) return;
    bytes = message.substr(0, length);
    message.remove_prefix(length);
    fn(*key >> 3, value, bytes);
  }
}

}  // namespace

ModelNames model_names(std::string_view bytes) {
  ModelNames names;
  for_each_field(bytes, [&](uint64_t field, uint64_t, std::string_view part) {
    if (field == 8) {  // opset_import: domain 1, version 2
      std::string_view domain;
      int64_t version = 0;
      for_each_field(part, [&](uint64_t f, uint64_t value, std::string_view text) {
        if (f == 1) domain = text;
        if (f == 2) version = static_cast<int64_t>(value);
      });
      if (domain.empty() || names.opset == 0) names.opset = version;
    }
    if (field != 7) return;  // graph
    for_each_field(part, [&](uint64_t f, uint64_t, std::string_view node) {
      if (f != 1) return;
      std::string_view type, domain;
      for_each_field(node, [&](uint64_t g, uint64_t, std::string_view text) {
        if (g == 4) type = text;
        if (g == 7) domain = text;
      });
      const std::string name = domain.empty() || domain == "ai.onnx"
                                   ? std::string(type)
                                   : std::string(domain) + "::" + std::string(type);
      if (std::find(names.operators.begin(), names.operators.end(), name) == names.operators.end()) {
        names.operators.push_back(name);
      }
    });
  });
  return names;
}

}  // namespace tandem::ops
