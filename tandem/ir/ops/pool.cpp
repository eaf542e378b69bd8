// SPDX-License-Identifier: Apache-2.0
// Shape rules of pools.
#include "tandem/ir/ops/pool.hpp"

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {

Inferred infer(const Pool& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {1, 1, op.kind == PoolKind::kMax ? size_t{2} : size_t{1}}));
  const InputInfo& x = in[0];
  if (op.kind == PoolKind::kLp && op.p < 1) return bad_input(fmt::format("p is {}", op.p));
  std::optional<Shape> y;
  if (op.window.kernel.empty()) return bad_input("a pool needs a kernel");
  if (x.shape) {
    if (x.shape->rank() < 3) {
      return bad_input(fmt::format("a pool needs a spatial dimension, x has shape {}", x.shape->to_string()));
    }
    const std::vector<int64_t> spatial(x.shape->begin() + 2, x.shape->end());
    const ResolvedWindow resolved = TANDEM_TRY(resolve(op.window, spatial, op.ceil_mode));
    y = Shape{(*x.shape)[0], (*x.shape)[1]};
    for (int64_t d : resolved.output) y->push_back(d);
  } else {
    if (op.window.kernel.size() > rules::kMaxRank) return bad_input("the kernel has too many dimensions");
    y = rules::unknown_of_rank(op.window.kernel.size() + 2);
  }
  return rules::outputs({{x.dtype, y}, {DType::kI64, y}}, output_count);
}

Inferred infer(const GlobalPool& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  if (op.kind == PoolKind::kLp && op.p < 1) return bad_input(fmt::format("p is {}", op.p));
  std::optional<Shape> y = in[0].shape;
  if (y) {
    if (y->rank() < 3)
      return bad_input(fmt::format("a pool needs a spatial dimension, x has shape {}", y->to_string()));
    for (size_t i = 2; i < y->rank(); ++i) (*y)[i] = 1;
  }
  return rules::output(in[0].dtype, std::move(y));
}

}  // namespace tandem::ir
