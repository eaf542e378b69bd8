// SPDX-License-Identifier: Apache-2.0
// Ops that move elements: strided copies, in whatever layout the input is.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "tandem/exec/lower.hpp"
#include "tandem/exec/table.hpp"

namespace tandem::exec {
namespace {

bool is_byte(const ir::Value& v) { return v.quant && v.quant->per_tensor() && size_of(v.quant->dtype) == 1; }

// Input i as the output stores its elements.
bool storable(Lowering& l, size_t i) {
  const ir::Value &a = l.in(i), &b = l.out();
  if (a.quant == b.quant) return true;
  if (is_byte(a) && is_byte(b)) return true;
  return Lowering::is_row_value(a) && !b.quant;
}
BufferId as_output(Lowering& l, size_t i, Layout layout) {
  const ir::Value &a = l.in(i), &b = l.out();
  if (a.quant == b.quant) return l.read(i, layout);
  if (b.quant) return requantized(l, l.read(i, layout), *a.quant, *b.quant);
  return l.read_real(i, layout);
}

// Copies a box of the input to a box of the output; begins in elements of each side.
struct Box {
  std::vector<int64_t> extent, to_stride, from_stride;
  int64_t to_begin = 0, from_begin = 0;
};
void emit_box(Lowering& l, const char* what, BufferId from, BufferId to, const Box& box) {
  const size_t width = size_of(l.buffer(to).dtype);
  l.emit(what, {from}, {to},
         [=, plan = simplified({box.extent, box.to_stride, box.from_stride, width})](Pointers p) -> Status {
           run(plan,
               p[index_of(from)] + static_cast<ptrdiff_t>(box.from_begin) * static_cast<ptrdiff_t>(width),
               p[index_of(to)] + static_cast<ptrdiff_t>(box.to_begin) * static_cast<ptrdiff_t>(width));
           return {};
         });
}

// i64 elements of a constant input.
std::optional<std::vector<int64_t>> constant_ints(Lowering& l, size_t i) {
  if (!l.has_input(i) || !l.in(i).is_constant()) return std::nullopt;
  Result<std::vector<int64_t>> v = to_int64s(*l.in(i).constant);
  if (!v.ok()) return std::nullopt;
  return std::move(v).value();
}

std::optional<std::vector<size_t>> constant_axes(Lowering& l, size_t i, size_t rank, size_t count) {
  std::vector<size_t> axes(count);
  std::iota(axes.begin(), axes.end(), size_t{0});
  if (!l.has_input(i)) return axes;
  const auto given = constant_ints(l, i);
  if (!given || given->size() != count) return std::nullopt;
  for (size_t k = 0; k < count; ++k) {
    const Result<size_t> axis = normalize_axis((*given)[k], rank);
    if (!axis.ok()) return std::nullopt;
    axes[k] = *axis;
  }
  return axes;
}

}  // namespace

LowerResult lower(Lowering& l, const ir::Concat& op) {
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, l.out_shape().rank()));
  Layout layout = Layout::kPlain;
  for (size_t i = 0; i < l.input_count(); ++i) {
    if (!storable(l, i)) return Lowered::no("inputs are stored differently");
    if (!l.in(i).is_constant() && l.layout_of_input(i) == Layout::kChannelsLast)
      layout = Layout::kChannelsLast;
  }
  std::vector<BufferId> from;
  for (size_t i = 0; i < l.input_count(); ++i) from.push_back(as_output(l, i, layout));
  const BufferId to = l.write(0, layout);
  const std::vector<int64_t> strides = strides_of(l.out_shape(), l.buffer(to).layout);
  int64_t begin = 0;
  for (size_t i = 0; i < l.input_count(); ++i) {
    const Shape& shape = l.in_shape(i);
    if (shape.elements() > 0) {
      emit_box(l, "own copy", from[i], to,
               {shape.dims(), strides, strides_of(shape, l.buffer(to).layout), begin * strides[axis], 0});
    }
    begin += shape[axis];
  }
  return Lowered{};
}

LowerResult lower(Lowering& l, const ir::Split& op) {
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, l.in_shape(0).rank()));
  const Layout layout = l.layout_of_input(0);
  for (size_t i = 0; i < l.node().outputs.size(); ++i) {
    if (l.node().outputs[i] != ir::kNoValue && !(l.out(i).quant == l.in(0).quant))
      return Lowered::no("outputs are stored differently");
  }
  const BufferId from = l.read(0, layout);
  const std::vector<int64_t> strides = strides_of(l.in_shape(0), layout);
  int64_t begin = 0;
  for (size_t i = 0; i < l.node().outputs.size(); ++i) {
    if (l.node().outputs[i] == ir::kNoValue) return Lowered::no("an output is not wanted");
  }
  for (size_t i = 0; i < l.node().outputs.size(); ++i) {
    const Shape& shape = l.out_shape(i);
    const BufferId to = l.write(i, layout);
    emit_box(l, "own copy", from, to,
             {shape.dims(), strides_of(shape, l.buffer(to).layout), strides, 0, begin * strides[axis]});
    begin += shape[axis];
  }
  return Lowered{};
}

