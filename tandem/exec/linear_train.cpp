// SPDX-License-Identifier: Apache-2.0
// Head training; formulas in the header.
#include "tandem/exec/linear_train.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/base/check.hpp"
#include "tandem/exec/kernels.hpp"
#include "tandem/exec/train_kernels.hpp"

namespace tandem::exec {

extern const TrainKernels kPortableTrainKernels;
#if defined(__x86_64__)
extern const TrainKernels kAvx2TrainKernels;
extern const TrainKernels kAvx512TrainKernels;
#endif

const TrainKernels& portable_train_kernels() { return kPortableTrainKernels; }

const TrainKernels& train_kernels() {
#if defined(__x86_64__)
  static const TrainKernels& chosen = std::string_view(kernels().isa) == "avx512" ? kAvx512TrainKernels
                                      : std::string_view(kernels().isa) == "avx2" ? kAvx2TrainKernels
                                                                                  : kPortableTrainKernels;
  return chosen;
#else
  return kPortableTrainKernels;
#endif
}

LinearLayerState make_linear(int64_t inputs, int64_t outputs, const UpdateRule& rule, Rng& rng) {
  LinearLayerState s;
  s.inputs = inputs;
  s.outputs = outputs;
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(inputs, 1)));
  s.weights.resize(static_cast<size_t>(inputs * outputs));
  s.bias.resize(static_cast<size_t>(outputs));
  for (float& w : s.weights) w = static_cast<float>(rng.uniform(-bound, bound));
  for (float& b : s.bias) b = static_cast<float>(rng.uniform(-bound, bound));
  s.weights_m.assign(s.weights.size(), 0);
  s.bias_m.assign(s.bias.size(), 0);
  if (std::holds_alternative<AdamW>(rule)) {
    s.weights_v.assign(s.weights.size(), 0);
    s.bias_v.assign(s.bias.size(), 0);
  }
  return s;
}

void forward(const LinearLayerState& layer, std::span<const float> x, int64_t batch, std::span<float> y) {
  TANDEM_CHECK(static_cast<int64_t>(x.size()) == batch * layer.inputs &&
                   static_cast<int64_t>(y.size()) == batch * layer.outputs,
               "sizes do not match the layer");
  train_kernels().products(layer.weights.data(), x.data(), layer.inputs, batch, layer.outputs, y.data());
  for (int64_t r = 0; r < batch; ++r) {
    for (int64_t o = 0; o < layer.outputs; ++o)
      y[static_cast<size_t>(r * layer.outputs + o)] += layer.bias[static_cast<size_t>(o)];
  }
}

double softmax_cross_entropy(std::span<const float> logits, std::span<const int32_t> labels,
                             std::span<const float> class_weights, std::span<float> gradient) {
  const size_t batch = labels.size();
  if (batch == 0) return 0;
  const size_t classes = logits.size() / batch;
  TANDEM_CHECK(logits.size() == batch * classes && gradient.size() == logits.size(), "sizes do not match");
  const auto weight_of = [&](size_t b) {
    return class_weights.empty() ? 1.0 : static_cast<double>(class_weights[static_cast<size_t>(labels[b])]);
  };
  double total = 0;
  for (size_t b = 0; b < batch; ++b) {
    TANDEM_CHECK(labels[b] >= 0 && static_cast<size_t>(labels[b]) < classes, "label out of range");
    total += weight_of(b);
  }
  if (total == 0) total = 1;
  double loss = 0;
  for (size_t b = 0; b < batch; ++b) {
    const float* z = logits.data() + b * classes;
    float* g = gradient.data() + b * classes;
    const float top = *std::max_element(z, z + classes);
    double sum = 0;
    for (size_t c = 0; c < classes; ++c) {
      g[c] = std::exp(z[c] - top);
      sum += g[c];
    }
    const double weight = weight_of(b) / total;
    const size_t label = static_cast<size_t>(labels[b]);
    loss += weight * (std::log(sum) - (static_cast<double>(z[label]) - top));
    const float scale = static_cast<float>(weight / sum);
    for (size_t c = 0; c < classes; ++c) g[c] *= scale;
    g[label] -= static_cast<float>(weight);
  }
  return loss;
}

