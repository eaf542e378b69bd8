// SPDX-License-Identifier: Apache-2.0
// Training of a head of dense layers in FP32 on the host: softmax cross-entropy, backward pass and parameter
// update fused into one pass over each weight matrix, which at small batches is all the time there is.
//
// Matrices are row-major: x [batch, inputs], weights [outputs, inputs], y [batch, outputs]. Sums have a fixed
// order, so the same machine and inputs give the same bits; machines with and without FMA differ in the last
// ones.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "tandem/base/rng.hpp"

namespace tandem::exec {

// y = x W^T + b, and what the optimizer remembers of W and b.
struct LinearLayerState {
  int64_t inputs = 0;
  int64_t outputs = 0;
  std::vector<float> weights, bias;
  std::vector<float> weights_m, weights_v;  // AdamW: moments; SGD: velocity in _m, _v empty
  std::vector<float> bias_m, bias_v;
  std::vector<float> scratch;  // of backward_update(), no state
};

// AdamW (Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2), step t counted
// from 1:
//   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
//   w = w - rate decay w - rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
struct AdamW {
  float rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, decay = 0.01f;
};
// SGD with momentum (Sutskever et al. 2013), the decay added to the gradient:
//   v = momentum v + (g + decay w),  w = w - rate v      (nesterov: w = w - rate (g + decay w + momentum v))
struct Sgd {
  float rate = 1e-2f, momentum = 0.9f, decay = 0;
  bool nesterov = false;
};
using UpdateRule = std::variant<AdamW, Sgd>;

// Uniform in +-1/sqrt(inputs) for weights and bias, optimizer state as the rule needs it, zero.
LinearLayerState make_linear(int64_t inputs, int64_t outputs, const UpdateRule& rule, Rng& rng);

// y = x W^T + b. Sizes: x batch * inputs, y batch * outputs.
void forward(const LinearLayerState& layer, std::span<const float> x, int64_t batch, std::span<float> y);

// Mean over the batch of -log softmax(logits)[label], weighted by class_weights (empty: all 1; then the sum
// is divided by the sum of the weights used). gradient gets d loss / d logits. Precondition: labels in [0,
// classes).
double softmax_cross_entropy(std::span<const float> logits, std::span<const int32_t> labels,
                             std::span<const float> class_weights, std::span<float> gradient);

// One update of the layer from d loss / d y. `step` counts from 1. dx (empty, or batch * inputs) gets d loss
// / d x of the weights before the update. The bias is not decayed.
void backward_update(LinearLayerState& layer, std::span<const float> x, std::span<const float> dy,
                     int64_t batch, const UpdateRule& rule, int64_t step, std::span<float> dx);

enum class HiddenActivation : uint8_t { kNone, kRelu, kHardSwish };

// Linear layers with an activation between them (not after the last).
class HeadTrainer {
 public:
  // Precondition: layers chain (outputs of one are inputs of the next), at least one.
  HeadTrainer(std::vector<LinearLayerState> layers, HiddenActivation activation, UpdateRule rule);
  // One mini-batch; returns its loss before the update. Fastest when x starts at a multiple of 64 bytes and rows
  // are a multiple of 16 long.
  double step(std::span<const float> x, std::span<const int32_t> labels,
              std::span<const float> class_weights = {});
  // logits: batch * classes.
  void logits(std::span<const float> x, int64_t batch, std::span<float> logits);
  void set_rate(float rate);
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }  // when resuming
  const std::vector<LinearLayerState>& layers() const { return layers_; }
  std::vector<LinearLayerState>& layers() { return layers_; }

 private:
  std::span<const float> run(std::span<const float> x, int64_t batch);
  std::vector<LinearLayerState> layers_;
  HiddenActivation activation_;
  UpdateRule rule_;
  int64_t steps_ = 0;
  std::vector<std::vector<float>> z_, h_, d_;  // per layer: before and after the activation, gradient
};

}  // namespace tandem::exec
