// SPDX-License-Identifier: Apache-2.0
// Goal: calibration counts every value of every image once, the same at any number of threads, in bounded
// memory. Method: a small network, images from a seeded generator, the reference's values as the judge.
#include "tandem/quant/calibrate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <limits>

#include "tandem/ref/ref.hpp"
#include "tandem/testing/graph_builder.hpp"

namespace tandem::quant {
namespace {

using ir::ValueId;
using testing::GraphBuilder;
using testing::random_tensor;

// Conv -> Relu -> average pool, and a sum with the pooled input.
ir::Graph small_net() {
  Rng rng(5);
  GraphBuilder b;
  const ValueId x = b.input("x", Shape{kDynamic, 3, 6, 6});
  ir::Conv conv;
  conv.window.pads = {1, 1, 1, 1};
  const ValueId c = b.add(conv, {x, b.constant(random_tensor(rng, DType::kF32, {3, 3, 3, 3}))}, "conv");
  const ValueId r = b.add(ir::Unary{ir::UnaryKind::kRelu}, {c}, "relu");
  const ValueId s = b.add(ir::Binary{ir::BinaryKind::kAdd}, {r, x}, "sum");
  b.output(b.add(ir::GlobalPool{}, {s}, "pool"));
  return b.finish();
}

// Batches of up to 4 of `images` images; image i is the same whatever the number of images.
BatchSource batches(int64_t images) {
  return [images, next = int64_t{0}]() mutable -> Result<std::optional<Tensor>> {
    if (next == images) return std::optional<Tensor>();
    const int64_t n = std::min<int64_t>(4, images - next);
    Tensor batch(DType::kF32, Shape{n, 3, 6, 6});
    auto out = batch.as<float>();
    for (int64_t i = 0; i < n; ++i, ++next) {
      Rng rng(100 + static_cast<uint64_t>(next));
      for (int64_t k = 0; k < 108; ++k)
        out[static_cast<size_t>(i * 108 + k)] =
            static_cast<float>(rng.normal()) * static_cast<float>(next % 7 + 1);
    }
    return std::optional<Tensor>(std::move(batch));
  };
}

Calibration calibrated(const ir::Graph& graph, int64_t images, int threads) {
  CalibrateOptions options;
  options.threads = threads;
  auto seen = calibrate(graph, batches(images), options);
  EXPECT_TRUE(seen.ok()) << seen.error().message();
  return std::move(*seen);
}

void expect_same(const Histogram& a, const Histogram& b, const std::string& name) {
  EXPECT_EQ(a.count(), b.count()) << name;
  EXPECT_EQ(a.width(), b.width()) << name;
  EXPECT_EQ(a.min(), b.min()) << name;
  EXPECT_EQ(a.max(), b.max()) << name;
  for (int i = 0; i < Histogram::kBins; ++i) {
    ASSERT_EQ(a.positive(i), b.positive(i)) << name << " bin " << i;
    ASSERT_EQ(a.negative(i), b.negative(i)) << name << " bin " << i;
  }
}

TEST(Calibrate, IsTheSameAtAnyNumberOfThreads) {
  const ir::Graph graph = small_net();
  const Calibration one = calibrated(graph, 50, 1);
  EXPECT_EQ(one.images, 50);
  EXPECT_EQ(one.seen.size(), 5u);  // x, conv, relu, sum, pool
  for (const int threads : {2, 5}) {
    const Calibration many = calibrated(graph, 50, threads);
    ASSERT_EQ(many.seen.size(), one.seen.size());
    for (const auto& [id, seen] : one.seen) expect_same(seen, many.seen.at(id), graph.value(id).name);
  }
}

TEST(Calibrate, CountsEveryElementOfEveryImageOnce) {
  const ir::Graph graph = small_net();
  const Calibration seen = calibrated(graph, 10, 2);
  EXPECT_EQ(seen.seen.at(graph.inputs[0]).count(), 10 * 108);
  EXPECT_EQ(seen.seen.at(graph.outputs[0]).count(), 10 * 3);
  // The reference on the same images; its sums have another order, so extremes agree to float rounding.
  std::map<ValueId, Histogram> judged;
  const BatchSource source = batches(10);
  for (auto batch = source(); batch.ok() && *batch; batch = source()) {
    ref::RunOptions options;
    options.on_value = [&](ValueId id, const Tensor& t) { judged[id].add(t.as<float>()); };
    std::vector<Tensor> inputs;
    inputs.push_back(std::move(**batch));
    ASSERT_TRUE(ref::run(graph, inputs, options).ok());
  }
  for (const auto& [id, histogram] : judged) {
    if (graph.value(id).is_constant()) continue;
    const Histogram& mine = seen.seen.at(id);
    EXPECT_EQ(mine.count(), histogram.count());
    EXPECT_NEAR(mine.max(), histogram.max(), 1e-5 * std::abs(histogram.max()));
    EXPECT_NEAR(mine.min(), histogram.min(), 1e-5 * std::abs(histogram.max()));
  }
}

TEST(Calibrate, OnlyExtremesAreTheSameExtremes) {
  const ir::Graph graph = small_net();
  const Calibration whole = calibrated(graph, 10, 2);
  CalibrateOptions options;
  options.threads = 2;
  options.only_extremes = true;
  const Calibration extremes = calibrate(graph, batches(10), options).value();
  ASSERT_EQ(extremes.seen.size(), whole.seen.size());
  for (const auto& [id, seen] : whole.seen) {
    EXPECT_EQ(extremes.seen.at(id).min(), seen.min());
    EXPECT_EQ(extremes.seen.at(id).max(), seen.max());
    EXPECT_EQ(extremes.seen.at(id).count(), seen.count());
    EXPECT_EQ(extremes.seen.at(id).positive(0), 0);
  }
}

TEST(Calibrate, ShowsProgressUpToTheLastImage) {
  std::vector<int64_t> shown;
  CalibrateOptions options;
  options.threads = 2;
  options.progress = [&](int64_t images) { shown.push_back(images); };
  ASSERT_TRUE(calibrate(small_net(), batches(10), options).ok());
  EXPECT_EQ(shown, (std::vector<int64_t>{4, 8, 10}));
}

TEST(Calibrate, RefusesNoImageAndValuesThatAreNeverFinite) {
  const auto none = calibrate(small_net(), batches(0), {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), ErrorCode::kBadInput);
  GraphBuilder b;
  const ValueId x = b.input("x", Shape{kDynamic, 3, 6, 6});
  Tensor w(DType::kF32, {2, 3, 1, 1});
  for (float& v : w.as<float>()) v = std::numeric_limits<float>::quiet_NaN();
  const ValueId c = b.add(ir::Conv{}, {x, b.constant(std::move(w))}, "poisoned");
  b.output(c);
  const auto poisoned = calibrate(b.finish(), batches(8), {});
  ASSERT_FALSE(poisoned.ok());
  EXPECT_NE(poisoned.error().message().find("poisoned"), std::string::npos) << poisoned.error().message();
}

TEST(Calibrate, StopsWhenCancelled) {
  CancelToken cancel;
  CalibrateOptions options;
  options.cancel = &cancel;
  cancel.request(SIGINT);
  const auto stopped = calibrate(small_net(), batches(8), options);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace tandem::quant
