// SPDX-License-Identifier: Apache-2.0
// Goal: the search finds back positions that were moved away, never makes the outputs worse, and does not
// depend on threads. Method: a small network with planted wrong positions; the reference measures what came
// out.
#include "tandem/quant/search_fix_points.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "tandem/ref/ref.hpp"
#include "tandem/testing/graph_builder.hpp"

namespace tandem::quant {
namespace {

using ir::ValueId;
using testing::GraphBuilder;
using testing::random_tensor;

ir::Graph two_layers() {
  Rng rng(8);
  GraphBuilder b;
  const ValueId x = b.input("x", Shape{kDynamic, 3, 5, 5});
  ir::Conv conv;
  conv.window.pads = {1, 1, 1, 1};
  conv.activation = ir::Activation{ir::ActivationKind::kRelu};
  const ValueId a = b.add(conv, {x, b.constant(random_tensor(rng, DType::kF32, {8, 3, 3, 3}))}, "first");
  const ValueId c =
      b.add(ir::Conv{}, {a, b.constant(random_tensor(rng, DType::kF32, {4, 8, 1, 1}))}, "second");
  b.output(b.add(ir::Flatten{}, {c}, "flat"));
  return b.finish();
}

Calibration calibrated(const ir::Graph& graph, int64_t images) {
  CalibrateOptions options;
  options.keep_images = 4;
  Rng rng(9);
  auto seen = calibrate(
      graph,
      [&, left = images]() mutable -> Result<std::optional<Tensor>> {
        if (left-- == 0) return std::optional<Tensor>();
        return std::optional<Tensor>(random_tensor(rng, DType::kF32, {1, 3, 5, 5}));
      },
      options);
  EXPECT_TRUE(seen.ok()) << seen.error().message();
  return std::move(*seen);
}

// Squared error of the outputs over their squared sum, by the reference.
double error_by_reference(const ir::Graph& real, const ir::Graph& integer,
                          const std::vector<Tensor>& images) {
  double error = 0, size = 0;
  for (const Tensor& image : images) {
    std::vector<Tensor> a, b;
    a.push_back(image.clone());
    b.push_back(image.clone());
    const auto want = ref::run(real, a), is = ref::run(integer, b);
    if (!want.ok() || !is.ok()) return -1;
    for (size_t i = 0; i < (*want)[0].as<float>().size(); ++i) {
      const double w = (*want)[0].as<float>()[i], d = double{(*is)[0].as<float>()[i]} - w;
      error += d * d;
      size += w * w;
    }
  }
  return error / size;
}

QuantizeOptions pow2() {
  QuantizeOptions options;
  options.scheme = Scheme::kPow2;
  return options;
}

TEST(SearchFixPoints, FindsBackFromPlantedPositions) {
  const ir::Graph graph = two_layers();
  const Calibration seen = calibrated(graph, 40);
  const Quantized plain = quantize(graph, seen, pow2()).value();
  EXPECT_EQ(plain.positions, (std::vector<std::string>{"x", "first.weight", "first", "second.weight"}));
  const double good = error_by_reference(graph, plain.graph, seen.kept);
  QuantizeOptions planted = pow2();
  planted.fix_offset = {{"second.weight", -3}, {"first.weight", 2}};
  SearchOptions patient;
  patient.sweeps = 5;
  const SearchResult found = search_fix_points(graph, seen, planted, patient).value();
  EXPECT_GT(found.error_before, 10 * good);
  EXPECT_LT(found.error_after, 2 * good);
  EXPECT_GT(found.moved, 0);
  // What it says of the result is what the reference finds.
  EXPECT_NEAR(found.error_after, error_by_reference(graph, found.best.graph, seen.kept), 1e-6);
}

TEST(SearchFixPoints, IsTheSameAtAnyNumberOfThreadsAndNeverWorse) {
  const ir::Graph graph = two_layers();
  const Calibration seen = calibrated(graph, 13);
  SearchOptions one, three;
  one.threads = 1;
  three.threads = 3;
  const SearchResult a = search_fix_points(graph, seen, pow2(), one).value();
  const SearchResult b = search_fix_points(graph, seen, pow2(), three).value();
  EXPECT_LE(a.error_after, a.error_before);
  EXPECT_EQ(a.error_after, b.error_after);
  for (size_t i = 0; i < a.best.graph.values().size(); ++i) {
    EXPECT_EQ(a.best.graph.values()[i].quant, b.best.graph.values()[i].quant);
  }
}

TEST(SearchFixPoints, StopsWhenCancelled) {
  const ir::Graph graph = two_layers();
  CancelToken cancel;
  cancel.request(SIGINT);
  SearchOptions options;
  options.cancel = &cancel;
  const auto stopped = search_fix_points(graph, calibrated(graph, 4), pow2(), options);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), ErrorCode::kInterrupted);
}

TEST(Calibrate, KeepsImagesSpreadEvenlyInBoundedNumber) {
  // 4 wanted: of 40 every 8th (0, 8, 16, 24, 32) after the stride doubled three times; of 3 all.
  EXPECT_EQ(calibrated(two_layers(), 40).kept.size(), 5u);
  EXPECT_EQ(calibrated(two_layers(), 3).kept.size(), 3u);
  Rng rng(9);
  const Calibration seen = calibrated(two_layers(), 40);
  for (int i = 0; i < 40; ++i) {
    const Tensor image = random_tensor(rng, DType::kF32, {1, 3, 5, 5});
    if (i % 8 != 0) continue;
    EXPECT_EQ(image.as<float>()[0], seen.kept[static_cast<size_t>(i / 8)].as<float>()[0]) << i;
  }
}

}  // namespace
}  // namespace tandem::quant
