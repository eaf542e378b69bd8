// SPDX-License-Identifier: Apache-2.0
// Ops that pick or place elements by index.
#pragma once

#include "tandem/ir/fields.hpp"
#include "tandem/ir/infer.hpp"

namespace tandem::ir {

// Inputs: x, indices.
struct Gather {
  static constexpr std::string_view kName = "Gather";
  int64_t axis = 0;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
};

// Inputs: x, indices of the output's shape.
struct GatherElements {
  static constexpr std::string_view kName = "GatherElements";
  int64_t axis = 0;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
};

// Inputs: x, indices [..., k].
struct GatherNd {
  static constexpr std::string_view kName = "GatherNd";
  int64_t batch_dims = 0;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("batch_dims", s.batch_dims);
  }
};

enum class ScatterReduction : uint8_t { kNone, kAdd, kMul, kMax, kMin };
template <>
struct EnumNames<ScatterReduction> {
  static constexpr std::array<std::string_view, 5> names = {"none", "add", "mul", "max", "min"};
};

// Inputs: x, indices, updates.
struct ScatterElements {
  static constexpr std::string_view kName = "ScatterElements";
  int64_t axis = 0;
  ScatterReduction reduction = ScatterReduction::kNone;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
    f("reduction", s.reduction);
  }
};

// Inputs: x, indices [..., k], updates.
struct ScatterNd {
  static constexpr std::string_view kName = "ScatterNd";
  ScatterReduction reduction = ScatterReduction::kNone;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("reduction", s.reduction);
  }
};

// Inputs: indices, depth (scalar), values [off, on].
struct OneHot {
  static constexpr std::string_view kName = "OneHot";
  int64_t axis = -1;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
};

Inferred infer(const Gather& op, InputInfos in, size_t output_count);
Inferred infer(const GatherElements& op, InputInfos in, size_t output_count);
Inferred infer(const GatherNd& op, InputInfos in, size_t output_count);
Inferred infer(const ScatterElements& op, InputInfos in, size_t output_count);
Inferred infer(const ScatterNd& op, InputInfos in, size_t output_count);
Inferred infer(const OneHot& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
