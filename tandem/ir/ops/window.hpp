// SPDX-License-Identifier: Apache-2.0
// Window: the sliding window that convolutions and pools share, and the arithmetic of its padding.
#pragma once

#include "tandem/ir/fields.hpp"
#include "tandem/tensor/shape.hpp"

namespace tandem::ir {

enum class AutoPad : uint8_t { kExplicit, kSameUpper, kSameLower, kValid };
template <>
struct EnumNames<AutoPad> {
  static constexpr std::array<std::string_view, 4> names = {"explicit", "same_upper", "same_lower", "valid"};
};

// All vectors have one entry per spatial dimension, pads two: all begins, then all ends (ONNX order). Empty
// strides, dilations and pads mean 1, 1 and 0.
struct Window {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads;
  AutoPad auto_pad = AutoPad::kExplicit;

  int64_t stride(size_t i) const { return strides.empty() ? 1 : strides[i]; }
  int64_t dilation(size_t i) const { return dilations.empty() ? 1 : dilations[i]; }
  // Extent of the dilated kernel.
  int64_t extent(size_t i) const { return (kernel[i] - 1) * dilation(i) + 1; }
  friend bool operator==(const Window&, const Window&) = default;
};

struct ResolvedWindow {
  std::vector<int64_t> pad_begin, pad_end;  // explicit; known only where the input extent is
  std::vector<int64_t> output;              // spatial output extents; kDynamic where the input is
};

// Checks ranks and values (kernel, strides, dilations >= 1, pads as given) and resolves auto_pad for
// `spatial` input extents (kDynamic allowed). With ceil_mode the last window may start inside the input or
// its begin padding only. Error when an output extent would be <= 0.
Result<ResolvedWindow> resolve(const Window& window, const std::vector<int64_t>& spatial, bool ceil_mode);

}  // namespace tandem::ir
