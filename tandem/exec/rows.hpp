// SPDX-License-Identifier: Apache-2.0
// Broadcasting loops over rows: several operands are read as f32, a function makes a row, the row is stored.
// All our own elementwise ops are one of these, whatever the layouts and dtypes.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "tandem/exec/kernels.hpp"
#include "tandem/exec/program.hpp"

namespace tandem::exec {

inline constexpr int64_t kRowMax = 1024;  // elements at a time: five f32 rows of it stay in L1
inline constexpr size_t kOperandsMax = 4;

struct RowPlan {
  // Dimensions in the physical order of the output, joined where possible; the last one is the row.
  std::vector<int64_t> extent;
  std::vector<std::vector<int64_t>> stride;  // per operand and dimension; in the row 0 or 1
  bool ok = true;                            // false: some operand's row is strided, lay it out first
  // Neighbouring rows handled as one: a row of 24 channels alone costs more in calls than in work.
  int64_t rows_at_once = 1;
  std::vector<bool> repeats;  // per operand: neighbouring rows of the output read the same row of it
};

struct RowOperand {
  Shape shape;
  Layout layout = Layout::kPlain;
};

// `output` is dense in its layout; operands broadcast to it by NumPy's rule.
RowPlan plan_rows(const Shape& output, Layout layout, const std::vector<RowOperand>& operands);

// `rows` rows of one operand as f32: where they already are, or loaded (a repeating row so many times).
inline const float* row_of(const std::byte* from, const RowType& type, int64_t step, bool repeats,
                           int64_t row, int64_t rows, float* buffer) {
  if (type.dtype == DType::kF32 && step == 1 && (rows == 1 || !repeats))
    return reinterpret_cast<const float*>(from);
  const bool copies = repeats && step == 1;
  kernels().load(from, type, step, copies ? row : row * rows, buffer);
  for (int64_t r = 1; r < rows && copies; ++r) std::copy_n(buffer, row, buffer + r * row);
  return buffer;
}

// fn(rows, count, out): rows[k] are the f32 elements of operand k.
template <typename F>
void run_rows(const RowPlan& plan, const std::byte* const* from, const std::vector<RowType>& types,
              const RowType& to_type, std::byte* to, F&& fn) {
  const size_t operands = types.size(), dims = plan.extent.size();
  const int64_t row = plan.extent[dims - 1], neighbours = dims > 1 ? plan.extent[dims - 2] : 1;
  int64_t groups = 1;
  for (size_t d = 0; d + 2 < dims; ++d) groups *= plan.extent[d];
  alignas(64) float buffers[kOperandsMax][kRowMax];
  alignas(64) float made[kRowMax];
  std::array<int64_t, 16> index{};
  std::array<int64_t, kOperandsMax> offset{};
  const float* x[kOperandsMax] = {};
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t r = 0; r < neighbours; r += plan.rows_at_once) {
      const int64_t rows = std::min(plan.rows_at_once, neighbours - r);
      for (int64_t first = 0; first < row; first += kRowMax) {
        const int64_t length = std::min(row - first, kRowMax);
        for (size_t o = 0; o < operands; ++o) {
          const bool repeats = plan.repeats[o];
          if (repeats && r > 0 && length == row) continue;  // x[o] is that row already
          const int64_t step = plan.stride[o][dims - 1];
          const int64_t at =
              offset[o] + first * step + (repeats || dims == 1 ? 0 : r * plan.stride[o][dims - 2]);
          x[o] = row_of(from[o] + static_cast<size_t>(at) * size_of(types[o].dtype), types[o], step, repeats,
                        length, rows, buffers[o]);
        }
        float* out = to_type.dtype == DType::kF32 ? reinterpret_cast<float*>(to) : made;
        fn(static_cast<const float* const*>(x), length * rows, out);
        if (out == made) kernels().store(made, to_type, length * rows, to);
        to += static_cast<size_t>(length * rows) * size_of(to_type.dtype);
      }
    }
    for (size_t d = dims - 1; d-- > 1;) {
      for (size_t o = 0; o < operands; ++o) offset[o] += plan.stride[o][d - 1];
      if (++index[d - 1] < plan.extent[d - 1]) break;
      for (size_t o = 0; o < operands; ++o) offset[o] -= plan.stride[o][d - 1] * plan.extent[d - 1];
      index[d - 1] = 0;
    }
  }
}

}  // namespace tandem::exec
