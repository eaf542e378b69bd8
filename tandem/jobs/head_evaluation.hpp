// SPDX-License-Identifier: Apache-2.0
// What a trained classifier does on validation features.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tandem/jobs/adapt.hpp"
#include "tandem/train/feature_cache.hpp"
#include "tandem/train/head.hpp"
#include "tandem/train/metrics.hpp"

namespace tandem::jobs {

// One entry per evaluated row, in order.
struct Evaluation {
  std::vector<int64_t> rows;
  std::vector<int32_t> truth, predicted;
  std::vector<float> confidence;  // softmax probability of what was predicted
  std::vector<uint8_t> correct;
  train::Confusion confusion{1};
  Accuracy accuracy;
};

// `head` null: the features are the scores. Scores that are all in [0,1] and add up to 1 are taken as
// probabilities.
Evaluation evaluate_rows(const train::FeatureCache& features, std::span<const int32_t> labels,
                         std::span<const int64_t> rows, int64_t classes, const train::Head* head);

// Of the entries whose true class is in [first, last).
Accuracy accuracy_of_classes(const Evaluation& evaluation, int32_t first, int32_t last);

// Indices of wrong answers, most confident first.
std::vector<size_t> confident_mistakes(const Evaluation& evaluation, size_t count);

}  // namespace tandem::jobs
