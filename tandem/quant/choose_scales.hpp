// SPDX-License-Identifier: Apache-2.0
// From what calibration saw to QuantParams: four methods for activations, largest magnitude for weights.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "tandem/quant/histogram.hpp"
#include "tandem/tensor/quant_params.hpp"

namespace tandem::quant {

// minmax:     the whole range; in pow2 the power of two nearest to its scale, so that up to a 1.41th part may
// clip. percentile: the magnitude that 99.99 % of the values do not exceed. mse:        the clipping
// threshold with the least mean squared error over the histogram. entropy:    the threshold with the least
// Kullback-Leibler divergence between the clipped and the quantized histogram
//             (Migacz, "8-bit inference with TensorRT", 2017).
enum class RangeMethod : uint8_t { kMinMax, kPercentile, kMse, kEntropy };
std::string_view to_string(RangeMethod method);
std::optional<RangeMethod> range_method_from_string(std::string_view name);

// u8 with zero point 0 when no value is negative, else symmetric s8 (pow2: always s8). A tensor that is
// constant zero gets scale 1 (affine) or fix_point 0.
QuantParams choose_activation(const Histogram& seen, RangeMethod method, Scheme scheme, int bits = 8);

// Mean squared error of storing what the histogram saw with these per-tensor params.
double expected_squared_error(const Histogram& seen, const QuantParams& params);

// Symmetric scales by the largest magnitude per index of `axis`, or one when axis < 0. Precondition: finite
// weights. Channels that are all zero get scale 1. In pow2 one fix_point, the power of two nearest to the
// scale of the range.
QuantParams choose_weights(const TensorView& w, int64_t axis, Scheme scheme, int bits = 8);

// The finest power of two that holds every element of a pow2 bias. Precondition: finite.
QuantParams choose_pow2_bias(const TensorView& bias);

}  // namespace tandem::quant
