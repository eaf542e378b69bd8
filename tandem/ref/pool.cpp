// SPDX-License-Identifier: Apache-2.0
// Pools. Float sums accumulate in double.
#include "tandem/ir/ops/pool.hpp"

#include <cmath>
#include <limits>

#include "tandem/ref/fixed_point.hpp"
#include "tandem/ref/spatial.hpp"

namespace tandem::ref {
namespace {

using ir::PoolKind;

Result<Spatial> pool_spatial(const ir::Pool& op, const Shape& x) {
  const std::vector<int64_t> dims = TANDEM_TRY(spatial_dims(x));
  const ir::ResolvedWindow resolved = TANDEM_TRY(ir::resolve(op.window, dims, op.ceil_mode));
  return make_spatial(op.window, dims, resolved);
}

// For each output index of dimension d, how many taps of its window count: those inside the input or, with
// padding, also those on declared padding (a last window of ceil_mode may reach even further; that part never
// counts).
std::vector<int64_t> tap_counts(const Spatial& s, size_t d, bool with_padding) {
  std::vector<int64_t> counts(static_cast<size_t>(s.out[d]), 0);
  const int64_t low = with_padding ? -s.pad_begin[d] : 0;
  const int64_t high = with_padding ? s.in[d] + s.pad_end[d] : s.in[d];
  for (int64_t o = 0; o < s.out[d]; ++o) {
    for (int64_t k = 0; k < s.kernel[d]; ++k) {
      const int64_t i = o * s.stride[d] + k * s.dilation[d] - s.pad_begin[d];
      if (i >= low && i < high) ++counts[static_cast<size_t>(o)];
    }
  }
  return counts;
}

// What each sum is divided by, for one plane.
std::vector<int64_t> divisors(const Spatial& s, bool with_padding) {
  const std::array<std::vector<int64_t>, 3> counts = {
      tap_counts(s, 0, with_padding), tap_counts(s, 1, with_padding), tap_counts(s, 2, with_padding)};
  std::vector<int64_t> all;
  for (int64_t d : counts[0]) {
    for (int64_t h : counts[1]) {
      for (int64_t w : counts[2]) all.push_back(d * h * w);
    }
  }
  return all;
}

// Position of element `i` of a plane in the order that Pool::storage_order asks for.
int64_t index_in_plane(const Spatial& s, int64_t i, int64_t storage_order) {
  if (storage_order == 0) return i;
  const int64_t w = i % s.in[2], h = i / s.in[2] % s.in[1], d = i / s.in[2] / s.in[1];
  return (w * s.in[1] + h) * s.in[0] + d;
}

template <typename T>
constexpr T lowest_of() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                              : std::numeric_limits<T>::lowest();
}

template <typename T>
void max_planes(const ir::Pool& op, const Spatial& s, const Tensor& x, Tensor& y, int64_t* winners) {
  const int64_t planes = x.shape()[0] * x.shape()[1];
  std::fill_n(data<T>(y), y.elements(), lowest_of<T>());
  std::vector<int64_t> best(static_cast<size_t>(s.out_plane()));
  for (int64_t p = 0; p < planes; ++p) {
    const T* from = data<T>(x) + p * s.in_plane();
    T* to = data<T>(y) + p * s.out_plane();
    std::fill(best.begin(), best.end(), 0);
    for_each_row(s, [&](int64_t, int64_t in_row, int64_t out_row, int64_t offset, Columns columns) {
      for (int64_t i = columns.first; i < columns.last; ++i) {
        const int64_t at = in_row + i * s.stride[2] + offset;
        // NaN wins and stays, as in NumPy; among equals the first in row order of the window.
        if (from[at] > to[out_row + i] || (from[at] != from[at] && to[out_row + i] == to[out_row + i])) {
          to[out_row + i] = from[at];
          best[static_cast<size_t>(out_row + i)] = at;
        }
      }
    });
    if (winners == nullptr) continue;
    for (int64_t i = 0; i < s.out_plane(); ++i) {
      winners[p * s.out_plane() + i] =
          p * s.in_plane() + index_in_plane(s, best[static_cast<size_t>(i)], op.storage_order);
    }
  }
}

// Calls finish(first output index of the plane, sums) with sums of f(x) over each window.
template <typename Acc, typename T, typename F, typename Finish>
void sum_planes(const Spatial& s, int64_t planes, const T* x, F&& f, Finish&& finish) {
  std::vector<Acc> sums(static_cast<size_t>(s.out_plane()));
  for (int64_t p = 0; p < planes; ++p) {
    const T* from = x + p * s.in_plane();
    std::fill(sums.begin(), sums.end(), Acc{});
    for_each_row(s, [&](int64_t, int64_t in_row, int64_t out_row, int64_t offset, Columns columns) {
      for (int64_t i = columns.first; i < columns.last; ++i) {
        sums[static_cast<size_t>(out_row + i)] += f(from[in_row + i * s.stride[2] + offset]);
      }
    });
    finish(p * s.out_plane(), sums.data());
  }
}

// A global pool is a pool whose window is the whole plane; all spatial dimensions in one.
Spatial global_spatial(const Shape& x) {
  Spatial s;
  for (size_t d = 2; d < x.rank(); ++d) s.in[2] *= x[d];
  s.kernel[2] = s.in[2];
  return s;
}

Outputs pool_floats(PoolKind kind, int64_t p, const Spatial& s, const std::vector<int64_t>& divisor,
                    const Call& call) {
  const Tensor& x = call[0];
  Tensor y = TANDEM_TRY(call.make(0));
  const int64_t planes = x.shape()[0] * x.shape()[1];
  return with_float("Pool", x.dtype(), [&](auto tag) -> Outputs {
    using T = decltype(tag);
    if (kind == PoolKind::kAverage) {
      sum_planes<double>(
          s, planes, data<T>(x), [](T v) { return static_cast<double>(v); },
          [&](int64_t first, const double* sums) {
            for (size_t i = 0; i < divisor.size(); ++i) {
              data<T>(y)[first + static_cast<int64_t>(i)] =
                  static_cast<T>(sums[i] / static_cast<double>(divisor[i]));
            }
          });
    } else {
      const double power = static_cast<double>(p);
      sum_planes<double>(
          s, planes, data<T>(x), [&](T v) { return std::pow(std::abs(static_cast<double>(v)), power); },
          [&](int64_t first, const double* sums) {
            for (int64_t i = 0; i < s.out_plane(); ++i) {
              data<T>(y)[first + i] = static_cast<T>(std::pow(sums[i], 1 / power));
            }
          });
    }
    return single(std::move(y));
  });
}

}  // namespace

