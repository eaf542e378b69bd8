// SPDX-License-Identifier: Apache-2.0
// Shape rules of ops that only change the shape.
#include "tandem/ir/ops/reshape.hpp"

#include <algorithm>

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {
namespace {

// The extent that -1 stands for: elements of x over those of the other dimensions. Unknown extents cancel
// when both sides have the same symbols, so [b,c,h,w] reshaped to [b,-1] gives c*h*w.
Result<int64_t> computed_extent(const Shape& x, const Shape& y, size_t computed) {
  std::vector<int64_t> symbols;
  int64_t elements = 1, others = 1;
  for (int64_t d : x) {
    if (d < 0)
      symbols.push_back(d);
    else
      elements *= d;
  }
  std::vector<int64_t> unmatched;
  for (size_t i = 0; i < y.rank(); ++i) {
    if (i == computed) continue;
    if (y[i] >= 0) {
      if (__builtin_mul_overflow(others, y[i], &others))
        return bad_input(fmt::format("shape {} is too large", y.to_string()));
      continue;
    }
    const auto same = std::find(symbols.begin(), symbols.end(), y[i]);
    if (y[i] != kDynamic && same != symbols.end())
      symbols.erase(same);
    else
      unmatched.push_back(y[i]);
  }
  if (!unmatched.empty()) return kDynamic;
  if (others == 0) {
    // 0 * extent can only be 0 elements; NumPy refuses the ambiguity and so do we, unless x is empty and 0
    // fits.
    if (symbols.empty() && elements == 0) return int64_t{0};
    return bad_input("-1 cannot be computed beside a dimension of 0");
  }
  if (!symbols.empty()) return symbols.size() == 1 && elements == others ? symbols[0] : kDynamic;
  if (elements % others != 0) {
    return bad_input(
        fmt::format("{} elements do not divide by the {} of the other dimensions", elements, others));
  }
  return elements / others;
}

Status check_element_count(const Shape& x, const Shape& y) {
  if (!x.is_static() || !y.is_static()) return {};
  TANDEM_TRY(rules::check_size(y));
  if (x.elements() == y.elements()) return {};
  return bad_input(fmt::format("x {} with {} elements cannot take shape {} with {}", x.to_string(),
                               x.elements(), y.to_string(), y.elements()));
}

}  // namespace

Inferred infer(const Reshape& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 2, 1}));
  const InputInfo &x = in[0], &wanted = in[1];
  TANDEM_TRY(rules::expect_integer(wanted, "shape"));
  TANDEM_TRY(rules::expect_rank(wanted, 1, "shape"));
  const std::optional<int64_t> rank = rules::length_of(wanted);
  if (!rank) return rules::output(x.dtype, std::nullopt);
  if (*rank > static_cast<int64_t>(rules::kMaxRank))
    return bad_input(fmt::format("rank {} is above the limit", *rank));
  Shape y = rules::unknown_of_rank(static_cast<size_t>(*rank));
  if (!wanted.ints) return rules::output(x.dtype, std::move(y));

  std::optional<size_t> computed;
  for (size_t i = 0; i < y.rank(); ++i) {
    const int64_t element = (*wanted.ints)[i];
    if (element == -1) {
      if (computed) return bad_input("shape has -1 twice");
      computed = i;
    } else if (element == 0 && !op.allowzero) {
      if (x.shape && i >= x.shape->rank()) {
        return bad_input(fmt::format("shape copies dimension {} of x {}", i, x.shape->to_string()));
      }
      y[i] = x.shape ? (*x.shape)[i] : kDynamic;
    } else if (is_known_int(element) && element < 0) {
      return bad_input(fmt::format("shape has the element {}", element));
    } else {
      y[i] = dim_of_int(element);
    }
  }
  if (!x.shape) return rules::output(x.dtype, std::move(y));
  if (computed) {
    y[*computed] = TANDEM_TRY(computed_extent(*x.shape, y, *computed));
  } else {
    // Without -1 a single unknown follows from the others; its symbol, when it has one, is the same number.
    const auto unknown = std::find_if(y.begin(), y.end(), [](int64_t d) { return d < 0; });
    const bool single =
        unknown != y.end() && std::count_if(y.begin(), y.end(), [](int64_t d) { return d < 0; }) == 1;
    if (single && x.shape->is_static() && x.shape->elements() > 0) {
      const size_t i = static_cast<size_t>(unknown - y.begin());
      y[i] = TANDEM_TRY(computed_extent(*x.shape, y, i));
    }
  }
  TANDEM_TRY(check_element_count(*x.shape, y));
  return rules::output(x.dtype, std::move(y));
}

