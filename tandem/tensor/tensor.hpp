// SPDX-License-Identifier: Apache-2.0
// Tensor owns dense row-major elements, TensorView borrows them; a view never outlives the call it is passed to.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tandem/base/check.hpp"
#include "tandem/tensor/dtype.hpp"
#include "tandem/tensor/shape.hpp"

namespace tandem {

class TensorView;

class Tensor {
 public:
  Tensor() = default;  // f32, shape [0]
  // Zero-filled. Precondition: shape static and of a size that its maker has checked.
  Tensor(DType dtype, Shape shape);
  // For shapes that come from a file: error instead of an abort when they are too large (over `limit_bytes`).
  static Result<Tensor> make(DType dtype, Shape shape, uint64_t limit_bytes = uint64_t{8} << 30);
  // Precondition: values.size() == shape.elements().
  template <typename T>
  static Tensor of(Shape shape, const std::vector<T>& values) {
    Tensor t(dtype_of<T>(), std::move(shape));
    TANDEM_CHECK(static_cast<int64_t>(values.size()) == t.elements(), "values do not fill the shape");
    if constexpr (std::is_same_v<T, bool>) {
      for (size_t i = 0; i < values.size(); ++i) t.as<bool>()[i] = values[i];
    } else {
      std::copy(values.begin(), values.end(), t.as<T>().begin());
    }
    return t;
  }
  template <typename T>
  static Tensor scalar(T value) {
    return of<T>(Shape{}, {value});
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  size_t size_bytes() const { return static_cast<size_t>(elements_) * size_of(dtype_); }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  // Precondition: T stores dtype() (uint16_t also reads f16 and bf16, uint8_t also reads bool).
  template <typename T>
  std::span<T> as() {
    check_type(dtype_of<T>());
    return {reinterpret_cast<T*>(data_.get()), static_cast<size_t>(elements_)};
  }
  template <typename T>
  std::span<const T> as() const {
    check_type(dtype_of<T>());
    return {reinterpret_cast<const T*>(data_.get()), static_cast<size_t>(elements_)};
  }
  TensorView view() const;
  // Precondition: same number of elements.
  Tensor reshaped(Shape shape) &&;
  Tensor clone() const;

 private:
  void check_type(DType wanted) const;
  struct Free {
    void operator()(std::byte* p) const;
  };
  DType dtype_ = DType::kF32;
  Shape shape_{0};
  int64_t elements_ = 0;
  std::unique_ptr<std::byte[], Free> data_;  // 64-byte aligned
};

// Weights are shared between graphs and never change.
using ConstTensor = std::shared_ptr<const Tensor>;

class TensorView {
 public:
  TensorView() = default;
  TensorView(const Tensor& t) : dtype_(t.dtype()), shape_(t.shape()), elements_(t.elements()), data_(t.data()) {}  // NOLINT
  // Precondition: data holds shape.elements() elements.
  TensorView(DType dtype, Shape shape, const std::byte* data)
      : dtype_(dtype), shape_(std::move(shape)), elements_(shape_.elements()), data_(data) {}

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  size_t size_bytes() const { return static_cast<size_t>(elements_) * size_of(dtype_); }
  const std::byte* data() const { return data_; }
  template <typename T>
  std::span<const T> as() const {
    TANDEM_CHECK(size_of(dtype_of<T>()) == size_of(dtype_), "view read as a type of another size");
    return {reinterpret_cast<const T*>(data_), static_cast<size_t>(elements_)};
  }
  Tensor to_tensor() const;

 private:
  DType dtype_ = DType::kF32;
  Shape shape_{0};
  int64_t elements_ = 0;
  const std::byte* data_ = nullptr;
};

// Converts the elements. Float to integer truncates and saturates (NaN becomes 0); to bool is "not zero".
Tensor cast(const TensorView& from, DType to);
// Element i of any dtype as a double (64-bit integers may round).
double element_as_double(const TensorView& t, int64_t i);
// All elements of an integer tensor as int64, for shapes and axes. Error for floats.
Result<std::vector<int64_t>> to_int64s(const TensorView& t);

}  // namespace tandem
