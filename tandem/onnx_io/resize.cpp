// SPDX-License-Identifier: Apache-2.0
// Resize in its three generations, and Upsample before it.
#include <algorithm>

#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {
namespace {

Result<ir::ResizeMode> read_mode(Import& in) {
  const std::string mode = in.attributes.text("mode", "nearest");
  if (mode == "nearest") return ir::ResizeMode::kNearest;
  if (mode == "linear" || mode == "bilinear") return ir::ResizeMode::kLinear;
  if (mode == "cubic") return ir::ResizeMode::kCubic;
  return bad_input("attribute 'mode' is '" + mode + "'");
}

// x, scales -> x, roi (absent), scales; with the coordinates of the time, asymmetric. Nearest took the pixel
// below when it enlarged and, in the runtimes of the time, the pixel above when it shrank.
Result<ir::Op> old_resize(Import& in, ir::ResizeMode mode, ir::ValueId scales) {
  ir::Resize op{
      .mode = mode, .coordinates = ir::CoordinateRule::kAsymmetric, .nearest = ir::NearestRule::kFloor};
  const Tensor* known = in.graph.value(scales).constant.get();
  if (known != nullptr && known->dtype() == DType::kF32) {
    const auto values = known->as<float>();
    const bool shrinks = std::any_of(values.begin(), values.end(), [](float s) { return s < 1; });
    const bool grows = std::any_of(values.begin(), values.end(), [](float s) { return s > 1; });
    if (shrinks && !grows) op.nearest = ir::NearestRule::kCeil;
  }
  in.inputs.resize(1, ir::kNoValue);
  in.set_input(2, scales);
  return ir::Op(std::move(op));
}

// Opsets 11 and 12 had tf_half_pixel_for_nn, whose coordinate is that of half_pixel plus 1/2. With h for the
// latter, floor(h + 1/2) rounds h half up, and rounding h + 1/2 half down is ceil(h); the other two pick
// pixels that no rule of half_pixel picks.
Result<ir::NearestRule> nearest_of_tf_half_pixel(ir::ResizeMode mode, ir::NearestRule rule) {
  if (mode == ir::ResizeMode::kNearest && rule == ir::NearestRule::kFloor)
    return ir::NearestRule::kRoundPreferCeil;
  if (mode == ir::ResizeMode::kNearest && rule == ir::NearestRule::kRoundPreferFloor)
    return ir::NearestRule::kCeil;
  return unsupported(fmt::format("Resize with tf_half_pixel_for_nn (withdrawn in opset 13) in mode {} {}",
                                 ir::enum_name(mode), ir::enum_name(rule)));
}

}  // namespace

Result<ir::Op> import_upsample(Import& in) {
  const ir::ResizeMode mode = TANDEM_TRY(read_mode(in));
  if (in.has_input(1)) return old_resize(in, mode, in.inputs[1]);
  std::vector<float> scales = in.attributes.reals("scales");
  if (scales.empty()) {  // the first form
    scales = {1, 1, in.attributes.real("height_scale", 1), in.attributes.real("width_scale", 1)};
  }
  const int64_t count = static_cast<int64_t>(scales.size());
  return old_resize(in, mode, in.constant("scales", Tensor::of<float>(Shape{count}, scales)));
}

Result<ir::Op> import_resize(Import& in) {
  const ir::ResizeMode mode = TANDEM_TRY(read_mode(in));
  if (in.version < 11) {
    if (!in.has_input(1)) return bad_input("input 'scales' is missing");
    return old_resize(in, mode, in.inputs[1]);
  }
  ir::Resize op{.mode = mode};
  const std::string rule = in.attributes.text("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = in.attributes.text("nearest_mode", "round_prefer_floor");
  const auto nearest_rule = ir::enum_from_name<ir::NearestRule>(nearest);
  if (!nearest_rule) return bad_input("attribute 'nearest_mode' is '" + nearest + "'");
  op.nearest = *nearest_rule;
  // The IR's names are ONNX's, but for one.
  const auto known = ir::enum_from_name<ir::CoordinateRule>(rule);
  if (rule == "tf_half_pixel_for_nn") {
    op.nearest = TANDEM_TRY(nearest_of_tf_half_pixel(mode, op.nearest));
  } else {
    if (!known) return bad_input("attribute 'coordinate_transformation_mode' is '" + rule + "'");
    op.coordinates = *known;
  }
  const std::string aspect = in.attributes.text("keep_aspect_ratio_policy", "stretch");
  const auto policy = ir::enum_from_name<ir::AspectPolicy>(aspect);
  if (!policy) return bad_input("attribute 'keep_aspect_ratio_policy' is '" + aspect + "'");
  op.aspect = *policy;
  op.cubic_coeff_a = in.attributes.real("cubic_coeff_a", -0.75f);
  op.extrapolation_value = in.attributes.real("extrapolation_value", 0);
  op.exclude_outside = in.attributes.flag("exclude_outside", false);
  op.antialias = in.attributes.flag("antialias", false);
  op.axes = in.attributes.integers("axes");
  // In opset 11 roi and scales could not be left out; an empty tensor stood for "absent".
  for (size_t i = 1; i < std::min<size_t>(in.inputs.size(), 4); ++i) {
    const auto shape = in.shape(i);
    if (shape && shape->rank() == 1 && (*shape)[0] == 0) in.set_input(i, ir::kNoValue);
  }
  return ir::Op(std::move(op));
}

Status export_op(Export& out, const ir::Resize& op) {
  ir::AttributeMap attributes{{"mode", std::string(ir::enum_name(op.mode))},
                              {"coordinate_transformation_mode", std::string(ir::enum_name(op.coordinates))}};
  if (op.mode == ir::ResizeMode::kNearest)
    attributes["nearest_mode"] = std::string(ir::enum_name(op.nearest));
  if (op.aspect != ir::AspectPolicy::kStretch) {
    attributes["keep_aspect_ratio_policy"] = std::string(ir::enum_name(op.aspect));
    out.require(18, "Resize that keeps the aspect ratio");
  }
  if (op.coordinates == ir::CoordinateRule::kHalfPixelSymmetric)
    out.require(19, "Resize by half_pixel_symmetric");
  if (op.cubic_coeff_a != -0.75f) attributes["cubic_coeff_a"] = double{op.cubic_coeff_a};
  if (op.extrapolation_value != 0) attributes["extrapolation_value"] = double{op.extrapolation_value};
  if (op.exclude_outside) attributes["exclude_outside"] = int64_t{1};
  if (op.antialias) {
    attributes["antialias"] = int64_t{1};
    out.require(18, "Resize with antialias");
  }
  if (!op.axes.empty()) {
    attributes["axes"] = op.axes;
    out.require(18, "Resize with axes");
  }
  out.emit("Resize", std::move(attributes));
  return {};
}

}  // namespace tandem::onnx_io
