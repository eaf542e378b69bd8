// SPDX-License-Identifier: Apache-2.0
// Helpers of the shape rules.
#include "tandem/ir/ops/rules.hpp"

#include <algorithm>

namespace tandem::ir::rules {

Status check_arity(InputInfos in, size_t output_count, const Arity& arity) {
  for (size_t i = 0; i < arity.inputs_required; ++i) {
    if (i >= in.size() || !in[i].present) {
      return bad_input(fmt::format("input {} is missing", i))
          .because(fmt::format("{} are needed", arity.inputs_required));
    }
  }
  if (in.size() > arity.inputs_allowed) {
    return bad_input(fmt::format("{} inputs given", in.size()))
        .because(fmt::format("at most {} are allowed", arity.inputs_allowed));
  }
  if (output_count < 1 || output_count > arity.outputs_allowed) {
    return bad_input(fmt::format("{} outputs asked for", output_count))
        .because(fmt::format("there can be 1 to {}", arity.outputs_allowed));
  }
  return {};
}

const InputInfo* optional_input(InputInfos in, size_t index) {
  return index < in.size() && in[index].present ? &in[index] : nullptr;
}

std::vector<OutputInfo> outputs(std::vector<OutputInfo> all, size_t output_count) {
  all.resize(std::min(all.size(), output_count));
  return all;
}

Status check_size(const Shape& shape) {
  if (shape.rank() > kMaxRank)
    return bad_input(fmt::format("rank {} is above the limit of {}", shape.rank(), kMaxRank));
  int64_t n = 1;
  for (int64_t d : shape) {
    if (__builtin_mul_overflow(n, std::max<int64_t>(d, 1), &n) || n > kMaxElements) {
      return bad_input(fmt::format("shape {} is too large", shape.to_string()));
    }
  }
  return {};
}

Shape unknown_of_rank(size_t rank) { return Shape(std::vector<int64_t>(rank, kDynamic)); }

std::optional<int64_t> merge(int64_t a, int64_t b) {
  if (a >= 0 && b >= 0 && a != b) return std::nullopt;
  if (a >= 0) return a;
  if (b >= 0) return b;
  return a == kDynamic ? b : a;  // a symbol says more than an unknown without one
}

Result<Shape> merge(const Shape& a, const Shape& b, std::string_view what) {
  const auto differs = [&] {
    return bad_input(fmt::format("{} has shape {}, expected {}", what, b.to_string(), a.to_string()));
  };
  if (a.rank() != b.rank()) return differs();
  std::vector<int64_t> dims(a.rank());
  for (size_t i = 0; i < dims.size(); ++i) {
    const std::optional<int64_t> dim = merge(a[i], b[i]);
    if (!dim) return differs();
    dims[i] = *dim;
  }
  return Shape(std::move(dims));
}

int64_t product(std::span<const int64_t> dims) {
  int64_t known = 1;
  int64_t unknown = 0;
  int unknown_count = 0;
  for (int64_t d : dims) {
    if (d == 0) return 0;
    if (d < 0) {
      unknown = d;
      ++unknown_count;
    } else if (__builtin_mul_overflow(known, d, &known)) {
      return kDynamic;
    }
  }
  if (unknown_count == 0) return known;
  return unknown_count == 1 && known == 1 ? unknown : kDynamic;
}

Result<std::optional<Shape>> broadcast(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b) return std::optional<Shape>();
  const size_t rank = std::max(a->rank(), b->rank());
  std::vector<int64_t> dims(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < a->rank() ? (*a)[a->rank() - 1 - i] : 1;
    const int64_t y = i < b->rank() ? (*b)[b->rank() - 1 - i] : 1;
    int64_t& out = dims[rank - 1 - i];
    if (x == y || y == 1)
      out = x;
    else if (x == 1)
      out = y;
    else if (x < 0 && y < 0)
      out = kDynamic;  // either may turn out to be 1
    else if (x < 0)
      out = y;
    else if (y < 0)
      out = x;
    else
      return bad_input(fmt::format("shapes {} and {} do not broadcast", a->to_string(), b->to_string()));
  }
  return std::optional<Shape>(Shape(std::move(dims)));
}

