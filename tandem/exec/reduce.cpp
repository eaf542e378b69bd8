// SPDX-License-Identifier: Apache-2.0
// Reductions: spatial means as global average pools, the rest in rows brought together by one copy.
#include <algorithm>
#include <cmath>

#include "tandem/exec/lower.hpp"

namespace tandem::exec {

void emit_spatial_mean(Lowering& l, BufferId x, BufferId y, double factor);

namespace {

// By dimension of x.
Result<std::vector<bool>> reduced_axes(Lowering& l, bool none_when_empty) {
  const size_t rank = l.in_shape(0).rank();
  std::vector<int64_t> axes;
  if (l.has_input(1)) {
    if (!l.in(1).is_constant()) return unsupported("axes are not constant");
    axes = TANDEM_TRY(to_int64s(*l.in(1).constant));
  }
  if (axes.empty() && none_when_empty) return unsupported("reduces nothing");
  std::vector<bool> reduced(rank, axes.empty());
  for (const int64_t a : axes) reduced[TANDEM_TRY(normalize_axis(a, rank))] = true;
  return reduced;
}

}  // namespace

LowerResult lower(Lowering& l, const ir::Reduce& op) {
  using K = ir::ReduceKind;
  const Shape& x = l.in_shape(0);
  if (!Lowering::is_real(l.in(0)) || !Lowering::is_real(l.out())) return Lowered::no("only f32 has a kernel");
  if (l.out().quant && l.out().quant->scheme == Scheme::kPow2) return Lowered::no("pow2 needs exact results");
  if (op.kind != K::kSum && op.kind != K::kMean && op.kind != K::kMax && op.kind != K::kMin)
    return Lowered::no("no fast kernel for this kind");
  if (x.elements() == 0 || x.rank() == 0) return Lowered::no("empty tensors");
  const Result<std::vector<bool>> axes = reduced_axes(l, op.noop_with_empty_axes);
  if (!axes.ok()) return Lowered::no(axes.error().what());
  const std::vector<bool>& reduced = *axes;
  bool spatial = x.rank() >= 3 && !reduced[0] && !reduced[1];
  for (size_t d = 2; d < x.rank(); ++d) spatial = spatial && reduced[d];
  int64_t along = 1;
  for (size_t d = 0; d < x.rank(); ++d) along *= reduced[d] ? x[d] : 1;
  const Layout layout = l.layout_of_input(0);
  if (spatial && op.kind == K::kMean && layout == Layout::kChannelsLast && Lowering::is_row_value(l.in(0)) &&
      Lowering::is_row_value(l.out()) && size_of(l.in(0).storage()) != 2) {
    const BufferId from = l.read(0, layout);
    emit_spatial_mean(l, from, l.write(0, Layout::kPlain), 1.0 / static_cast<double>(along));
    return Lowered{};
  }
  // Kept dimensions first, reduced ones last.
  const std::vector<int64_t> own = strides_of(x, layout);
  StridedCopy copy;
  for (const bool which : {false, true}) {
    for (size_t d = 0; d < x.rank(); ++d) {
      if (reduced[d] != which) continue;
      copy.extent.push_back(x[d]);
      copy.from_stride.push_back(own[d]);
    }
  }
  copy.to_stride = Shape(copy.extent).strides();
  BufferId rows = l.read_real(0, layout);
  if (!is_contiguous(simplified(copy))) {
    const BufferId moved = l.temporary(DType::kF32, Shape(copy.extent));
    l.emit_copy("own transpose", rows, moved, copy);
    rows = moved;
  }
  const BufferId to = l.write_real(0, Layout::kPlain);
  const int64_t count = x.elements() / along;
  l.emit("own reduction", {rows}, {to}, [=, kind = op.kind](Pointers p) -> Status {
    const float* from = reinterpret_cast<const float*>(p[index_of(rows)]);
    float* out = reinterpret_cast<float*>(p[index_of(to)]);
    for (int64_t r = 0; r < count; ++r, from += along) {
      if (kind == K::kSum || kind == K::kMean) {
        double sum = 0;
        for (int64_t i = 0; i < along; ++i) sum += from[i];
        out[r] = static_cast<float>(kind == K::kMean ? sum / static_cast<double>(along) : sum);
        continue;
      }
      float best = from[0];
      for (int64_t i = 1; i < along; ++i) {
        const float v = from[i];
        best = std::isnan(v) || (kind == K::kMax ? v > best : v < best) ? v : best;
        if (std::isnan(best)) break;
      }
      out[r] = best;
    }
    return {};
  });
  l.finish_real(0, to);
  return Lowered{};
}

}  // namespace tandem::exec
