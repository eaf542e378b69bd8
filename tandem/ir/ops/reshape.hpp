// SPDX-License-Identifier: Apache-2.0
// Ops that change the shape and move no element.
#pragma once

#include "tandem/ir/fields.hpp"
#include "tandem/ir/infer.hpp"

namespace tandem::ir {

// Inputs: x, shape (i64; 0 copies the dimension unless allowzero, one -1 is computed).
struct Reshape {
  static constexpr std::string_view kName = "Reshape";
  bool allowzero = false;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("allowzero", s.allowzero);
  }
};

// To 2-D: dimensions before axis, dimensions from axis on.
struct Flatten {
  static constexpr std::string_view kName = "Flatten";
  int64_t axis = 1;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
};

// Inputs: x, axes (i64, optional: all of extent 1).
struct Squeeze {
  static constexpr std::string_view kName = "Squeeze";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

// Inputs: x, axes (i64, positions in the output).
struct Unsqueeze {
  static constexpr std::string_view kName = "Unsqueeze";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

Inferred infer(const Reshape& op, InputInfos in, size_t output_count);
Inferred infer(const Flatten& op, InputInfos in, size_t output_count);
Inferred infer(const Squeeze& op, InputInfos in, size_t output_count);
Inferred infer(const Unsqueeze& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
