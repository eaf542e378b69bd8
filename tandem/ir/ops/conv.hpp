// SPDX-License-Identifier: Apache-2.0
// Convolution and its transpose. x [N,C,spatial...] | y [N,O,spatial...]
#pragma once

#include "tandem/ir/infer.hpp"
#include "tandem/ir/ops/activation.hpp"
#include "tandem/ir/ops/window.hpp"

namespace tandem::ir {

// Inputs: x, w [O, C/group, kernel...], bias [O] (optional), residual like y (optional, added before the
// activation).
struct Conv {
  static constexpr std::string_view kName = "Conv";
  Window window;  // an empty kernel is taken from w
  int64_t group = 1;
  Activation activation;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("window", s.window);
    f("group", s.group);
    f("activation", s.activation);
  }
};

// Inputs: x, w [C, O/group, kernel...], bias [O] (optional).
struct ConvTranspose {
  static constexpr std::string_view kName = "ConvTranspose";
  Window window;
  int64_t group = 1;
  std::vector<int64_t> output_padding;
  std::vector<int64_t> output_shape;  // spatial extents; decides the pads when given
  Activation activation;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("window", s.window);
    f("group", s.group);
    f("output_padding", s.output_padding);
    f("output_shape", s.output_shape);
    f("activation", s.activation);
  }
};

// Pads and output extents of a transposed convolution for static spatial extents.
Result<ResolvedWindow> resolve_transpose(const ConvTranspose& op, const std::vector<int64_t>& spatial);

Inferred infer(const Conv& op, InputInfos in, size_t output_count);
Inferred infer(const ConvTranspose& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
