// SPDX-License-Identifier: Apache-2.0
// What the kernels of this room share: their signature, dispatch over element types, walking over strided
// indices. Internal to ref/. One eval() per op; it may rely on infer() having accepted the inputs, and checks
// the values itself.
#pragma once

#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include "tandem/ir/op.hpp"
#include "tandem/tensor/quant_params.hpp"

namespace tandem::ref {

using Outputs = Result<std::vector<Tensor>>;

struct Call {
  std::span<const Tensor* const> in;  // nullptr where absent; never f16 or bf16, except for Cast and CastLike
  std::vector<ir::OutputInfo>
      out;  // from infer() on these very inputs: static, except where only the data decides

  bool has(size_t i) const { return i < in.size() && in[i] != nullptr; }
  const Tensor& operator[](size_t i) const {
    TANDEM_CHECK(has(i), "required input is absent");
    return *in[i];
  }
  const Shape& shape(size_t i) const {
    TANDEM_CHECK(out[i].shape.has_value(), "output shape is unknown");
    return *out[i].shape;
  }
  // A zero-filled output i; error when it is too large.
  Result<Tensor> make(size_t i) const { return Tensor::make(out[i].dtype, shape(i)); }
};

inline std::vector<Tensor> single(Tensor t) {
  std::vector<Tensor> v;
  v.push_back(std::move(t));
  return v;
}

template <typename T>
T* data(Tensor& t) {
  return reinterpret_cast<T*>(t.data());
}
template <typename T>
const T* data(const Tensor& t) {
  return reinterpret_cast<const T*>(t.data());
}

inline Error refuse_dtype(std::string_view op, DType dtype) {
  return unsupported(fmt::format("{} does not take {}", op, to_string(dtype)));
}

// Calls fn(T{}) with the C++ number type of dtype. bool counts as u8. Precondition: not f16 or bf16.
template <typename F>
auto with_number(DType dtype, F&& fn) {
  switch (dtype) {
    case DType::kF64: return fn(double{});
    case DType::kI8: return fn(int8_t{});
    case DType::kU8:
    case DType::kBool: return fn(uint8_t{});
    case DType::kI16: return fn(int16_t{});
    case DType::kU16: return fn(uint16_t{});
    case DType::kI32: return fn(int32_t{});
    case DType::kU32: return fn(uint32_t{});
    case DType::kI64: return fn(int64_t{});
    case DType::kU64: return fn(uint64_t{});
    case DType::kF16:
    case DType::kBF16: TANDEM_CHECK(false, "16-bit floats are widened before a kernel runs");
    case DType::kF32: break;
  }
  return fn(float{});
}

// The same for floats only; error otherwise. fn returns Outputs.
template <typename F>
Outputs with_float(std::string_view op, DType dtype, F&& fn) {
  if (dtype == DType::kF32) return fn(float{});
  if (dtype == DType::kF64) return fn(double{});
  return refuse_dtype(op, dtype);
}

// For kernels that only move elements: an unsigned integer of the element's size.
template <typename F>
auto with_bytes(DType dtype, F&& fn) {
  switch (size_of(dtype)) {
    case 1: return fn(uint8_t{});
    case 2: return fn(uint16_t{});
    case 4: return fn(uint32_t{});
    default: return fn(uint64_t{});
  }
}

// Sums and products that wrap instead of overflowing (floats compute as usual).
template <typename T>
T add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <typename T>
T subtract(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a - b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <typename T>
T multiply(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a * b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// What sums of T accumulate in.
template <typename T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

// All elements as doubles.
std::vector<double> doubles(const Tensor& t);
// The one element of a scalar or [1] tensor. Error when there are more or none.
Result<double> scalar_double(const Tensor& t, std::string_view what);
Result<int64_t> scalar_int(const Tensor& t, std::string_view what);
// The axes that an input names, normalized for `rank`; errors on duplicates.
Result<std::vector<size_t>> axes_from(const Tensor& t, size_t rank);

// Strides of `from` seen as if broadcast to `to`: 0 along broadcast dimensions. Precondition: they broadcast.
std::vector<int64_t> broadcast_strides(const Shape& from, const Shape& to);

// Calls fn(i, offsets) for every index of `shape` in row-major order; i counts from 0 and offsets[k] is the
// sum over dimensions of index * strides[k].
template <size_t N, typename F>
void walk(const Shape& shape, const std::array<std::vector<int64_t>, N>& strides, F&& fn) {
  const int64_t total = shape.elements();
  const size_t rank = shape.rank();
  std::vector<int64_t> index(rank, 0);
  std::array<int64_t, N> offset{};
  for (int64_t i = 0; i < total; ++i) {
    fn(i, offset);
    for (size_t d = rank; d-- > 0;) {
      for (size_t k = 0; k < N; ++k) offset[k] += strides[k][d];
      if (++index[d] < shape[d]) break;
      for (size_t k = 0; k < N; ++k) offset[k] -= strides[k][d] * shape[d];
      index[d] = 0;
    }
  }
}

// Calls fn(i, offset) for every index of `shape`, where offset is the sum over dimensions d of
// maps[d][index], or kOutside when one of them is kOutside. maps[d] has one entry per index of dimension d.
inline constexpr int64_t kOutside = -1;
template <typename F>
void walk_maps(const Shape& shape, const std::vector<std::vector<int64_t>>& maps, F&& fn) {
  const int64_t total = shape.elements();
  const size_t rank = shape.rank();
  std::vector<int64_t> index(rank, 0);
  for (int64_t i = 0; i < total; ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t part = maps[d][static_cast<size_t>(index[d])];
      if (part == kOutside) {
        offset = kOutside;
        break;
      }
      offset += part;
    }
    fn(i, offset);
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

// A tensor seen as [outer, extent, inner] around an axis.
struct AxisView {
  int64_t outer = 1, extent = 1, inner = 1;
};
AxisView around_axis(const Shape& shape, size_t axis);

// f(x) in double, by the definition of ONNX for each kind.
double activate(const ir::Activation& activation, double x);

Outputs eval(const ir::Conv&, const Call&);
Outputs eval(const ir::ConvTranspose&, const Call&);
Outputs eval(const ir::Pool&, const Call&);
Outputs eval(const ir::GlobalPool&, const Call&);
Outputs eval(const ir::Gemm&, const Call&);
Outputs eval(const ir::MatMul&, const Call&);
Outputs eval(const ir::Unary&, const Call&);
Outputs eval(const ir::Clip&, const Call&);
Outputs eval(const ir::Binary&, const Call&);
Outputs eval(const ir::Variadic&, const Call&);
Outputs eval(const ir::Where&, const Call&);
Outputs eval(const ir::Cast&, const Call&);
Outputs eval(const ir::CastLike&, const Call&);
Outputs eval(const ir::Identity&, const Call&);
Outputs eval(const ir::Dropout&, const Call&);
Outputs eval(const ir::Reduce&, const Call&);
Outputs eval(const ir::ArgReduce&, const Call&);
Outputs eval(const ir::CumSum&, const Call&);
Outputs eval(const ir::TopK&, const Call&);
Outputs eval(const ir::Softmax&, const Call&);
Outputs eval(const ir::BatchNorm&, const Call&);
Outputs eval(const ir::LayerNorm&, const Call&);
Outputs eval(const ir::InstanceNorm&, const Call&);
Outputs eval(const ir::GroupNorm&, const Call&);
Outputs eval(const ir::Lrn&, const Call&);
Outputs eval(const ir::LpNorm&, const Call&);
Outputs eval(const ir::MeanVarianceNorm&, const Call&);
Outputs eval(const ir::Reshape&, const Call&);
Outputs eval(const ir::Flatten&, const Call&);
Outputs eval(const ir::Squeeze&, const Call&);
Outputs eval(const ir::Unsqueeze&, const Call&);
Outputs eval(const ir::Transpose&, const Call&);
Outputs eval(const ir::Concat&, const Call&);
Outputs eval(const ir::Split&, const Call&);
Outputs eval(const ir::Slice&, const Call&);
Outputs eval(const ir::Pad&, const Call&);
Outputs eval(const ir::Expand&, const Call&);
Outputs eval(const ir::Tile&, const Call&);
Outputs eval(const ir::DepthToSpace&, const Call&);
Outputs eval(const ir::SpaceToDepth&, const Call&);
Outputs eval(const ir::Trilu&, const Call&);
Outputs eval(const ir::Gather&, const Call&);
Outputs eval(const ir::GatherElements&, const Call&);
Outputs eval(const ir::GatherNd&, const Call&);
Outputs eval(const ir::ScatterElements&, const Call&);
Outputs eval(const ir::ScatterNd&, const Call&);
Outputs eval(const ir::OneHot&, const Call&);
Outputs eval(const ir::Resize&, const Call&);
Outputs eval(const ir::ShapeOf&, const Call&);
Outputs eval(const ir::Size&, const Call&);
Outputs eval(const ir::ConstantOfShape&, const Call&);
Outputs eval(const ir::Range&, const Call&);
Outputs eval(const ir::EyeLike&, const Call&);
Outputs eval(const ir::NonZero&, const Call&);
Outputs eval(const ir::QuantizeLinear&, const Call&);
Outputs eval(const ir::DequantizeLinear&, const Call&);
Outputs eval(const ir::DynamicQuantizeLinear&, const Call&);
Outputs eval(const ir::Requantize&, const Call&);
Outputs eval(const ir::QLinearConv&, const Call&);
Outputs eval(const ir::QLinearMatMul&, const Call&);
Outputs eval(const ir::ConvInteger&, const Call&);
Outputs eval(const ir::MatMulInteger&, const Call&);
Outputs eval(const ir::SoftmaxCrossEntropyLoss&, const Call&);
Outputs eval(const ir::NegativeLogLikelihoodLoss&, const Call&);
Outputs eval(const ir::Adam&, const Call&);
Outputs eval(const ir::Momentum&, const Call&);
Outputs eval(const ir::Adagrad&, const Call&);
Outputs eval(const ir::Opaque&, const Call&);

}  // namespace tandem::ref
