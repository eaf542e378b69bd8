// SPDX-License-Identifier: Apache-2.0
// Shape rules of normalizations: y is like x; the rest is checks.
#include "tandem/ir/ops/normalization.hpp"

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {
namespace {

int64_t channels_of(const InputInfo& x) { return x.shape && x.shape->rank() > 1 ? (*x.shape)[1] : kDynamic; }

Status expect_rank_at_least(const InputInfo& x, size_t rank) {
  if (!x.shape || x.shape->rank() >= rank) return {};
  return bad_input(fmt::format("x has shape {}, expected rank {} or more", x.shape->to_string(), rank));
}

}  // namespace

Inferred infer(const Softmax& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  if (in[0].shape) TANDEM_TRY(normalize_axis(op.axis, in[0].shape->rank()));
  return rules::output(in[0].dtype, in[0].shape);
}

Inferred infer(const BatchNorm& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {5, 5, op.training ? size_t{3} : size_t{1}}));
  const InputInfo& x = in[0];
  // [N] and [N,C] have no spatial dimensions; a rank of 1 means one channel.
  TANDEM_TRY(expect_rank_at_least(x, 1));
  const int64_t channels = x.shape && x.shape->rank() == 1 ? 1 : channels_of(x);
  constexpr std::string_view kNames[] = {"x", "scale", "bias", "mean", "variance"};
  for (size_t i = 1; i < 5; ++i) TANDEM_TRY(rules::expect_channels(&in[i], channels, kNames[i]));
  return rules::outputs({{x.dtype, x.shape}, {in[3].dtype, in[3].shape}, {in[4].dtype, in[4].shape}},
                        output_count);
}

Inferred infer(const LayerNorm& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 3, 3}));
  const InputInfo& x = in[0];
  std::optional<Shape> statistics = x.shape;
  if (x.shape) {
    const size_t axis = TANDEM_TRY(normalize_axis(op.axis, x.shape->rank()));
    for (size_t i = axis; i < x.shape->rank(); ++i) (*statistics)[i] = 1;
    TANDEM_TRY(rules::broadcasts_to(in[1].shape, x.shape, "scale"));
    if (const InputInfo* bias = rules::optional_input(in, 2))
      TANDEM_TRY(rules::broadcasts_to(bias->shape, x.shape, "bias"));
  }
  return rules::outputs({{x.dtype, x.shape}, {DType::kF32, statistics}, {DType::kF32, statistics}},
                        output_count);
}

Inferred infer(const InstanceNorm&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {3, 3, 1}));
  TANDEM_TRY(expect_rank_at_least(in[0], 3));
  TANDEM_TRY(rules::expect_channels(&in[1], channels_of(in[0]), "scale"));
  TANDEM_TRY(rules::expect_channels(&in[2], channels_of(in[0]), "bias"));
  return rules::output(in[0].dtype, in[0].shape);
}

Inferred infer(const GroupNorm& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {3, 3, 1}));
  TANDEM_TRY(expect_rank_at_least(in[0], 2));
  const int64_t channels = channels_of(in[0]);
  if (op.num_groups < 1 || (channels >= 0 && channels % op.num_groups != 0)) {
    return bad_input(fmt::format("{} channels do not divide into {} groups", channels, op.num_groups));
  }
  for (size_t i = 1; i < 3; ++i) {
    const std::string_view what = i == 1 ? "scale" : "bias";
    if (rules::length_of(in[i]) == op.num_groups)
      TANDEM_TRY(rules::expect_rank(in[i], 1, what));
    else
      TANDEM_TRY(rules::expect_channels(&in[i], channels, what));
  }
  return rules::output(in[0].dtype, in[0].shape);
}

Inferred infer(const Lrn& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  TANDEM_TRY(expect_rank_at_least(in[0], 2));
  if (op.size < 1 || op.size > rules::kMaxAttribute) return bad_input(fmt::format("size is {}", op.size));
  return rules::output(in[0].dtype, in[0].shape);
}

Inferred infer(const LpNorm& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  if (op.p != 1 && op.p != 2) return bad_input(fmt::format("p is {}, expected 1 or 2", op.p));
  if (in[0].shape) TANDEM_TRY(normalize_axis(op.axis, in[0].shape->rank()));
  return rules::output(in[0].dtype, in[0].shape);
}

Inferred infer(const MeanVarianceNorm& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {}));
  if (in[0].shape) TANDEM_TRY(rules::normalize_axes(op.axes, in[0].shape->rank()));
  return rules::output(in[0].dtype, in[0].shape);
}

}  // namespace tandem::ir