Inferred infer(const Flatten& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  const InputInfo& x = in[0];
  if (!x.shape) return rules::output(x.dtype, rules::unknown_of_rank(2));
  const int64_t rank = static_cast<int64_t>(x.shape->rank());
  if (op.axis < -rank || op.axis > rank)
    return bad_input(fmt::format("axis {} is outside of rank {}", op.axis, rank));
  const size_t axis = static_cast<size_t>(op.axis < 0 ? op.axis + rank : op.axis);
  const std::span<const int64_t> dims(x.shape->dims());
  return rules::output(x.dtype, Shape{rules::product(dims.first(axis)), rules::product(dims.subspan(axis))});
}

Inferred infer(const Squeeze&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {1, 2, 1}));
  const InputInfo& x = in[0];
  const InputInfo* axes_input = rules::optional_input(in, 1);
  if (axes_input) TANDEM_TRY(rules::expect_integer(*axes_input, "axes"));
  if (!x.shape) return rules::output(x.dtype, std::nullopt);
  Shape y;
  if (!axes_input) {
    if (!x.shape->is_static()) return rules::output(x.dtype, std::nullopt);  // an unknown extent may be 1
    for (int64_t d : *x.shape) {
      if (d != 1) y.push_back(d);
    }
    return rules::output(x.dtype, std::move(y));
  }
  const std::optional<std::vector<int64_t>> axes = rules::known_ints(*axes_input);
  if (!axes) {
    const std::optional<int64_t> count = rules::length_of(*axes_input);
    if (!count || *count > static_cast<int64_t>(x.shape->rank())) return rules::output(x.dtype, std::nullopt);
    return rules::output(x.dtype, rules::unknown_of_rank(x.shape->rank() - static_cast<size_t>(*count)));
  }
  const std::vector<size_t> normal = TANDEM_TRY(rules::normalize_axes(*axes, x.shape->rank()));
  for (size_t i = 0; i < x.shape->rank(); ++i) {
    if (std::find(normal.begin(), normal.end(), i) == normal.end()) {
      y.push_back((*x.shape)[i]);
    } else if ((*x.shape)[i] >= 0 && (*x.shape)[i] != 1) {
      return bad_input(fmt::format("axis {} of x {} is not 1", i, x.shape->to_string()));
    }
  }
  return rules::output(x.dtype, std::move(y));
}

Inferred infer(const Unsqueeze&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 2, 1}));
  const InputInfo& x = in[0];
  TANDEM_TRY(rules::expect_integer(in[1], "axes"));
  const std::optional<int64_t> count = rules::length_of(in[1]);
  if (!x.shape || !count) return rules::output(x.dtype, std::nullopt);
  if (*count > static_cast<int64_t>(rules::kMaxRank))
    return bad_input(fmt::format("{} axes are above the limit", *count));
  const size_t rank = x.shape->rank() + static_cast<size_t>(*count);
  const std::optional<std::vector<int64_t>> axes = rules::known_ints(in[1]);
  if (!axes) return rules::output(x.dtype, rules::unknown_of_rank(rank));
  const std::vector<size_t> normal = TANDEM_TRY(rules::normalize_axes(*axes, rank));
  Shape y;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    const bool added = std::find(normal.begin(), normal.end(), i) != normal.end();
    y.push_back(added ? 1 : (*x.shape)[next++]);
  }
  return rules::output(x.dtype, std::move(y));
}

}  // namespace tandem::ir
