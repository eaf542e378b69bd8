// SPDX-License-Identifier: Apache-2.0
// Resampling of spatial dimensions, with the coordinate rules of ONNX.
#pragma once

#include "tandem/ir/fields.hpp"
#include "tandem/ir/infer.hpp"

namespace tandem::ir {

enum class ResizeMode : uint8_t { kNearest, kLinear, kCubic };
template <>
struct EnumNames<ResizeMode> {
  static constexpr std::array<std::string_view, 3> names = {"nearest", "linear", "cubic"};
};

enum class CoordinateRule : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfCropAndResize
};
template <>
struct EnumNames<CoordinateRule> {
  static constexpr std::array<std::string_view, 6> names = {"half_pixel",         "half_pixel_symmetric",
                                                            "pytorch_half_pixel", "align_corners",
                                                            "asymmetric",         "tf_crop_and_resize"};
};

enum class NearestRule : uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };
template <>
struct EnumNames<NearestRule> {
  static constexpr std::array<std::string_view, 4> names = {"round_prefer_floor", "round_prefer_ceil",
                                                            "floor", "ceil"};
};

enum class AspectPolicy : uint8_t { kStretch, kNotLarger, kNotSmaller };
template <>
struct EnumNames<AspectPolicy> {
  static constexpr std::array<std::string_view, 3> names = {"stretch", "not_larger", "not_smaller"};
};

// Inputs: x, roi (optional), scales (f32, optional), sizes (i64, optional).
struct Resize {
  static constexpr std::string_view kName = "Resize";
  ResizeMode mode = ResizeMode::kNearest;
  CoordinateRule coordinates = CoordinateRule::kHalfPixel;
  NearestRule nearest = NearestRule::kRoundPreferFloor;
  AspectPolicy aspect = AspectPolicy::kStretch;
  float cubic_coeff_a = -0.75f;
  float extrapolation_value = 0;
  bool exclude_outside = false;
  bool antialias = false;
  std::vector<int64_t> axes;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("mode", s.mode);
    f("coordinates", s.coordinates);
    f("nearest", s.nearest);
    f("aspect", s.aspect);
    f("cubic_coeff_a", s.cubic_coeff_a);
    f("extrapolation_value", s.extrapolation_value);
    f("exclude_outside", s.exclude_outside);
    f("antialias", s.antialias);
    f("axes", s.axes);
  }
};

Inferred infer(const Resize& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
