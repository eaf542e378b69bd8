// SPDX-License-Identifier: Apache-2.0
// Evaluation of shape computations over numbers and symbols. Ops that are not listed leave their output
// unknown, which is always right; so here, unlike elsewhere, a new op need not be added.
#include "tandem/ir/shape_values.hpp"

#include <algorithm>

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {
namespace {

using Ints = std::optional<std::vector<int64_t>>;
constexpr size_t kMaxTracked = 64;  // elements; a shape has far fewer

Ints evaluate(const ShapeOf& op, InputInfos in) {
  if (!in[0].shape) return std::nullopt;
  const auto [first, last] = shape_range(op, in[0].shape->rank());
  std::vector<int64_t> y;
  for (size_t i = first; i < last; ++i) y.push_back(int_of_dim((*in[0].shape)[i]));
  return y;
}

Ints evaluate(const Size&, InputInfos in) {
  if (!in[0].shape) return std::nullopt;
  return std::vector<int64_t>{int_of_dim(rules::product(in[0].shape->dims()))};
}

Ints evaluate(const Gather&, InputInfos in) {
  const auto indices = rules::known_ints(in[1]);
  if (!in[0].ints || !indices || !in[0].shape || in[0].shape->rank() != 1) return std::nullopt;
  const int64_t n = static_cast<int64_t>(in[0].ints->size());
  std::vector<int64_t> y;
  for (int64_t i : *indices) {
    if (i < -n || i >= n) return std::nullopt;
    y.push_back((*in[0].ints)[static_cast<size_t>(i < 0 ? i + n : i)]);
  }
  return y;
}

Ints evaluate(const Concat&, InputInfos in) {
  std::vector<int64_t> y;
  for (const InputInfo& x : in) {
    if (!x.ints || y.size() + x.ints->size() > kMaxTracked) return std::nullopt;
    y.insert(y.end(), x.ints->begin(), x.ints->end());
  }
  return y;
}

Ints evaluate(const Slice&, InputInfos in) {
  if (!in[0].ints || !in[0].shape || in[0].shape->rank() != 1) return std::nullopt;
  const auto one = [&](size_t input, int64_t otherwise) -> std::optional<int64_t> {
    const InputInfo* info = rules::optional_input(in, input);
    if (!info) return otherwise;
    const auto known = rules::known_ints(*info);
    return known && known->size() == 1 ? std::optional<int64_t>((*known)[0]) : std::nullopt;
  };
  const auto start = one(1, 0), end = one(2, 0), step = one(4, 1);
  if (!start || !end || !step || *step == 0) return std::nullopt;
  const int64_t n = static_cast<int64_t>(in[0].ints->size());
  const int64_t low = *step > 0 ? 0 : -1, high = *step > 0 ? n : n - 1;
  const auto clamp = [&](int64_t i) { return std::clamp(i < 0 ? std::max(i, -n - 1) + n : i, low, high); };
  std::vector<int64_t> y;
  const int64_t stride = std::clamp(*step, -n - 1, n + 1);
  for (int64_t i = clamp(*start); *step > 0 ? i < clamp(*end) : i > clamp(*end); i += stride) {
    y.push_back((*in[0].ints)[static_cast<size_t>(i)]);
  }
  return y;
}

// Elements that keep their order; the new shape is in what infer() said.
Ints evaluate(const Identity&, InputInfos in) { return in[0].ints; }
Ints evaluate(const Reshape&, InputInfos in) { return in[0].ints; }
Ints evaluate(const Squeeze&, InputInfos in) { return in[0].ints; }
Ints evaluate(const Unsqueeze&, InputInfos in) { return in[0].ints; }

Ints evaluate(const Cast& op, InputInfos in) {
  if (!in[0].ints) return std::nullopt;
  std::vector<int64_t> y = *in[0].ints;
  for (int64_t& element : y) {
    if (!is_known_int(element)) continue;
    if (op.to == DType::kBool)
      element = element != 0;
    else if (op.to == DType::kI32 && (element < INT32_MIN || element > INT32_MAX))
      element = kUnknownInt;
    else if (op.to != DType::kI32 && op.to != DType::kI64)
      return std::nullopt;
  }
  return y;
}

// Unknowns are dimensions, so they are equal to themselves and never negative.
int64_t combine(BinaryKind kind, int64_t a, int64_t b) {
  const bool known = is_known_int(a) && is_known_int(b);
  const bool same = a == b && a != kUnknownInt;
  int64_t y = 0;
  bool overflow = false;
  switch (kind) {
    case BinaryKind::kAdd:
      if (!known) return a == 0 ? b : b == 0 ? a : kUnknownInt;
      overflow = __builtin_add_overflow(a, b, &y);
      break;
    case BinaryKind::kSub:
      if (!known) return b == 0 ? a : same ? 0 : kUnknownInt;
      overflow = __builtin_sub_overflow(a, b, &y);
      break;
    case BinaryKind::kMul:
      if (!known) return a == 1 ? b : b == 1 ? a : a == 0 || b == 0 ? 0 : kUnknownInt;
      overflow = __builtin_mul_overflow(a, b, &y);
      break;
    case BinaryKind::kDiv:
      if (!known) return b == 1 ? a : kUnknownInt;
      if (b == 0) return kUnknownInt;
      y = a / b;  // a is above INT64_MIN
      break;
    case BinaryKind::kEqual:
      if (known || same) return a == b;
      return (is_known_int(a) && a < 0) || (is_known_int(b) && b < 0) ? 0 : kUnknownInt;
    case BinaryKind::kGreater: return known ? a > b : kUnknownInt;
    case BinaryKind::kLess: return known ? a < b : kUnknownInt;
    default: return kUnknownInt;
  }
  return overflow || !is_known_int(y) ? kUnknownInt : y;
}

// Calls f(elements at i of each input) with inputs of one element repeated.
template <size_t N, typename F>
Ints elementwise(InputInfos in, F&& f) {
  size_t length = 1;
  for (size_t k = 0; k < N; ++k) {
    if (!in[k].ints) return std::nullopt;
    if (in[k].ints->size() != 1) length = in[k].ints->size();
  }
  std::vector<int64_t> y(length);
  for (size_t i = 0; i < length; ++i) {
    std::array<int64_t, N> elements;
    for (size_t k = 0; k < N; ++k) elements[k] = (*in[k].ints)[in[k].ints->size() == 1 ? 0 : i];
    y[i] = f(elements);
  }
  return y;
}

Ints evaluate(const Binary& op, InputInfos in) {
  if (op.activation) return std::nullopt;
  return elementwise<2>(in, [&](const std::array<int64_t, 2>& x) { return combine(op.kind, x[0], x[1]); });
}

Ints evaluate(const Where&, InputInfos in) {
  return elementwise<3>(in, [](const std::array<int64_t, 3>& x) {
    return is_known_int(x[0]) ? (x[0] != 0 ? x[1] : x[2]) : x[1] == x[2] ? x[1] : kUnknownInt;
  });
}

Ints evaluate(const Reduce& op, InputInfos in) {
  const bool sum = op.kind == ReduceKind::kSum;
  if (!in[0].ints || (!sum && op.kind != ReduceKind::kProd)) return std::nullopt;
  if (!rules::optional_input(in, 1) && op.noop_with_empty_axes) return in[0].ints;
  int64_t y = sum ? 0 : 1;
  for (int64_t element : *in[0].ints) y = combine(sum ? BinaryKind::kAdd : BinaryKind::kMul, y, element);
  return std::vector<int64_t>{y};
}

Ints evaluate(const Range&, InputInfos in) {
  const auto start = rules::known_ints(in[0]), limit = rules::known_ints(in[1]),
             delta = rules::known_ints(in[2]);
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 || delta->size() != 1)
    return std::nullopt;
  std::vector<int64_t> y;
  int64_t step = (*delta)[0], next = (*start)[0];
  while (step > 0 ? next < (*limit)[0] : next > (*limit)[0]) {
    if (y.size() == kMaxTracked) return std::nullopt;
    y.push_back(next);
    if (__builtin_add_overflow(next, step, &next)) break;
  }
  return y;
}

// One repeated element; how often is in what infer() said.
Ints evaluate(const ConstantOfShape& op, InputInfos) {
  if (!op.value || is_float(op.value->dtype())) return std::nullopt;
  return *to_int64s(*op.value);
}
Ints evaluate(const Expand&, InputInfos in) { return in[0].ints; }

template <typename T>
Ints evaluate(const T&, InputInfos) {
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<int64_t>> evaluate_ints(const Op& op, InputInfos in, const OutputInfo& y) {
  if (is_float(y.dtype) || !y.shape || y.shape->rank() > 1) return std::nullopt;
  const int64_t count = y.shape->rank() == 0 ? 1 : (*y.shape)[0];
  if (count < 0 || count > static_cast<int64_t>(kMaxTracked)) return std::nullopt;
  Ints ints = std::visit([&](const auto& o) { return evaluate(o, in); }, op);
  if (!ints) return std::nullopt;
  const bool repeats = std::holds_alternative<ConstantOfShape>(op) || std::holds_alternative<Expand>(op);
  if (repeats && ints->size() == 1) ints->assign(static_cast<size_t>(count), (*ints)[0]);
  if (static_cast<int64_t>(ints->size()) != count) return std::nullopt;
  return ints;
}

}  // namespace tandem::ir
