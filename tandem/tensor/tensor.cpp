// SPDX-License-Identifier: Apache-2.0
// Storage and element conversion.
#include "tandem/tensor/tensor.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace tandem {
namespace {

constexpr size_t kAlignment = 64;

std::byte* allocate(size_t bytes) {
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  auto* p = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded));
  if (p != nullptr) std::memset(p, 0, rounded == 0 ? kAlignment : rounded);
  return p;
}

// Calls fn with a value of the C++ type that stores `dtype`; the 16-bit floats come as uint16_t.
template <typename F>
auto with_storage(DType dtype, F&& fn) {
  switch (dtype) {
    case DType::kF32: return fn(float{});
    case DType::kF64: return fn(double{});
    case DType::kF16:
    case DType::kBF16:
    case DType::kU16: return fn(uint16_t{});
    case DType::kI8: return fn(int8_t{});
    case DType::kU8: return fn(uint8_t{});
    case DType::kI16: return fn(int16_t{});
    case DType::kI32: return fn(int32_t{});
    case DType::kU32: return fn(uint32_t{});
    case DType::kI64: return fn(int64_t{});
    case DType::kU64: return fn(uint64_t{});
    case DType::kBool: return fn(bool{});
  }
  TANDEM_CHECK(false, "dtype out of range");
  __builtin_unreachable();  // without optimisation and UBSan (the tsan preset) g++ does not see it
}

// Reads storage type S of dtype `from` as a number.
template <typename S>
auto widen(S raw, DType from) {
  if constexpr (std::is_same_v<S, uint16_t>) {
    if (from == DType::kF16) return static_cast<double>(f16_to_f32(raw));
    if (from == DType::kBF16) return static_cast<double>(bf16_to_f32(raw));
    return static_cast<double>(raw);
  } else {
    return raw;
  }
}

template <typename D, typename V>
D narrow(V value) {
  if constexpr (std::is_same_v<D, bool>) {
    return value != V{};
  } else if constexpr (std::is_floating_point_v<V> && std::is_integral_v<D>) {
    if (std::isnan(value)) return 0;
    const double lo = static_cast<double>(std::numeric_limits<D>::min());
    const double hi = static_cast<double>(std::numeric_limits<D>::max());
    const double v = static_cast<double>(value);
    if (v <= lo) return std::numeric_limits<D>::min();
    if (v >= hi) return std::numeric_limits<D>::max();
    return static_cast<D>(v);
  } else {
    return static_cast<D>(value);
  }
}

}  // namespace

void Tensor::Free::operator()(std::byte* p) const { std::free(p); }

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype), shape_(std::move(shape)), elements_(shape_.elements()), data_(allocate(size_bytes())) {
  TANDEM_CHECK(shape_.is_static() && data_ != nullptr, "tensor " + shape_.to_string());
}

Result<Tensor> Tensor::make(DType dtype, Shape shape, uint64_t limit_bytes) {
  const int64_t elements = TANDEM_TRY(shape.checked_elements());
  if (static_cast<uint64_t>(elements) > limit_bytes / size_of(dtype)) {
    return bad_input(fmt::format("a tensor of shape {} is too large", shape.to_string()))
        .because(fmt::format("the limit is {} bytes", limit_bytes));
  }
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = std::move(shape);
  t.elements_ = elements;
  t.data_.reset(allocate(t.size_bytes()));
  if (!t.data_) {
    return bad_input(fmt::format("no memory for a tensor of shape {}", t.shape_.to_string()))
        .because(fmt::format("it needs {} bytes", t.size_bytes()));
  }
  return t;
}

TensorView Tensor::view() const { return TensorView(*this); }

Tensor Tensor::reshaped(Shape shape) && {
  TANDEM_CHECK(shape.elements() == elements_, "reshape changes the number of elements");
  Tensor t = std::move(*this);
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::clone() const { return view().to_tensor(); }

void Tensor::check_type(DType wanted) const {
  const bool same = wanted == dtype_ ||
                    (wanted == DType::kU16 && (dtype_ == DType::kF16 || dtype_ == DType::kBF16)) ||
                    (wanted == DType::kU8 && dtype_ == DType::kBool);
  TANDEM_CHECK(same,
               "tensor of " + std::string(to_string(dtype_)) + " read as " + std::string(to_string(wanted)));
}

Tensor TensorView::to_tensor() const {
  Tensor t(dtype_, shape_);
  if (elements_ > 0) std::memcpy(t.data(), data_, size_bytes());
  return t;
}

Tensor cast(const TensorView& from, DType to) {
  Tensor out(to, from.shape());
  if (from.dtype() == to) {
    if (from.elements() > 0) std::memcpy(out.data(), from.data(), from.size_bytes());
    return out;
  }
  with_storage(from.dtype(), [&](auto in_tag) {
    using S = decltype(in_tag);
    const S* in = reinterpret_cast<const S*>(from.data());
    with_storage(to, [&](auto out_tag) {
      using D = decltype(out_tag);
      D* dst = reinterpret_cast<D*>(out.data());
      for (int64_t i = 0; i < from.elements(); ++i) {
        const auto value = widen(in[i], from.dtype());
        if constexpr (std::is_same_v<D, uint16_t>) {
          if (to == DType::kF16)
            dst[i] = f32_to_f16(static_cast<float>(value));
          else if (to == DType::kBF16)
            dst[i] = f32_to_bf16(static_cast<float>(value));
          else
            dst[i] = narrow<D>(value);
        } else {
          dst[i] = narrow<D>(value);
        }
      }
    });
  });
  return out;
}

double element_as_double(const TensorView& t, int64_t i) {
  return with_storage(t.dtype(), [&](auto tag) {
    using S = decltype(tag);
    return static_cast<double>(widen(reinterpret_cast<const S*>(t.data())[i], t.dtype()));
  });
}

Result<std::vector<int64_t>> to_int64s(const TensorView& t) {
  if (is_float(t.dtype())) return bad_input(fmt::format("expected integers, found {}", to_string(t.dtype())));
  const Tensor wide = cast(t, DType::kI64);
  const auto values = wide.as<int64_t>();
  return std::vector<int64_t>(values.begin(), values.end());
}

}  // namespace tandem
