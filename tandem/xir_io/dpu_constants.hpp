// SPDX-License-Identifier: Apache-2.0
// Constants by which the DPU approximates what it cannot divide by. The quantizer of Vitis AI writes them
// into the graph as a multiplication behind the op.
#pragma once

#include "tandem/ref/fixed_point.hpp"

namespace tandem::xir_io {

inline constexpr float kDpuLeakySlope = 26.0f / 256;  // the only slope of LeakyReLU that the DPU has
inline constexpr double kHardSigmoidFactor = 6 * 2731.0 / 16384;  // 1/6 is 2731 / 2^14 there

// Kernel area times the factor N / 2^M that stands for 1 / area; 1 where that is exact.
inline double average_pool_factor(int64_t kernel_h, int64_t kernel_w) {
  return ref::average_factor(kernel_h, kernel_w).value() * static_cast<double>(kernel_h * kernel_w);
}

}  // namespace tandem::xir_io
