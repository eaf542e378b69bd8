// SPDX-License-Identifier: Apache-2.0
// Head training against a plain double implementation of the formulas in the header, and against numbers
// worked by hand.
#include "tandem/exec/linear_train.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/exec/train_kernels.hpp"

namespace tandem::exec {
namespace {

// Everything in double, one formula per line.
struct PlainLayer {
  int64_t inputs, outputs;
  std::vector<double> w, b, mw, vw, mb, vb;
};

PlainLayer plain(const LinearLayerState& s) {
  PlainLayer p{
      s.inputs, s.outputs, {s.weights.begin(), s.weights.end()}, {s.bias.begin(), s.bias.end()}, {}, {},
      {},       {}};
  p.mw.assign(p.w.size(), 0);
  p.vw = p.mw;
  p.mb.assign(p.b.size(), 0);
  p.vb = p.mb;
  return p;
}

void plain_update(const UpdateRule& rule, int64_t t, bool decays, double g, double& w, double& m, double& v) {
  if (const auto* a = std::get_if<AdamW>(&rule)) {
    m = a->beta1 * m + (1.0 - a->beta1) * g;
    v = a->beta2 * v + (1.0 - a->beta2) * g * g;
    if (decays) w -= static_cast<double>(a->rate) * a->decay * w;
    w -= a->rate * (m / (1 - std::pow(a->beta1, t))) /
         (std::sqrt(v / (1 - std::pow(a->beta2, t))) + a->epsilon);
    return;
  }
  const Sgd& s = std::get<Sgd>(rule);
  if (decays) g += s.decay * w;
  m = s.momentum * m + g;
  w -= s.rate * (s.nesterov ? g + s.momentum * m : m);
}

double hidden(HiddenActivation f, double z) {
  if (f == HiddenActivation::kRelu) return z > 0 ? z : 0;
  if (f == HiddenActivation::kHardSwish) return z <= -3 ? 0 : z >= 3 ? z : z * (z + 3) / 6;
  return z;
}
double hidden_slope(HiddenActivation f, double z) {
  if (f == HiddenActivation::kRelu) return z > 0;
  if (f == HiddenActivation::kHardSwish) return z <= -3 ? 0 : z >= 3 ? 1 : z / 3 + 0.5;
  return 1;
}

double plain_step(std::vector<PlainLayer>& layers, HiddenActivation f, const UpdateRule& rule, int64_t t,
                  const std::vector<float>& x, const std::vector<int32_t>& labels,
                  const std::vector<float>& weights) {
  const size_t batch = labels.size();
  std::vector<std::vector<double>> z(layers.size()), h(layers.size() + 1);
  h[0].assign(x.begin(), x.end());
  for (size_t l = 0; l < layers.size(); ++l) {
    const auto in = static_cast<size_t>(layers[l].inputs), out = static_cast<size_t>(layers[l].outputs);
    z[l].assign(batch * out, 0);
    for (size_t b = 0; b < batch; ++b) {
      for (size_t o = 0; o < out; ++o) {
        double sum = layers[l].b[o];
        for (size_t i = 0; i < in; ++i) sum += layers[l].w[o * in + i] * h[l][b * in + i];
        z[l][b * out + o] = sum;
      }
    }
    h[l + 1] = z[l];
    if (l + 1 < layers.size()) {
      for (double& v : h[l + 1]) v = hidden(f, v);
    }
  }
  const size_t classes = static_cast<size_t>(layers.back().outputs);
  std::vector<double> d(batch * classes);
  double total = 0, loss = 0;
  for (const int32_t y : labels) total += weights.empty() ? 1 : weights[static_cast<size_t>(y)];
  for (size_t b = 0; b < batch; ++b) {
    const double weight = (weights.empty() ? 1 : weights[static_cast<size_t>(labels[b])]) / total;
    double sum = 0;
    for (size_t c = 0; c < classes; ++c) sum += std::exp(z.back()[b * classes + c]);
    for (size_t c = 0; c < classes; ++c) {
      const double p = std::exp(z.back()[b * classes + c]) / sum;
      d[b * classes + c] = weight * (p - (static_cast<int32_t>(c) == labels[b]));
      if (static_cast<int32_t>(c) == labels[b]) loss -= weight * std::log(p);
    }
  }
  for (size_t l = layers.size(); l-- > 0;) {
    PlainLayer& layer = layers[l];
    const auto in = static_cast<size_t>(layer.inputs), out = static_cast<size_t>(layer.outputs);
    std::vector<double> dx(batch * in, 0);
    for (size_t b = 0; b < batch; ++b) {
      for (size_t o = 0; o < out; ++o) {
        for (size_t i = 0; i < in; ++i) dx[b * in + i] += d[b * out + o] * layer.w[o * in + i];
      }
    }
    for (size_t o = 0; o < out; ++o) {
      double gb = 0;
      for (size_t b = 0; b < batch; ++b) gb += d[b * out + o];
      for (size_t i = 0; i < in; ++i) {
        double g = 0;
        for (size_t b = 0; b < batch; ++b) g += d[b * out + o] * h[l][b * in + i];
        plain_update(rule, t, true, g, layer.w[o * in + i], layer.mw[o * in + i], layer.vw[o * in + i]);
      }
      plain_update(rule, t, false, gb, layer.b[o], layer.mb[o], layer.vb[o]);
    }
    if (l > 0) {
      for (size_t i = 0; i < dx.size(); ++i) dx[i] *= hidden_slope(f, z[l - 1][i]);
    }
    d = dx;
  }
  return loss;
}

struct Case {
  std::vector<int64_t> sizes;
  HiddenActivation activation;
  UpdateRule rule;
  int64_t batch;
  bool weighted = false;
};

void expect_like_plain(const Case& c) {
  Rng rng(42);
  std::vector<LinearLayerState> layers;
  std::vector<PlainLayer> reference;
  for (size_t l = 0; l + 1 < c.sizes.size(); ++l) {
    layers.push_back(make_linear(c.sizes[l], c.sizes[l + 1], c.rule, rng));
    reference.push_back(plain(layers.back()));
  }
  HeadTrainer trainer(layers, c.activation, c.rule);
  std::vector<float> class_weights;
  if (c.weighted) {
    for (int64_t i = 0; i < c.sizes.back(); ++i)
      class_weights.push_back(static_cast<float>(rng.uniform(0.5, 2)));
  }
  for (int64_t t = 1; t <= 5; ++t) {
    std::vector<float> x(static_cast<size_t>(c.batch * c.sizes[0]));
    for (float& v : x) v = static_cast<float>(rng.normal());
    std::vector<int32_t> labels(static_cast<size_t>(c.batch));
    for (auto& y : labels) y = static_cast<int32_t>(rng.below(static_cast<uint64_t>(c.sizes.back())));
    const double loss = trainer.step(x, labels, class_weights);
    const double expected = plain_step(reference, c.activation, c.rule, t, x, labels, class_weights);
    EXPECT_NEAR(loss, expected, 2e-4 * (1 + std::abs(expected))) << "step " << t;
  }
  for (size_t l = 0; l < reference.size(); ++l) {
    // AdamW turns tiny gradients of either sign into steps of up to `rate`, so a few weights may differ by
    // more than rounding; the mean may not.
    double worst = 0, sum = 0;
    for (size_t i = 0; i < reference[l].w.size(); ++i) {
      const double d = std::abs(reference[l].w[i] - static_cast<double>(trainer.layers()[l].weights[i]));
      worst = std::max(worst, d);
      sum += d;
    }
    EXPECT_LT(worst, 2e-3) << "layer " << l;
    EXPECT_LT(sum / static_cast<double>(reference[l].w.size()), 3e-6) << "layer " << l;
    for (size_t i = 0; i < reference[l].b.size(); ++i)
      EXPECT_NEAR(reference[l].b[i], trainer.layers()[l].bias[i], 2e-4);
  }
}

TEST(LinearTrain, AdamWMatchesPlainDoubles) {
  for (const int64_t batch : {1, 3, 4, 16})
    expect_like_plain({{131, 10}, HiddenActivation::kNone, AdamW{}, batch});
}
TEST(LinearTrain, SgdMatchesPlainDoubles) {
  expect_like_plain({{77, 5}, HiddenActivation::kNone, Sgd{0.05f, 0.9f, 1e-3f, false}, 7});
  expect_like_plain({{77, 5}, HiddenActivation::kNone, Sgd{0.05f, 0.9f, 1e-3f, true}, 7});
}
TEST(LinearTrain, ClassWeightsMatchPlainDoubles) {
  expect_like_plain({{40, 6}, HiddenActivation::kNone, AdamW{}, 9, true});
}
TEST(LinearTrain, HiddenLayersMatchPlainDoubles) {
  expect_like_plain({{64, 50, 7}, HiddenActivation::kRelu, Sgd{}, 6});
  expect_like_plain({{64, 50, 7}, HiddenActivation::kHardSwish, Sgd{}, 6});
  expect_like_plain({{64, 50, 20, 7}, HiddenActivation::kHardSwish, AdamW{}, 6});
}

// The estimates with Newton steps of the wide build: within 4 ulp of doubles, for moments from nothing to the
// largest, and for every length of the last piece.
TEST(TrainKernels, AdamIsAsExactAsDivision) {
  Rng rng(5);
  for (const TrainKernels* k : {&train_kernels(), &portable_train_kernels()}) {
    for (int64_t count = 1; count <= 33; ++count) {
      const auto size = static_cast<size_t>(count);
      std::vector<float> g(size, 0.0f), w(size, 0.0f), m(size), v(size);
      for (size_t i = 0; i < size; ++i) {
        m[i] = static_cast<float>(rng.uniform(-1, 1));
        v[i] = i % 5 == 0 ? 0.0f
                          : std::ldexp(static_cast<float>(rng.uniform(1, 2)), static_cast<int>(i) * 7 - 120);
      }
      const std::vector<float> m0 = m, v0 = v;
      const AdamStep s{0.9f, 0.999f, 1e-3f, 1.25f, 1e-8f, 1};
      k->adam(s, g.data(), count, w.data(), m.data(), v.data());
      for (size_t i = 0; i < size; ++i) {
        const double wanted =
            -static_cast<double>(s.rate_over_correction1) * (s.beta1 * m0[i]) /
            (std::sqrt(static_cast<double>(s.beta2 * v0[i])) * s.inverse_sqrt_correction2 + s.epsilon);
        EXPECT_NEAR(w[i], wanted, 5e-7 * std::abs(wanted)) << "v " << v0[i] << ", count " << count;
        EXPECT_FLOAT_EQ(v[i], s.beta2 * v0[i]);
      }
    }
  }
}

// One order of summation: a sample's scores do not depend on its companions or on other outputs.
TEST(TrainKernels, ProductsDoNotDependOnTheTile) {
  Rng rng(6);
  for (const int64_t inputs : {5, 32, 131}) {
    constexpr int64_t kRows = 7, kOutputs = 19;
    std::vector<float> w(static_cast<size_t>(inputs * kOutputs)), x(static_cast<size_t>(inputs * kRows));
    for (float& f : w) f = static_cast<float>(rng.normal());
    for (float& f : x) f = static_cast<float>(rng.normal());
    std::vector<float> all(kRows * kOutputs);
    train_kernels().products(w.data(), x.data(), inputs, kRows, kOutputs, all.data());
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t o = 0; o < kOutputs; ++o) {
        float one = 0;
        train_kernels().products(w.data() + o * inputs, x.data() + r * inputs, inputs, 1, 1, &one);
        EXPECT_EQ(one, all[static_cast<size_t>(r * kOutputs + o)]) << inputs << ": " << r << ", " << o;
      }
    }
  }
}

