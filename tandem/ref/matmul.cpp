// SPDX-License-Identifier: Apache-2.0
// Matrix products in float (sums in double) and in fixed point (sums in 64-bit integers).
#include "tandem/ir/ops/matmul.hpp"

#include "tandem/ref/fixed_point.hpp"
#include "tandem/ref/matrix.hpp"

namespace tandem::ref {

Result<MatMulShape> matmul_shape(const Shape& a, const Shape& b) {
  if (a.rank() == 0 || b.rank() == 0) return bad_input("MatMul does not take scalars");
  std::vector<int64_t> a_dims = a.dims(), b_dims = b.dims();
  if (a_dims.size() == 1) a_dims.insert(a_dims.begin(), 1);
  if (b_dims.size() == 1) b_dims.push_back(1);
  MatMulShape s;
  s.m = a_dims[a_dims.size() - 2];
  s.k = a_dims.back();
  s.n = b_dims.back();
  if (b_dims[b_dims.size() - 2] != s.k) {
    return bad_input(fmt::format("matrices {} and {} do not multiply", a.to_string(), b.to_string()));
  }
  const Shape a_batch(std::vector<int64_t>(a_dims.begin(), a_dims.end() - 2));
  const Shape b_batch(std::vector<int64_t>(b_dims.begin(), b_dims.end() - 2));
  s.batch = TANDEM_TRY(broadcast(a_batch, b_batch));
  s.a_strides = broadcast_strides(a_batch, s.batch);
  s.b_strides = broadcast_strides(b_batch, s.batch);
  return s;
}

namespace {

// One or two dimensions, transposed when asked to.
template <typename T>
std::vector<T> matrix_of(const T* values, int64_t rows, int64_t columns, bool transposed) {
  std::vector<T> out(static_cast<size_t>(rows * columns));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      out[static_cast<size_t>(r * columns + c)] = values[transposed ? c * rows + r : r * columns + c];
    }
  }
  return out;
}

struct GemmShape {
  int64_t m, k, n;
  std::vector<int64_t> c_strides;  // of C seen as y
};

Result<GemmShape> gemm_shape(const ir::Gemm& op, const Call& call) {
  const Shape& a = call[0].shape();
  const Shape& b = call[1].shape();
  if (a.rank() != 2 || b.rank() != 2) return bad_input("Gemm takes matrices");
  GemmShape s{a[op.trans_a], a[!op.trans_a], b[!op.trans_b], {0, 0}};
  if (b[op.trans_b] != s.k) {
    return bad_input(fmt::format("matrices {} and {} do not multiply", a.to_string(), b.to_string()));
  }
  if (call.has(2)) {
    const Shape y{s.m, s.n};
    const Shape both = TANDEM_TRY(broadcast(call[2].shape(), y));
    if (both != y)
      return bad_input(
          fmt::format("C {} does not broadcast to {}", call[2].shape().to_string(), y.to_string()));
    s.c_strides = broadcast_strides(call[2].shape(), y);
  }
  return s;
}

}  // namespace

Outputs eval(const ir::Gemm& op, const Call& call) {
  const GemmShape s = TANDEM_TRY(gemm_shape(op, call));
  Tensor y = TANDEM_TRY(call.make(0));
  return with_number(call[0].dtype(), [&](auto tag) -> Outputs {
    using T = decltype(tag);
    using Acc = Accumulator<T>;
    const std::vector<T> a = matrix_of(data<T>(call[0]), s.m, s.k, op.trans_a);
    const std::vector<T> b = matrix_of(data<T>(call[1]), s.k, s.n, op.trans_b);
    const T* c = call.has(2) ? data<T>(call[2]) : nullptr;
    multiply_matrices<Acc>(a.data(), b.data(), s.m, s.k, s.n, [&](int64_t i, const Acc* row) {
      for (int64_t j = 0; j < s.n; ++j) {
        double real = static_cast<double>(op.alpha) * static_cast<double>(row[j]);
        if (c != nullptr) {
          real +=
              static_cast<double>(op.beta) * static_cast<double>(c[i * s.c_strides[0] + j * s.c_strides[1]]);
        }
        data<T>(y)[i * s.n + j] = static_cast<T>(activate(op.activation, real));
      }
    });
    return single(std::move(y));
  });
}

