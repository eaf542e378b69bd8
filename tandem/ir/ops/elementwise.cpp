// SPDX-License-Identifier: Apache-2.0
// Shape rules of elementwise ops.
#include "tandem/ir/ops/elementwise.hpp"

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {
namespace {

bool is_comparison(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kEqual:
    case BinaryKind::kGreater:
    case BinaryKind::kLess:
    case BinaryKind::kGreaterOrEqual:
    case BinaryKind::kLessOrEqual: return true;
    default: return false;
  }
}

bool is_logic(BinaryKind kind) {
  return kind == BinaryKind::kAnd || kind == BinaryKind::kOr || kind == BinaryKind::kXor;
}

bool is_bitwise(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kShiftLeft:
    case BinaryKind::kShiftRight:
    case BinaryKind::kBitwiseAnd:
    case BinaryKind::kBitwiseOr:
    case BinaryKind::kBitwiseXor: return true;
    default: return false;
  }
}

}  // namespace

Inferred infer(const Unary& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  DType dtype = in[0].dtype;
  if (op.kind == UnaryKind::kNot) {
    TANDEM_TRY(rules::expect_dtype(in[0], DType::kBool, "the operand of not"));
    dtype = DType::kBool;
  }
  if (op.kind == UnaryKind::kIsNan || op.kind == UnaryKind::kIsInf) dtype = DType::kBool;
  if (op.kind == UnaryKind::kBitwiseNot)
    TANDEM_TRY(rules::expect_integer(in[0], "the operand of bitwise_not"));
  return rules::output(dtype, in[0].shape);
}

Inferred infer(const Clip&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {1, 3, 1}));
  const DType dtype = TANDEM_TRY(rules::common_dtype(in));
  for (size_t i = 1; i < in.size(); ++i) {
    if (in[i].present) TANDEM_TRY(rules::expect_scalar(in[i], i == 1 ? "min" : "max"));
  }
  return rules::output(dtype, in[0].shape);
}

Inferred infer(const Binary& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 2, 1}));
  DType dtype = in[0].dtype;
  if (op.kind != BinaryKind::kPow)
    dtype = TANDEM_TRY(rules::common_dtype(in));  // an exponent may have its own type
  if (is_logic(op.kind)) {
    for (const InputInfo& x : in) TANDEM_TRY(rules::expect_dtype(x, DType::kBool, "a logical operand"));
    dtype = DType::kBool;
  }
  if (is_bitwise(op.kind)) {
    for (const InputInfo& x : in) TANDEM_TRY(rules::expect_integer(x, "a bitwise operand"));
  }
  if (is_comparison(op.kind)) dtype = DType::kBool;
  if (op.kind == BinaryKind::kPRelu) {  // the slope broadcasts to x, not the other way round
    TANDEM_TRY(rules::broadcasts_to(in[1].shape, in[0].shape, "slope"));
    return rules::output(dtype, in[0].shape);
  }
  return rules::output(dtype, TANDEM_TRY(rules::broadcast(in[0].shape, in[1].shape)));
}

Inferred infer(const Variadic&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {std::max<size_t>(in.size(), 1), SIZE_MAX, 1}));
  const DType dtype = TANDEM_TRY(rules::common_dtype(in));
  std::optional<Shape> y = in[0].shape;
  for (const InputInfo& x : in.subspan(1)) y = TANDEM_TRY(rules::broadcast(y, x.shape));
  return rules::output(dtype, std::move(y));
}

Inferred infer(const Where&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {3, 3, 1}));
  TANDEM_TRY(rules::expect_dtype(in[0], DType::kBool, "condition"));
  const DType dtype = TANDEM_TRY(rules::common_dtype(in.subspan(1)));
  const std::optional<Shape> xy = TANDEM_TRY(rules::broadcast(in[1].shape, in[2].shape));
  return rules::output(dtype, TANDEM_TRY(rules::broadcast(in[0].shape, xy)));
}

Inferred infer(const Cast& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  return rules::output(op.to, in[0].shape);
}

Inferred infer(const CastLike&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 2, 1}));
  return rules::output(in[1].dtype, in[0].shape);
}

Inferred infer(const Identity&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  return rules::output(in[0].dtype, in[0].shape);
}

Inferred infer(const Dropout&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {1, 3, 2}));
  if (const InputInfo* ratio = rules::optional_input(in, 1))
    TANDEM_TRY(rules::expect_scalar(*ratio, "ratio"));
  if (const InputInfo* mode = rules::optional_input(in, 2)) {
    TANDEM_TRY(rules::expect_scalar(*mode, "training_mode"));
    TANDEM_TRY(rules::expect_dtype(*mode, DType::kBool, "training_mode"));
  }
  return rules::outputs({{in[0].dtype, in[0].shape}, {DType::kBool, in[0].shape}}, output_count);
}

}  // namespace tandem::ir
