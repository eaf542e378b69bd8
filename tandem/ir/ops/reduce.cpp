// SPDX-License-Identifier: Apache-2.0
// Shape rules of reductions and scans.
#include "tandem/ir/ops/reduce.hpp"

#include <algorithm>

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {
namespace {

Shape reduced(const Shape& x, const std::vector<size_t>& axes, bool keepdims) {
  Shape y;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end())
      y.push_back(x[i]);
    else if (keepdims)
      y.push_back(1);
  }
  return y;
}

}  // namespace

Inferred infer(const Reduce& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {1, 2, 1}));
  const InputInfo& x = in[0];
  const InputInfo* axes_input = rules::optional_input(in, 1);
  if (axes_input) TANDEM_TRY(rules::expect_integer(*axes_input, "axes"));
  const std::optional<int64_t> count = axes_input ? rules::length_of(*axes_input) : 0;
  if (count == 0) {
    if (op.noop_with_empty_axes) return rules::output(x.dtype, x.shape);
    if (!op.keepdims) return rules::output(x.dtype, Shape{});
    if (!x.shape) return rules::output(x.dtype, std::nullopt);
    return rules::output(x.dtype, Shape(std::vector<int64_t>(x.shape->rank(), 1)));
  }
  if (!x.shape) return rules::output(x.dtype, std::nullopt);
  const std::optional<std::vector<int64_t>> axes = rules::known_ints(*axes_input);
  if (axes) {
    const std::vector<size_t> normal = TANDEM_TRY(rules::normalize_axes(*axes, x.shape->rank()));
    return rules::output(x.dtype, reduced(*x.shape, normal, op.keepdims));
  }
  if (op.keepdims) return rules::output(x.dtype, rules::unknown_of_rank(x.shape->rank()));
  if (!count || *count > static_cast<int64_t>(x.shape->rank())) return rules::output(x.dtype, std::nullopt);
  return rules::output(x.dtype, rules::unknown_of_rank(x.shape->rank() - static_cast<size_t>(*count)));
}

Inferred infer(const ArgReduce& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  const InputInfo& x = in[0];
  if (!x.shape) return rules::output(DType::kI64, std::nullopt);
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, x.shape->rank()));
  if ((*x.shape)[axis] == 0)
    return bad_input(fmt::format("axis {} of x {} is empty", op.axis, x.shape->to_string()));
  return rules::output(DType::kI64, reduced(*x.shape, {axis}, op.keepdims));
}

Inferred infer(const CumSum&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 2, 1}));
  TANDEM_TRY(rules::expect_integer(in[1], "axis"));
  TANDEM_TRY(rules::expect_scalar(in[1], "axis"));
  if (in[0].shape) {
    if (const auto axis = rules::known_ints(in[1]); axis && axis->size() == 1) {
      TANDEM_TRY(normalize_axis((*axis)[0], in[0].shape->rank()));
    }
  }
  return rules::output(in[0].dtype, in[0].shape);
}

Inferred infer(const TopK& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 2, 2}));
  TANDEM_TRY(rules::expect_integer(in[1], "k"));
  TANDEM_TRY(rules::expect_scalar(in[1], "k"));
  std::optional<Shape> y = in[0].shape;
  if (y) {
    const size_t axis = TANDEM_TRY(normalize_axis(op.axis, y->rank()));
    int64_t k = kDynamic;
    if (in[1].ints && in[1].ints->size() == 1) {
      const int64_t element = (*in[1].ints)[0];
      if (is_known_int(element) && (element < 0 || ((*y)[axis] >= 0 && element > (*y)[axis]))) {
        return bad_input(fmt::format("k is {} on an axis of {} elements", element, (*y)[axis]));
      }
      k = dim_of_int(element);
    }
    (*y)[axis] = k;
  }
  return rules::outputs({{in[0].dtype, y}, {DType::kI64, y}}, output_count);
}

}  // namespace tandem::ir
