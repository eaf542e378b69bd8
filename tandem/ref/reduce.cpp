// SPDX-License-Identifier: Apache-2.0
// Reductions and scans. Float sums accumulate in double, integer sums wrap.
#include "tandem/ir/ops/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tandem/ref/kernel.hpp"

namespace tandem::ref {
namespace {

using ir::ReduceKind;

// Reduced extents are 1 in `kept`, whose strides over x (0 along reduced axes) are `strides`.
struct ReduceShape {
  Shape kept;
  std::vector<int64_t> strides;
  int64_t count = 1;  // elements of x per result
};

ReduceShape reduce_shape(const Shape& x, const std::vector<bool>& reduced) {
  ReduceShape s;
  for (size_t d = 0; d < x.rank(); ++d) {
    s.kept.push_back(reduced[d] ? 1 : x[d]);
    if (reduced[d]) s.count *= x[d];
  }
  s.strides = s.kept.strides();
  for (size_t d = 0; d < x.rank(); ++d) {
    if (reduced[d]) s.strides[d] = 0;
  }
  return s;
}

// One step of the accumulation and what becomes of the accumulator at the end.
template <typename Acc>
Acc step(ReduceKind kind, Acc acc, Acc x) {
  switch (kind) {
    case ReduceKind::kSum:
    case ReduceKind::kMean:
    case ReduceKind::kLogSum: return add(acc, x);
    case ReduceKind::kL1: return add(acc, x < Acc{0} ? subtract(Acc{0}, x) : x);
    case ReduceKind::kL2:
    case ReduceKind::kSumSquare: return add(acc, multiply(x, x));
    case ReduceKind::kProd: return multiply(acc, x);
    case ReduceKind::kMax: return x > acc || x != x ? x : acc;
    case ReduceKind::kMin: return x < acc || x != x ? x : acc;
    case ReduceKind::kLogSumExp: return acc;  // done in two passes
  }
  return acc;
}

template <typename T>
T start(ReduceKind kind) {
  using Limits = std::numeric_limits<T>;
  if (kind == ReduceKind::kProd) return T{1};
  if (kind == ReduceKind::kMax) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  if (kind == ReduceKind::kMin) return Limits::has_infinity ? Limits::infinity() : Limits::max();
  return T{0};
}

template <typename Acc>
Acc finish(ReduceKind kind, Acc acc, int64_t count) {
  if constexpr (std::is_floating_point_v<Acc>) {
    if (kind == ReduceKind::kMean) return acc / static_cast<Acc>(count);
    if (kind == ReduceKind::kL2) return std::sqrt(acc);
    if (kind == ReduceKind::kLogSum) return std::log(acc);
  } else {
    if (kind == ReduceKind::kMean)
      return count == 0 ? Acc{0} : static_cast<Acc>(acc / static_cast<Acc>(count));
  }
  return acc;
}

// Acc is wide for sums; extremes stay in T so that u64 keeps its order.
template <typename T, typename Acc>
void reduce(ReduceKind kind, const Tensor& x, const ReduceShape& s, Tensor& y) {
  std::vector<Acc> sums(static_cast<size_t>(s.kept.elements()), start<Acc>(kind));
  walk<1>(x.shape(), {s.strides}, [&](int64_t i, const std::array<int64_t, 1>& at) {
    Acc& acc = sums[static_cast<size_t>(at[0])];
    acc = step<Acc>(kind, acc, static_cast<Acc>(data<T>(x)[i]));
  });
  for (size_t i = 0; i < sums.size(); ++i)
    data<T>(y)[i] = static_cast<T>(finish<Acc>(kind, sums[i], s.count));
}

// log(sum(exp(x))) around the largest element, so that nothing overflows.
template <typename T>
void log_sum_exp(const Tensor& x, const ReduceShape& s, Tensor& y) {
  const size_t results = static_cast<size_t>(s.kept.elements());
  std::vector<double> top(results, -std::numeric_limits<double>::infinity()), sums(results, 0);
  walk<1>(x.shape(), {s.strides}, [&](int64_t i, const std::array<int64_t, 1>& at) {
    double& t = top[static_cast<size_t>(at[0])];
    t = std::max(t, static_cast<double>(data<T>(x)[i]));
  });
  for (double& t : top) {
    if (std::isinf(t)) t = 0;  // infinities speak for themselves
  }
  walk<1>(x.shape(), {s.strides}, [&](int64_t i, const std::array<int64_t, 1>& at) {
    const size_t r = static_cast<size_t>(at[0]);
    sums[r] += std::exp(static_cast<double>(data<T>(x)[i]) - top[r]);
  });
  for (size_t r = 0; r < results; ++r) data<T>(y)[r] = static_cast<T>(top[r] + std::log(sums[r]));
}

template <typename T>
void reduce_as(ReduceKind kind, const Tensor& x, const ReduceShape& s, Tensor& y) {
  if (kind == ReduceKind::kMax || kind == ReduceKind::kMin)
    reduce<T, T>(kind, x, s, y);
  else if (kind == ReduceKind::kLogSumExp)
    log_sum_exp<T>(x, s, y);
  else if (kind == ReduceKind::kL2 || kind == ReduceKind::kLogSum)
    reduce<T, double>(kind, x, s, y);
  else
    reduce<T, Accumulator<T>>(kind, x, s, y);
}

}  // namespace

Outputs eval(const ir::Reduce& op, const Call& call) {
  const Tensor& x = call[0];
  const size_t rank = x.shape().rank();
  std::vector<size_t> axes;
  if (call.has(1)) axes = TANDEM_TRY(axes_from(call[1], rank));
  if (axes.empty() && op.noop_with_empty_axes) return single(x.clone());
  std::vector<bool> reduced(rank, axes.empty());
  for (size_t axis : axes) reduced[axis] = true;
  Tensor y = TANDEM_TRY(call.make(0));
  const ReduceShape s = reduce_shape(x.shape(), reduced);
  if (s.kept.elements() != y.elements()) return bad_input("the output of Reduce does not fit its axes");
  with_number(x.dtype(), [&](auto tag) { reduce_as<decltype(tag)>(op.kind, x, s, y); });
  return single(std::move(y));
}

Outputs eval(const ir::ArgReduce& op, const Call& call) {
  const Tensor& x = call[0];
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, x.shape().rank()));
  Tensor y = TANDEM_TRY(call.make(0));
  const AxisView view = around_axis(x.shape(), axis);
  if (view.extent == 0) return bad_input("ArgMax and ArgMin need at least one element");
  with_number(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.inner; ++i) {
        const T* row = data<T>(x) + o * view.extent * view.inner + i;
        int64_t best = 0;
        for (int64_t k = 1; k < view.extent; ++k) {
          const T candidate = row[k * view.inner], holder = row[best * view.inner];
          const bool better = op.kind == ir::ArgReduceKind::kMax ? candidate > holder : candidate < holder;
          if (better || (op.select_last_index && candidate == holder)) best = k;
        }
        data<int64_t>(y)[o * view.inner + i] = best;
      }
    }
  });
  return single(std::move(y));
}

