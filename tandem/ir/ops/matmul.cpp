// SPDX-License-Identifier: Apache-2.0
// Shape rules of matrix products.
#include "tandem/ir/ops/matmul.hpp"

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {

Inferred infer(const Gemm& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 3, 1}));
  const DType dtype = TANDEM_TRY(rules::common_dtype(in));
  const InputInfo &a = in[0], &b = in[1];
  TANDEM_TRY(rules::expect_rank(a, 2, "A"));
  TANDEM_TRY(rules::expect_rank(b, 2, "B"));
  const auto dim = [](const InputInfo& x, size_t axis) { return x.shape ? (*x.shape)[axis] : kDynamic; };
  const int64_t m = dim(a, op.trans_a ? 1 : 0), ka = dim(a, op.trans_a ? 0 : 1);
  const int64_t kb = dim(b, op.trans_b ? 1 : 0), n = dim(b, op.trans_b ? 0 : 1);
  if (!rules::merge(ka, kb)) {
    return bad_input(fmt::format("A {}{} and B {}{} differ in the inner dimension", a.shape->to_string(),
                                 op.trans_a ? " (transposed)" : "", b.shape->to_string(),
                                 op.trans_b ? " (transposed)" : ""));
  }
  const Shape y{m, n};
  if (const InputInfo* c = rules::optional_input(in, 2)) TANDEM_TRY(rules::broadcasts_to(c->shape, y, "C"));
  return rules::output(dtype, y);
}

Result<std::optional<Shape>> rules::matmul_shape(const InputInfo& a, const InputInfo& b) {
  if (!a.shape || !b.shape) return std::optional<Shape>();
  std::vector<int64_t> x = a.shape->dims(), y = b.shape->dims();
  if (x.empty() || y.empty()) return bad_input("a scalar cannot be an operand of a matrix product");
  const bool x_vector = x.size() == 1, y_vector = y.size() == 1;
  if (x_vector) x.insert(x.begin(), 1);
  if (y_vector) y.push_back(1);
  if (!merge(x.back(), y[y.size() - 2])) {
    return bad_input(fmt::format("A {} and B {} differ in the inner dimension", a.shape->to_string(),
                                 b.shape->to_string()));
  }
  const int64_t rows = x[x.size() - 2], columns = y.back();
  x.resize(x.size() - 2);
  y.resize(y.size() - 2);
  std::optional<Shape> out = TANDEM_TRY(broadcast(Shape(std::move(x)), Shape(std::move(y))));
  if (!x_vector) out->push_back(rows);
  if (!y_vector) out->push_back(columns);
  return out;
}

Inferred infer(const MatMul&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 2, 1}));
  const DType dtype = TANDEM_TRY(rules::common_dtype(in));
  return rules::output(dtype, TANDEM_TRY(rules::matmul_shape(in[0], in[1])));
}

}  // namespace tandem::ir
