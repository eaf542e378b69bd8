// SPDX-License-Identifier: Apache-2.0
// Our own loops over rows of elements, compiled for several instruction sets and chosen at run time. None of
// them contracts a multiply and an add into one rounding, so every instruction set gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tandem/tensor/dtype.hpp"

namespace tandem::exec {

// How stored elements stand for reals: real = scale * (q - zero).
struct RowType {
  DType dtype = DType::kF32;
  float scale = 1;
  int32_t zero = 0;
  int32_t low = 0, high = 0;  // store: clamp of q
  bool pow2 = false;          // store: half up instead of ties to even
};

enum class RowOp : uint8_t { kAdd, kSub, kMul, kDiv, kMin, kMax };
enum class RowFunction : uint8_t { kRelu, kClip, kLeakyRelu, kHardSigmoid, kHardSwish };

struct Kernels {
  const char* isa;
  // out[i] = real of element i (or of element 0 for all i when `step` is 0).
  void (*load)(const std::byte* from, const RowType& type, int64_t step, int64_t count, float* out);
  void (*store)(const float* from, const RowType& type, int64_t count, std::byte* out);
  void (*binary)(RowOp op, const float* a, const float* b, int64_t count, float* out);
  void (*function)(RowFunction f, float alpha, float beta, float* x, int64_t count);
  void (*map)(const uint8_t* table, const uint8_t* from, int64_t count, uint8_t* out);
  // out[c] = scale[c] * (acc[c] + bias[c]) in f32 (bias may be null).
  void (*scale_accumulator)(const int32_t* acc, const float* scale, const float* bias, int64_t count,
                            float* out);
  // out[3 i + c] = planes[c][i] for elements of 1 or 4 bytes: colour planes to pixels.
  void (*interleave3)(const std::byte* const* planes, size_t width, int64_t count, std::byte* out);
  // out[c] += x[c]; integers exactly.
  void (*sum_f32)(const float* x, int64_t count, float* out);
  void (*sum_i8)(const int8_t* x, int64_t count, int32_t* out);
  void (*sum_u8)(const uint8_t* x, int64_t count, int32_t* out);
};

const Kernels& kernels();
// The plain C++ build of the same loops, for comparison in tests.
const Kernels& portable_kernels();

}  // namespace tandem::exec
