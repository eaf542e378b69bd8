// SPDX-License-Identifier: Apache-2.0
// The loader feeds, the model computes, the sink gets one image at a time.
#include "tandem/jobs/predict.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <mutex>
#include <numeric>

#include "tandem/data/loader.hpp"

namespace tandem::jobs {
namespace {

// Which images a batch is of, from the thread that loads to the one that gets the scores.
struct Origin {
  std::vector<size_t> samples;
  std::vector<int32_t> labels;
};

class Origins {
 public:
  void push(Origin origin) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(origin));
  }
  Origin pop() {
    const std::lock_guard lock(mutex_);
    Origin origin = std::move(waiting_.front());
    waiting_.pop_front();
    return origin;
  }

 private:
  std::mutex mutex_;
  std::deque<Origin> waiting_;
};

Status deliver(const Origin& origin, const Tensor& scores, const PredictionSink& sink) {
  const auto images = static_cast<int64_t>(origin.samples.size());
  if (scores.dtype() != DType::kF32 || images == 0 || scores.elements() % images != 0) {
    return unsupported(fmt::format("the model gave {} {} for {} images", to_string(scores.dtype()),
                                   scores.shape().to_string(), images))
        .because("scores are expected: one f32 per class and image");
  }
  const auto classes = static_cast<size_t>(scores.elements() / images);
  const std::span<const float> all = scores.as<float>();
  for (size_t i = 0; i < origin.samples.size(); ++i) {
    TANDEM_TRY(sink({origin.samples[i], origin.labels[i], all.subspan(i * classes, classes)}));
  }
  return {};
}

}  // namespace

Result<int64_t> class_count(const ir::Graph& graph) {
  if (graph.outputs.size() != 1) {
    return unsupported(fmt::format("the model has {} outputs", graph.outputs.size()))
        .because("a classifier has one, with a score per class");
  }
  const ir::Value& output = graph.value(graph.outputs[0]);
  int64_t classes = 1;
  int64_t wide = 0;
  if (output.shape) {
    for (size_t axis = 1; axis < output.shape->rank(); ++axis) {
      const int64_t extent = (*output.shape)[axis];
      wide += extent != 1 ? 1 : 0;
      classes = extent != 1 ? extent : classes;
    }
  }
  if (!output.shape || output.shape->rank() < 2 || wide > 1 || classes < 1 || output.dtype != DType::kF32) {
    return unsupported(fmt::format("the output '{}' is {} {}", output.name, to_string(output.dtype),
                                   output.shape ? output.shape->to_string() : "of unknown shape"))
        .because("a classifier's output is f32 [N, classes]");
  }
  return classes;
}

Result<PredictSummary> predict(Forward& forward, const data::Dataset& dataset,
                               const data::Preprocess& preprocess, const PredictOptions& options,
                               const JobHooks& hooks, const PredictionSink& sink) {
  if (options.strict) TANDEM_TRY(data::refuse_skipped(dataset.skipped));
  if (dataset.samples.empty()) return bad_input("there is no image");
  data::LoaderOptions load;
  load.batch = forward.micro_batch();
  load.threads = static_cast<size_t>(forward.workers());
  load.ahead = 2 * forward.workers();
  load.layout = preprocess.layout;
  load.strict = options.strict;
  load.cancel = hooks.cancel;
  const auto start = std::chrono::steady_clock::now();
  data::BatchLoader loader(dataset, preprocess, load);
  Origins origins;
  PredictSummary summary;
  Progress bar = hooks.start(options.label, dataset.samples.size(), "images");
  const auto source = [&]() -> Result<std::optional<std::vector<Tensor>>> {
    std::optional<data::Batch> batch = TANDEM_TRY(loader.next());
    if (!batch) return std::optional<std::vector<Tensor>>();
    origins.push({std::move(batch->samples), std::move(batch->labels)});
    std::vector<Tensor> inputs;
    inputs.push_back(std::move(batch->images));
    return std::optional<std::vector<Tensor>>(std::move(inputs));
  };
  const auto each = [&](size_t, std::vector<Tensor> outputs) -> Status {
    const Origin origin = origins.pop();
    TANDEM_TRY(deliver(origin, outputs.at(0), sink));
    summary.images += static_cast<int64_t>(origin.samples.size());
    bar.advance(origin.samples.size());
    return {};
  };
  TANDEM_TRY(forward.run(source, each, hooks.cancel));
  bar.finish();
  summary.skipped = dataset.skipped;
  summary.skipped.insert(summary.skipped.end(), loader.skipped().begin(), loader.skipped().end());
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

std::vector<int32_t> top_classes(std::span<const float> scores, size_t count) {
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto better = [&](int32_t a, int32_t b) {
    const float x = scores[static_cast<size_t>(a)];
    const float y = scores[static_cast<size_t>(b)];
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y) ? a < b : std::isnan(y);
    return x != y ? x > y : a < b;
  };
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), better);
  order.resize(count);
  return order;
}

std::vector<float> as_probabilities(std::span<const float> scores) {
  constexpr double kSlack =
      1e-3;  // of int8 softmax outputs: 1/256 steps would add up to less than that with few classes
  double sum = 0;
  bool shares = true;
  for (const float score : scores) {
    shares = shares && score >= 0 && score <= 1;
    sum += score;
  }
  std::vector<float> probabilities(scores.begin(), scores.end());
  if (shares && std::abs(sum - 1) <= kSlack) return probabilities;
  const float largest = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (const float score : scores) total += std::exp(static_cast<double>(score) - largest);
  for (float& p : probabilities) p = static_cast<float>(std::exp(static_cast<double>(p) - largest) / total);
  return probabilities;
}

}  // namespace tandem::jobs
