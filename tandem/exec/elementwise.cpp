// SPDX-License-Identifier: Apache-2.0
// Unary, Clip, Binary, Variadic: oneDNN for transcendental functions on f32, tables of 256 for one byte to
// one byte, own rows for the rest.
#include <cmath>
#include <limits>

#include "tandem/exec/lower.hpp"
#include "tandem/exec/rows.hpp"
#include "tandem/exec/table.hpp"

namespace tandem::exec {
namespace {

using dnn::Eltwise;
using dnn::Role;

struct EltwiseChoice {
  Eltwise e;
  float alpha = 0, beta = 0;
};

std::optional<EltwiseChoice> eltwise_of(const ir::Unary& op) {
  using K = ir::UnaryKind;
  switch (op.kind) {
    case K::kElu: return EltwiseChoice{Eltwise::kElu, op.alpha};
    case K::kSigmoid: return EltwiseChoice{Eltwise::kLogistic};
    case K::kTanh: return EltwiseChoice{Eltwise::kTanh};
    case K::kGelu: return EltwiseChoice{Eltwise::kGeluErf};
    case K::kGeluTanh: return EltwiseChoice{Eltwise::kGeluTanh};
    case K::kSilu: return EltwiseChoice{Eltwise::kSwish, 1};
    case K::kExp: return EltwiseChoice{Eltwise::kExp};
    // No log: oneDNN's is off by 1.4e-6 at 1, where the logarithm is 0 (test_log_example of the ONNX tests).
    // For the same reason no softplus: log(1 + e^x) is off by 1 % at -9.5 (test_mish_expanded).
    case K::kSqrt: return EltwiseChoice{Eltwise::kSqrt};
    case K::kAbs: return EltwiseChoice{Eltwise::kAbs};
    case K::kMish: return EltwiseChoice{Eltwise::kMish};
    case K::kNeg: return EltwiseChoice{Eltwise::kLinear, -1, 0};
    default: return std::nullopt;
  }
}

// Those that the row kernels have.
std::optional<ir::Activation> row_function_of(const ir::Unary& op) {
  using K = ir::UnaryKind;
  using A = ir::ActivationKind;
  switch (op.kind) {
    case K::kRelu: return ir::Activation{A::kRelu, 0, 0};
    case K::kLeakyRelu: return ir::Activation{A::kLeakyRelu, op.alpha, 0};
    case K::kHardSigmoid: return ir::Activation{A::kHardSigmoid, op.alpha, op.beta};
    case K::kHardSwish: return ir::Activation{A::kHardSwish, 0, 0};
    default: return std::nullopt;
  }
}

// f(x) for all elements, in the layout of x.
LowerResult lower_rows(Lowering& l, const ir::Activation& f) {
  if (!Lowering::is_row_value(l.in(0)) || !Lowering::is_row_value(l.out()))
    return Lowered::no("dtype has no kernel");
  const bool pow2 = l.out().quant && l.out().quant->scheme == Scheme::kPow2;
  if (pow2 && f.kind != ir::ActivationKind::kRelu) return Lowered::no("pow2 needs exact products");
  const Layout layout = l.layout_of_input(0);
  const BufferId x = l.read(0, layout), y = l.write(0, layout);
  const RowPlan plan = plan_rows(l.out_shape(), layout, {{l.out_shape(), layout}});
  const std::vector<RowType> from{Lowering::row_type(l.in(0))};
  l.emit("own rows", {x}, {y}, [=, to = Lowering::row_type(l.out())](Pointers p) -> Status {
    const std::byte* sources[1] = {p[index_of(x)]};
    run_rows(plan, sources, from, to, p[index_of(y)], [&](const float* const* in, int64_t count, float* out) {
      std::copy_n(in[0], count, out);
      apply_to_row(f, out, count);
    });
    return {};
  });
  return Lowered{};
}

// Operand i as the row loop wants it: in the output's layout when it has its rank, else plain, laid out when
// strided.
struct Operand {
  BufferId id;
  RowOperand description;
};
Operand operand(Lowering& l, size_t i, Layout layout) {
  const Shape& out = l.out_shape();
  const Shape& shape = l.in_shape(i);
  if (shape.rank() == out.rank()) return {l.read(i, layout), {shape, layout}};
  const BufferId plain = l.read(i, Layout::kPlain);
  if (layout == Layout::kPlain || plan_rows(out, layout, {{shape, Layout::kPlain}}).ok)
    return {plain, {shape, Layout::kPlain}};
  std::vector<int64_t> dims(out.rank() - shape.rank(), 1);
  dims.insert(dims.end(), shape.begin(), shape.end());
  const Shape padded(dims);
  const BufferId moved = l.temporary(l.buffer(plain).dtype, padded, layout);
  l.emit_copy("own layout change", plain, moved,
              {padded.dims(), strides_of(padded, layout), padded.strides(), size_of(l.buffer(plain).dtype)});
  return {moved, {padded, layout}};
}

// The layout in which most is already there: that of the first variable operand of full rank.
Layout output_layout(const Lowering& l) {
  Layout layout = Layout::kPlain;
  bool found = false;
  for (size_t i = 0; i < l.input_count(); ++i) {
    if (!l.has_input(i) || l.in(i).is_constant() || l.in_shape(i).rank() != l.out_shape().rank()) continue;
    if (layouts_agree(l.in_shape(i))) continue;  // exists in both
    if (!found || l.layout_of_input(i) == Layout::kChannelsLast) layout = l.layout_of_input(i);
    found = true;
  }
  return layout;
}

std::optional<RowOp> row_op_of(ir::BinaryKind kind) {
  switch (kind) {
    case ir::BinaryKind::kAdd: return RowOp::kAdd;
    case ir::BinaryKind::kSub: return RowOp::kSub;
    case ir::BinaryKind::kMul: return RowOp::kMul;
    case ir::BinaryKind::kDiv: return RowOp::kDiv;
    default: return std::nullopt;
  }
}

// f32 holds sums of two pow2 operands exactly while their fix points are not too far apart.
bool exact_in_pow2(Lowering& l, RowOp op, const ir::Activation& activation) {
  const bool harmless = activation.kind == ir::ActivationKind::kNone ||
                        activation.kind == ir::ActivationKind::kRelu ||
                        activation.kind == ir::ActivationKind::kClip;
  if (!harmless || op == RowOp::kDiv) return false;
  int low = 1000, high = -1000;
  for (size_t i = 0; i < l.input_count(); ++i) {
    if (!l.in(i).quant || l.in(i).quant->scheme != Scheme::kPow2 || size_of(l.in(i).storage()) != 1)
      return false;
    low = std::min(low, l.in(i).quant->fix_point());
    high = std::max(high, l.in(i).quant->fix_point());
  }
  return high - low <= 12;
}

// out = act(a op b op ...) over all inputs.
LowerResult lower_chain(Lowering& l, RowOp op, float factor, const ir::Activation& activation) {
  if (l.input_count() < 1 || l.input_count() > kOperandsMax) return Lowered::no("too many operands");
  for (size_t i = 0; i < l.input_count(); ++i) {
    if (!Lowering::is_row_value(l.in(i))) return Lowered::no("dtype has no kernel");
  }
  if (!Lowering::is_row_value(l.out())) return Lowered::no("dtype has no kernel");
  const bool pow2 = l.out().quant && l.out().quant->scheme == Scheme::kPow2;
  if (pow2 && (factor != 1 || !exact_in_pow2(l, op, activation)))
    return Lowered::no("pow2 needs exact results");
  const Layout layout = output_layout(l);
  std::vector<BufferId> ids;
  std::vector<RowOperand> descriptions;
  std::vector<RowType> types;
  for (size_t i = 0; i < l.input_count(); ++i) {
    const Operand o = operand(l, i, layout);
    ids.push_back(o.id);
    descriptions.push_back(o.description);
    types.push_back(Lowering::row_type(l.in(i)));
  }
  const RowPlan plan = plan_rows(l.out_shape(), layout, descriptions);
  TANDEM_CHECK(plan.ok, "an operand's row is strided");
  const BufferId y = l.write(0, layout);
  l.emit("own rows", ids, {y}, [=, to = Lowering::row_type(l.out())](Pointers p) -> Status {
    const std::byte* sources[kOperandsMax] = {};
    for (size_t i = 0; i < ids.size(); ++i) sources[i] = p[index_of(ids[i])];
    run_rows(plan, sources, types, to, p[index_of(y)],
             [&](const float* const* in, int64_t count, float* out) {
               if (ids.size() == 1) std::copy_n(in[0], count, out);
               for (size_t i = 1; i < ids.size(); ++i)
                 kernels().binary(op, i == 1 ? in[0] : out, in[i], count, out);
               if (factor != 1) {
                 for (int64_t i = 0; i < count; ++i) out[i] *= factor;
               }
               apply_to_row(activation, out, count);
             });
    return {};
  });
  return Lowered{};
}

}  // namespace

LowerResult lower(Lowering& l, const ir::Unary& op) {
  if (l.out_shape().elements() == 0) return Lowered::no("empty tensors");
  if (lower_table(l)) return Lowered{};
  if (const auto f = row_function_of(op)) return lower_rows(l, *f);
  if (l.out().quant && l.out().quant->scheme == Scheme::kPow2) return Lowered::no("pow2 needs exact results");
  const auto choice = eltwise_of(op);
  if (!choice) return Lowered::no("oneDNN has no such function");
  if (!Lowering::is_real(l.in(0)) || !Lowering::is_real(l.out())) return Lowered::no("dtype has no kernel");
  const Layout layout = l.layout_of_input(0);
  // Elementwise: the shape may be seen as one row.
  const dnn::EltwiseSpec spec{
      choice->e, choice->alpha, choice->beta, {DType::kF32, Shape{l.out_shape().elements()}}};
  Result<dnn::Primitive> made = dnn::Primitive::eltwise(spec);
  if (!made.ok()) return Lowered::no(made.error().message());
  const BufferId x = l.read_real(0, layout), y = l.write_real(0, layout);
  l.emit(std::move(made).value(), {{Role::kSrc, x}, {Role::kDst, y}}, {});
  l.finish_real(0, y);
  return Lowered{};
}

LowerResult lower(Lowering& l, const ir::Clip&) {
  if (l.out_shape().elements() == 0) return Lowered::no("empty tensors");
  if (lower_table(l)) return Lowered{};
  ir::Activation f{ir::ActivationKind::kClip, -std::numeric_limits<float>::infinity(),
                   std::numeric_limits<float>::infinity()};
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (!l.has_input(i)) continue;
    const Tensor* bound = l.constant_real(i);
    if (bound == nullptr || bound->dtype() != DType::kF32 || bound->elements() != 1)
      return Lowered::no("bounds are not constant f32");
    (i == 1 ? f.alpha : f.beta) = bound->as<float>()[0];
  }
  return lower_rows(l, f);
}

LowerResult lower(Lowering& l, const ir::Binary& op) {
  const auto row_op = row_op_of(op.kind);
  if (!row_op) return Lowered::no("no fast kernel for this operation");
  if (l.out_shape().elements() == 0) return Lowered::no("empty tensors");
  return lower_chain(l, *row_op, 1, op.activation);
}

LowerResult lower(Lowering& l, const ir::Variadic& op) {
  if (l.out_shape().elements() == 0) return Lowered::no("empty tensors");
  switch (op.kind) {
    case ir::VariadicKind::kSum: return lower_chain(l, RowOp::kAdd, 1, {});
    case ir::VariadicKind::kMean:
      // The reference divides; one reciprocal differs from that by at most one ulp.
      return lower_chain(l, RowOp::kAdd, 1.0f / static_cast<float>(l.input_count()), {});
    case ir::VariadicKind::kMax: return lower_chain(l, RowOp::kMax, 1, {});
    case ir::VariadicKind::kMin: return lower_chain(l, RowOp::kMin, 1, {});
  }
  return Lowered::no("unknown kind");
}

}  // namespace tandem::exec
