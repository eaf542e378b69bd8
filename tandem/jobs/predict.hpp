// SPDX-License-Identifier: Apache-2.0
// predict(): the images of a dataset through a model, in order; decoding and computing overlap, memory does
// not grow with the number of images.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/data/dataset.hpp"
#include "tandem/data/preprocess.hpp"
#include "tandem/jobs/forward.hpp"
#include "tandem/jobs/hooks.hpp"

namespace tandem::jobs {

struct Prediction {
  size_t sample = 0;  // number in the dataset
  int32_t label = data::kNoLabel;
  std::span<const float> scores;  // one per class, valid during the call
};
// Called in the order of the dataset, by one thread at a time.
using PredictionSink = std::function<Status(const Prediction&)>;

struct PredictOptions {
  std::string label = "images";  // of the progress bar
  bool strict = false;           // a skipped image is an error
};

struct PredictSummary {
  int64_t images = 0;
  std::vector<data::Skipped> skipped;  // while listing and while decoding
  double seconds = 0;
};

// The number of classes, from the shape of the only output, or a sentence why it is no list of scores.
Result<int64_t> class_count(const ir::Graph& graph);

Result<PredictSummary> predict(Forward& forward, const data::Dataset& dataset,
                               const data::Preprocess& preprocess, const PredictOptions& options,
                               const JobHooks& hooks, const PredictionSink& sink);

// Classes by falling score; equal scores by index. A NaN comes last.
std::vector<int32_t> top_classes(std::span<const float> scores, size_t count);
// The scores when they are already shares of 1, else their softmax.
std::vector<float> as_probabilities(std::span<const float> scores);

}  // namespace tandem::jobs
