// SPDX-License-Identifier: Apache-2.0
// Resize to whole multiples by nearest neighbour: a copy. Everything else is the reference's.
#include "tandem/exec/lower.hpp"

namespace tandem::exec {

LowerResult lower(Lowering& l, const ir::Resize& op) {
  const Shape &x = l.in_shape(0), &y = l.out_shape();
  if (op.mode != ir::ResizeMode::kNearest)
    return Lowered::no("only nearest neighbour by whole factors has a kernel");
  // With these rules output i comes from input floor(i / factor) for whole factors: half_pixel maps i to
  // (i + 0.5) / f - 0.5, whose nearest integer that is; asymmetric with floor maps it to floor(i / f).
  const bool half = op.coordinates == ir::CoordinateRule::kHalfPixel ||
                    op.coordinates == ir::CoordinateRule::kPytorchHalfPixel;
  const bool half_ok = half && (op.nearest == ir::NearestRule::kRoundPreferFloor ||
                                op.nearest == ir::NearestRule::kRoundPreferCeil);
  const bool floor_ok =
      op.coordinates == ir::CoordinateRule::kAsymmetric && op.nearest == ir::NearestRule::kFloor;
  if (!half_ok && !floor_ok) return Lowered::no("no fast kernel for this coordinate rule");
  if (!(l.in(0).quant == l.out().quant) || x.rank() != y.rank() || y.elements() == 0)
    return Lowered::no("stored differently");
  if (l.has_input(2)) {
    // Scales that are not the exact ratio move the sampling points.
    const Tensor* scales = l.constant_real(2);
    if (scales == nullptr || scales->dtype() != DType::kF32) return Lowered::no("scales are not constant");
    for (const float s : scales->as<float>()) {
      if (s != static_cast<float>(static_cast<int64_t>(s))) return Lowered::no("a factor is not whole");
    }
  }
  const Layout layout = l.layout_of_input(0);
  const std::vector<int64_t> from = strides_of(x, layout), to = strides_of(y, layout);
  StridedCopy copy;
  copy.element_bytes = size_of(l.out().storage());
  for (size_t d = 0; d < x.rank(); ++d) {
    if (y[d] % x[d] != 0) return Lowered::no("a factor is not whole");
    const int64_t factor = y[d] / x[d];
    copy.extent.push_back(x[d]);
    copy.from_stride.push_back(from[d]);
    copy.to_stride.push_back(to[d] * factor);
    copy.extent.push_back(factor);
    copy.from_stride.push_back(0);
    copy.to_stride.push_back(to[d]);
  }
  const BufferId in = l.read(0, layout), out = l.write(0, layout);
  l.emit_copy("own copy", in, out, copy);
  return Lowered{};
}

}  // namespace tandem::exec
