// SPDX-License-Identifier: Apache-2.0
// Shape rules of ops that make tensors from shapes and scalars.
#include "tandem/ir/ops/generate.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {

Inferred infer(const ShapeOf& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  if (!in[0].shape) return rules::output(DType::kI64, Shape{kDynamic});
  const auto [first, last] = shape_range(op, in[0].shape->rank());
  return rules::output(DType::kI64, Shape{static_cast<int64_t>(last - first)});
}

std::pair<size_t, size_t> shape_range(const ShapeOf& op, size_t rank) {
  const int64_t r = static_cast<int64_t>(rank);
  const auto clamp = [r](int64_t i) { return std::clamp<int64_t>(i < 0 ? std::max(i, -r) + r : i, 0, r); };
  const int64_t first = clamp(op.start);
  return {static_cast<size_t>(first), static_cast<size_t>(std::max(first, clamp(op.end)))};
}

Inferred infer(const Size&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  return rules::output(DType::kI64, Shape{});
}

Inferred infer(const ConstantOfShape& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  TANDEM_TRY(rules::expect_integer(in[0], "shape"));
  TANDEM_TRY(rules::expect_rank(in[0], 1, "shape"));
  if (op.value && op.value->elements() != 1) {
    return bad_input(fmt::format("value has {} elements, expected one", op.value->elements()));
  }
  const DType dtype = op.value ? op.value->dtype() : DType::kF32;
  const std::optional<int64_t> rank = rules::length_of(in[0]);
  if (!rank) return rules::output(dtype, std::nullopt);
  if (*rank > static_cast<int64_t>(rules::kMaxRank))
    return bad_input(fmt::format("rank {} is above the limit", *rank));
  Shape y = rules::unknown_of_rank(static_cast<size_t>(*rank));
  for (size_t i = 0; in[0].ints && i < y.rank(); ++i) {
    const int64_t element = (*in[0].ints)[i];
    if (is_known_int(element) && element < 0)
      return bad_input(fmt::format("shape has the element {}", element));
    y[i] = dim_of_int(element);
  }
  return rules::output(dtype, std::move(y));
}

Inferred infer(const Range&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {3, 3, 1}));
  const DType dtype = TANDEM_TRY(rules::common_dtype(in));
  double numbers[3] = {};
  bool known = true;
  for (size_t i = 0; i < 3; ++i) {
    TANDEM_TRY(rules::expect_scalar(in[i], "start, limit or delta"));
    const auto ints = rules::known_ints(in[i]);
    if (ints && ints->size() == 1)
      numbers[i] = static_cast<double>((*ints)[0]);
    else if (in[i].constant && in[i].constant->elements() == 1)
      numbers[i] = element_as_double(*in[i].constant, 0);
    else
      known = false;
  }
  if (!known) {
    // From 0 in steps of 1 there are as many elements as the limit says.
    const auto start = rules::known_ints(in[0]), delta = rules::known_ints(in[2]);
    const bool counting =
        start && delta && start->size() == 1 && delta->size() == 1 && (*start)[0] == 0 && (*delta)[0] == 1;
    if (counting && in[1].ints && in[1].ints->size() == 1)
      return rules::output(dtype, Shape{dim_of_int((*in[1].ints)[0])});
    return rules::output(dtype, Shape{kDynamic});
  }
  const double count = std::ceil((numbers[1] - numbers[0]) / numbers[2]);
  if (numbers[2] == 0 || !std::isfinite(count) || count > static_cast<double>(rules::kMaxAttribute)) {
    return bad_input(fmt::format("range from {} to {} in steps of {}", numbers[0], numbers[1], numbers[2]));
  }
  return rules::output(dtype, Shape{static_cast<int64_t>(std::max(count, 0.0))});
}

Inferred infer(const EyeLike& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  TANDEM_TRY(rules::expect_rank(in[0], 2, "x"));
  return rules::output(op.to, in[0].shape ? *in[0].shape : rules::unknown_of_rank(2));
}

Inferred infer(const NonZero&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  // NumPy's nonzero of a scalar has one row.
  const int64_t rank =
      in[0].shape ? std::max<int64_t>(static_cast<int64_t>(in[0].shape->rank()), 1) : kDynamic;
  return rules::output(DType::kI64, Shape{rank, kDynamic});
}

}  // namespace tandem::ir
