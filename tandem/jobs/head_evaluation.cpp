// SPDX-License-Identifier: Apache-2.0
// Scores to answers to accuracy.
#include "tandem/jobs/head_evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tandem::jobs {
namespace {

bool are_probabilities(std::span<const float> scores) {
  double sum = 0;
  for (const float s : scores) {
    if (!(s >= 0 && s <= 1)) return false;
    sum += s;
  }
  return std::abs(sum - 1) < 1e-3;
}

float probability(std::span<const float> scores, size_t chosen) {
  if (are_probabilities(scores)) return scores[chosen];
  double sum = 0;
  for (const float s : scores) sum += std::exp(static_cast<double>(s) - scores[chosen]);
  return static_cast<float>(1 / sum);
}

Accuracy accuracy_from(int64_t correct, int64_t count) {
  Accuracy a;
  a.correct = correct;
  a.count = count;
  a.value = count == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(count);
  a.interval = train::wilson_interval(correct, count);
  return a;
}

}  // namespace

Evaluation evaluate_rows(const train::FeatureCache& features, std::span<const int32_t> labels,
                         std::span<const int64_t> rows, int64_t classes, const train::Head* head) {
  Evaluation result;
  result.confusion = train::Confusion(classes);
  constexpr size_t kBlock = 1024;  // rows whose scores are in memory at once
  std::vector<float> block, block_scores;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t row = rows[i];
    if (i % kBlock == 0) {
      block.clear();
      for (size_t j = i; j < std::min(rows.size(), i + kBlock); ++j) {
        const auto values = features.row(rows[j]);
        block.insert(block.end(), values.begin(), values.end());
      }
      block_scores = head != nullptr ? train::logits_of(*head, block) : block;
    }
    const auto scores = std::span<const float>(block_scores)
                            .subspan(i % kBlock * static_cast<size_t>(classes), static_cast<size_t>(classes));
    const auto best = static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    const int32_t truth = labels[static_cast<size_t>(row)];
    const auto predicted = static_cast<int32_t>(best);
    result.rows.push_back(row);
    result.truth.push_back(truth);
    result.predicted.push_back(predicted);
    result.confidence.push_back(probability(scores, best));
    result.correct.push_back(truth == predicted ? 1 : 0);
    result.confusion.add(truth, predicted);
  }
  result.accuracy = accuracy_from(result.confusion.correct(), result.confusion.total());
  return result;
}

Accuracy accuracy_of_classes(const Evaluation& evaluation, int32_t first, int32_t last) {
  int64_t correct = 0, count = 0;
  for (size_t i = 0; i < evaluation.truth.size(); ++i) {
    if (evaluation.truth[i] < first || evaluation.truth[i] >= last) continue;
    ++count;
    correct += evaluation.correct[i];
  }
  return accuracy_from(correct, count);
}

std::vector<size_t> confident_mistakes(const Evaluation& evaluation, size_t count) {
  std::vector<size_t> wrong;
  for (size_t i = 0; i < evaluation.correct.size(); ++i) {
    if (evaluation.correct[i] == 0) wrong.push_back(i);
  }
  std::stable_sort(wrong.begin(), wrong.end(),
                   [&](size_t a, size_t b) { return evaluation.confidence[a] > evaluation.confidence[b]; });
  wrong.resize(std::min(wrong.size(), count));
  return wrong;
}

}  // namespace tandem::jobs
