// SPDX-License-Identifier: Apache-2.0
// Losses over class scores: x [N,C,d...] | labels [N,d...]. Sums in double.
#include "tandem/ir/ops/loss.hpp"

#include <cmath>

#include "tandem/ref/kernel.hpp"

namespace tandem::ref {
namespace {

struct LossShape {
  int64_t batch = 0, classes = 0, inner = 1;
};

Result<LossShape> loss_shape(const Shape& x, const Shape& labels) {
  if (x.rank() < 2 || labels.rank() + 1 != x.rank() || x[0] != labels[0]) {
    return bad_input(fmt::format("labels {} do not fit scores {}", labels.to_string(), x.to_string()));
  }
  LossShape s{x[0], x[1], 1};
  for (size_t d = 2; d < x.rank(); ++d) {
    if (x[d] != labels[d - 1]) return bad_input("labels do not fit scores");
    s.inner *= x[d];
  }
  return s;
}

// The negated log probability of every label, times its class weight, reduced; Op is one of the two losses.
template <typename Op>
Outputs reduce_loss(const Op& op, const Call& call, const LossShape& s,
                    const std::vector<double>& log_probability) {
  const std::vector<int64_t> labels = TANDEM_TRY(to_int64s(call[1]));
  std::vector<double> weights(static_cast<size_t>(s.classes), 1);
  if (call.has(2)) weights = doubles(call[2]);
  if (static_cast<int64_t>(weights.size()) != s.classes)
    return bad_input("class weights do not fit the classes");
  std::vector<double> losses(labels.size(), 0);
  double sum = 0, weight_sum = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t label = labels[i];
    if (op.has_ignore_index && label == op.ignore_index) continue;
    if (label < 0 || label >= s.classes)
      return bad_input(fmt::format("label {} of {} classes", label, s.classes));
    const int64_t n = static_cast<int64_t>(i) / s.inner, inner = static_cast<int64_t>(i) % s.inner;
    const double weight = weights[static_cast<size_t>(label)];
    losses[i] = -log_probability[static_cast<size_t>((n * s.classes + label) * s.inner + inner)] * weight;
    sum += losses[i];
    weight_sum += weight;
  }
  Tensor wide(DType::kF64, call[1].shape());
  if (op.reduction == ir::LossReduction::kNone)
    std::copy(losses.begin(), losses.end(), data<double>(wide));
  else
    wide = Tensor::scalar<double>(op.reduction == ir::LossReduction::kMean ? sum / weight_sum : sum);
  return single(cast(wide, call.out[0].dtype));
}

std::vector<double> log_softmax(const Tensor& x, const LossShape& s) {
  std::vector<double> values = doubles(x);
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t i = 0; i < s.inner; ++i) {
      double* row = values.data() + n * s.classes * s.inner + i;
      double top = -INFINITY, sum = 0;
      for (int64_t c = 0; c < s.classes; ++c) top = std::max(top, row[c * s.inner]);
      for (int64_t c = 0; c < s.classes; ++c) sum += std::exp(row[c * s.inner] - top);
      for (int64_t c = 0; c < s.classes; ++c) row[c * s.inner] += -top - std::log(sum);
    }
  }
  return values;
}

}  // namespace

Outputs eval(const ir::SoftmaxCrossEntropyLoss& op, const Call& call) {
  const LossShape s = TANDEM_TRY(loss_shape(call[0].shape(), call[1].shape()));
  const std::vector<double> log_probability = log_softmax(call[0], s);
  std::vector<Tensor> outputs = TANDEM_TRY(reduce_loss(op, call, s, log_probability));
  if (call.out.size() > 1) {
    outputs.push_back(cast(Tensor::of<double>(call[0].shape(), log_probability), call.out[1].dtype));
  }
  return outputs;
}

Outputs eval(const ir::NegativeLogLikelihoodLoss& op, const Call& call) {
  const LossShape s = TANDEM_TRY(loss_shape(call[0].shape(), call[1].shape()));
  return reduce_loss(op, call, s, doubles(call[0]));
}

}  // namespace tandem::ref
