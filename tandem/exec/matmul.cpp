// SPDX-License-Identifier: Apache-2.0
// Gemm and MatMul by oneDNN. a [..., M, K] x b [..., K, N] = y [..., M, N]
#include <algorithm>

#include "tandem/exec/lower.hpp"
#include "tandem/exec/matmul.hpp"
#include "tandem/exec/rows.hpp"

namespace tandem::exec {
namespace {

using dnn::Role;

// A [rows, columns] matrix stored row-major, or its transpose.
dnn::Desc matrix(DType dtype, int64_t rows, int64_t columns, bool transposed) {
  return {dtype, Shape{rows, columns}, Layout::kPlain,
          transposed ? std::vector<int64_t>{1, rows} : std::vector<int64_t>{columns, 1}};
}

bool is_vector_bias(const Shape& c, int64_t n) {
  if (c.elements() != n) return false;
  return c.rank() == 1 || (c.rank() == 2 && c[0] == 1);
}

// y = product + beta * C, C broadcast.
void emit_addend(Lowering& l, BufferId product, float beta) {
  const Shape& y = l.out_shape();
  const BufferId addend = l.read_real(2, Layout::kPlain);
  const BufferId to = l.write(0, Layout::kPlain);
  const Shape c_shape = l.in_shape(2);
  const RowPlan plan = plan_rows(y, Layout::kPlain, {{y, Layout::kPlain}, {c_shape, Layout::kPlain}});
  l.emit("own binary", {product, addend}, {to}, [=](Pointers p) -> Status {
    const std::byte* from[2] = {p[index_of(product)], p[index_of(addend)]};
    run_rows(plan, from, {RowType{}, RowType{}}, RowType{}, p[index_of(to)],
             [&](const float* const* x, int64_t count, float* out) {
               for (int64_t i = 0; i < count; ++i) out[i] = x[0][i] + beta * x[1][i];
             });
    return {};
  });
}

LowerResult lower_real_gemm(Lowering& l, const ir::Gemm& op) {
  if (!Lowering::is_real(l.in(0)) || !Lowering::is_real(l.in(1)) || !Lowering::is_real(l.out())) {
    return Lowered::no("only f32 products have kernels");
  }
  const Shape &a = l.in_shape(0), &y = l.out_shape();
  const int64_t m = y[0], n = y[1], k = op.trans_a ? a[0] : a[1];
  if (m == 0 || n == 0 || k == 0) return Lowered::no("empty tensors");
  const Tensor* b = l.constant_real(1);
  const Tensor* c = l.constant_real(2);
  const bool vector_bias = c != nullptr && op.beta != 0 && is_vector_bias(c->shape(), n);
  const bool separate_c = l.has_input(2) && op.beta != 0 && !vector_bias;
  dnn::MatMulSpec spec;
  spec.a = matrix(DType::kF32, m, k, op.trans_a);
  spec.b = matrix(DType::kF32, k, n, op.trans_b);
  spec.c = matrix(DType::kF32, m, n, false);
  spec.pack_b = b != nullptr;
  if (vector_bias) spec.bias = DType::kF32;
  if (op.alpha != 1 && b == nullptr) {
    if (vector_bias) return Lowered::no("alpha with a bias and a variable factor");
    spec.attributes.scale = {op.alpha};
  }
  if (separate_c && op.activation) return Lowered::no("a matrix C before an activation");
  if (separate_c && l.out().quant) return Lowered::no("a matrix C before a quantization");
  const auto ops = post_ops_of(op.activation, 1);
  if (!ops) return Lowered::no("oneDNN has no such activation");
  spec.attributes.post_ops = *ops;
  Result<dnn::Primitive> made = dnn::Primitive::matmul(spec);
  if (!made.ok()) return Lowered::no(made.error().message());
  dnn::Primitive primitive = std::move(made).value();
  std::vector<std::pair<Role, dnn::Packed>> packed;
  std::vector<std::pair<Role, BufferId>> arguments{{Role::kSrc, l.read_real(0, Layout::kPlain)}};
  if (b != nullptr) {
    Tensor scaled;
    if (op.alpha != 1) {
      scaled = b->clone();
      for (float& v : scaled.as<float>()) v *= op.alpha;
    }
    const TensorView view(DType::kF32, Shape{k, n}, op.alpha != 1 ? scaled.data() : b->data());
    packed.emplace_back(Role::kWeights, TANDEM_TRY(primitive.pack_weights(view, spec.b.strides)));
  } else {
    arguments.emplace_back(Role::kWeights, l.read_real(1, Layout::kPlain));
  }
  if (vector_bias) {
    Tensor bias(DType::kF32, Shape{n});
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) bias.as<float>()[i] = op.beta * c->as<float>()[i];
    packed.emplace_back(Role::kBias, TANDEM_TRY(primitive.pack_bias(bias.view())));
  }
  if (!separate_c) {
    const BufferId to = l.write_real(0, Layout::kPlain);
    arguments.emplace_back(Role::kDst, to);
    l.emit(std::move(primitive), std::move(arguments), std::move(packed));
    l.finish_real(0, to);
    return Lowered{};
  }
  const BufferId product = l.temporary(DType::kF32, y);
  arguments.emplace_back(Role::kDst, product);
  l.emit(std::move(primitive), std::move(arguments), std::move(packed));
  emit_addend(l, product, op.beta);
  return Lowered{};
}

// Padded with ones at the front.
Shape to_rank(const Shape& s, size_t rank) {
  std::vector<int64_t> dims(rank - s.rank(), 1);
  dims.insert(dims.end(), s.begin(), s.end());
  return Shape(dims);
}

}  // namespace

