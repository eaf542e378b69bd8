// SPDX-License-Identifier: Apache-2.0
// Shape rules of ops that move elements.
#include "tandem/ir/ops/movement.hpp"

#include <algorithm>
#include <numeric>

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {

Inferred infer(const Transpose& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  const InputInfo& x = in[0];
  if (!x.shape && op.perm.empty()) return rules::output(x.dtype, std::nullopt);
  const size_t rank = x.shape ? x.shape->rank() : op.perm.size();
  if (!op.perm.empty() && op.perm.size() != rank) {
    return bad_input(fmt::format("perm has {} entries for x {}", op.perm.size(), x.shape->to_string()));
  }
  if (rank > rules::kMaxRank) return bad_input(fmt::format("rank {} is above the limit", rank));
  const std::vector<size_t> perm = TANDEM_TRY(rules::normalize_axes(op.perm, rank));
  Shape y = rules::unknown_of_rank(rank);
  for (size_t i = 0; x.shape && i < rank; ++i) y[i] = (*x.shape)[perm.empty() ? rank - 1 - i : perm[i]];
  return rules::output(x.dtype, std::move(y));
}

Inferred infer(const Concat& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {std::max<size_t>(in.size(), 1), SIZE_MAX, 1}));
  const DType dtype = TANDEM_TRY(rules::common_dtype(in));
  const auto ranked =
      std::find_if(in.begin(), in.end(), [](const InputInfo& x) { return x.shape.has_value(); });
  if (ranked == in.end()) return rules::output(dtype, std::nullopt);
  Shape y = *ranked->shape;
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, y.rank()));
  int64_t total = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    const std::string what = fmt::format("input {}", i);
    TANDEM_TRY(rules::expect_rank(in[i], y.rank(), what));
    const int64_t extent = in[i].shape ? (*in[i].shape)[axis] : kDynamic;
    if (total == 0)
      total = extent;  // a symbol survives beside nothing
    else if (extent != 0)
      total = extent < 0 || total < 0 ? kDynamic : total + extent;
    if (total > rules::kMaxElements) return bad_input("the result is too large");
    if (!in[i].shape) continue;
    Shape aligned = *in[i].shape;
    aligned[axis] = y[axis];
    y = TANDEM_TRY(rules::merge(y, aligned, what));
  }
  y[axis] = total;
  return rules::output(dtype, std::move(y));
}

Inferred infer(const Split& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {1, 2, SIZE_MAX}));
  const InputInfo& x = in[0];
  const InputInfo* extents = rules::optional_input(in, 1);
  if (extents) {
    TANDEM_TRY(rules::expect_integer(*extents, "extents"));
    if (const auto count = rules::length_of(*extents);
        count && *count != static_cast<int64_t>(output_count)) {
      return bad_input(fmt::format("{} extents for {} outputs", *count, output_count));
    }
  }
  std::vector<OutputInfo> out(output_count, OutputInfo{x.dtype, x.shape});
  if (!x.shape) return out;
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, x.shape->rank()));
  const int64_t whole = (*x.shape)[axis], parts = static_cast<int64_t>(output_count);
  const int64_t part = whole >= 0 ? (whole + parts - 1) / parts : parts == 1 ? whole : kDynamic;
  int64_t sum = 0;
  for (size_t i = 0; i < output_count; ++i) {
    int64_t extent = part;
    if (extents) {
      const int64_t element = extents->ints ? (*extents->ints)[i] : kUnknownInt;
      if (is_known_int(element) && (element < 0 || element > rules::kMaxElements)) {
        return bad_input(fmt::format("extents has the element {}", element));
      }
      extent = dim_of_int(element);
    } else if (whole >= 0 && i + 1 == output_count) {
      extent = whole - part * (parts - 1);
      if (extent < 0)
        return bad_input(fmt::format("axis of {} elements does not split into {} parts", whole, parts));
    }
    sum = sum < 0 || extent < 0 ? kDynamic : sum + extent;
    if (sum > rules::kMaxElements) return bad_input("the extents are too large");
    (*out[i].shape)[axis] = extent;
  }
  if (sum >= 0 && whole >= 0 && sum != whole)
    return bad_input(fmt::format("extents add up to {}, the axis has {}", sum, whole));
  return out;
}

namespace {

// Number of elements that NumPy's x[start:end:step] takes of an axis of n.
int64_t sliced_extent(int64_t n, int64_t start, int64_t end, int64_t step) {
  const auto clamp = [n](int64_t i, int64_t low, int64_t high) {
    return std::clamp(i < 0 ? std::max(i, -rules::kMaxElements * 2) + n : i, low, high);
  };
  if (step > 0) {
    const int64_t first = clamp(start, 0, n), last = clamp(end, 0, n);
    return first >= last ? 0 : (last - first - 1) / step + 1;
  }
  const int64_t first = clamp(start, -1, n - 1), last = clamp(end, -1, n - 1);
  return first <= last ? 0 : (first - last - 1) / -std::max(step, -rules::kMaxElements) + 1;
}

}  // namespace

