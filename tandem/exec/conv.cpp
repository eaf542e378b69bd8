// SPDX-License-Identifier: Apache-2.0
// Conv and ConvTranspose by oneDNN, channels last. x [N,C,...] | w [O,C/g,k...] | y [N,O,...]
#include "tandem/exec/conv.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/exec/lower.hpp"

namespace tandem::exec {

using dnn::Role;

Result<Geometry> geometry_of(const ir::Window& given, const Shape& x, const Shape& w,
                             const ir::ConvTranspose* transposed) {
  ir::Window window = given;
  window.kernel.assign(w.begin() + 2, w.end());
  const std::vector<int64_t> spatial(x.begin() + 2, x.end());
  Geometry g;
  if (transposed != nullptr) {
    ir::ConvTranspose op = *transposed;
    op.window = window;
    const ir::ResolvedWindow r = TANDEM_TRY(ir::resolve_transpose(op, spatial));
    g.begin = r.pad_begin;
    // oneDNN's output extent is stride (in - 1) + kernel - pads; a longer one means a smaller pad at the end.
    for (size_t d = 0; d < spatial.size(); ++d) {
      const int64_t full = (spatial[d] - 1) * window.stride(d) + window.extent(d);
      g.end.push_back(std::max<int64_t>(full - r.pad_begin[d] - r.output[d], 0));
    }
  } else {
    const ir::ResolvedWindow r = TANDEM_TRY(ir::resolve(window, spatial, false));
    g.begin = r.pad_begin;
    // oneDNN wants no more pads than its output needs.
    for (size_t d = 0; d < spatial.size(); ++d) {
      const int64_t reach = (r.output[d] - 1) * window.stride(d) + window.extent(d);
      g.end.push_back(std::max<int64_t>(reach - spatial[d] - r.pad_begin[d], 0));
    }
  }
  for (size_t d = 0; d < spatial.size(); ++d) {
    g.strides.push_back(window.stride(d));
    g.dilations.push_back(window.dilation(d));
  }
  return g;
}

Shape grouped_shape(const Shape& w, int64_t group, bool transposed, std::vector<int64_t>& strides) {
  const int64_t rows = w[0] / group;
  std::vector<int64_t> dims, steps;
  const std::vector<int64_t> own = w.strides();
  if (group > 1) {
    dims.push_back(group);
    steps.push_back(rows * own[0]);
  }
  const size_t first = transposed ? 1 : 0, second = transposed ? 0 : 1;
  for (const size_t d : {first, second}) {
    dims.push_back(d == 0 ? rows : w[1]);
    steps.push_back(own[d]);
  }
  for (size_t d = 2; d < w.rank(); ++d) {
    dims.push_back(w[d]);
    steps.push_back(own[d]);
  }
  strides = steps;
  return Shape(dims);
}

namespace {

// Prefers channels last; takes plain only where the library has a fast implementation for that and none for
// this.
Result<dnn::Primitive> make_primitive(dnn::ConvSpec& spec) {
  spec.src.layout = spec.dst.layout = Layout::kChannelsLast;
  Result<dnn::Primitive> last = dnn::Primitive::conv(spec);
  if (last.ok() && !last->is_reference()) return last;
  spec.src.layout = spec.dst.layout = Layout::kPlain;
  Result<dnn::Primitive> plain = dnn::Primitive::conv(spec);
  if (plain.ok() && (!plain->is_reference() || !last.ok())) return plain;
  spec.src.layout = spec.dst.layout = Layout::kChannelsLast;
  return last;
}

}  // namespace

// Brings the residual into the memory that the primitive adds to.
BufferId residual_destination(Lowering& l, size_t residual, Layout layout, bool real) {
  const BufferId from = real ? l.read_real(residual, layout) : l.read(residual, layout);
  const ir::Value& value = l.in(residual);
  const bool same_size = real ? !l.out().quant : size_of(value.storage()) == size_of(l.out().storage());
  const bool stored = !real || !value.quant;
  if (same_size && stored && l.dies_here(residual, from)) return l.write_over(0, layout, from);
  const BufferId to = real ? l.write_real(0, layout) : l.write(0, layout);
  l.emit_copy("own copy", from, to,
              {{l.out_shape().elements()}, {1}, {1}, real ? 4 : size_of(value.storage())});
  return to;
}

static LowerResult lower_real(Lowering& l, const ir::Window& window, int64_t group,
                              const ir::Activation& activation, const ir::ConvTranspose* transposed) {
  const Tensor* w = l.constant_real(1);
  const Tensor* b = l.constant_real(2);
  if (!Lowering::is_real(l.in(0)) || !Lowering::is_real(l.out()))
    return Lowered::no("only f32 convolutions have kernels");
  if (w == nullptr || (l.has_input(2) && b == nullptr)) return Lowered::no("weights are not constant");
  if (l.in_shape(0).rank() > 5 || l.in_shape(0).rank() < 3) return Lowered::no("rank is not 3, 4 or 5");
  if (l.out_shape().elements() == 0 || l.in_shape(0).elements() == 0) return Lowered::no("empty tensors");
  if (w->dtype() != DType::kF32) return Lowered::no("weights are not f32");
  const Geometry g = TANDEM_TRY(geometry_of(window, l.in_shape(0), w->shape(), transposed));
  const bool residual = l.has_input(3);
  if (residual && l.in_shape(3) != l.out_shape()) return Lowered::no("the residual is broadcast");
  dnn::ConvSpec spec;
  spec.transposed = transposed != nullptr;
  spec.src = {DType::kF32, l.in_shape(0)};
  spec.dst = {DType::kF32, l.out_shape()};
  std::vector<int64_t> weight_strides;
  spec.weights_shape = grouped_shape(w->shape(), group, spec.transposed, weight_strides);
  spec.grouped = group > 1;
  if (b != nullptr) spec.bias = DType::kF32;
  spec.strides = g.strides;
  spec.dilations = g.dilations;
  spec.pad_begin = g.begin;
  spec.pad_end = g.end;
  if (residual) {
    dnn::PostOp sum;
    sum.kind = dnn::PostOp::Kind::kSum;
    spec.attributes.post_ops.push_back(sum);
  }
  const auto ops = post_ops_of(activation, 1);
  if (!ops) return Lowered::no("oneDNN has no such activation");
  spec.attributes.post_ops.insert(spec.attributes.post_ops.end(), ops->begin(), ops->end());
  Result<dnn::Primitive> made = make_primitive(spec);
  if (!made.ok()) return Lowered::no(made.error().message());
  dnn::Primitive primitive = std::move(made).value();

  std::vector<std::pair<Role, dnn::Packed>> packed;
  const TensorView weights(DType::kF32, spec.weights_shape, w->data());
  packed.emplace_back(Role::kWeights, TANDEM_TRY(primitive.pack_weights(weights, weight_strides)));
  if (b != nullptr) packed.emplace_back(Role::kBias, TANDEM_TRY(primitive.pack_bias(b->view())));
  const BufferId x = l.read_real(0, spec.src.layout);
  const BufferId y =
      residual ? residual_destination(l, 3, spec.dst.layout, true) : l.write_real(0, spec.dst.layout);
  l.emit(std::move(primitive), {{Role::kSrc, x}, {Role::kDst, y}}, std::move(packed));
  l.finish_real(0, y);
  return Lowered{};
}

LowerResult lower(Lowering& l, const ir::Conv& op) {
  const Lowered quantized = TANDEM_TRY(lower_quantized_conv(l, op));
  if (quantized.done) return quantized;
  const bool pow2 = l.out().quant && l.out().quant->scheme == Scheme::kPow2;
  if (pow2) return quantized;  // f32 sums are not exact
  LowerResult real = lower_real(l, op.window, op.group, op.activation, nullptr);
  if (real.ok() && real->done && l.in(0).quant) l.note_fallback("in f32: " + quantized.reason);
  return real;
}

LowerResult lower(Lowering& l, const ir::ConvTranspose& op) {
  if (l.out().quant && l.out().quant->scheme == Scheme::kPow2) return Lowered::no("pow2 needs exact sums");
  return lower_real(l, op.window, op.group, op.activation, &op);
}

}  // namespace tandem::exec
