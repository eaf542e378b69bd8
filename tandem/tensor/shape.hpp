// SPDX-License-Identifier: Apache-2.0
// Shape: dimensions, outermost first. kDynamic marks one that is known only at run time (the batch, mostly).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "tandem/base/result.hpp"

namespace tandem {

inline constexpr int64_t kDynamic = -1;

class Shape {
 public:
  Shape() = default;  // rank 0: a scalar
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  size_t rank() const { return dims_.size(); }
  int64_t operator[](size_t axis) const { return dims_[axis]; }
  int64_t& operator[](size_t axis) { return dims_[axis]; }
  const std::vector<int64_t>& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  void push_back(int64_t dim) { dims_.push_back(dim); }

  bool is_static() const;
  // Number of elements; 1 for a scalar. Precondition: static, and checked_elements() is ok.
  int64_t elements() const;
  // The same for shapes that nobody has vouched for: error on dynamic or negative dimensions and on overflow.
  Result<int64_t> checked_elements() const;
  // Row-major strides in elements. Precondition: static.
  std::vector<int64_t> strides() const;
  std::string to_string() const;  // "[1,3,224,224]", dynamic as "?"

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<int64_t> dims_;
};

// NumPy broadcasting. A dynamic dimension against 1 or dynamic stays dynamic; against n > 1 becomes n.
Result<Shape> broadcast(const Shape& a, const Shape& b);

// Turns a negative axis into its positive form; error when outside [-rank, rank).
Result<size_t> normalize_axis(int64_t axis, size_t rank);

}  // namespace tandem