TEST(LinearTrain, LossAndGradientByHand) {
  // Two classes, equal logits: p = 1/2, loss = ln 2, gradient (p - 1, p) / batch.
  const std::vector<float> logits{1, 1};
  const std::vector<int32_t> labels{0};
  std::vector<float> gradient(2);
  EXPECT_NEAR(softmax_cross_entropy(logits, labels, {}, gradient), std::log(2.0), 1e-7);
  EXPECT_NEAR(gradient[0], -0.5, 1e-7);
  EXPECT_NEAR(gradient[1], 0.5, 1e-7);
}

TEST(LinearTrain, HugeLogitsStayFinite) {
  const std::vector<float> logits{1e30f, -1e30f, 88, 1000, 0, -1000};
  const std::vector<int32_t> labels{1, 0};
  std::vector<float> gradient(6);
  const double loss = softmax_cross_entropy(logits, labels, {}, gradient);
  EXPECT_TRUE(std::isfinite(loss));
  for (const float g : gradient) EXPECT_TRUE(std::isfinite(g));
}

TEST(LinearTrain, FirstAdamWStepMovesByTheRate) {
  // At t = 1 the corrected moments are g and g^2, so w moves by rate * g / (|g| + epsilon), about rate *
  // sign(g).
  Rng rng(1);
  const AdamW rule{0.01f, 0.9f, 0.999f, 1e-8f, 0};
  LinearLayerState layer = make_linear(1, 1, rule, rng);
  const float before = layer.weights[0];
  const std::vector<float> x{2}, dy{3};
  backward_update(layer, x, dy, 1, rule, 1, {});
  EXPECT_NEAR(layer.weights[0], before - 0.01f, 1e-6);
}

TEST(LinearTrain, SameInputsGiveTheSameBits) {
  const auto run = [] {
    Rng rng(9);
    HeadTrainer t({make_linear(300, 11, AdamW{}, rng)}, HiddenActivation::kNone, AdamW{});
    std::vector<float> x(300 * 5);
    std::vector<int32_t> y(5);
    for (int i = 0; i < 20; ++i) {
      for (float& v : x) v = static_cast<float>(rng.normal());
      for (auto& l : y) l = static_cast<int32_t>(rng.below(11));
      t.step(x, y);
    }
    return t.layers()[0].weights;
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace tandem::exec
