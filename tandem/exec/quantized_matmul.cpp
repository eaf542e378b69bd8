// SPDX-License-Identifier: Apache-2.0
// Gemm and MatMul with constant weights on 8-bit integers by oneDNN.
#include <algorithm>

#include "tandem/exec/epilogue.hpp"
#include "tandem/exec/matmul.hpp"

namespace tandem::exec {

using dnn::Role;

LowerResult lower_quantized_product(Lowering& l, bool trans_a, bool trans_b, float alpha, float beta,
                                    const ir::Activation& activation) {
  if (const std::string why = refuse_integers(l); !why.empty()) return Lowered::no(why);
  if (trans_a || l.in_shape(0).rank() < 2) return Lowered::no("the first factor is transposed");
  if (l.in_shape(1).rank() != 2) return Lowered::no("weights are not a matrix");
  if (l.out_shape().elements() == 0 || l.in_shape(0).elements() == 0) return Lowered::no("empty tensors");
  const int64_t k = l.in_shape(0)[l.in_shape(0).rank() - 1], m = l.in_shape(0).elements() / k;
  const int64_t n = l.in_shape(1)[trans_b ? 0 : 1];
  const bool has_c = l.has_input(2) && beta != 0;
  const Tensor* c = has_c ? l.constant_real(2) : nullptr;
  if (has_c && (c == nullptr || c->elements() != n || c->shape()[c->shape().rank() - 1] != n))
    return Lowered::no("C is no vector");
  SignedWeights w = signed_weights(l.in(1), trans_b ? 0 : 1);
  if (!w.refusal.empty()) return Lowered::no(w.refusal);
  const QuantParams& xq = *l.in(0).quant;
  EpilogueInput in;
  in.src_scale = static_cast<double>(xq.scale[0]) * alpha;
  in.weight_scale = w.scale;
  in.channels = n;
  in.bias = c;
  in.bias_factor = beta;
  in.activation = activation;
  if (!(alpha > 0)) return Lowered::no("alpha is not positive");
  if (xq.scheme == Scheme::kPow2 && alpha != 1) return Lowered::no("alpha in pow2");
  const double x_max = std::max(std::abs(static_cast<double>(xq.lowest() - xq.zero_point[0])),
                                std::abs(static_cast<double>(xq.highest() - xq.zero_point[0])));
  for (const double sum : w.abs_sum) in.sum_max.push_back(sum * x_max);
  Epilogue e = make_epilogue(l, in);
  if (!e.refusal.empty()) return Lowered::no(e.refusal);
  dnn::MatMulSpec spec;
  spec.a = {l.in(0).storage(), Shape{m, k}};
  spec.b = {DType::kI8, Shape{k, n}};
  spec.c = {e.own ? DType::kI32 : l.out().storage(), Shape{m, n}};
  spec.pack_b = true;
  if (e.bias && !e.own) spec.bias = DType::kF32;
  spec.attributes = e.attributes;
  spec.attributes.src_zero = xq.zero_point[0];
  Result<dnn::Primitive> made = dnn::Primitive::matmul(spec);
  if (!made.ok()) return Lowered::no(made.error().message());
  dnn::Primitive primitive = std::move(made).value();
  std::vector<std::pair<Role, dnn::Packed>> packed;
  const std::vector<int64_t> strides = trans_b ? std::vector<int64_t>{1, k} : std::vector<int64_t>{n, 1};
  packed.emplace_back(Role::kWeights, TANDEM_TRY(primitive.pack_weights(
                                          TensorView(DType::kI8, Shape{k, n}, w.values.data()), strides)));
  if (spec.bias) packed.emplace_back(Role::kBias, TANDEM_TRY(primitive.pack_bias(e.bias->view())));
  const BufferId x = l.read(0, Layout::kPlain);
  if (e.own) {
    const BufferId sums = l.temporary(DType::kI32, Shape{m, n});
    l.emit(std::move(primitive), {{Role::kSrc, x}, {Role::kDst, sums}}, std::move(packed));
    emit_own_epilogue(l, sums, l.write(0, Layout::kPlain), e, activation, n);
    return Lowered{};
  }
  const BufferId y = l.write(0, Layout::kPlain);
  l.emit(std::move(primitive), {{Role::kSrc, x}, {Role::kDst, y}}, std::move(packed));
  return Lowered{};
}

}  // namespace tandem::exec
