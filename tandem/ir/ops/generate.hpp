// SPDX-License-Identifier: Apache-2.0
// Ops that make tensors from shapes and scalars.
#pragma once

#include <utility>

#include "tandem/ir/fields.hpp"
#include "tandem/ir/infer.hpp"

namespace tandem::ir {

// The dimensions [start, end) of x as i64.
struct ShapeOf {
  static constexpr std::string_view kName = "ShapeOf";
  int64_t start = 0;
  int64_t end = INT64_MAX;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("start", s.start);
    f("end", s.end);
  }
};

// [first, last) of the dimensions that op takes of a tensor of that rank, clamped.
std::pair<size_t, size_t> shape_range(const ShapeOf& op, size_t rank);

// The number of elements of x, an i64 scalar.
struct Size {
  static constexpr std::string_view kName = "Size";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

// Inputs: shape (i64). Every element is the one element of value.
struct ConstantOfShape {
  static constexpr std::string_view kName = "ConstantOfShape";
  ConstTensor value;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("value", s.value);
  }
};

// Inputs: start, limit, delta (scalars).
struct Range {
  static constexpr std::string_view kName = "Range";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

// Ones on diagonal k, of dtype `to`, shaped like x (2-D).
struct EyeLike {
  static constexpr std::string_view kName = "EyeLike";
  int64_t k = 0;
  DType to = DType::kF32;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("k", s.k);
    f("to", s.to);
  }
};

// Output [rank, n] i64 coordinates of the elements that are not zero; n is known only at run time.
struct NonZero {
  static constexpr std::string_view kName = "NonZero";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

Inferred infer(const ShapeOf& op, InputInfos in, size_t output_count);
Inferred infer(const Size& op, InputInfos in, size_t output_count);
Inferred infer(const ConstantOfShape& op, InputInfos in, size_t output_count);
Inferred infer(const Range& op, InputInfos in, size_t output_count);
Inferred infer(const EyeLike& op, InputInfos in, size_t output_count);
Inferred infer(const NonZero& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