Inferred infer(const Slice&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {3, 5, 1}));
  const InputInfo& x = in[0];
  constexpr std::string_view kNames[] = {"x", "starts", "ends", "axes", "steps"};
  std::optional<int64_t> count;
  for (size_t i = 1; i < in.size(); ++i) {
    if (!in[i].present) continue;
    TANDEM_TRY(rules::expect_integer(in[i], kNames[i]));
    TANDEM_TRY(rules::expect_rank(in[i], 1, kNames[i]));
    const std::optional<int64_t> length = rules::length_of(in[i]);
    if (length && count && *length != *count) {
      return bad_input(fmt::format("{} has {} elements, {} has {}", kNames[1], *count, kNames[i], *length));
    }
    if (length) count = length;
  }
  if (!x.shape) return rules::output(x.dtype, std::nullopt);
  const size_t rank = x.shape->rank();
  if (!count) return rules::output(x.dtype, rules::unknown_of_rank(rank));
  if (*count > static_cast<int64_t>(rank))
    return bad_input(fmt::format("{} axes of x {}", *count, x.shape->to_string()));
  std::vector<size_t> axes(static_cast<size_t>(*count));
  std::iota(axes.begin(), axes.end(), size_t{0});
  if (const InputInfo* given = rules::optional_input(in, 3)) {
    const auto known = rules::known_ints(*given);
    if (!known) return rules::output(x.dtype, rules::unknown_of_rank(rank));
    axes = TANDEM_TRY(rules::normalize_axes(*known, rank));
  }
  const auto element = [&](size_t input, size_t i, int64_t otherwise) {
    const InputInfo* info = rules::optional_input(in, input);
    return !info ? otherwise : info->ints ? (*info->ints)[i] : kUnknownInt;
  };
  Shape y = *x.shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t& extent = y[axes[i]];
    const int64_t start = element(1, i, 0), end = element(2, i, 0), step = element(4, i, 1);
    if (step == 0) return bad_input(fmt::format("the step of axis {} is 0", axes[i]));
    const bool to_the_end =
        is_known_int(end) ? end >= INT32_MAX : extent < 0 && dim_of_int(end) == extent && extent != kDynamic;
    if (start == 0 && step == 1 && extent < 0 && to_the_end) continue;  // everything, however much that is
    const bool known = extent >= 0 && is_known_int(start) && is_known_int(end) && is_known_int(step);
    extent = known ? sliced_extent(extent, start, end, step) : kDynamic;
  }
  return rules::output(x.dtype, std::move(y));
}

Inferred infer(const Pad& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 4, 1}));
  const InputInfo &x = in[0], &pads = in[1];
  TANDEM_TRY(rules::expect_integer(pads, "pads"));
  TANDEM_TRY(rules::expect_rank(pads, 1, "pads"));
  if (const InputInfo* value = rules::optional_input(in, 2))
    TANDEM_TRY(rules::expect_scalar(*value, "value"));
  if (!x.shape) return rules::output(x.dtype, std::nullopt);
  const size_t rank = x.shape->rank();
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), size_t{0});
  if (const InputInfo* given = rules::optional_input(in, 3)) {
    TANDEM_TRY(rules::expect_integer(*given, "axes"));
    const auto known = rules::known_ints(*given);
    if (!known) return rules::output(x.dtype, rules::unknown_of_rank(rank));
    axes = TANDEM_TRY(rules::normalize_axes(*known, rank));
  }
  if (const auto count = rules::length_of(pads); count && *count != static_cast<int64_t>(2 * axes.size())) {
    return bad_input(fmt::format("pads has {} elements for {} axes", *count, axes.size()));
  }
  Shape y = *x.shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t& extent = y[axes[i]];
    const int64_t begin = pads.ints ? (*pads.ints)[i] : kUnknownInt;
    const int64_t end = pads.ints ? (*pads.ints)[i + axes.size()] : kUnknownInt;
    for (int64_t pad : {begin, end}) {
      if (!is_known_int(pad)) continue;
      TANDEM_TRY(rules::check_range({pad}, -rules::kMaxAttribute, rules::kMaxAttribute, "pad"));
      if (op.mode == PadMode::kReflect && extent >= 0 && pad >= std::max<int64_t>(extent, 1)) {
        return bad_input(fmt::format("axis {} of {} elements cannot reflect {}", axes[i], extent, pad));
      }
      if (op.mode != PadMode::kConstant && extent == 0 && pad > 0)
        return bad_input(fmt::format("axis {} is empty", axes[i]));
    }
    if (begin == 0 && end == 0) continue;
    const int64_t before = extent;
    extent = extent >= 0 && is_known_int(begin) && is_known_int(end) ? extent + begin + end : kDynamic;
    if (extent < kDynamic || (before >= 0 && extent == -1 && is_known_int(begin) && is_known_int(end))) {
      return bad_input(fmt::format("pads {} and {} crop more than the {} elements of axis {}", begin, end,
                                   before, axes[i]));
    }
  }
  return rules::output(x.dtype, std::move(y));
}

