// SPDX-License-Identifier: Apache-2.0
// The table of element types and the 16-bit float conversions.
#include "tandem/tensor/dtype.hpp"

#include <array>
#include <bit>
#include <cmath>

namespace tandem {
namespace {

struct Row {
  std::string_view name;
  size_t size;
  bool is_float, is_integer, is_signed;
};
constexpr std::array<Row, kDTypeCount> kRows = {{
    {"f32", 4, true, false, true},
    {"f64", 8, true, false, true},
    {"f16", 2, true, false, true},
    {"bf16", 2, true, false, true},
    {"i8", 1, false, true, true},
    {"u8", 1, false, true, false},
    {"i16", 2, false, true, true},
    {"u16", 2, false, true, false},
    {"i32", 4, false, true, true},
    {"u32", 4, false, true, false},
    {"i64", 8, false, true, true},
    {"u64", 8, false, true, false},
    {"bool", 1, false, false, false},
}};

const Row& row(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

size_t size_of(DType dtype) { return row(dtype).size; }
std::string_view to_string(DType dtype) { return row(dtype).name; }
bool is_float(DType dtype) { return row(dtype).is_float; }
bool is_integer(DType dtype) { return row(dtype).is_integer; }
bool is_signed(DType dtype) { return row(dtype).is_signed; }

std::optional<DType> dtype_from_string(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and above round to infinity.
  if (magnitude < 0x38800000u) {
    // Subnormal half: a multiple of 2^-24, rounded by the current (nearest-even) mode.
    const float scaled = std::nearbyint(std::ldexp(std::bit_cast<float>(magnitude), 24));
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(scaled));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace tandem
