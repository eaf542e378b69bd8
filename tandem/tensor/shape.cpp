// SPDX-License-Identifier: Apache-2.0
// Shape arithmetic with checks against hostile dimensions.
#include "tandem/tensor/shape.hpp"

#include <algorithm>

namespace tandem {

bool Shape::is_static() const {
  return std::all_of(dims_.begin(), dims_.end(), [](int64_t d) { return d >= 0; });
}

int64_t Shape::elements() const {
  int64_t n = 1;
  for (int64_t d : dims_) n *= d;
  return n;
}

Result<int64_t> Shape::checked_elements() const {
  int64_t n = 1;
  for (int64_t d : dims_) {
    if (d < 0) return bad_input(fmt::format("shape {} is not fully known", to_string()));
    if (__builtin_mul_overflow(n, d, &n)) return bad_input(fmt::format("shape {} is too large", to_string()));
  }
  return n;
}

std::vector<int64_t> Shape::strides() const {
  std::vector<int64_t> strides(dims_.size(), 1);
  for (size_t i = dims_.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * dims_[i - 1];
  return strides;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) text += ',';
    text += dims_[i] < 0 ? "?" : std::to_string(dims_[i]);
  }
  return text + "]";
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> dims(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < a.rank() ? a[a.rank() - 1 - i] : 1;
    const int64_t y = i < b.rank() ? b[b.rank() - 1 - i] : 1;
    int64_t& out = dims[rank - 1 - i];
    if (x == y || y == 1)
      out = x;
    else if (x == 1)
      out = y;
    else if (x == kDynamic)
      out = y;
    else if (y == kDynamic)
      out = x;
    else
      return bad_input(fmt::format("shapes {} and {} do not broadcast", a.to_string(), b.to_string()));
  }
  return Shape(std::move(dims));
}

Result<size_t> normalize_axis(int64_t axis, size_t rank) {
  const int64_t r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) return bad_input(fmt::format("axis {} is outside of rank {}", axis, rank));
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

}  // namespace tandem
