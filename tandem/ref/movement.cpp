// SPDX-License-Identifier: Apache-2.0
// Kernels that move elements and compute nothing. Each says where an output element comes from.
#include "tandem/ir/ops/movement.hpp"

#include <algorithm>
#include <cstring>

#include "tandem/ref/kernel.hpp"

namespace tandem::ref {
namespace {

// y[i] = x[offset of i] under strides of x.
void gather_strided(const Tensor& x, Tensor& y, const Shape& shape, const std::vector<int64_t>& strides,
                    int64_t start = 0) {
  with_bytes(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* from = data<T>(x) + start;
    T* to = data<T>(y);
    walk<1>(shape, {strides}, [&](int64_t i, const std::array<int64_t, 1>& at) { to[i] = from[at[0]]; });
  });
}

Status same_dtypes(const Call& call) {
  for (size_t i = 1; i < call.in.size(); ++i) {
    if (call[i].dtype() != call[0].dtype()) return bad_input("inputs have different dtypes");
  }
  return {};
}

}  // namespace

Outputs eval(const ir::Transpose& op, const Call& call) {
  const Tensor& x = call[0];
  const size_t rank = x.shape().rank();
  Tensor y = TANDEM_TRY(call.make(0));
  const std::vector<int64_t> own = x.shape().strides();
  std::vector<int64_t> strides(rank);
  for (size_t d = 0; d < rank; ++d) {
    strides[d] = own[op.perm.empty() ? rank - 1 - d : TANDEM_TRY(normalize_axis(op.perm[d], rank))];
  }
  gather_strided(x, y, y.shape(), strides);
  return single(std::move(y));
}

Outputs eval(const ir::Concat& op, const Call& call) {
  Tensor y = TANDEM_TRY(call.make(0));
  TANDEM_TRY(same_dtypes(call));
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, y.shape().rank()));
  const AxisView whole = around_axis(y.shape(), axis);
  const size_t row = static_cast<size_t>(whole.extent * whole.inner) * size_of(y.dtype());
  size_t first = 0;
  for (const Tensor* x : call.in) {
    const size_t bytes = static_cast<size_t>(x->shape()[axis] * whole.inner) * size_of(y.dtype());
    for (size_t o = 0; bytes > 0 && o < static_cast<size_t>(whole.outer); ++o) {
      std::memcpy(y.data() + o * row + first, x->data() + o * bytes, bytes);
    }
    first += bytes;
  }
  return single(std::move(y));
}

Outputs eval(const ir::Split& op, const Call& call) {
  const Tensor& x = call[0];
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, x.shape().rank()));
  const AxisView whole = around_axis(x.shape(), axis);
  const size_t row = static_cast<size_t>(whole.extent * whole.inner) * size_of(x.dtype());
  size_t first = 0;
  std::vector<Tensor> outputs;
  for (size_t k = 0; k < call.out.size(); ++k) {
    Tensor y = TANDEM_TRY(call.make(k));
    const size_t bytes = static_cast<size_t>(y.shape()[axis] * whole.inner) * size_of(x.dtype());
    if (first + bytes > row) return bad_input("the parts of Split are larger than its input");
    for (size_t o = 0; bytes > 0 && o < static_cast<size_t>(whole.outer); ++o) {
      std::memcpy(y.data() + o * bytes, x.data() + o * row + first, bytes);
    }
    first += bytes;
    outputs.push_back(std::move(y));
  }
  return outputs;
}

Outputs eval(const ir::Slice&, const Call& call) {
  const Tensor& x = call[0];
  const size_t rank = x.shape().rank();
  Tensor y = TANDEM_TRY(call.make(0));
  const std::vector<int64_t> starts = TANDEM_TRY(to_int64s(call[1]));
  std::vector<size_t> axes(starts.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = i;
  if (call.has(3)) axes = TANDEM_TRY(axes_from(call[3], rank));
  std::vector<int64_t> steps(starts.size(), 1);
  if (call.has(4)) steps = TANDEM_TRY(to_int64s(call[4]));
  if (axes.size() != starts.size() || steps.size() != starts.size() || axes.size() > rank) {
    return bad_input("Slice needs as many starts, axes and steps");
  }
  std::vector<int64_t> strides = x.shape().strides();
  int64_t first = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t extent = x.shape()[axes[i]];
    if (steps[i] == 0) return bad_input("a Slice step is 0");
    const int64_t start = starts[i] < 0 ? starts[i] + extent : starts[i];
    first += std::clamp<int64_t>(start, 0, steps[i] > 0 ? extent : std::max<int64_t>(extent - 1, 0)) *
             strides[axes[i]];
    // A step beyond the extent takes one element; clamped so that its product with the stride cannot
    // overflow.
    strides[axes[i]] *= std::clamp(steps[i], -extent - 1, extent + 1);
  }
  if (y.elements() > 0) gather_strided(x, y, y.shape(), strides, first);
  return single(std::move(y));
}

namespace {

// The input index that padding mode shows at position i of an axis, or kOutside.
int64_t padded_index(ir::PadMode mode, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent) return i;
  switch (mode) {
    case ir::PadMode::kConstant: return kOutside;
    case ir::PadMode::kEdge: return std::clamp<int64_t>(i, 0, extent - 1);
    case ir::PadMode::kWrap: return ((i % extent) + extent) % extent;
    case ir::PadMode::kReflect: {
      if (extent == 1) return 0;
      const int64_t period = 2 * (extent - 1);
      const int64_t phase = ((i % period) + period) % period;
      return phase < extent ? phase : period - phase;
    }
  }
  return kOutside;
}

}  // namespace

