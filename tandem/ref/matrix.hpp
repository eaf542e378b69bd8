// SPDX-License-Identifier: Apache-2.0
// The loops of matrix products, for any element and accumulator type.
#pragma once

#include <algorithm>
#include <vector>

#include "tandem/ref/kernel.hpp"

namespace tandem::ref {

// a [m,k] | b [k,n], row-major. finish(i, sums) gets every row of the product. Integer sums wrap.
template <typename Acc, typename T, typename Finish>
void multiply_matrices(const T* a, const T* b, int64_t m, int64_t k, int64_t n, Finish&& finish) {
  std::vector<Acc> sums(static_cast<size_t>(n));
  for (int64_t i = 0; i < m; ++i) {
    std::fill(sums.begin(), sums.end(), Acc{});
    for (int64_t p = 0; p < k; ++p) {
      const Acc left = static_cast<Acc>(a[i * k + p]);
      const T* row = b + p * n;
      for (int64_t j = 0; j < n; ++j)
        sums[static_cast<size_t>(j)] =
            add(sums[static_cast<size_t>(j)], multiply(left, static_cast<Acc>(row[j])));
    }
    finish(i, sums.data());
  }
}

// NumPy's matmul: matrices [m,k] and [k,n] for every index of `batch`.
struct MatMulShape {
  int64_t m = 0, k = 0, n = 0;
  Shape batch;
  std::vector<int64_t> a_strides, b_strides;  // over batch, in matrices
};
Result<MatMulShape> matmul_shape(const Shape& a, const Shape& b);

// finish(first, sums) gets every row of the product and the index of its first element.
template <typename Acc, typename T, typename Finish>
void multiply_batches(const MatMulShape& s, const T* a, const T* b, Finish&& finish) {
  walk<2>(s.batch, {s.a_strides, s.b_strides}, [&](int64_t batch, const std::array<int64_t, 2>& at) {
    multiply_matrices<Acc>(a + at[0] * s.m * s.k, b + at[1] * s.k * s.n, s.m, s.k, s.n,
                           [&](int64_t i, const Acc* row) { finish((batch * s.m + i) * s.n, row); });
  });
}

}  // namespace tandem::ref