Outputs eval(const ir::CumSum& op, const Call& call) {
  const Tensor& x = call[0];
  const int64_t given_axis = TANDEM_TRY(scalar_int(call[1], "axis"));
  const size_t axis = TANDEM_TRY(normalize_axis(given_axis, x.shape().rank()));
  Tensor y = TANDEM_TRY(call.make(0));
  const AxisView view = around_axis(x.shape(), axis);
  with_number(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    using Acc = Accumulator<T>;
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.inner; ++i) {
        Acc sum{};
        for (int64_t k = 0; k < view.extent; ++k) {
          const int64_t position = op.reverse ? view.extent - 1 - k : k;
          const int64_t at = (o * view.extent + position) * view.inner + i;
          const Acc next = add(sum, static_cast<Acc>(data<T>(x)[at]));
          data<T>(y)[at] = static_cast<T>(op.exclusive ? sum : next);
          sum = next;
        }
      }
    }
  });
  return single(std::move(y));
}

Outputs eval(const ir::TopK& op, const Call& call) {
  const Tensor& x = call[0];
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, x.shape().rank()));
  const int64_t k = TANDEM_TRY(scalar_int(call[1], "k"));
  const AxisView view = around_axis(x.shape(), axis);
  if (k < 0 || k > view.extent)
    return bad_input(fmt::format("TopK asks for {} of {} elements", k, view.extent));
  Shape shape = x.shape();
  shape[axis] = k;
  Tensor values = TANDEM_TRY(Tensor::make(x.dtype(), shape));
  Tensor indices = TANDEM_TRY(Tensor::make(DType::kI64, shape));
  with_number(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    std::vector<int64_t> order(static_cast<size_t>(view.extent));
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.inner; ++i) {
        const T* row = data<T>(x) + o * view.extent * view.inner + i;
        std::iota(order.begin(), order.end(), 0);
        // Stable: of equal elements the one with the lower index comes first. NaN counts as the largest.
        std::stable_sort(order.begin(), order.end(), [&](int64_t p, int64_t q) {
          const T a = row[p * view.inner], b = row[q * view.inner];
          if (a != a || b != b) return op.largest ? a != a && b == b : a == a && b != b;
          return op.largest ? a > b : a < b;
        });
        for (int64_t j = 0; j < k; ++j) {
          const int64_t at = (o * k + j) * view.inner + i, from = order[static_cast<size_t>(j)];
          data<T>(values)[at] = row[from * view.inner];
          data<int64_t>(indices)[at] = from;
        }
      }
    }
  });
  std::vector<Tensor> outputs = single(std::move(values));
  outputs.push_back(std::move(indices));
  return outputs;
}

}  // namespace tandem::ref
