// SPDX-License-Identifier: Apache-2.0
// Shape rule of Resize, after the operator definition of ONNX (opset 19).
#include "tandem/ir/ops/resize.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {
namespace {

// Old exporters write an empty tensor for an absent input.
const InputInfo* given(InputInfos in, size_t index) {
  const InputInfo* input = rules::optional_input(in, index);
  return input && rules::length_of(*input) == 0 ? nullptr : input;
}

Status check_scales(const Tensor& scales) {
  for (int64_t i = 0; i < scales.elements(); ++i) {
    const double scale = element_as_double(scales, i);
    if (!(scale > 0) || !std::isfinite(scale))
      return bad_input(fmt::format("scale {} of axis {} is not positive and finite", scale, i));
  }
  return {};
}

// y from scales; the product is taken in float, as other runtimes do, so that extents agree with theirs.
Result<Shape> by_scales(const Resize& op, Shape y, const std::vector<size_t>& axes, InputInfos in) {
  const InputInfo& scales = in[2];
  if (!scales.constant) {
    for (size_t axis : axes) y[axis] = kDynamic;
    return y;
  }
  TANDEM_TRY(check_scales(*scales.constant));
  const bool crops = op.coordinates == CoordinateRule::kTfCropAndResize;
  const InputInfo* roi = given(in, 1);
  const bool roi_known =
      roi && roi->constant && roi->constant->elements() == static_cast<int64_t>(2 * axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t& extent = y[axes[i]];
    float scale = static_cast<float>(element_as_double(*scales.constant, static_cast<int64_t>(i)));
    if (crops) {
      if (!roi_known) {
        extent = kDynamic;
        continue;
      }
      const double begin = element_as_double(*roi->constant, static_cast<int64_t>(i));
      const double end = element_as_double(*roi->constant, static_cast<int64_t>(i + axes.size()));
      scale *= static_cast<float>(end - begin);
    }
    if (scale == 1) continue;
    if (extent < 0) {
      extent = kDynamic;
      continue;
    }
    const float scaled = std::floor(static_cast<float>(extent) * scale);
    if (!(scaled >= 1) || scaled > static_cast<float>(rules::kMaxAttribute)) {
      return bad_input(fmt::format("extent {} with scale {} gives {}", extent, scale, scaled));
    }
    extent = static_cast<int64_t>(scaled);
  }
  return y;
}

// One scale for all axes: the smallest or the largest of those that the sizes ask for.
void keep_aspect(AspectPolicy policy, const Shape& x, const std::vector<size_t>& axes, Shape& y) {
  double common = 0;
  for (size_t axis : axes) {
    if (x[axis] <= 0 || y[axis] < 0) {
      for (size_t other : axes) y[other] = kDynamic;
      return;
    }
    const double scale = static_cast<double>(y[axis]) / static_cast<double>(x[axis]);
    if (axis == axes[0])
      common = scale;
    else
      common = policy == AspectPolicy::kNotLarger ? std::min(common, scale) : std::max(common, scale);
  }
  for (size_t axis : axes)
    y[axis] = static_cast<int64_t>(std::floor(common * static_cast<double>(x[axis]) + 0.5));
}

Result<Shape> by_sizes(const Resize& op, const Shape& x, const std::vector<size_t>& axes,
                       const InputInfo& sizes) {
  Shape y = x;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t element = sizes.ints ? (*sizes.ints)[i] : kUnknownInt;
    if (is_known_int(element) && (element < 1 || element > rules::kMaxAttribute)) {
      return bad_input(fmt::format("sizes has the element {}", element));
    }
    y[axes[i]] = dim_of_int(element);
  }
  if (op.aspect != AspectPolicy::kStretch) keep_aspect(op.aspect, x, axes, y);
  return y;
}

}  // namespace

Inferred infer(const Resize& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {1, 4, 1}));
  const InputInfo& x = in[0];
  const InputInfo *scales = given(in, 2), *sizes = given(in, 3);
  if ((scales != nullptr) == (sizes != nullptr))
    return bad_input("exactly one of scales and sizes must be given");
  if (sizes) TANDEM_TRY(rules::expect_integer(*sizes, "sizes"));
  const InputInfo& target = scales ? *scales : *sizes;
  TANDEM_TRY(rules::expect_rank(target, 1, scales ? "scales" : "sizes"));
  if (!x.shape) return rules::output(x.dtype, std::nullopt);
  std::vector<size_t> axes(x.shape->rank());
  std::iota(axes.begin(), axes.end(), size_t{0});
  if (!op.axes.empty()) axes = TANDEM_TRY(rules::normalize_axes(op.axes, x.shape->rank()));
  if (const auto count = rules::length_of(target); count && *count != static_cast<int64_t>(axes.size())) {
    return bad_input(
        fmt::format("{} has {} elements for {} axes", scales ? "scales" : "sizes", *count, axes.size()));
  }
  Shape y = scales ? TANDEM_TRY(by_scales(op, *x.shape, axes, in))
                   : TANDEM_TRY(by_sizes(op, *x.shape, axes, *sizes));
  return rules::output(x.dtype, std::move(y));
}

}  // namespace tandem::ir
