// SPDX-License-Identifier: Apache-2.0
// Goal: training follows its formulas, is the same after an interruption, and says what went wrong. Method: a
// reference in double precision written from the formulas; cancelling at every epoch and comparing bits;
// planted NaN, divergence and damaged checkpoints.
#include "tandem/train/train_head.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>

#include "tandem/base/file.hpp"

namespace tandem::train {
namespace {

// `classes` clouds of points around corners, overlapping a little.
struct Cloud {
  int64_t columns;
  std::vector<float> values;
  std::vector<int32_t> labels;
  TrainData data() const {
    TrainData d;
    d.values = values;
    d.columns = columns;
    d.labels = labels;
    for (size_t i = 0; i < labels.size(); ++i) d.rows.push_back(static_cast<int64_t>(i));
    return d;
  }
};

Cloud make_cloud(int64_t rows, int64_t columns, int64_t classes, double spread = 0.5) {
  Cloud cloud{columns, {}, {}};
  Rng rng(7);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t label = r % classes;
    for (int64_t c = 0; c < columns; ++c) {
      cloud.values.push_back(static_cast<float>((c % classes == label ? 1 : 0) + spread * rng.normal()));
    }
    cloud.labels.push_back(static_cast<int32_t>(label));
  }
  return cloud;
}

Head head_for(const Cloud& cloud, int64_t classes, int64_t hidden = 0) {
  HeadOptions options;
  options.features = cloud.columns;
  for (int64_t c = 0; c < classes; ++c) options.class_names.push_back("class" + std::to_string(c));
  options.hidden = hidden;
  return make_head(options);
}

TEST(TrainHead, OneStepByHand) {
  // One feature x = 2, two classes, weights and biases 0, label 0: softmax (1/2, 1/2), so d loss / d logits =
  // (-1/2, 1/2), d loss / d W = (-1, 1), d loss / d b = (-1/2, 1/2). SGD without momentum and decay, rate
  // 0.1: W = (0.1, -0.1), b = (0.05, -0.05).
  Cloud cloud{1, {2}, {0}};
  Head head = head_for(cloud, 2);
  std::fill(head.layers[0].weights.begin(), head.layers[0].weights.end(), 0.0f);
  std::fill(head.layers[0].bias.begin(), head.layers[0].bias.end(), 0.0f);
  TrainOptions options;
  options.epochs = 1;
  options.batch = 1;
  options.rate = 0.1;
  options.optimizer = Optimizer::kSgd;
  options.weight_decay = 0;
  options.schedule = Schedule::kConstant;
  options.normalize = false;
  const auto trained = train_head(head, cloud.data(), options);
  ASSERT_TRUE(trained.ok()) << trained.error().message();
  EXPECT_EQ(trained->head.layers[0].weights, (std::vector<float>{0.1f, -0.1f}));
  EXPECT_EQ(trained->head.layers[0].bias, (std::vector<float>{0.05f, -0.05f}));
  EXPECT_NEAR(trained->epochs[0].train_loss, std::log(2.0), 1e-7);
  EXPECT_EQ(trained->holdout_rows, 0);
  ASSERT_EQ(trained->notes.size(), 1u);  // nothing could be held out, and that is said
}

// The formulas of the headers in double, linear head, no class weights: the last epoch's weights.
std::vector<double> reference_weights(const Cloud& cloud, const Head& initial, const TrainOptions& o) {
  const int64_t k = initial.class_count(), n = cloud.columns;
  std::vector<double> w(initial.layers[0].weights.begin(), initial.layers[0].weights.end());
  w.insert(w.end(), initial.layers[0].bias.begin(), initial.layers[0].bias.end());
  std::vector<double> m(w.size(), 0), v(w.size(), 0);
  std::vector<int64_t> rows = cloud.data().rows;
  const HoldoutSplit split = split_holdout(rows, cloud.labels, o.holdout, o.seed);
  const auto count = static_cast<int64_t>(split.train.size());
  const int64_t total = (count + o.batch - 1) / o.batch * o.epochs;
  int64_t step = 0;
  for (int64_t epoch = 1; epoch <= o.epochs; ++epoch) {
    std::vector<int64_t> order = split.train;
    Rng rng = Rng(o.seed).fork(2).fork(static_cast<uint64_t>(epoch));
    rng.shuffle(order);
    for (int64_t first = 0; first < count; first += o.batch) {
      const int64_t size = std::min(o.batch, count - first);
      std::vector<double> g(w.size(), 0);
      for (int64_t b = 0; b < size; ++b) {
        const int64_t row = order[static_cast<size_t>(first + b)];
        std::vector<double> z(static_cast<size_t>(k));
        double sum = 0;
        for (int64_t c = 0; c < k; ++c) {
          z[c] = w[static_cast<size_t>(k * n + c)];
          for (int64_t i = 0; i < n; ++i)
            z[c] += w[static_cast<size_t>(c * n + i)] * cloud.values[static_cast<size_t>(row * n + i)];
          sum += std::exp(z[c]);
        }
        for (int64_t c = 0; c < k; ++c) {
          const double d = (std::exp(z[c]) / sum - (cloud.labels[static_cast<size_t>(row)] == c ? 1 : 0)) /
                           static_cast<double>(size);
          for (int64_t i = 0; i < n; ++i)
            g[static_cast<size_t>(c * n + i)] += d * cloud.values[static_cast<size_t>(row * n + i)];
          g[static_cast<size_t>(k * n + c)] += d;
        }
      }
      const double rate =
          o.rate * 0.5 *
          (1 + std::cos(std::numbers::pi * static_cast<double>(step) / static_cast<double>(total)));
      ++step;
      for (size_t i = 0; i < w.size(); ++i) {
        const double decay = i < static_cast<size_t>(k * n) ? o.weight_decay : 0;
        if (o.optimizer == Optimizer::kSgd) {
          m[i] = o.momentum * m[i] + g[i] + decay * w[i];
          w[i] -= rate * m[i];
          continue;
        }
        m[i] = 0.9 * m[i] + 0.1 * g[i];
        v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
        const double mean = m[i] / (1 - std::pow(0.9, step)), square = v[i] / (1 - std::pow(0.999, step));
        w[i] -= rate * decay * w[i] + rate * mean / (std::sqrt(square) + 1e-8);
      }
    }
  }
  return w;
}

TEST(TrainHead, FollowsAReferenceInDoublePrecision) {
  const Cloud cloud = make_cloud(58, 12, 3);  // a last batch of few
  for (const Optimizer optimizer : {Optimizer::kAdamW, Optimizer::kSgd}) {
    TrainOptions options;
    options.epochs = 3;
    options.batch = 16;
    options.rate = 0.02;
    options.optimizer = optimizer;
    options.balance_classes = false;
    options.normalize = false;
    options.holdout = 0;  // then the last epoch is kept, whatever its score
    const Head initial = head_for(cloud, 3);
    const auto trained = train_head(initial, cloud.data(), options);
    ASSERT_TRUE(trained.ok()) << trained.error().message();
    const std::vector<double> expected = reference_weights(cloud, initial, options);
    std::vector<float> got = trained->head.layers[0].weights;
    got.insert(got.end(), trained->head.layers[0].bias.begin(), trained->head.layers[0].bias.end());
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], expected[i], 2e-5) << to_string(optimizer) << " " << i;
  }
}