namespace {

AdamStep constants_of(const AdamW& a, int64_t step, bool decays) {
  const double correction1 = 1 - std::pow(static_cast<double>(a.beta1), static_cast<double>(step));
  const double correction2 = 1 - std::pow(static_cast<double>(a.beta2), static_cast<double>(step));
  return {a.beta1,
          a.beta2,
          static_cast<float>(a.rate / correction1),
          static_cast<float>(1 / std::sqrt(correction2)),
          a.epsilon,
          decays ? 1 - a.rate * a.decay : 1.0f};
}

// A rule with everything computed that is the same for all elements of one step.
struct Step {
  bool adam = false;
  AdamStep adam_step{};
  SgdStep sgd_step{};
};

Step step_of(const UpdateRule& rule, int64_t step, bool decays) {
  Step s;
  if (const auto* a = std::get_if<AdamW>(&rule)) {
    s.adam = true;
    s.adam_step = constants_of(*a, step, decays);
  } else {
    const Sgd& sgd = std::get<Sgd>(rule);
    s.sgd_step = {sgd.rate, sgd.momentum, decays ? sgd.decay : 0.0f, sgd.nesterov};
  }
  return s;
}

void update(const Step& step, const float* g, int64_t count, float* w, float* m, float* v) {
  if (step.adam) {
    train_kernels().adam(step.adam_step, g, count, w, m, v);
  } else {
    train_kernels().sgd(step.sgd_step, g, count, w, m);
  }
}

}  // namespace

void backward_update(LinearLayerState& layer, std::span<const float> x, std::span<const float> dy,
                     int64_t batch, const UpdateRule& rule, int64_t step, std::span<float> dx) {
  TANDEM_CHECK(static_cast<int64_t>(x.size()) == batch * layer.inputs &&
                   static_cast<int64_t>(dy.size()) == batch * layer.outputs,
               "sizes do not match the layer");
  TANDEM_CHECK(layer.weights_m.size() == layer.weights.size(), "the layer has no optimizer state");
  const bool adam = std::holds_alternative<AdamW>(rule);
  TANDEM_CHECK(!adam || layer.weights_v.size() == layer.weights.size(), "the layer has no state for AdamW");
  const TrainKernels& k = train_kernels();
  std::fill(dx.begin(), dx.end(), 0.0f);
  const Step weights_step = step_of(rule, step, true);
  // A block of inputs stays in L1 while all outputs use it, and a piece of a row from its gradient to its
  // update.
  constexpr int64_t kBlockMax = 1024;
  const int64_t block = std::clamp<int64_t>(6144 / std::max<int64_t>(batch, 1) / 64 * 64, 64, kBlockMax);
  alignas(64) float g[kGradientOutputsMax][kBlockMax];
  for (int64_t first = 0; first < layer.inputs; first += block) {
    const int64_t count = std::min(block, layer.inputs - first);
    int64_t outputs = 0;
    for (int64_t o = 0; o < layer.outputs; o += outputs) {
      outputs = std::min(kGradientOutputsMax, layer.outputs - o);
      k.gradient(dy.data() + o, layer.outputs, outputs, x.data() + first, layer.inputs, batch, count, g[0],
                 kBlockMax);
      for (int64_t i = 0; i < outputs; ++i) {
        const int64_t at = (o + i) * layer.inputs + first;
        float* w = layer.weights.data() + at;
        for (int64_t b = 0; b < batch && !dx.empty(); ++b) {
          k.add_scaled(dy[static_cast<size_t>(b * layer.outputs + o + i)], w, count,
                       dx.data() + b * layer.inputs + first);
        }
        update(weights_step, g[i], count, w, layer.weights_m.data() + at,
               adam ? layer.weights_v.data() + at : nullptr);
      }
    }
  }
  std::vector<float>& bias_gradient = layer.scratch;
  bias_gradient.assign(static_cast<size_t>(layer.outputs), 0);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t o = 0; o < layer.outputs; ++o)
      bias_gradient[static_cast<size_t>(o)] += dy[static_cast<size_t>(b * layer.outputs + o)];
  }
  update(step_of(rule, step, false), bias_gradient.data(), layer.outputs, layer.bias.data(),
         layer.bias_m.data(), adam ? layer.bias_v.data() : nullptr);
}