Status broadcasts_to(const std::optional<Shape>& from, const std::optional<Shape>& to,
                     std::string_view what) {
  if (!from || !to) return {};
  bool fits = from->rank() <= to->rank();
  for (size_t i = 0; fits && i < from->rank(); ++i) {
    const int64_t x = (*from)[from->rank() - 1 - i], y = (*to)[to->rank() - 1 - i];
    fits = x < 0 || y < 0 || x == 1 || x == y;
  }
  if (fits) return {};
  return bad_input(
      fmt::format("{} of shape {} does not broadcast to {}", what, from->to_string(), to->to_string()));
}

Result<DType> common_dtype(InputInfos in) {
  const InputInfo* first = nullptr;
  for (const InputInfo& input : in) {
    if (!input.present || !input.dtype_known) continue;
    if (!first) first = &input;
    if (input.dtype != first->dtype) {
      return bad_input(fmt::format("inputs of different types: {} and {}", to_string(first->dtype),
                                   to_string(input.dtype)));
    }
  }
  return first ? first->dtype : in.empty() ? DType::kF32 : in[0].dtype;
}

Status expect_dtype(const InputInfo& input, DType dtype, std::string_view what) {
  if (!input.dtype_known || input.dtype == dtype) return {};
  return bad_input(fmt::format("{} is {}, expected {}", what, to_string(input.dtype), to_string(dtype)));
}

Status expect_integer(const InputInfo& input, std::string_view what) {
  if (!input.dtype_known || is_integer(input.dtype)) return {};
  return bad_input(fmt::format("{} is {}, expected integers", what, to_string(input.dtype)));
}

Status expect_rank(const InputInfo& input, size_t rank, std::string_view what) {
  if (!input.shape || input.shape->rank() == rank) return {};
  return bad_input(fmt::format("{} has shape {}, expected rank {}", what, input.shape->to_string(), rank));
}

Status expect_scalar(const InputInfo& input, std::string_view what) {
  if (!input.shape) return {};
  for (int64_t d : *input.shape) {
    if (d >= 0 && d != 1)
      return bad_input(fmt::format("{} has shape {}, expected a scalar", what, input.shape->to_string()));
  }
  return {};
}

std::optional<int64_t> length_of(const InputInfo& input) {
  if (input.ints) return static_cast<int64_t>(input.ints->size());
  if (!input.shape || input.shape->rank() > 1) return std::nullopt;
  if (input.shape->rank() == 0) return 1;
  return (*input.shape)[0] >= 0 ? std::optional<int64_t>((*input.shape)[0]) : std::nullopt;
}

std::optional<std::vector<int64_t>> known_ints(const InputInfo& input) {
  if (!input.ints || !std::all_of(input.ints->begin(), input.ints->end(), is_known_int)) return std::nullopt;
  return input.ints;
}

Result<std::vector<size_t>> normalize_axes(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<size_t> normal;
  for (int64_t axis : axes) {
    const size_t a = TANDEM_TRY(normalize_axis(axis, rank));
    if (std::find(normal.begin(), normal.end(), a) != normal.end()) {
      return bad_input(fmt::format("axis {} is given twice", axis));
    }
    normal.push_back(a);
  }
  return normal;
}

Status check_range(const std::vector<int64_t>& values, int64_t low, int64_t high, std::string_view what) {
  for (int64_t v : values) {
    if (v < low || v > high) return bad_input(fmt::format("{} {} is outside [{}, {}]", what, v, low, high));
  }
  return {};
}

Status expect_channels(const InputInfo* vector, int64_t channels, std::string_view what) {
  if (!vector) return {};
  TANDEM_TRY(expect_rank(*vector, 1, what));
  if (vector->shape && !merge((*vector->shape)[0], channels)) {
    return bad_input(fmt::format("{} has {} elements for {} channels", what, (*vector->shape)[0], channels));
  }
  return {};
}

}  // namespace tandem::ir::rules