TEST(TrainHead, NormalizingMakesScaleAndOffsetOfTheFeaturesIrrelevant) {
  const Cloud cloud = make_cloud(120, 8, 3);
  Cloud other = cloud;
  for (float& v : other.values) v = 1000 * v - 300;
  Head flat = head_for(cloud, 3);
  std::fill(flat.layers[0].weights.begin(), flat.layers[0].weights.end(), 0.0f);  // the same start for both
  std::fill(flat.layers[0].bias.begin(), flat.layers[0].bias.end(), 0.0f);
  const auto one = train_head(flat, cloud.data(), {}), two = train_head(flat, other.data(), {});
  ASSERT_TRUE(one.ok() && two.ok());
  const auto a = logits_of(one->head, cloud.values), b = logits_of(two->head, other.values);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-3);
  TrainOptions plain;
  plain.normalize = false;
  EXPECT_NE(train_head(flat, cloud.data(), plain)->head, one->head);
}

TEST(TrainHead, SeparatesCloudsAndKeepsTheBestEpoch) {
  const Cloud cloud = make_cloud(300, 16, 4);
  for (const int64_t hidden : {0, 8}) {
    TrainOptions options;
    options.epochs = 20;
    options.rate = 0.02;
    const auto trained = train_head(head_for(cloud, 4, hidden), cloud.data(), options);
    ASSERT_TRUE(trained.ok());
    EXPECT_EQ(trained->train_rows + trained->holdout_rows, 300);
    EXPECT_EQ(trained->holdout_rows, 32);  // 8 of each 75
    const EpochMetrics& best = trained->epochs[static_cast<size_t>(trained->best_epoch - 1)];
    for (const EpochMetrics& m : trained->epochs) EXPECT_LE(m.holdout_accuracy, best.holdout_accuracy);
    EXPECT_GT(best.holdout_accuracy, 0.9);
  }
}

