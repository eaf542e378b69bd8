// SPDX-License-Identifier: Apache-2.0
// Workers give the bits of a single executable, in order, and stop at the first error. Also run under TSan.
#include "tandem/exec/runner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/tensor/compare.hpp"
#include "tandem/testing/graph_builder.hpp"

namespace tandem::exec {
namespace {

using tandem::testing::GraphBuilder;
using tandem::testing::random_tensor;

ir::Graph network(int64_t size = 8) {
  GraphBuilder b;
  Rng rng(3);
  const auto x = b.input("x", {kDynamic, 3, size, size});
  ir::Conv conv;
  conv.window.kernel = {3, 3};
  conv.window.pads = {1, 1, 1, 1};
  conv.activation.kind = ir::ActivationKind::kRelu;
  const auto y = b.add(conv, {x, b.constant(random_tensor(rng, DType::kF32, {8, 3, 3, 3}))});
  b.output(b.add(ir::Flatten{}, {b.add(ir::GlobalPool{}, {y})}));
  return b.finish();
}

RunnerOptions options(int workers, int64_t micro_batch) {
  RunnerOptions o;
  o.workers = workers;
  o.micro_batch = micro_batch;
  return o;
}

TEST(Runner, JoinsMicroBatchesInOrder) {
  Rng rng(1);
  const Tensor x = random_tensor(rng, DType::kF32, {23, 3, 8, 8});
  const std::vector<TensorView> in{x.view()};
  CompileOptions whole;
  whole.batch = 1;
  Executable single = Executable::compile(network(), whole).value();
  for (const int workers : {1, 2, 3}) {
    Runner runner = Runner::create(network(), options(workers, 4)).value();
    const std::vector<Tensor> got = runner.run_all(in).value();
    ASSERT_EQ(got[0].shape(), (Shape{23, 8}));
    for (int64_t n = 0; n < 23; ++n) {
      const TensorView sample(DType::kF32, Shape{1, 3, 8, 8}, x.data() + static_cast<size_t>(n) * 3 * 64 * 4);
      const std::vector<TensorView> one{sample};
      const std::vector<Tensor> want = single.run(one).value();
      const TensorView row(DType::kF32, Shape{1, 8}, got[0].data() + static_cast<size_t>(n) * 8 * 4);
      ASSERT_TRUE(all_close(want[0].view(), row, 1e-5, 1e-6).ok()) << n;
    }
  }
}

TEST(MicroBatch, IsTheLargestDivisorUpToFour) {
  for (const auto& [batch, samples] :
       {std::pair<int64_t, int64_t>{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 1}, {6, 3}, {16, 4}}) {
    const MicroBatched made = compile_micro_batch(network(), batch).value();
    EXPECT_EQ(made.samples, samples) << "batch " << batch;
    EXPECT_EQ((*made.executable.graph().value(made.executable.graph().inputs[0]).shape)[0], samples);
  }
  EXPECT_FALSE(compile_micro_batch(network(), 0).ok());
}

TEST(MicroBatch, OfAFixedBatchIsThatBatch) {
  GraphBuilder b;
  b.output(b.add(ir::GlobalPool{}, {b.input("x", {8, 3, 4, 4})}));
  const ir::Graph g = b.finish();
  EXPECT_EQ(compile_micro_batch(g, 8).value().samples, 8);
  const auto refused = compile_micro_batch(g, 4);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnsupported);
}

TEST(MicroBatch, ShrinksUntilActivationsFitTheCache) {
  // Output of the convolution: 8 channels of 640 x 640 f32, 12.5 MiB a sample; its input is a third of it
  // more where it changes its layout.
  const MicroBatched made = compile_micro_batch(network(640), 4).value();
  EXPECT_EQ(made.samples, 1);
  EXPECT_GT(compile_micro_batch(network(320), 4).value().samples, 1);
}

TEST(Runner, StopsAtTheFirstErrorOfTheSink) {
  Runner runner = Runner::create(network(), options(3, 1)).value();
  int given = 0;
  size_t last = 0;
  const Runner::Source source = [&]() -> Result<std::optional<std::vector<Tensor>>> {
    std::vector<Tensor> batch;
    batch.emplace_back(DType::kF32, Shape{1, 3, 8, 8});
    if (++given > 1000) return std::optional<std::vector<Tensor>>();
    return std::optional<std::vector<Tensor>>(std::move(batch));
  };
  const Runner::Sink sink = [&](size_t index, std::vector<Tensor>) -> Status {
    last = index;
    if (index == 5) return io_error("disk full");
    return {};
  };
  const Status status = runner.run(source, sink);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message(), ::testing::HasSubstr("disk full"));
  EXPECT_EQ(last, 5u);
  EXPECT_LT(given, 1000);
}

TEST(Runner, ReportsAnErrorOfTheSourceAfterWhatCameBefore) {
  Runner runner = Runner::create(network(), options(2, 1)).value();
  int given = 0;
  size_t written = 0;
  const Runner::Source source = [&]() -> Result<std::optional<std::vector<Tensor>>> {
    if (given++ == 3) return bad_input("broken image");
    std::vector<Tensor> batch;
    batch.emplace_back(DType::kF32, Shape{1, 3, 8, 8});
    return std::optional<std::vector<Tensor>>(std::move(batch));
  };
  const Status status = runner.run(source, [&](size_t, std::vector<Tensor>) -> Status {
    ++written;
    return {};
  });
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message(), ::testing::HasSubstr("broken image"));
  EXPECT_EQ(written, 3u);
}

TEST(Runner, CancelStopsIt) {
  Runner runner = Runner::create(network(), options(2, 1)).value();
  CancelToken cancel;
  const Runner::Source source = [&]() -> Result<std::optional<std::vector<Tensor>>> {
    std::vector<Tensor> batch;
    batch.emplace_back(DType::kF32, Shape{1, 3, 8, 8});
    return std::optional<std::vector<Tensor>>(std::move(batch));
  };
  const Status status = runner.run(
      source,
      [&](size_t index, std::vector<Tensor>) -> Status {
        if (index == 2) cancel.request(15);
        return {};
      },
      &cancel);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kInterrupted);
}

TEST(Runner, RefusesABatchLargerThanAnnounced) {
  Runner runner = Runner::create(network(), options(1, 2)).value();
  bool first = true;
  const Status status = runner.run(
      [&]() -> Result<std::optional<std::vector<Tensor>>> {
        if (!first) return std::optional<std::vector<Tensor>>();
        first = false;
        std::vector<Tensor> batch;
        batch.emplace_back(DType::kF32, Shape{3, 3, 8, 8});
        return std::optional<std::vector<Tensor>>(std::move(batch));
      },
      [](size_t, std::vector<Tensor>) -> Status { return {}; });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kBadInput);
}

}  // namespace
}  // namespace tandem::exec
