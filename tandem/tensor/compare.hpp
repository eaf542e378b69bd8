// SPDX-License-Identifier: Apache-2.0
// How far two tensors are apart: the figures that every judge in the project uses.
#pragma once

#include <cstdint>
#include <string>

#include "tandem/base/result.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem {

struct Difference {
  int64_t elements = 0;
  int64_t differing = 0;        // elements that are not bit-equal in value (NaN equals NaN)
  double max_abs = 0;           // infinity when one is NaN or infinite and the other is not the same
  int64_t max_abs_index = 0;
  double mean_abs = 0;
  double cosine = 1;            // 1 when both are all zero, 0 when one is
  double sqnr_db = 0;           // 10 log10(sum a^2 / sum (a-b)^2); infinity when equal
  double nmse = 0;              // sum (a-b)^2 / sum a^2
  std::string to_string() const;
};

// `expected` is the reference. Error when shapes differ; dtypes may differ (compared as doubles).
Result<Difference> compare(const TensorView& expected, const TensorView& actual);

// NumPy's rule: |a-b| <= atol + rtol * |expected| for every element, NaN equal to NaN. Error text names the worst one.
Status all_close(const TensorView& expected, const TensorView& actual, double rtol, double atol);

}  // namespace tandem