Outputs eval(const ir::MatMul&, const Call& call) {
  const MatMulShape s = TANDEM_TRY(matmul_shape(call[0].shape(), call[1].shape()));
  Tensor y = TANDEM_TRY(call.make(0));
  if (call[0].dtype() != call[1].dtype()) return bad_input("MatMul operands have different dtypes");
  return with_number(call[0].dtype(), [&](auto tag) -> Outputs {
    using T = decltype(tag);
    using Acc = Accumulator<T>;
    multiply_batches<Acc>(s, data<T>(call[0]), data<T>(call[1]), [&](int64_t first, const Acc* row) {
      for (int64_t j = 0; j < s.n; ++j) data<T>(y)[first + j] = static_cast<T>(row[j]);
    });
    return single(std::move(y));
  });
}

namespace {

// Narrow integers; b may have one scale per column, on `column_axis`.
bool is_integer_product(const FixedCall& fixed, int64_t column_axis) {
  const QuantParams* a = fixed.quant(0);
  const QuantParams* b = fixed.quant(1);
  return a != nullptr && b != nullptr && is_narrow(*a) && is_narrow(*b) && a->per_tensor() &&
         (b->per_tensor() || b->axis == column_axis) && fixed.per_tensor_output();
}

}  // namespace

FixedOutputs eval_fixed(const ir::Gemm& op, const FixedCall& fixed) {
  const Call& call = fixed.call;
  if (!is_integer_product(fixed, op.trans_b ? 0 : 1)) return std::nullopt;
  return [&]() -> Outputs {
    const GemmShape s = TANDEM_TRY(gemm_shape(op, call));
    Tensor y = TANDEM_TRY(make_output(call.shape(0), fixed.out_quant[0]));
    RealWriter writer(y, fixed.out_quant[0]);
    const auto a = matrix_of(centered(call[0], *fixed.quant(0)).data(), s.m, s.k, op.trans_a);
    const auto b = matrix_of(centered(call[1], *fixed.quant(1)).data(), s.k, s.n, op.trans_b);
    const std::vector<double> c = call.has(2) ? fixed.reals(2) : std::vector<double>{};
    const double a_scale = static_cast<double>(op.alpha) * static_cast<double>(fixed.quant(0)->scale[0]);
    multiply_matrices<int64_t>(a.data(), b.data(), s.m, s.k, s.n, [&](int64_t i, const int64_t* row) {
      for (int64_t j = 0; j < s.n; ++j) {
        double real =
            static_cast<double>(row[j]) * (a_scale * static_cast<double>(fixed.quant(1)->scale_at(j)));
        if (!c.empty()) {
          real +=
              static_cast<double>(op.beta) * c[static_cast<size_t>(i * s.c_strides[0] + j * s.c_strides[1])];
        }
        writer.put(i * s.n + j, activate(op.activation, real));
      }
    });
    return single(std::move(y));
  }();
}

FixedOutputs eval_fixed(const ir::MatMul&, const FixedCall& fixed) {
  const Call& call = fixed.call;
  const int64_t b_rank = static_cast<int64_t>(call[1].shape().rank());
  if (!is_integer_product(fixed, b_rank >= 2 ? b_rank - 1 : -1)) return std::nullopt;
  return [&]() -> Outputs {
    const MatMulShape s = TANDEM_TRY(matmul_shape(call[0].shape(), call[1].shape()));
    Tensor y = TANDEM_TRY(make_output(call.shape(0), fixed.out_quant[0]));
    RealWriter writer(y, fixed.out_quant[0]);
    const double a_scale = static_cast<double>(fixed.quant(0)->scale[0]);
    multiply_batches<int64_t>(
        s, centered(call[0], *fixed.quant(0)).data(), centered(call[1], *fixed.quant(1)).data(),
        [&](int64_t first, const int64_t* row) {
          for (int64_t j = 0; j < s.n; ++j) {
            const double scale = a_scale * static_cast<double>(fixed.quant(1)->scale_at(j));
            writer.put(first + j, static_cast<double>(row[j]) * scale);
          }
        });
    return single(std::move(y));
  }();
}

}  // namespace tandem::ref