TEST(TrainHead, CaseG28ALastBatchOfOneSampleCountsLikeAnyOther) {
  // 1000 rows in batches of 3: 333 steps and one of a single row, none dropped, none repeated; numbers stay
  // finite.
  const Cloud cloud = make_cloud(1000, 16, 4);
  for (const int64_t hidden : {0, 8}) {
    TrainOptions options;
    options.epochs = 2;
    options.batch = 3;
    options.holdout = 0;
    int64_t steps = 0;
    TrainHooks hooks;
    hooks.step_done = [&] { ++steps; };
    const auto trained = train_head(head_for(cloud, 4, hidden), cloud.data(), options, hooks);
    ASSERT_TRUE(trained.ok()) << trained.error().message();
    EXPECT_EQ(steps, 2 * 334);
    EXPECT_EQ(trained->train_rows, 1000);
    for (const EpochMetrics& m : trained->epochs) EXPECT_TRUE(std::isfinite(m.train_loss));
  }
}

TEST(TrainHead, InterruptedAtAnyEpochItEndsWithTheSameBits) {
  const Cloud cloud = make_cloud(90, 10, 3);
  for (const Optimizer optimizer : {Optimizer::kAdamW, Optimizer::kSgd}) {
    TrainOptions options;
    options.optimizer = optimizer;
    options.rate = 0.01;
    const Head initial = head_for(cloud, 3, 5);
    const auto whole = train_head(initial, cloud.data(), options);
    ASSERT_TRUE(whole.ok());
    for (int64_t steps = 0; steps < 30; steps += 4) {
      const std::string path = ::testing::TempDir() + "train_head_test.safetensors";
      std::filesystem::remove(path);
      CancelToken cancel;
      TrainHooks hooks;
      hooks.cancel = &cancel;
      hooks.checkpoint = path;
      hooks.resume = true;
      int64_t left = steps;
      hooks.step_done = [&] {
        if (left-- == 0) cancel.request(2);
      };
      const auto broken = train_head(initial, cloud.data(), options, hooks);
      if (!broken.ok()) {
        EXPECT_EQ(broken.error().code(), ErrorCode::kInterrupted);
      }
      TrainHooks again;
      again.checkpoint = path;
      again.resume = true;
      const auto resumed = train_head(initial, cloud.data(), options, again);
      ASSERT_TRUE(resumed.ok()) << resumed.error().message();
      EXPECT_EQ(to_safetensors(to_tensors(resumed->head)), to_safetensors(to_tensors(whole->head)));
      EXPECT_EQ(resumed->best_epoch, whole->best_epoch);
      EXPECT_EQ(resumed->epochs.size(), whole->epochs.size());
      std::filesystem::remove(path);
    }
  }
}

TEST(TrainHead, ACheckpointOfAnotherRunOrADamagedOneIsRefused) {
  const Cloud cloud = make_cloud(60, 6, 3);
  const std::string path = ::testing::TempDir() + "train_head_refused.safetensors";
  std::filesystem::remove(path);
  TrainHooks hooks;
  hooks.checkpoint = path;
  hooks.resume = true;
  hooks.key = "one";
  TrainOptions options;
  const Head initial = head_for(cloud, 3);
  ASSERT_TRUE(train_head(initial, cloud.data(), options, hooks).ok());
  ASSERT_TRUE(train_head(initial, cloud.data(), options, hooks).ok());  // complete: nothing left to do
  options.rate = 0.5;
  EXPECT_EQ(train_head(initial, cloud.data(), options, hooks).error().code(), ErrorCode::kUsage);
  options.rate = TrainOptions{}.rate;
  hooks.key = "two";
  EXPECT_EQ(train_head(initial, cloud.data(), options, hooks).error().code(), ErrorCode::kUsage);
  hooks.key = "one";
  auto bytes = read_file(path);
  ASSERT_TRUE(bytes.ok());
  ASSERT_TRUE(write_file(path, bytes->substr(0, bytes->size() / 2)).ok());
  EXPECT_EQ(train_head(initial, cloud.data(), options, hooks).error().code(), ErrorCode::kBadInput);
  std::filesystem::remove(path);
}