LowerResult lower(Lowering& l, const ir::Gemm& op) {
  const Lowered quantized =
      TANDEM_TRY(lower_quantized_product(l, op.trans_a, op.trans_b, op.alpha, op.beta, op.activation));
  if (quantized.done) return quantized;
  if (l.out().quant && l.out().quant->scheme == Scheme::kPow2) return quantized;
  LowerResult real = lower_real_gemm(l, op);
  if (real.ok() && real->done && l.in(0).quant) l.note_fallback("in f32: " + quantized.reason);
  return real;
}

LowerResult lower(Lowering& l, const ir::MatMul&) {
  const Lowered quantized = TANDEM_TRY(lower_quantized_product(l, false, false, 1, 1, {}));
  if (quantized.done) return quantized;
  if (l.out().quant && l.out().quant->scheme == Scheme::kPow2) return quantized;
  if (!Lowering::is_real(l.in(0)) || !Lowering::is_real(l.in(1)) || !Lowering::is_real(l.out())) {
    return Lowered::no("only f32 products have kernels");
  }
  Shape a = l.in_shape(0), b = l.in_shape(1);
  if (l.out_shape().elements() == 0 || a.elements() == 0) return Lowered::no("empty tensors");
  if (a.rank() == 1) a = Shape{1, a[0]};
  if (b.rank() == 1) b = Shape{b[0], 1};
  if (b.rank() == 2) {
    // All rows of a at once.
    const int64_t k = a[a.rank() - 1];
    a = Shape{a.elements() / k, k};
  }
  const size_t rank = std::max(a.rank(), b.rank());
  if (rank > 6) return Lowered::no("too many dimensions");
  a = to_rank(a, rank);
  b = to_rank(b, rank);
  Shape y = a;
  for (size_t d = 0; d + 2 < rank; ++d) y[d] = std::max(a[d], b[d]);
  y[rank - 1] = b[rank - 1];
  const Tensor* constant = l.constant_real(1);
  dnn::MatMulSpec spec;
  spec.a = {DType::kF32, a};
  spec.b = {DType::kF32, b};
  spec.c = {DType::kF32, y};
  spec.pack_b = constant != nullptr && rank == 2;
  Result<dnn::Primitive> made = dnn::Primitive::matmul(spec);
  if (!made.ok()) return Lowered::no(made.error().message());
  dnn::Primitive primitive = std::move(made).value();
  std::vector<std::pair<Role, dnn::Packed>> packed;
  std::vector<std::pair<Role, BufferId>> arguments{{Role::kSrc, l.read_real(0, Layout::kPlain)}};
  if (spec.pack_b) {
    packed.emplace_back(Role::kWeights,
                        TANDEM_TRY(primitive.pack_weights(TensorView(DType::kF32, b, constant->data()))));
  } else {
    arguments.emplace_back(Role::kWeights, l.read_real(1, Layout::kPlain));
  }
  const BufferId to = l.write_real(0, Layout::kPlain);
  arguments.emplace_back(Role::kDst, to);
  l.emit(std::move(primitive), std::move(arguments), std::move(packed));
  l.finish_real(0, to);
  if (l.in(0).quant) l.note_fallback("in f32: " + quantized.reason);
  return Lowered{};
}

}  // namespace tandem::exec
