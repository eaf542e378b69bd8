// SPDX-License-Identifier: Apache-2.0
// Kernels that pick or place elements by index. Indices count from the end when negative; others are an
// error.
#include "tandem/ir/ops/gather.hpp"

#include <algorithm>
#include <cstring>

#include "tandem/ref/kernel.hpp"

namespace tandem::ref {
namespace {

Result<int64_t> checked_index(int64_t index, int64_t extent) {
  const int64_t positive = index < 0 ? index + extent : index;
  if (positive >= 0 && positive < extent) return positive;
  return bad_input(fmt::format("index {} is outside an axis of extent {}", index, extent));
}

// Offsets in x of the slices that the rows of `indices` [..., k] name; k dimensions of x from `first` on.
Result<std::vector<int64_t>> slice_offsets(const Shape& x, const std::vector<int64_t>& indices, size_t k,
                                           size_t first) {
  if (first + k > x.rank()) return bad_input("index rows are longer than the input has dimensions");
  const std::vector<int64_t> strides = x.strides();
  std::vector<int64_t> offsets;
  if (k == 0) return offsets;
  for (size_t row = 0; row + k <= indices.size(); row += k) {
    int64_t offset = 0;
    for (size_t d = 0; d < k; ++d) {
      offset += TANDEM_TRY(checked_index(indices[row + d], x[first + d])) * strides[first + d];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

int64_t product(const Shape& shape, size_t first, size_t last) {
  int64_t p = 1;
  for (size_t d = first; d < last; ++d) p *= shape[d];
  return p;
}

template <typename T>
void combine(ir::ScatterReduction reduction, T& to, T update) {
  switch (reduction) {
    case ir::ScatterReduction::kNone: to = update; break;
    case ir::ScatterReduction::kAdd: to = add(to, update); break;
    case ir::ScatterReduction::kMul: to = multiply(to, update); break;
    case ir::ScatterReduction::kMax: to = std::max(to, update); break;
    case ir::ScatterReduction::kMin: to = std::min(to, update); break;
  }
}

}  // namespace

Outputs eval(const ir::Gather& op, const Call& call) {
  const Tensor& x = call[0];
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, x.shape().rank()));
  const std::vector<int64_t> indices = TANDEM_TRY(to_int64s(call[1]));
  Tensor y = TANDEM_TRY(call.make(0));
  const AxisView view = around_axis(x.shape(), axis);
  const size_t bytes = static_cast<size_t>(view.inner) * size_of(x.dtype());
  std::byte* to = y.data();
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t index : indices) {
      const int64_t at = TANDEM_TRY(checked_index(index, view.extent));
      if (bytes > 0) std::memcpy(to, x.data() + static_cast<size_t>(o * view.extent + at) * bytes, bytes);
      to += bytes;
    }
  }
  return single(std::move(y));
}

namespace {

// For GatherElements and ScatterElements: the offset in x of every element of `indices`.
Result<std::vector<int64_t>> element_offsets(const Shape& x, const Tensor& indices, int64_t op_axis) {
  const size_t axis = TANDEM_TRY(normalize_axis(op_axis, x.rank()));
  const std::vector<int64_t> values = TANDEM_TRY(to_int64s(indices));
  const Shape& shape = indices.shape();
  if (shape.rank() != x.rank()) return bad_input("indices and data have different ranks");
  for (size_t d = 0; d < x.rank(); ++d) {
    if (d != axis && shape[d] > x[d]) return bad_input("indices are larger than the data");
  }
  for (int64_t value : values) TANDEM_TRY(checked_index(value, x[axis]));
  std::vector<int64_t> strides = x.strides();
  const int64_t stride = strides[axis], extent = x[axis];
  strides[axis] = 0;
  std::vector<int64_t> offsets(values.size());
  walk<1>(shape, {strides}, [&](int64_t i, const std::array<int64_t, 1>& at) {
    const int64_t index = values[static_cast<size_t>(i)];
    offsets[static_cast<size_t>(i)] = at[0] + (index < 0 ? index + extent : index) * stride;
  });
  return offsets;
}

}  // namespace

Outputs eval(const ir::GatherElements& op, const Call& call) {
  const Tensor& x = call[0];
  const std::vector<int64_t> offsets = TANDEM_TRY(element_offsets(x.shape(), call[1], op.axis));
  Tensor y = TANDEM_TRY(call.make(0));
  with_bytes(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (size_t i = 0; i < offsets.size(); ++i) data<T>(y)[i] = data<T>(x)[offsets[i]];
  });
  return single(std::move(y));
}

