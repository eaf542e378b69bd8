// SPDX-License-Identifier: Apache-2.0
// What the two files that lower convolutions share. Internal to exec/.
#pragma once

#include "tandem/exec/lower.hpp"

namespace tandem::exec {

struct Geometry {
  std::vector<int64_t> strides, dilations, begin, end;
};
// The window on these extents, as oneDNN states it (no more pads at the end than the output needs).
Result<Geometry> geometry_of(const ir::Window& window, const Shape& x, const Shape& w,
                             const ir::ConvTranspose* transposed);

// [O, I/g, k...] as [G, O/G, I/G, k...] (without G when group is 1); a transposed [I, O/g, k...] likewise,
// with the strides that say so.
Shape grouped_shape(const Shape& w, int64_t group, bool transposed, std::vector<int64_t>& strides);

// The INT8 form (quantized_conv.cpp); says why when it does not apply.
LowerResult lower_quantized_conv(Lowering& l, const ir::Conv& op);

// The buffer that a primitive with a sum post-op writes, with the residual already in it. `real`: in f32.
BufferId residual_destination(Lowering& l, size_t residual, Layout layout, bool real);

}  // namespace tandem::exec