TEST(TrainHead, FeaturesThatAreNotFiniteAreRefusedByImage) {
  Cloud cloud = make_cloud(40, 4, 2);
  cloud.values[4 * 17 + 2] = std::numeric_limits<float>::quiet_NaN();
  const auto trained = train_head(head_for(cloud, 2), cloud.data(), {});
  ASSERT_FALSE(trained.ok());
  EXPECT_EQ(trained.error().code(), ErrorCode::kBadInput);
  EXPECT_NE(trained.error().message().find("image 17"), std::string::npos);
  TrainData without = cloud.data();  // a row that is not used may hold anything
  without.rows.erase(without.rows.begin() + 17);
  EXPECT_TRUE(train_head(head_for(cloud, 2), without, {}).ok());
}

TEST(TrainHead, DivergenceIsAnErrorAtOnceAndARollbackLater) {
  const Cloud cloud = make_cloud(64, 4, 2);
  TrainOptions options;
  options.optimizer = Optimizer::kSgd;
  options.rate = 1e30;
  const auto trained = train_head(head_for(cloud, 2), cloud.data(), options);
  ASSERT_FALSE(trained.ok());
  EXPECT_NE(trained.error().message().find("--lr"), std::string::npos);

  // The features of epoch 3 are planted: beyond what a float can hold once they are multiplied.
  options.rate = 0.01;
  TrainData data = cloud.data();
  const std::vector<float> huge(cloud.values.size(), 3e38f);
  data.augmented = [&](int64_t epoch) -> Result<std::span<const float>> {
    return epoch < 3 ? std::span<const float>(cloud.values) : std::span<const float>(huge);
  };
  const auto kept = train_head(head_for(cloud, 2), data, options);
  ASSERT_TRUE(kept.ok()) << kept.error().message();
  EXPECT_EQ(kept->epochs.size(), 2u);
  ASSERT_EQ(kept->notes.size(), 1u);
  EXPECT_NE(kept->notes[0].find("epoch 3"), std::string::npos);
  for (const float w : kept->head.layers[0].weights) EXPECT_TRUE(std::isfinite(w));
}

TEST(TrainHead, OptionsThatDoNotFitAreUsageErrors) {
  const Cloud cloud = make_cloud(20, 4, 2);
  const auto code = [&](auto&& change) {
    TrainOptions options;
    change(options);
    const auto trained = train_head(head_for(cloud, 2), cloud.data(), options);
    return trained.ok() ? -1 : static_cast<int>(trained.error().code());
  };
  EXPECT_EQ(code([](TrainOptions& o) { o.batch = 21; }), 2);
  EXPECT_EQ(code([](TrainOptions& o) { o.batch = 0; }), 2);
  EXPECT_EQ(code([](TrainOptions& o) { o.epochs = 0; }), 2);
  EXPECT_EQ(code([](TrainOptions& o) { o.rate = std::nan(""); }), 2);
  EXPECT_EQ(code([](TrainOptions& o) { o.holdout = 1; }), 2);
  EXPECT_EQ(code([](TrainOptions&) {}), -1);
}

TEST(SplitHoldout, IsStratifiedSeededAndLeavesSmallClassesAlone) {
  std::vector<int32_t> labels;
  std::vector<int64_t> rows;
  for (const auto& [label, count] : {std::pair{0, 50}, std::pair{1, 20}, std::pair{2, 4}, std::pair{3, 5}}) {
    for (int i = 0; i < count; ++i) {
      rows.push_back(static_cast<int64_t>(labels.size()));
      labels.push_back(label);
    }
  }
  const HoldoutSplit split = split_holdout(rows, labels, 0.1, 1);
  std::vector<int> held(4, 0);
  for (const int64_t row : split.holdout) ++held[static_cast<size_t>(labels[static_cast<size_t>(row)])];
  EXPECT_EQ(held, (std::vector<int>{5, 2, 0, 1}));
  EXPECT_EQ(split.train.size() + split.holdout.size(), rows.size());
  EXPECT_EQ(split.holdout, split_holdout(rows, labels, 0.1, 1).holdout);
  EXPECT_NE(split.holdout, split_holdout(rows, labels, 0.1, 2).holdout);
}

TEST(BalancedWeights, ARareClassCountsAsMuchAsACommonOne) {
  const std::vector<int32_t> labels = {0, 0, 0, 1};
  const std::vector<int64_t> rows = {0, 1, 2, 3};
  // 4 / (2 * 3) and 4 / (2 * 1); class 2 does not occur.
  const auto weights = balanced_weights(rows, labels, 3);
  EXPECT_FLOAT_EQ(weights[0], 2.0f / 3);
  EXPECT_FLOAT_EQ(weights[1], 2);
  EXPECT_EQ(weights[2], 1);
}

}  // namespace
}  // namespace tandem::train
