// SPDX-License-Identifier: Apache-2.0
// Shape rules of losses.
#include "tandem/ir/ops/loss.hpp"

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {
namespace {

// Shape of the loss of scores [N,C,d...] against labels [N,d...].
Result<std::optional<Shape>> loss_shape(LossReduction reduction, InputInfos in) {
  const InputInfo &scores = in[0], &labels = in[1];
  TANDEM_TRY(rules::expect_integer(labels, "labels"));
  std::optional<Shape> each = labels.shape;
  int64_t classes = kDynamic;
  if (scores.shape) {
    if (scores.shape->rank() < 2)
      return bad_input(fmt::format("scores have shape {}, expected [N,C,...]", scores.shape->to_string()));
    classes = (*scores.shape)[1];
    Shape expected{(*scores.shape)[0]};
    for (size_t i = 2; i < scores.shape->rank(); ++i) expected.push_back((*scores.shape)[i]);
    each = labels.shape ? TANDEM_TRY(rules::merge(expected, *labels.shape, "labels")) : expected;
  }
  TANDEM_TRY(rules::expect_channels(rules::optional_input(in, 2), classes, "class weights"));
  if (reduction != LossReduction::kNone) return std::optional<Shape>(Shape{});
  return each;
}

}  // namespace

Inferred infer(const SoftmaxCrossEntropyLoss& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 3, 2}));
  std::optional<Shape> loss = TANDEM_TRY(loss_shape(op.reduction, in));
  return rules::outputs({{in[0].dtype, std::move(loss)}, {in[0].dtype, in[0].shape}}, output_count);
}

Inferred infer(const NegativeLogLikelihoodLoss& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 3, 1}));
  return rules::output(in[0].dtype, TANDEM_TRY(loss_shape(op.reduction, in)));
}

}  // namespace tandem::ir