Outputs eval(const ir::GatherNd& op, const Call& call) {
  const Tensor& x = call[0];
  const Shape& shape = call[1].shape();
  const std::vector<int64_t> indices = TANDEM_TRY(to_int64s(call[1]));
  const size_t batch_dims = static_cast<size_t>(op.batch_dims);
  if (shape.rank() == 0 || op.batch_dims < 0 || batch_dims >= shape.rank() ||
      batch_dims >= x.shape().rank()) {
    return bad_input("GatherNd has more batch dimensions than its inputs");
  }
  const size_t k = static_cast<size_t>(shape[shape.rank() - 1]);
  const std::vector<int64_t> offsets = TANDEM_TRY(slice_offsets(x.shape(), indices, k, batch_dims));
  Tensor y = TANDEM_TRY(call.make(0));
  const int64_t batches = product(shape, 0, batch_dims);
  const int64_t batch_elements = product(x.shape(), batch_dims, x.shape().rank());
  const size_t bytes =
      static_cast<size_t>(product(x.shape(), batch_dims + k, x.shape().rank())) * size_of(x.dtype());
  const size_t rows = batches == 0 ? 0 : offsets.size() / static_cast<size_t>(batches);
  if (offsets.size() * bytes != y.size_bytes()) return bad_input("GatherNd output does not fit its indices");
  for (size_t r = 0; bytes > 0 && r < offsets.size(); ++r) {
    const size_t from = static_cast<size_t>(static_cast<int64_t>(r / rows) * batch_elements + offsets[r]);
    std::memcpy(y.data() + r * bytes, x.data() + from * size_of(x.dtype()), bytes);
  }
  return single(std::move(y));
}

Outputs eval(const ir::ScatterElements& op, const Call& call) {
  const Tensor& updates = call[2];
  if (updates.shape() != call[1].shape() || updates.dtype() != call[0].dtype()) {
    return bad_input("updates must have the shape of the indices and the dtype of the data");
  }
  const std::vector<int64_t> offsets = TANDEM_TRY(element_offsets(call[0].shape(), call[1], op.axis));
  Tensor y = call[0].clone();
  with_number(y.dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (size_t i = 0; i < offsets.size(); ++i)
      combine(op.reduction, data<T>(y)[offsets[i]], data<T>(updates)[i]);
  });
  return single(std::move(y));
}

Outputs eval(const ir::ScatterNd& op, const Call& call) {
  const Tensor& updates = call[2];
  const Shape& shape = call[1].shape();
  if (shape.rank() == 0 || updates.dtype() != call[0].dtype())
    return bad_input("ScatterNd inputs do not fit");
  const std::vector<int64_t> indices = TANDEM_TRY(to_int64s(call[1]));
  const size_t k = static_cast<size_t>(shape[shape.rank() - 1]);
  Tensor y = call[0].clone();
  const std::vector<int64_t> offsets = TANDEM_TRY(slice_offsets(y.shape(), indices, k, 0));
  const int64_t inner = product(y.shape(), k, y.shape().rank());
  if (static_cast<int64_t>(offsets.size()) * inner != updates.elements())
    return bad_input("updates do not fit the indices");
  with_number(y.dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (size_t r = 0; r < offsets.size(); ++r) {
      for (int64_t i = 0; i < inner; ++i) {
        combine(op.reduction, data<T>(y)[offsets[r] + i],
                data<T>(updates)[static_cast<int64_t>(r) * inner + i]);
      }
    }
  });
  return single(std::move(y));
}

Outputs eval(const ir::OneHot& op, const Call& call) {
  const int64_t depth = static_cast<int64_t>(TANDEM_TRY(scalar_double(call[1], "depth")));
  const Tensor& values = call[2];
  if (values.elements() != 2) return bad_input("OneHot needs an off and an on value");
  // The depth may be a float, which shape rules do not read.
  std::vector<int64_t> dims = call[0].shape().dims();
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, dims.size() + 1));
  dims.insert(dims.begin() + static_cast<int64_t>(axis), depth);
  Tensor y = TANDEM_TRY(Tensor::make(values.dtype(), Shape(std::move(dims))));
  const std::vector<double> indices = doubles(call[0]);
  const AxisView view = around_axis(y.shape(), axis);
  with_bytes(y.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T off = data<T>(values)[0], on = data<T>(values)[1];
    std::fill_n(data<T>(y), y.elements(), off);
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.inner; ++i) {
        const double index = indices[static_cast<size_t>(o * view.inner + i)];
        const double at = index < 0 ? index + static_cast<double>(depth) : index;
        if (!(at >= 0 && at < static_cast<double>(depth))) continue;  // outside: all off
        data<T>(y)[(o * depth + static_cast<int64_t>(at)) * view.inner + i] = on;
      }
    }
  });
  return single(std::move(y));
}

}  // namespace tandem::ref