namespace {

void activate(HiddenActivation kind, const std::vector<float>& z, std::vector<float>& h) {
  h = z;
  if (kind == HiddenActivation::kRelu)
    kernels().function(RowFunction::kRelu, 0, 0, h.data(), static_cast<int64_t>(h.size()));
  if (kind == HiddenActivation::kHardSwish)
    kernels().function(RowFunction::kHardSwish, 0, 0, h.data(), static_cast<int64_t>(h.size()));
}

// d becomes d loss / d z.
void activate_backward(HiddenActivation kind, const std::vector<float>& z, std::vector<float>& d) {
  for (size_t i = 0; i < d.size(); ++i) {
    const float x = z[i];
    if (kind == HiddenActivation::kRelu) d[i] = x > 0 ? d[i] : 0.0f;
    // x (x/6 + 1/2) between -3 and 3, whose derivative is x/3 + 1/2.
    if (kind == HiddenActivation::kHardSwish) d[i] *= x <= -3 ? 0.0f : x >= 3 ? 1.0f : x / 3 + 0.5f;
  }
}

}  // namespace

HeadTrainer::HeadTrainer(std::vector<LinearLayerState> layers, HiddenActivation activation, UpdateRule rule)
    : layers_(std::move(layers)), activation_(activation), rule_(rule) {
  TANDEM_CHECK(!layers_.empty(), "a head has at least one layer");
  for (size_t i = 1; i < layers_.size(); ++i)
    TANDEM_CHECK(layers_[i].inputs == layers_[i - 1].outputs, "layers do not chain");
  z_.resize(layers_.size());
  h_.resize(layers_.size());
  d_.resize(layers_.size());
}

std::span<const float> HeadTrainer::run(std::span<const float> x, int64_t batch) {
  std::span<const float> in = x;
  for (size_t i = 0; i < layers_.size(); ++i) {
    z_[i].resize(static_cast<size_t>(batch * layers_[i].outputs));
    forward(layers_[i], in, batch, z_[i]);
    if (i + 1 == layers_.size()) break;
    activate(activation_, z_[i], h_[i]);
    in = h_[i];
  }
  return z_.back();
}

double HeadTrainer::step(std::span<const float> x, std::span<const int32_t> labels,
                         std::span<const float> class_weights) {
  const int64_t batch = static_cast<int64_t>(labels.size());
  if (batch == 0) return 0;
  ++steps_;
  const std::span<const float> scores = run(x, batch);
  d_.back().resize(scores.size());
  const double loss = softmax_cross_entropy(scores, labels, class_weights, d_.back());
  for (size_t i = layers_.size(); i-- > 0;) {
    const std::span<const float> in = i == 0 ? x : std::span<const float>(h_[i - 1]);
    std::span<float> dx;
    if (i > 0) {
      d_[i - 1].resize(h_[i - 1].size());
      dx = d_[i - 1];
    }
    backward_update(layers_[i], in, d_[i], batch, rule_, steps_, dx);
    if (i > 0) activate_backward(activation_, z_[i - 1], d_[i - 1]);
  }
  return loss;
}

void HeadTrainer::logits(std::span<const float> x, int64_t batch, std::span<float> logits) {
  const std::span<const float> scores = run(x, batch);
  TANDEM_CHECK(logits.size() == scores.size(), "sizes do not match the head");
  std::copy(scores.begin(), scores.end(), logits.begin());
}

void HeadTrainer::set_rate(float rate) {
  std::visit([&](auto& rule) { rule.rate = rate; }, rule_);
}

}  // namespace tandem::exec
