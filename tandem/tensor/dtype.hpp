// SPDX-License-Identifier: Apache-2.0
// DType: the element types of tensors, and the 16-bit floats as conversions to and from float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem {

enum class DType : uint8_t { kF32, kF64, kF16, kBF16, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kBool };
inline constexpr int kDTypeCount = 13;

size_t size_of(DType dtype);
std::string_view to_string(DType dtype);  // "f32", "i8", "bool", ...
std::optional<DType> dtype_from_string(std::string_view name);
bool is_float(DType dtype);
bool is_integer(DType dtype);  // without bool
bool is_signed(DType dtype);

// IEEE 754 binary16 and bfloat16; rounding to nearest, ties to even; NaN stays NaN.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);

// The DType that stores T; f16 and bf16 have no C++ type of their own and are stored as their bits.
template <typename T>
constexpr DType dtype_of();
template <> constexpr DType dtype_of<float>() { return DType::kF32; }
template <> constexpr DType dtype_of<double>() { return DType::kF64; }
template <> constexpr DType dtype_of<int8_t>() { return DType::kI8; }
template <> constexpr DType dtype_of<uint8_t>() { return DType::kU8; }
template <> constexpr DType dtype_of<int16_t>() { return DType::kI16; }
template <> constexpr DType dtype_of<uint16_t>() { return DType::kU16; }
template <> constexpr DType dtype_of<int32_t>() { return DType::kI32; }
template <> constexpr DType dtype_of<uint32_t>() { return DType::kU32; }
template <> constexpr DType dtype_of<int64_t>() { return DType::kI64; }
template <> constexpr DType dtype_of<uint64_t>() { return DType::kU64; }
template <> constexpr DType dtype_of<bool>() { return DType::kBool; }

}  // namespace tandem
