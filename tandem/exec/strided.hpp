// SPDX-License-Identifier: Apache-2.0
// Strided copies: every op that only moves elements, and every change of layout, is one of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::exec {

// to[sum i_d * to_stride[d]] = from[sum i_d * from_stride[d]] for all i_d in [0, extent[d]). Strides in
// elements.
struct StridedCopy {
  std::vector<int64_t> extent, to_stride, from_stride;
  size_t element_bytes = 4;
};

// Drops dimensions of extent 1 and joins those that are contiguous on both sides; the copied set stays the
// same.
StridedCopy simplified(const StridedCopy& copy);
// True when it copies one contiguous run from offset 0 to offset 0. Precondition: simplified().
bool is_contiguous(const StridedCopy& copy);
// Precondition: simplified(); the regions do not overlap.
void run(const StridedCopy& copy, const std::byte* from, std::byte* to);

}  // namespace tandem::exec
