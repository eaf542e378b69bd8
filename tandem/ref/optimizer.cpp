// SPDX-License-Identifier: Apache-2.0
// One step of an optimizer, by the pseudo code of the ONNX training operators; in double, every result
// rounded once.
#include "tandem/ir/ops/optimizer.hpp"

#include <cmath>

#include "tandem/ref/kernel.hpp"

namespace tandem::ref {
namespace {

// Inputs after rate and step: `groups` groups of n tensors, X, G and the states. Outputs: X and the states.
struct Step {
  double rate = 0, step = 0;
  size_t n = 0;
};

Result<Step> step_of(const Call& call, size_t groups) {
  if (call.in.size() < 2 + groups || (call.in.size() - 2) % groups != 0)
    return bad_input("incomplete optimizer inputs");
  Step s{TANDEM_TRY(scalar_double(call[0], "rate")), TANDEM_TRY(scalar_double(call[1], "step")),
         (call.in.size() - 2) / groups};
  for (size_t k = 0; k < s.n; ++k) {
    for (size_t g = 1; g < groups; ++g) {
      if (call[2 + g * s.n + k].shape() != call[2 + k].shape())
        return bad_input("gradient or state differ in shape from X");
    }
  }
  return s;
}

// update(x, gradient, states) changes x and the states of one element in place.
template <size_t kStates, typename Update>
Outputs for_each_parameter(const Call& call, Update&& update) {
  const Step s = TANDEM_TRY(step_of(call, 2 + kStates));
  std::vector<Tensor> outputs((1 + kStates) * s.n);
  for (size_t k = 0; k < s.n; ++k) {
    std::vector<double> x = doubles(call[2 + k]);
    const std::vector<double> gradient = doubles(call[2 + s.n + k]);
    std::array<std::vector<double>, kStates> states;
    for (size_t g = 0; g < kStates; ++g) states[g] = doubles(call[2 + (2 + g) * s.n + k]);
    for (size_t i = 0; i < x.size(); ++i) {
      std::array<double, kStates> state;
      for (size_t g = 0; g < kStates; ++g) state[g] = states[g][i];
      update(s, x[i], gradient[i], state);
      for (size_t g = 0; g < kStates; ++g) states[g][i] = state[g];
    }
    const Shape& shape = call[2 + k].shape();
    outputs[k] = cast(Tensor::of<double>(shape, x), call[2 + k].dtype());
    for (size_t g = 0; g < kStates; ++g) {
      outputs[(1 + g) * s.n + k] =
          cast(Tensor::of<double>(shape, states[g]), call[2 + (2 + g) * s.n + k].dtype());
    }
  }
  return outputs;
}

}  // namespace

Outputs eval(const ir::Adam& op, const Call& call) {
  const double alpha = static_cast<double>(op.alpha), beta = static_cast<double>(op.beta);
  return for_each_parameter<2>(
      call, [&](const Step& s, double& x, double gradient, std::array<double, 2>& state) {
        const double g = static_cast<double>(op.norm_coefficient) * x + gradient;
        state[0] = alpha * state[0] + (1 - alpha) * g;
        state[1] = beta * state[1] + (1 - beta) * g * g;
        double rate = s.rate;
        if (s.step > 0) rate *= std::sqrt(1 - std::pow(beta, s.step)) / (1 - std::pow(alpha, s.step));
        x -= rate * state[0] / (std::sqrt(state[1]) + static_cast<double>(op.epsilon));
        x *= 1 - static_cast<double>(op.norm_coefficient_post);
      });
}

Outputs eval(const ir::Momentum& op, const Call& call) {
  const double alpha = static_cast<double>(op.alpha);
  return for_each_parameter<1>(
      call, [&](const Step& s, double& x, double gradient, std::array<double, 1>& state) {
        const double g = static_cast<double>(op.norm_coefficient) * x + gradient;
        const double beta = s.step > 0 ? static_cast<double>(op.beta) : 1;
        state[0] = alpha * state[0] + beta * g;
        x -= s.rate * (op.mode == ir::MomentumMode::kStandard ? state[0] : g + alpha * state[0]);
      });
}

Outputs eval(const ir::Adagrad& op, const Call& call) {
  return for_each_parameter<1>(
      call, [&](const Step& s, double& x, double gradient, std::array<double, 1>& state) {
        const double rate = s.rate / (1 + s.step * static_cast<double>(op.decay_factor));
        const double g = static_cast<double>(op.norm_coefficient) * x + gradient;
        state[0] += g * g;
        x -= rate * g / (std::sqrt(state[0]) + static_cast<double>(op.epsilon));
      });
}

}  // namespace tandem::ref
