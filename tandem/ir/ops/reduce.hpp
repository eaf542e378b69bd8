// SPDX-License-Identifier: Apache-2.0
// Reductions and scans.
#pragma once

#include "tandem/ir/fields.hpp"
#include "tandem/ir/infer.hpp"

namespace tandem::ir {

enum class ReduceKind : uint8_t { kSum, kMean, kMax, kMin, kProd, kL1, kL2, kLogSum, kLogSumExp, kSumSquare };
template <>
struct EnumNames<ReduceKind> {
  static constexpr std::array<std::string_view, 10> names = {
      "sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"};
};

// Inputs: x, axes (i64, optional: all axes, or none when noop_with_empty_axes).
struct Reduce {
  static constexpr std::string_view kName = "Reduce";
  ReduceKind kind = ReduceKind::kSum;
  bool keepdims = true;
  bool noop_with_empty_axes = false;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind);
    f("keepdims", s.keepdims);
    f("noop_with_empty_axes", s.noop_with_empty_axes);
  }
};

enum class ArgReduceKind : uint8_t { kMax, kMin };
template <>
struct EnumNames<ArgReduceKind> {
  static constexpr std::array<std::string_view, 2> names = {"max", "min"};
};

// Output: i64 indices along axis.
struct ArgReduce {
  static constexpr std::string_view kName = "ArgReduce";
  ArgReduceKind kind = ArgReduceKind::kMax;
  int64_t axis = 0;
  bool keepdims = true;
  bool select_last_index = false;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind);
    f("axis", s.axis);
    f("keepdims", s.keepdims);
    f("select_last_index", s.select_last_index);
  }
};

// Inputs: x, axis (scalar).
struct CumSum {
  static constexpr std::string_view kName = "CumSum";
  bool exclusive = false;
  bool reverse = false;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("exclusive", s.exclusive);
    f("reverse", s.reverse);
  }
};

// Inputs: x, k (i64[1]). Outputs: values, i64 indices.
struct TopK {
  static constexpr std::string_view kName = "TopK";
  int64_t axis = -1;
  bool largest = true;
  bool sorted = true;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
    f("largest", s.largest);
    f("sorted", s.sorted);
  }
};

Inferred infer(const Reduce& op, InputInfos in, size_t output_count);
Inferred infer(const ArgReduce& op, InputInfos in, size_t output_count);
Inferred infer(const CumSum& op, InputInfos in, size_t output_count);
Inferred infer(const TopK& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