LowerResult lower(Lowering& l, const ir::Slice&) {
  const Shape &x = l.in_shape(0), &y = l.out_shape();
  const auto starts = constant_ints(l, 1);
  if (!starts || !storable(l, 0)) return Lowered::no("starts are not constant");
  const auto axes = constant_axes(l, 3, x.rank(), starts->size());
  std::vector<int64_t> steps(starts->size(), 1);
  if (l.has_input(4)) {
    const auto given = constant_ints(l, 4);
    if (!given || given->size() != starts->size()) return Lowered::no("steps are not constant");
    steps = *given;
  }
  if (!axes) return Lowered::no("axes are not constant");
  const Layout layout = l.layout_of_input(0);
  const std::vector<int64_t> from_strides = strides_of(x, layout);
  Box box{y.dims(), strides_of(y, layout), from_strides, 0, 0};
  for (size_t k = 0; k < axes->size(); ++k) {
    const size_t d = (*axes)[k];
    int64_t start = (*starts)[k];
    if (start < 0) start += x[d];
    // NumPy's clamp; the ends only matter for the extent, which is known.
    start = steps[k] > 0 ? std::clamp(start, int64_t{0}, x[d]) : std::clamp(start, int64_t{-1}, x[d] - 1);
    box.from_begin += start * from_strides[d];
    box.from_stride[d] = from_strides[d] * steps[k];
  }
  const BufferId from = as_output(l, 0, layout), to = l.write(0, layout);
  if (y.elements() > 0) emit_box(l, "own copy", from, to, box);
  return Lowered{};
}

LowerResult lower(Lowering& l, const ir::Pad& op) {
  const Shape &x = l.in_shape(0), &y = l.out_shape();
  const auto pads = constant_ints(l, 1);
  if (op.mode != ir::PadMode::kConstant) return Lowered::no("only constant padding has a kernel");
  if (!pads || pads->size() % 2 != 0 || !storable(l, 0)) return Lowered::no("pads are not constant");
  const auto axes = constant_axes(l, 3, x.rank(), pads->size() / 2);
  if (!axes) return Lowered::no("axes are not constant");
  // The padding as it is stored.
  std::vector<std::byte> fill(size_of(l.out().storage()), std::byte{0});
  if (l.has_input(2)) {
    const Tensor* value = l.constant_real(2);
    if (value == nullptr || value->elements() != 1) return Lowered::no("the padding value is not constant");
    if (l.out().quant) {
      if (value->dtype() != DType::kF32 || !l.out().quant->per_tensor())
        return Lowered::no("the padding value is not f32");
      const Tensor stored = quantize(value->view(), *l.out().quant);
      std::copy_n(stored.data(), fill.size(), fill.data());
    } else {
      if (value->dtype() != l.out().dtype) return Lowered::no("the padding value has another dtype");
      std::copy_n(value->data(), fill.size(), fill.data());
    }
  } else if (l.out().quant) {
    if (!l.out().quant->per_tensor()) return Lowered::no("per-axis quantization");
    const Tensor stored = quantize(Tensor(DType::kF32, Shape{1}).view(), *l.out().quant);
    std::copy_n(stored.data(), fill.size(), fill.data());
  }
  const Layout layout = l.layout_of_input(0);
  Box box{x.dims(), strides_of(y, layout), strides_of(x, layout), 0, 0};
  for (size_t k = 0; k < axes->size(); ++k) {
    const size_t d = (*axes)[k];
    const int64_t begin = (*pads)[k], end = (*pads)[k + axes->size()];
    box.to_begin += std::max<int64_t>(begin, 0) * box.to_stride[d];
    box.from_begin += std::max<int64_t>(-begin, 0) * box.from_stride[d];
    box.extent[d] -= std::max<int64_t>(-begin, 0) + std::max<int64_t>(-end, 0);
    if (box.extent[d] < 0) return Lowered::no("crops more than there is");
  }
  const BufferId from = as_output(l, 0, layout), to = l.write(0, layout);
  const int64_t count = y.elements();
  l.emit("own fill", {}, {to}, [=](Pointers p) -> Status {
    std::byte* at = p[index_of(to)];
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(at + static_cast<size_t>(i) * fill.size(), fill.data(), fill.size());
    return {};
  });
  const bool any = std::all_of(box.extent.begin(), box.extent.end(), [](int64_t e) { return e > 0; });
  if (any) emit_box(l, "own copy", from, to, box);
  return Lowered{};
}

