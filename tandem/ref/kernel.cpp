// SPDX-License-Identifier: Apache-2.0
// Small helpers of all kernels.
#include "tandem/ref/kernel.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::ref {

std::vector<double> doubles(const Tensor& t) {
  std::vector<double> values(static_cast<size_t>(t.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = element_as_double(t, static_cast<int64_t>(i));
  return values;
}

Result<double> scalar_double(const Tensor& t, std::string_view what) {
  if (t.elements() == 1) return element_as_double(t, 0);
  return bad_input(fmt::format("{} must be one number, not of shape {}", what, t.shape().to_string()));
}

Result<int64_t> scalar_int(const Tensor& t, std::string_view what) {
  const std::vector<int64_t> values = TANDEM_TRY(to_int64s(t));
  if (values.size() == 1) return values[0];
  return bad_input(fmt::format("{} must be one integer, not of shape {}", what, t.shape().to_string()));
}

Result<std::vector<size_t>> axes_from(const Tensor& t, size_t rank) {
  std::vector<size_t> axes;
  for (int64_t axis : TANDEM_TRY(to_int64s(t))) {
    const size_t positive = TANDEM_TRY(normalize_axis(axis, rank));
    if (std::find(axes.begin(), axes.end(), positive) != axes.end()) {
      return bad_input(fmt::format("axis {} is named twice", axis));
    }
    axes.push_back(positive);
  }
  return axes;
}

std::vector<int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  TANDEM_CHECK(from.rank() <= to.rank(), "cannot broadcast to fewer dimensions");
  std::vector<int64_t> strides(to.rank(), 0);
  const std::vector<int64_t> own = from.strides();
  const size_t shift = to.rank() - from.rank();
  for (size_t d = 0; d < from.rank(); ++d) {
    TANDEM_CHECK(from[d] == to[d + shift] || from[d] == 1, "shapes do not broadcast");
    if (from[d] == to[d + shift]) strides[d + shift] = own[d];
  }
  return strides;
}

AxisView around_axis(const Shape& shape, size_t axis) {
  AxisView view;
  for (size_t d = 0; d < shape.rank(); ++d)
    (d < axis ? view.outer : d == axis ? view.extent : view.inner) *= shape[d];
  return view;
}

double activate(const ir::Activation& a, double x) {
  using ir::ActivationKind;
  const auto hard_sigmoid = [](double v) { return std::clamp(v, 0.0, 1.0); };
  switch (a.kind) {
    case ActivationKind::kNone: return x;
    case ActivationKind::kRelu: return x < 0 ? 0 : x;
    case ActivationKind::kClip: return x < a.alpha ? a.alpha : x > a.beta ? a.beta : x;
    case ActivationKind::kLeakyRelu: return x < 0 ? x * a.alpha : x;
    case ActivationKind::kHardSigmoid: return hard_sigmoid(a.alpha * x + a.beta);
    case ActivationKind::kHardSwish: return x * hard_sigmoid(x / 6 + 0.5);
    case ActivationKind::kSigmoid: return 1 / (1 + std::exp(-x));
    case ActivationKind::kSilu: return x / (1 + std::exp(-x));
    case ActivationKind::kTanh: return std::tanh(x);
    case ActivationKind::kGelu: return 0.5 * x * (1 + std::erf(x * M_SQRT1_2));
    case ActivationKind::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x)));
  }
  return x;
}

}  // namespace tandem::ref