Outputs eval(const ir::Pool& op, const Call& call) {
  const Tensor& x = call[0];
  const Spatial s = TANDEM_TRY(pool_spatial(op, x.shape()));
  if (op.kind != PoolKind::kMax)
    return pool_floats(op.kind, op.p, s, divisors(s, op.count_include_pad), call);
  std::vector<Tensor> outputs = single(TANDEM_TRY(call.make(0)));
  if (call.out.size() > 1) outputs.push_back(TANDEM_TRY(call.make(1)));
  with_number(x.dtype(), [&](auto tag) {
    max_planes<decltype(tag)>(op, s, x, outputs[0], outputs.size() > 1 ? data<int64_t>(outputs[1]) : nullptr);
  });
  return outputs;
}

Outputs eval(const ir::GlobalPool& op, const Call& call) {
  const Tensor& x = call[0];
  if (x.shape().rank() < 2) return bad_input("a global pool needs [N,C,...]");
  const Spatial s = global_spatial(x.shape());
  if (op.kind != PoolKind::kMax) return pool_floats(op.kind, op.p, s, {s.in_plane()}, call);
  Tensor y = TANDEM_TRY(call.make(0));
  with_number(x.dtype(), [&](auto tag) { max_planes<decltype(tag)>(ir::Pool{}, s, x, y, nullptr); });
  return single(std::move(y));
}

namespace {

// Integer sums times the DPU's constant where the window is whole; a window that the border cuts divides
// exactly.
Outputs average_pow2(const Spatial& s, int64_t kernel_h, int64_t kernel_w,
                     const std::vector<int64_t>& divisor, const FixedCall& fixed) {
  const Tensor& x = fixed.call[0];
  const QuantParams& in = *fixed.quant(0);
  Tensor y = TANDEM_TRY(make_output(fixed.call.shape(0), fixed.out_quant[0]));
  RealWriter writer(y, fixed.out_quant[0]);
  const double whole = average_factor(kernel_h, kernel_w).value();
  const int64_t area = kernel_h * kernel_w;
  sum_planes<int64_t>(
      s, x.shape()[0] * x.shape()[1], centered(x, in).data(), [](int32_t v) { return int64_t{v}; },
      [&](int64_t first, const int64_t* sums) {
        for (size_t i = 0; i < divisor.size(); ++i) {
          const double factor = divisor[i] == area ? whole : 1 / static_cast<double>(divisor[i]);
          writer.put(first + static_cast<int64_t>(i),
                     static_cast<double>(sums[i]) * factor * static_cast<double>(in.scale[0]));
        }
      });
  return single(std::move(y));
}

bool is_pow2_average(PoolKind kind, const FixedCall& fixed) {
  return kind == PoolKind::kAverage && fixed.pow2(0) && fixed.pow2_output() && is_narrow(*fixed.quant(0)) &&
         fixed.call[0].shape().rank() == 4;
}

}  // namespace

FixedOutputs eval_fixed(const ir::Pool& op, const FixedCall& fixed) {
  if (!is_pow2_average(op.kind, fixed)) return std::nullopt;
  return [&]() -> Outputs {
    const Spatial s = TANDEM_TRY(pool_spatial(op, fixed.call[0].shape()));
    return average_pow2(s, s.kernel[1], s.kernel[2], divisors(s, op.count_include_pad), fixed);
  }();
}

FixedOutputs eval_fixed(const ir::GlobalPool& op, const FixedCall& fixed) {
  if (!is_pow2_average(op.kind, fixed)) return std::nullopt;
  const Shape& x = fixed.call[0].shape();
  return average_pow2(global_spatial(x), x[2], x[3], {x[2] * x[3]}, fixed);
}

}  // namespace tandem::ref