Inferred infer(const Expand&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 2, 1}));
  const InputInfo &x = in[0], &wanted = in[1];
  TANDEM_TRY(rules::expect_integer(wanted, "shape"));
  TANDEM_TRY(rules::expect_rank(wanted, 1, "shape"));
  const std::optional<int64_t> rank = rules::length_of(wanted);
  if (!rank || !x.shape) return rules::output(x.dtype, std::nullopt);
  if (*rank > static_cast<int64_t>(rules::kMaxRank))
    return bad_input(fmt::format("rank {} is above the limit", *rank));
  Shape target = rules::unknown_of_rank(static_cast<size_t>(*rank));
  for (size_t i = 0; wanted.ints && i < target.rank(); ++i) {
    const int64_t element = (*wanted.ints)[i];
    if (is_known_int(element) && element < 0)
      return bad_input(fmt::format("shape has the element {}", element));
    target[i] = dim_of_int(element);
  }
  return rules::output(x.dtype, TANDEM_TRY(rules::broadcast(x.shape, target)));
}

Inferred infer(const Tile&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 2, 1}));
  const InputInfo &x = in[0], &repeats = in[1];
  TANDEM_TRY(rules::expect_integer(repeats, "repeats"));
  TANDEM_TRY(rules::expect_rank(repeats, 1, "repeats"));
  if (!x.shape) return rules::output(x.dtype, std::nullopt);
  Shape y = *x.shape;
  if (const auto count = rules::length_of(repeats); count && *count != static_cast<int64_t>(y.rank())) {
    return bad_input(fmt::format("repeats has {} elements for x {}", *count, y.to_string()));
  }
  for (size_t i = 0; i < y.rank(); ++i) {
    const int64_t element = repeats.ints ? (*repeats.ints)[i] : kUnknownInt;
    if (is_known_int(element)) TANDEM_TRY(rules::check_range({element}, 0, rules::kMaxElements, "repeat"));
    const int64_t factors[] = {y[i], dim_of_int(element)};
    const int64_t extent = rules::product(factors);
    if (y[i] >= 0 && is_known_int(element) && extent < 0) return bad_input("the result is too large");
    y[i] = extent;
  }
  return rules::output(x.dtype, std::move(y));
}

namespace {

Status check_blocksize(int64_t blocksize) { return rules::check_range({blocksize}, 1, 1 << 15, "blocksize"); }

}  // namespace

Inferred infer(const DepthToSpace& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  TANDEM_TRY(check_blocksize(op.blocksize));
  TANDEM_TRY(rules::expect_rank(in[0], 4, "x"));
  Shape y = in[0].shape ? *in[0].shape : rules::unknown_of_rank(4);
  const int64_t b = op.blocksize;
  if (y[1] >= 0 && y[1] % (b * b) != 0) {
    return bad_input(fmt::format("{} channels do not divide into blocks of {} by {}", y[1], b, b));
  }
  if (b != 1)
    y = Shape{y[0], y[1] >= 0 ? y[1] / (b * b) : kDynamic, y[2] >= 0 ? y[2] * b : kDynamic,
              y[3] >= 0 ? y[3] * b : kDynamic};
  return rules::output(in[0].dtype, std::move(y));
}

Inferred infer(const SpaceToDepth& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  TANDEM_TRY(check_blocksize(op.blocksize));
  TANDEM_TRY(rules::expect_rank(in[0], 4, "x"));
  Shape y = in[0].shape ? *in[0].shape : rules::unknown_of_rank(4);
  const int64_t b = op.blocksize;
  for (size_t i : {size_t{2}, size_t{3}}) {
    if (y[i] >= 0 && y[i] % b != 0)
      return bad_input(fmt::format("extent {} does not divide into blocks of {}", y[i], b));
  }
  int64_t channels = kDynamic;
  if (y[1] >= 0 && __builtin_mul_overflow(y[1], b * b, &channels))
    return bad_input("the result is too large");
  if (b != 1) y = Shape{y[0], channels, y[2] >= 0 ? y[2] / b : kDynamic, y[3] >= 0 ? y[3] / b : kDynamic};
  return rules::output(in[0].dtype, std::move(y));
}

Inferred infer(const Trilu&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {1, 2, 1}));
  if (in[0].shape && in[0].shape->rank() < 2)
    return bad_input(fmt::format("x has shape {}, expected rank 2 or more", in[0].shape->to_string()));
  if (const InputInfo* k = rules::optional_input(in, 1)) {
    TANDEM_TRY(rules::expect_integer(*k, "k"));
    TANDEM_TRY(rules::expect_scalar(*k, "k"));
  }
  return rules::output(in[0].dtype, in[0].shape);
}

}  // namespace tandem::ir
