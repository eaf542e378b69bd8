// SPDX-License-Identifier: Apache-2.0
// Quantization of whole tensors; the elementwise rule is in the header.
#include "tandem/tensor/quant_params.hpp"

#include <cmath>

namespace tandem {
namespace {

int64_t stored_element(const TensorView& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kI8: return reinterpret_cast<const int8_t*>(t.data())[i];
    case DType::kU8: return reinterpret_cast<const uint8_t*>(t.data())[i];
    case DType::kI16: return reinterpret_cast<const int16_t*>(t.data())[i];
    case DType::kU16: return reinterpret_cast<const uint16_t*>(t.data())[i];
    default: return reinterpret_cast<const int32_t*>(t.data())[i];
  }
}

void store_element(Tensor& t, int64_t i, int64_t q) {
  switch (t.dtype()) {
    case DType::kI8: reinterpret_cast<int8_t*>(t.data())[i] = static_cast<int8_t>(q); break;
    case DType::kU8: reinterpret_cast<uint8_t*>(t.data())[i] = static_cast<uint8_t>(q); break;
    case DType::kI16: reinterpret_cast<int16_t*>(t.data())[i] = static_cast<int16_t>(q); break;
    case DType::kU16: reinterpret_cast<uint16_t*>(t.data())[i] = static_cast<uint16_t>(q); break;
    default: reinterpret_cast<int32_t*>(t.data())[i] = static_cast<int32_t>(q); break;
  }
}

// Calls fn(first, last, channel) for every run of elements that share one scale.
template <typename F>
void for_each_run(const Shape& shape, const QuantParams& params, F&& fn) {
  const int64_t elements = shape.elements();
  if (elements == 0) return;
  if (params.per_tensor()) {
    fn(int64_t{0}, elements, int64_t{0});
    return;
  }
  const size_t axis = static_cast<size_t>(params.axis);
  const int64_t run = shape.strides()[axis];
  const int64_t channels = shape[axis];
  for (int64_t first = 0, k = 0; first < elements; first += run, ++k) fn(first, first + run, k % channels);
}

}  // namespace

QuantParams QuantParams::affine(DType dtype, float scale, int32_t zero_point) {
  QuantParams p;
  p.dtype = dtype;
  p.bits = static_cast<int>(size_of(dtype)) * 8;
  p.scale = {scale};
  p.zero_point = {zero_point};
  return p;
}

QuantParams QuantParams::affine_per_axis(DType dtype, int64_t axis, std::vector<float> scale) {
  QuantParams p;
  p.dtype = dtype;
  p.bits = static_cast<int>(size_of(dtype)) * 8;
  p.axis = axis;
  p.zero_point.assign(scale.size(), 0);
  p.scale = std::move(scale);
  return p;
}

QuantParams QuantParams::pow2(int fix_point, DType dtype, int bits) {
  TANDEM_CHECK(fix_point >= -100 && fix_point <= 100, "fix_point out of range");
  QuantParams p;
  p.scheme = Scheme::kPow2;
  p.dtype = dtype;
  p.bits = bits;
  p.scale = {std::ldexp(1.0f, -fix_point)};
  return p;
}

bool QuantParams::symmetric() const {
  return std::all_of(zero_point.begin(), zero_point.end(), [](int32_t z) { return z == 0; });
}

int QuantParams::fix_point() const {
  TANDEM_CHECK(scheme == Scheme::kPow2, "fix_point of affine params");
  return -std::ilogb(scale[0]);
}

int64_t QuantParams::lowest() const { return is_signed(dtype) ? -(int64_t{1} << (bits - 1)) : 0; }

int64_t QuantParams::highest() const {
  return is_signed(dtype) ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
}

std::string QuantParams::to_string() const {
  const std::string type = bits == static_cast<int>(size_of(dtype)) * 8
                               ? std::string(tandem::to_string(dtype))
                               : fmt::format("{}:{}", tandem::to_string(dtype), bits);
  if (scheme == Scheme::kPow2) return fmt::format("{} fix{}", type, fix_point());
  if (!per_tensor()) return fmt::format("{}[axis {}, {} scales]", type, axis, scale.size());
  return fmt::format("{} {:.6g} z{}", type, scale[0], zero_point[0]);
}

Status verify(const QuantParams& p, int64_t channels) {
  const bool storable = p.dtype == DType::kI8 || p.dtype == DType::kU8 || p.dtype == DType::kI16 ||
                        p.dtype == DType::kU16 || p.dtype == DType::kI32;
  if (!storable) return bad_input(fmt::format("quantized values cannot be stored as {}", to_string(p.dtype)));
  if (p.bits < 2 || p.bits > static_cast<int>(size_of(p.dtype)) * 8) {
    return bad_input(fmt::format("{} bits do not fit {}", p.bits, to_string(p.dtype)));
  }
  const bool counts_match = p.per_tensor()
                                ? p.scale.size() == 1
                                : channels == kDynamic || static_cast<int64_t>(p.scale.size()) == channels;
  if (!counts_match || p.scale.size() != p.zero_point.size()) {
    return bad_input(fmt::format("{} scales and {} zero points for {} channels", p.scale.size(),
                                 p.zero_point.size(), p.per_tensor() ? 1 : channels));
  }
  for (size_t i = 0; i < p.scale.size(); ++i) {
    if (!(p.scale[i] > 0) || !std::isfinite(p.scale[i])) {
      return bad_input(fmt::format("scale {} of channel {} is not positive and finite", p.scale[i], i));
    }
    if (p.zero_point[i] < p.lowest() || p.zero_point[i] > p.highest()) {
      return bad_input(fmt::format("zero point {} of channel {} is outside [{}, {}]", p.zero_point[i], i,
                                   p.lowest(), p.highest()));
    }
  }
  if (p.scheme == Scheme::kPow2) {
    int exponent = 0;
    const bool power_of_two = p.scale.size() == 1 && std::frexp(p.scale[0], &exponent) == 0.5f;
    if (!power_of_two || !p.symmetric())
      return bad_input("pow2 needs one scale that is a power of two and zero point 0");
  }
  return {};
}

Tensor quantize(const TensorView& real, const QuantParams& params) {
  TANDEM_CHECK(real.dtype() == DType::kF32, "quantize() takes f32");
  Tensor out(params.dtype, real.shape());
  const auto in = real.as<float>();
  const int64_t low = params.lowest(), high = params.highest();
  for_each_run(real.shape(), params, [&](int64_t first, int64_t last, int64_t channel) {
    const float scale = params.scale_at(channel);
    const int32_t zero = params.zero_at(channel);
    for (int64_t i = first; i < last; ++i) {
      store_element(out, i, quantize(in[static_cast<size_t>(i)], scale, zero, low, high, params.scheme));
    }
  });
  return out;
}

Tensor dequantize(const TensorView& q, const QuantParams& params) {
  TANDEM_CHECK(q.dtype() == params.dtype, "dequantize() got another dtype than its params state");
  Tensor out(DType::kF32, q.shape());
  const auto dst = out.as<float>();
  for_each_run(q.shape(), params, [&](int64_t first, int64_t last, int64_t channel) {
    const float scale = params.scale_at(channel);
    const int32_t zero = params.zero_at(channel);
    for (int64_t i = first; i < last; ++i)
      dst[static_cast<size_t>(i)] = dequantize(stored_element(q, i), scale, zero);
  });
  return out;
}

}  // namespace tandem
