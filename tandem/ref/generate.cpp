// SPDX-License-Identifier: Apache-2.0
// Kernels that make tensors from shapes and scalars.
#include "tandem/ir/ops/generate.hpp"

#include <algorithm>
#include <cstring>

#include "tandem/ref/kernel.hpp"

namespace tandem::ref {

Outputs eval(const ir::ShapeOf& op, const Call& call) {
  const Shape& x = call[0].shape();
  const int64_t rank = static_cast<int64_t>(x.rank());
  const auto position = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + rank : p, 0, rank); };
  std::vector<int64_t> dims;
  for (int64_t d = position(op.start); d < position(op.end); ++d) dims.push_back(x[static_cast<size_t>(d)]);
  return single(Tensor::of<int64_t>({static_cast<int64_t>(dims.size())}, dims));
}

Outputs eval(const ir::Size&, const Call& call) {
  return single(Tensor::scalar<int64_t>(call[0].elements()));
}

Outputs eval(const ir::ConstantOfShape& op, const Call& call) {
  const Shape shape(TANDEM_TRY(to_int64s(call[0])));
  const DType dtype = op.value ? op.value->dtype() : DType::kF32;
  if (op.value && op.value->elements() != 1)
    return bad_input("the value of ConstantOfShape must be one element");
  Tensor y = TANDEM_TRY(Tensor::make(dtype, shape));
  if (op.value) {
    const size_t size = size_of(dtype);
    for (size_t i = 0; i < static_cast<size_t>(y.elements()); ++i)
      std::memcpy(y.data() + i * size, op.value->data(), size);
  }
  return single(std::move(y));
}

Outputs eval(const ir::Range&, const Call& call) {
  for (size_t i : {0, 1, 2}) {
    if (call[i].elements() != 1 || call[i].dtype() != call[0].dtype())
      return bad_input("Range takes three scalars of one dtype");
  }
  Tensor y = TANDEM_TRY(call.make(0));
  with_number(y.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T first = *data<T>(call[0]), delta = *data<T>(call[2]);
    for (int64_t i = 0; i < y.elements(); ++i) data<T>(y)[i] = add(first, multiply(static_cast<T>(i), delta));
  });
  return single(std::move(y));
}

Outputs eval(const ir::EyeLike& op, const Call& call) {
  const Shape& shape = call[0].shape();
  if (shape.rank() != 2) return bad_input("EyeLike takes a matrix");
  Tensor ones = TANDEM_TRY(Tensor::make(DType::kF32, shape));
  for (int64_t i = 0; i < shape[0]; ++i) {
    if (op.k >= -i && op.k < shape[1] - i) data<float>(ones)[i * shape[1] + i + op.k] = 1;
  }
  return single(cast(ones, op.to));
}

Outputs eval(const ir::NonZero&, const Call& call) {
  const Tensor& x = call[0];
  const size_t rank = x.shape().rank();
  std::vector<int64_t> found;
  with_number(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < x.elements(); ++i) {
      if (data<T>(x)[i] != T{0}) found.push_back(i);
    }
  });
  const int64_t count = static_cast<int64_t>(found.size());
  Tensor y = TANDEM_TRY(Tensor::make(DType::kI64, Shape{static_cast<int64_t>(rank), count}));
  const std::vector<int64_t> strides = x.shape().strides();
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = found[static_cast<size_t>(i)];
    for (size_t d = 0; d < rank; ++d) {
      data<int64_t>(y)[static_cast<int64_t>(d) * count + i] = rest / strides[d];
      rest %= strides[d];
    }
  }
  return single(std::move(y));
}

}  // namespace tandem::ref
