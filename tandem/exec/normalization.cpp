// SPDX-License-Identifier: Apache-2.0
// BatchNorm in inference by own rows; Softmax, LayerNorm and LRN by oneDNN.
#include <cmath>

#include "tandem/exec/lower.hpp"
#include "tandem/exec/rows.hpp"

namespace tandem::exec {

using dnn::Role;

LowerResult lower(Lowering& l, const ir::BatchNorm& op) {
  if (op.training) return Lowered::no("training mode");
  if (!Lowering::is_row_value(l.in(0)) || !Lowering::is_row_value(l.out()))
    return Lowered::no("dtype has no kernel");
  if (l.out().quant && l.out().quant->scheme == Scheme::kPow2)
    return Lowered::no("pow2 needs exact products");
  const Shape& x = l.in_shape(0);
  if (x.rank() < 2 || x.elements() == 0) return Lowered::no("rank below 2");
  const int64_t channels = x[1];
  std::vector<const Tensor*> p;
  for (size_t i = 1; i <= 4; ++i) {
    p.push_back(l.constant_real(i));
    if (p.back() == nullptr || p.back()->dtype() != DType::kF32)
      return Lowered::no("parameters are not constant f32");
  }
  // y = x * a + b with a = scale / sqrt(variance + epsilon), b = bias - mean * a, in double.
  std::vector<int64_t> dims(x.rank(), 1);
  dims[1] = channels;
  const Shape vector(dims);
  Tensor a(DType::kF32, vector), b(DType::kF32, vector);
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    const double factor =
        p[0]->as<float>()[c] / std::sqrt(static_cast<double>(p[3]->as<float>()[c]) + op.epsilon);
    a.as<float>()[c] = static_cast<float>(factor);
    b.as<float>()[c] = static_cast<float>(p[1]->as<float>()[c] - p[2]->as<float>()[c] * factor);
  }
  const Layout layout = l.layout_of_input(0);
  const BufferId in = l.read(0, layout), ia = l.constant(std::move(a)), ib = l.constant(std::move(b)),
                 y = l.write(0, layout);
  const RowPlan plan =
      plan_rows(x, layout, {{x, layout}, {vector, Layout::kChannelsLast}, {vector, Layout::kChannelsLast}});
  TANDEM_CHECK(plan.ok, "an operand's row is strided");
  const std::vector<RowType> types{Lowering::row_type(l.in(0)), RowType{}, RowType{}};
  l.emit("own rows", {in, ia, ib}, {y}, [=, to = Lowering::row_type(l.out())](Pointers ptr) -> Status {
    const std::byte* from[3] = {ptr[index_of(in)], ptr[index_of(ia)], ptr[index_of(ib)]};
    run_rows(plan, from, types, to, ptr[index_of(y)], [](const float* const* r, int64_t count, float* out) {
      kernels().binary(RowOp::kMul, r[0], r[1], count, out);
      kernels().binary(RowOp::kAdd, out, r[2], count, out);
    });
    return {};
  });
  return Lowered{};
}

namespace {

bool real_only(Lowering& l) {
  return Lowering::is_real(l.in(0)) && Lowering::is_real(l.out()) && l.out_shape().elements() > 0 &&
         !(l.out().quant && l.out().quant->scheme == Scheme::kPow2);
}

}  // namespace

LowerResult lower(Lowering& l, const ir::Softmax& op) {
  if (!real_only(l)) return Lowered::no("dtype has no kernel");
  const Shape& x = l.in_shape(0);
  if (x.rank() == 0) return Lowered::no("a scalar");
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, x.rank()));
  int64_t before = 1, along = x[axis], after = 1;
  for (size_t d = 0; d < axis; ++d) before *= x[d];
  for (size_t d = axis + 1; d < x.rank(); ++d) after *= x[d];
  if (op.flatten) {
    along *= after;
    after = 1;
  }
  dnn::SoftmaxSpec spec;
  spec.data = {DType::kF32, after == 1 ? Shape{before, along} : Shape{before, along, after}};
  spec.log = op.log;
  Result<dnn::Primitive> made = dnn::Primitive::softmax(spec);
  if (!made.ok()) return Lowered::no(made.error().message());
  const BufferId from = l.read_real(0, Layout::kPlain), to = l.write_real(0, Layout::kPlain);
  l.emit(std::move(made).value(), {{Role::kSrc, from}, {Role::kDst, to}}, {});
  l.finish_real(0, to);
  return Lowered{};
}

LowerResult lower(Lowering& l, const ir::Lrn& op) {
  if (!real_only(l)) return Lowered::no("dtype has no kernel");
  if (l.in_shape(0).rank() != 4 || op.size % 2 == 0)
    return Lowered::no("rank is not 4 or the window is even");
  for (const Layout layout : {l.layout_of_input(0), Layout::kChannelsLast, Layout::kPlain}) {
    dnn::LrnSpec spec{{DType::kF32, l.in_shape(0), layout}, op.size, op.alpha, op.beta, op.bias};
    Result<dnn::Primitive> made = dnn::Primitive::lrn(spec);
    if (!made.ok() || (made->is_reference() && layout != Layout::kPlain)) continue;
    const BufferId from = l.read_real(0, layout), to = l.write_real(0, layout);
    l.emit(std::move(made).value(), {{Role::kSrc, from}, {Role::kDst, to}}, {});
    l.finish_real(0, to);
    return Lowered{};
  }
  return Lowered::no("oneDNN has none for these shapes");
}

LowerResult lower(Lowering& l, const ir::LayerNorm& op) {
  if (!real_only(l)) return Lowered::no("dtype has no kernel");
  for (size_t i = 1; i < l.node().outputs.size(); ++i) {
    if (l.node().outputs[i] != ir::kNoValue) return Lowered::no("mean and deviation are wanted");
  }
  const Shape& x = l.in_shape(0);
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, x.rank()));
  int64_t columns = 1;
  for (size_t d = axis; d < x.rank(); ++d) columns *= x[d];
  const Tensor* scale = l.constant_real(1);
  const Tensor* shift = l.constant_real(2);
  if (scale == nullptr || (l.has_input(2) && shift == nullptr))
    return Lowered::no("parameters are not constant");
  if (scale->elements() != columns || (shift != nullptr && shift->elements() != columns))
    return Lowered::no("parameters are broadcast");
  dnn::LayerNormSpec spec{{DType::kF32, Shape{x.elements() / columns, columns}}, op.epsilon};
  Result<dnn::Primitive> made = dnn::Primitive::layer_norm(spec);
  if (!made.ok()) return Lowered::no(made.error().message());
  Tensor zeros(DType::kF32, Shape{columns});
  const BufferId s = l.constant(scale->clone());
  const BufferId b = l.constant(shift != nullptr ? shift->clone() : std::move(zeros));
  const BufferId from = l.read_real(0, Layout::kPlain), to = l.write_real(0, Layout::kPlain);
  l.emit(std::move(made).value(),
         {{Role::kSrc, from}, {Role::kScale, s}, {Role::kShift, b}, {Role::kDst, to}}, {});
  l.finish_real(0, to);
  return Lowered{};
}

}  // namespace tandem::exec
