// SPDX-License-Identifier: Apache-2.0
// Broadcasting loops over rows: several operands are read as f32, a function makes a row, the row is stored.
// All our own elementwise ops are one of these, whatever the layouts and dtypes.
#pragma once

#include <array>
#include <vector>

#include "tandem/exec/kernels.hpp"
#include "tandem/exec/program.hpp"

namespace tandem::exec {

inline constexpr int64_t kRowMax = 512;  // elements at a time: four f32 rows of it stay in L1
inline constexpr size_t kOperandsMax = 4;

struct RowPlan {
  // Dimensions in the physical order of the output, joined where possible; the last one is the row.
  std::vector<int64_t> extent;
  std::vector<std::vector<int64_t>> stride;  // per operand and dimension; in the row 0 or 1
  bool ok = true;                            // false: some operand's row is strided, lay it out first
};

struct RowOperand {
  Shape shape;
  Layout layout = Layout::kPlain;
};

// `output` is dense in its layout; operands broadcast to it by NumPy's rule.
RowPlan plan_rows(const Shape& output, Layout layout, const std::vector<RowOperand>& operands);

// fn(rows, count, out): rows[k] are the f32 elements of operand k; out may be written in place of none of
// them.
template <typename F>
void run_rows(const RowPlan& plan, const std::byte* const* from, const std::vector<RowType>& types,
              const RowType& to_type, std::byte* to, F&& fn) {
  const Kernels& k = kernels();
  const size_t operands = types.size();
  const size_t dims = plan.extent.size();
  const int64_t row = plan.extent[dims - 1];
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < dims; ++d) rows *= plan.extent[d];
  alignas(64) float buffers[kOperandsMax][kRowMax];
  alignas(64) float out[kRowMax];
  std::array<int64_t, 16> index{};
  std::array<int64_t, kOperandsMax> offset{};
  const size_t to_width = size_of(to_type.dtype);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t first = 0; first < row; first += kRowMax) {
      const int64_t count = row - first < kRowMax ? row - first : kRowMax;
      float* x[kOperandsMax] = {};
      for (size_t o = 0; o < operands; ++o) {
        const int64_t step = plan.stride[o][dims - 1];
        const std::byte* at =
            from[o] + static_cast<size_t>(offset[o] + first * step) * size_of(types[o].dtype);
        x[o] = buffers[o];
        k.load(at, types[o], step, count, buffers[o]);
      }
      fn(static_cast<float* const*>(x), count, out);
      k.store(out, to_type, count, to + static_cast<size_t>(r * row + first) * to_width);
    }
    for (size_t d = dims - 1; d-- > 0;) {
      for (size_t o = 0; o < operands; ++o) offset[o] += plan.stride[o][d];
      if (++index[d] < plan.extent[d]) break;
      for (size_t o = 0; o < operands; ++o) offset[o] -= plan.stride[o][d] * plan.extent[d];
      index[d] = 0;
    }
  }
}

}  // namespace tandem::exec
