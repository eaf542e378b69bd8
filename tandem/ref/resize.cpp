// SPDX-License-Identifier: Apache-2.0
// Resize, one axis after the other: every output index of an axis is a weighted sum of input indices (its
// taps). Sums are in double. Coordinates follow the ONNX specification of Resize.
#include "tandem/ir/ops/resize.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/ref/kernel.hpp"

namespace tandem::ref {
namespace {

using ir::CoordinateRule;
using ir::NearestRule;
using ir::ResizeMode;

struct Tap {
  int64_t index;
  double weight;
};
// The taps of one output index; outside: it shows the extrapolation value.
struct Taps {
  std::vector<Tap> taps;
  bool outside = false;
};

struct Axis {
  int64_t in = 1, out = 1;
  double scale = 1;
  double roi_start = 0, roi_end = 1;
};

double input_coordinate(CoordinateRule rule, const Axis& a, int64_t index) {
  const double x = static_cast<double>(index), in = static_cast<double>(a.in),
               out = static_cast<double>(a.out);
  switch (rule) {
    case CoordinateRule::kHalfPixel: return (x + 0.5) / a.scale - 0.5;
    case CoordinateRule::kHalfPixelSymmetric: {
      // What rounding of the output extent took away is split between both ends.
      const double adjustment = out / (a.scale * in);
      return in / 2 * (1 - adjustment) + (x + 0.5) / a.scale - 0.5;
    }
    case CoordinateRule::kPytorchHalfPixel: return a.out > 1 ? (x + 0.5) / a.scale - 0.5 : 0;
    case CoordinateRule::kAlignCorners: {
      // ONNX takes the extent that the scale asks for, before it is rounded down to the output's.
      const double resized = a.scale * in;
      return resized > 1 ? x * (in - 1) / (resized - 1) : 0;
    }
    case CoordinateRule::kAsymmetric: return x / a.scale;
    case CoordinateRule::kTfCropAndResize:
      if (a.out > 1) return a.roi_start * (in - 1) + x * (a.roi_end - a.roi_start) * (in - 1) / (out - 1);
      return 0.5 * (a.roi_start + a.roi_end) * (in - 1);
  }
  return 0;
}

double nearest_index(NearestRule rule, double x) {
  switch (rule) {
    case NearestRule::kRoundPreferFloor: return std::ceil(x - 0.5);
    case NearestRule::kRoundPreferCeil: return std::floor(x + 0.5);
    case NearestRule::kFloor: return std::floor(x);
    case NearestRule::kCeil: return std::ceil(x);
  }
  return x;
}

// The interpolation kernels at distance t: a triangle, or Keys' cubic convolution (1981) with parameter a.
double kernel_at(const ir::Resize& op, double t) {
  t = std::abs(t);
  if (op.mode == ResizeMode::kLinear) return std::max(0.0, 1 - t);
  const double a = static_cast<double>(op.cubic_coeff_a);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  if (t < 2) return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  return 0;
}

Taps taps_at(const ir::Resize& op, const Axis& axis, int64_t index) {
  Taps result;
  const double x = input_coordinate(op.coordinates, axis, index);
  const double last = static_cast<double>(axis.in - 1);
  result.outside = op.coordinates == CoordinateRule::kTfCropAndResize && (x < 0 || x > last);
  if (op.mode == ResizeMode::kNearest) {
    result.taps.push_back({static_cast<int64_t>(std::clamp(nearest_index(op.nearest, x), 0.0, last)), 1});
    return result;
  }
  // With antialias a reduction widens the kernel by its factor.
  const double squeeze = op.antialias ? std::min(1.0, axis.scale) : 1.0;
  const double reach = (op.mode == ResizeMode::kLinear ? 1 : 2) / squeeze;
  double sum = 0;
  for (double i = std::floor(x - reach) + 1; i < x + reach; ++i) {
    double weight = kernel_at(op, (i - x) * squeeze);
    if (op.exclude_outside && (i < 0 || i > last)) weight = 0;
    if (weight == 0) continue;
    result.taps.push_back({static_cast<int64_t>(std::clamp(i, 0.0, last)), weight});
    sum += weight;
  }
  if (sum != 0) {
    for (Tap& tap : result.taps) tap.weight /= sum;
  }
  return result;
}

// Replaces axis `d` of values (of shape `shape`) by its resized form.
std::vector<double> resize_axis(const std::vector<double>& values, Shape& shape, size_t d,
                                const std::vector<Taps>& taps) {
  const AxisView from = around_axis(shape, d);
  shape[d] = static_cast<int64_t>(taps.size());
  std::vector<double> out(static_cast<size_t>(shape.elements()), 0);
  double* to = out.data();
  for (int64_t o = 0; o < from.outer; ++o) {
    for (const Taps& t : taps) {
      for (const Tap& tap : t.taps) {
        const double* row = values.data() + (o * from.extent + tap.index) * from.inner;
        for (int64_t i = 0; i < from.inner; ++i) to[i] += tap.weight * row[i];
      }
      to += from.inner;
    }
  }
  return out;
}

// Fills in scale and region of every axis. The output extents are those that infer() found.
Result<std::vector<Axis>> resize_axes(const ir::Resize& op, const Call& call, const Shape& x,
                                      const Shape& y) {
  const size_t rank = x.rank();
  std::vector<Axis> axes(rank);
  for (size_t d = 0; d < rank; ++d) {
    axes[d].in = x[d];
    axes[d].out = y[d];
    if (x[d] == 0 && y[d] != 0) return bad_input("Resize of an empty axis");
    axes[d].scale = x[d] == 0 ? 1 : static_cast<double>(y[d]) / static_cast<double>(x[d]);
  }
  std::vector<size_t> named;
  for (int64_t axis : op.axes) named.push_back(TANDEM_TRY(normalize_axis(axis, rank)));
  if (named.empty()) {
    for (size_t d = 0; d < rank; ++d) named.push_back(d);
  }
  const bool has_scales = call.has(2) && call[2].elements() > 0;
  if (has_scales) {
    const std::vector<double> scales = doubles(call[2]);
    for (size_t i = 0; i < named.size() && i < scales.size(); ++i) axes[named[i]].scale = scales[i];
  } else if (op.aspect != ir::AspectPolicy::kStretch && call.has(3)) {
    // One scale for all named axes; their extents are rounded from it.
    const std::vector<double> sizes = doubles(call[3]);
    double scale = op.aspect == ir::AspectPolicy::kNotLarger ? INFINITY : 0;
    for (size_t i = 0; i < named.size() && i < sizes.size(); ++i) {
      const double own = sizes[i] / static_cast<double>(x[named[i]]);
      scale = op.aspect == ir::AspectPolicy::kNotLarger ? std::min(scale, own) : std::max(scale, own);
    }
    for (size_t d : named) axes[d].scale = scale;
  }
  if (op.coordinates == CoordinateRule::kTfCropAndResize) {
    const std::vector<double> roi = call.has(1) ? doubles(call[1]) : std::vector<double>{};
    if (roi.size() != 2 * named.size())
      return bad_input("tf_crop_and_resize needs a start and an end for every axis");
    for (size_t i = 0; i < named.size(); ++i) {
      axes[named[i]].roi_start = roi[i];
      axes[named[i]].roi_end = roi[named.size() + i];
    }
  }
  return axes;
}

}  // namespace

Outputs eval(const ir::Resize& op, const Call& call) {
  const Tensor& x = call[0];
  Tensor y = TANDEM_TRY(call.make(0));
  const std::vector<Axis> axes = TANDEM_TRY(resize_axes(op, call, x.shape(), y.shape()));
  std::vector<double> values = doubles(x);
  Shape shape = x.shape();
  std::vector<std::vector<bool>> outside(axes.size());
  bool any_outside = false;
  for (size_t d = 0; d < axes.size(); ++d) {
    std::vector<Taps> taps;
    for (int64_t i = 0; i < axes[d].out; ++i) {
      taps.push_back(taps_at(op, axes[d], i));
      outside[d].push_back(taps.back().outside);
      any_outside = any_outside || taps.back().outside;
    }
    const bool identity =
        axes[d].in == axes[d].out && axes[d].scale == 1 && op.coordinates != CoordinateRule::kTfCropAndResize;
    if (!identity) values = resize_axis(values, shape, d, taps);
  }
  if (any_outside) {
    std::vector<int64_t> index(axes.size(), 0);
    walk<1>(shape, {std::vector<int64_t>(axes.size(), 0)}, [&](int64_t i, const std::array<int64_t, 1>&) {
      bool out = false;
      int64_t rest = i;
      for (size_t d = axes.size(); d-- > 0;) {
        out = out || outside[d][static_cast<size_t>(rest % shape[d])];
        rest /= shape[d];
      }
      if (out) values[static_cast<size_t>(i)] = static_cast<double>(op.extrapolation_value);
    });
  }
  const Tensor real = Tensor::of<double>(y.shape(), values);
  return single(cast(real, y.dtype()));
}

}  // namespace tandem::ref