Outputs eval(const ir::Pad& op, const Call& call) {
  const Tensor& x = call[0];
  const size_t rank = x.shape().rank();
  Tensor y = TANDEM_TRY(call.make(0));
  const std::vector<int64_t> pads = TANDEM_TRY(to_int64s(call[1]));
  std::vector<size_t> axes(rank);
  for (size_t i = 0; i < rank; ++i) axes[i] = i;
  if (call.has(3)) axes = TANDEM_TRY(axes_from(call[3], rank));
  if (pads.size() != 2 * axes.size()) return bad_input("Pad needs a begin and an end for every axis");
  if (call.has(2) && (call[2].dtype() != x.dtype() || call[2].elements() != 1)) {
    return bad_input("the value of Pad must be a scalar of the input's dtype");
  }
  const std::vector<int64_t> strides = x.shape().strides();
  std::vector<int64_t> begins(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) begins[axes[i]] = pads[i];
  std::vector<std::vector<int64_t>> maps(rank);
  for (size_t d = 0; d < rank; ++d) {
    for (int64_t o = 0; o < y.shape()[d]; ++o) {
      const int64_t from = x.shape()[d] == 0 ? kOutside : padded_index(op.mode, o - begins[d], x.shape()[d]);
      maps[d].push_back(from == kOutside ? kOutside : from * strides[d]);
    }
  }
  with_bytes(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T value = call.has(2) ? *data<T>(call[2]) : T{0};
    walk_maps(y.shape(), maps,
              [&](int64_t i, int64_t at) { data<T>(y)[i] = at == kOutside ? value : data<T>(x)[at]; });
  });
  return single(std::move(y));
}

Outputs eval(const ir::Expand&, const Call& call) {
  Tensor y = TANDEM_TRY(call.make(0));
  gather_strided(call[0], y, y.shape(), broadcast_strides(call[0].shape(), y.shape()));
  return single(std::move(y));
}

Outputs eval(const ir::Tile&, const Call& call) {
  const Tensor& x = call[0];
  Tensor y = TANDEM_TRY(call.make(0));
  const std::vector<int64_t> strides = x.shape().strides();
  std::vector<std::vector<int64_t>> maps(x.shape().rank());
  for (size_t d = 0; d < maps.size(); ++d) {
    for (int64_t o = 0; o < y.shape()[d]; ++o) maps[d].push_back(o % x.shape()[d] * strides[d]);
  }
  with_bytes(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    walk_maps(y.shape(), maps, [&](int64_t i, int64_t at) { data<T>(y)[i] = data<T>(x)[at]; });
  });
  return single(std::move(y));
}

Outputs eval(const ir::DepthToSpace& op, const Call& call) {
  const Shape& x = call[0].shape();
  Tensor y = TANDEM_TRY(call.make(0));
  const int64_t b = op.blocksize, c = x[1] / (b * b);
  const bool dcr = op.mode == ir::DepthToSpaceMode::kDcr;
  // x seen as [N, b, b, C, H, W] (dcr) or [N, C, b, b, H, W] (crd), written as [N, C, H, b, W, b].
  const Shape split = dcr ? Shape{x[0], b, b, c, x[2], x[3]} : Shape{x[0], c, b, b, x[2], x[3]};
  const std::vector<int64_t> s = split.strides();
  const std::vector<int64_t> strides = dcr ? std::vector<int64_t>{s[0], s[3], s[4], s[1], s[5], s[2]}
                                           : std::vector<int64_t>{s[0], s[1], s[4], s[2], s[5], s[3]};
  gather_strided(call[0], y, Shape{x[0], c, x[2], b, x[3], b}, strides);
  return single(std::move(y));
}

Outputs eval(const ir::SpaceToDepth& op, const Call& call) {
  const Shape& x = call[0].shape();
  Tensor y = TANDEM_TRY(call.make(0));
  const int64_t b = op.blocksize;
  // x seen as [N, C, H/b, b, W/b, b], written as [N, b, b, C, H/b, W/b].
  const Shape split{x[0], x[1], x[2] / b, b, x[3] / b, b};
  const std::vector<int64_t> s = split.strides();
  gather_strided(call[0], y, Shape{x[0], b, b, x[1], x[2] / b, x[3] / b},
                 {s[0], s[3], s[5], s[1], s[2], s[4]});
  return single(std::move(y));
}

Outputs eval(const ir::Trilu& op, const Call& call) {
  const Tensor& x = call[0];
  const size_t rank = x.shape().rank();
  const int64_t k = call.has(1) ? TANDEM_TRY(scalar_int(call[1], "k")) : 0;
  Tensor y = TANDEM_TRY(call.make(0));
  const int64_t rows = x.shape()[rank - 2], columns = x.shape()[rank - 1];
  const int64_t diagonal = std::clamp(k, -rows - 1, columns + 1);
  with_bytes(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < x.elements(); ++i) {
      const int64_t column = i % columns, row = i / columns % rows;
      const bool kept = op.upper ? column >= row + diagonal : column <= row + diagonal;
      data<T>(y)[i] = kept ? data<T>(x)[i] : T{0};
    }
  });
  return single(std::move(y));
}

}  // namespace tandem::ref
