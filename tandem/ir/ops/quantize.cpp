// SPDX-License-Identifier: Apache-2.0
// Shape rules of explicit quantization.
#include "tandem/ir/ops/quantize.hpp"

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {
namespace {

// A scale is a scalar, or one number per index of the axis.
Status check_scale(const InputInfo& x, int64_t axis, const InputInfo& scale, const InputInfo* zero_point) {
  if (scale.shape && zero_point && zero_point->shape)
    TANDEM_TRY(rules::merge(*scale.shape, *zero_point->shape, "zero point"));
  if (!x.shape || !scale.shape || scale.shape->rank() == 0) return {};
  if (scale.shape->rank() != 1) {
    return unsupported(fmt::format("scale has shape {}", scale.shape->to_string()))
        .because("one scale per tensor or per index of an axis is supported, blocks are not");
  }
  if ((*scale.shape)[0] == 1) return {};  // written by exporters that have no scalars
  const size_t a = TANDEM_TRY(normalize_axis(axis, x.shape->rank()));
  if (rules::merge((*x.shape)[a], (*scale.shape)[0])) return {};
  return bad_input(fmt::format("{} scales for {} channels", (*scale.shape)[0], (*x.shape)[a]));
}

}  // namespace

Inferred infer(const QuantizeLinear& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 3, 1}));
  const InputInfo* zero_point = rules::optional_input(in, 2);
  TANDEM_TRY(check_scale(in[0], op.axis, in[1], zero_point));
  return rules::output(zero_point ? zero_point->dtype : DType::kU8, in[0].shape);
}

Inferred infer(const DequantizeLinear& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 3, 1}));
  TANDEM_TRY(rules::expect_integer(in[0], "x"));
  const InputInfo* zero_point = rules::optional_input(in, 2);
  if (zero_point && in[0].dtype_known)
    TANDEM_TRY(rules::expect_dtype(*zero_point, in[0].dtype, "zero point"));
  TANDEM_TRY(check_scale(in[0], op.axis, in[1], zero_point));
  return rules::output(in[1].dtype, in[0].shape);
}

Inferred infer(const DynamicQuantizeLinear&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {1, 1, 3}));
  return rules::outputs({{DType::kU8, in[0].shape}, {DType::kF32, Shape{}}, {DType::kU8, Shape{}}},
                        output_count);
}

Inferred infer(const Requantize&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  return rules::output(in[0].dtype, in[0].shape);
}

Inferred infer(const QLinearConv& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {8, 9, 1}));
  std::optional<Shape> y = TANDEM_TRY(rules::convolve(op.window, op.group, in[0], in[3]));
  const int64_t channels = y ? (*y)[1] : kDynamic;
  for (size_t i : {size_t{1}, size_t{2}, size_t{6}, size_t{7}})
    TANDEM_TRY(rules::expect_scalar(in[i], "a scale or zero point of x or y"));
  if (in[4].shape && in[4].shape->rank() == 1 && (*in[4].shape)[0] != 1) {
    TANDEM_TRY(rules::expect_channels(&in[4], channels, "the scale of w"));
  }
  TANDEM_TRY(rules::expect_channels(rules::optional_input(in, 8), channels, "bias"));
  return rules::output(in[7].dtype, std::move(y));
}

Inferred infer(const QLinearMatMul&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {8, 8, 1}));
  return rules::output(in[7].dtype, TANDEM_TRY(rules::matmul_shape(in[0], in[3])));
}

Inferred infer(const ConvInteger& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 4, 1}));
  return rules::output(DType::kI32, TANDEM_TRY(rules::convolve(op.window, op.group, in[0], in[1])));
}

Inferred infer(const MatMulInteger&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 4, 1}));
  return rules::output(DType::kI32, TANDEM_TRY(rules::matmul_shape(in[0], in[1])));
}

}  // namespace tandem::ir