LowerResult lower(Lowering& l, const ir::Transpose& op) {
  const Shape& x = l.in_shape(0);
  if (!storable(l, 0)) return Lowered::no("input and output are stored differently");
  std::vector<int64_t> perm = op.perm;
  if (perm.empty()) {
    for (size_t d = x.rank(); d-- > 0;) perm.push_back(static_cast<int64_t>(d));
  }
  const Layout layout = l.layout_of_input(0);
  const std::vector<int64_t> own = strides_of(x, layout);
  std::vector<int64_t> from_stride;
  for (const int64_t d : perm) from_stride.push_back(own[static_cast<size_t>(d)]);
  const BufferId from = as_output(l, 0, layout);
  // Where the permutation is what another layout of the output does anyway, nothing moves.
  for (const Layout to_layout : {Layout::kPlain, Layout::kChannelsLast}) {
    const StridedCopy copy = simplified({l.out_shape().dims(), strides_of(l.out_shape(), to_layout),
                                         from_stride, size_of(l.out().storage())});
    if (is_contiguous(copy)) {
      l.make_view(0, from, to_layout);
      return Lowered{};
    }
  }
  const BufferId to = l.write(0, Layout::kPlain);
  emit_box(l, "own transpose", from, to, {l.out_shape().dims(), l.out_shape().strides(), from_stride, 0, 0});
  return Lowered{};
}

LowerResult lower(Lowering& l, const ir::Expand&) {
  const Shape &x = l.in_shape(0), &y = l.out_shape();
  if (!storable(l, 0)) return Lowered::no("input and output are stored differently");
  if (y.elements() == 0) return Lowered::no("empty tensors");
  const BufferId from = as_output(l, 0, Layout::kPlain), to = l.write(0, Layout::kPlain);
  const std::vector<int64_t> own = x.strides();
  std::vector<int64_t> from_stride(y.rank(), 0);
  for (size_t d = 0; d < x.rank(); ++d) from_stride[d + y.rank() - x.rank()] = x[d] == 1 ? 0 : own[d];
  emit_box(l, "own copy", from, to, {y.dims(), y.strides(), from_stride, 0, 0});
  return Lowered{};
}

namespace {

// Depth to space and back: six dimensions on both sides. `deep` has the channels, `wide` the pixels.
LowerResult lower_blocks(Lowering& l, int64_t b, bool crd, bool to_space) {
  const Shape& deep = to_space ? l.in_shape(0) : l.out_shape();
  const Shape& wide = to_space ? l.out_shape() : l.in_shape(0);
  if (deep.rank() != 4 || b < 1) return Lowered::no("rank is not 4");
  if (!storable(l, 0)) return Lowered::no("input and output are stored differently");
  if (deep.elements() == 0) return Lowered::no("empty tensors");
  const Layout layout = l.layout_of_input(0);
  const std::vector<int64_t> d = strides_of(deep, layout), w = strides_of(wide, layout);
  const int64_t channels = wide[1];
  // Index (n, c, h, w, i, j): block row i and column j.
  const std::vector<int64_t> extent{deep[0], channels, deep[2], deep[3], b, b};
  const int64_t channel_step = crd ? b * b : 1, row_step = crd ? b : b * channels,
                column_step = crd ? 1 : channels;
  const std::vector<int64_t> deep_stride{d[0], channel_step * d[1], d[2],
                                         d[3], row_step * d[1],     column_step * d[1]};
  const std::vector<int64_t> wide_stride{w[0], w[1], b * w[2], b * w[3], w[2], w[3]};
  const BufferId from = as_output(l, 0, layout), to = l.write(0, layout);
  emit_box(l, "own copy", from, to,
           {extent, to_space ? wide_stride : deep_stride, to_space ? deep_stride : wide_stride, 0, 0});
  return Lowered{};
}

}  // namespace

LowerResult lower(Lowering& l, const ir::DepthToSpace& op) {
  return lower_blocks(l, op.blocksize, op.mode == ir::DepthToSpaceMode::kCrd, true);
}
LowerResult lower(Lowering& l, const ir::SpaceToDepth& op) {
  return lower_blocks(l, op.blocksize, false, false);
}

}  // namespace tandem::exec
