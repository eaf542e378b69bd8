// SPDX-License-Identifier: Apache-2.0
// What a classifier is judged by: accuracy with its interval, confusion, precision and recall, and the paired comparison
// of two classifiers on the same images.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem::train {

struct Interval {
  double low = 0, high = 0;
};

// 95 % score interval of a share (Wilson 1927): stays inside [0,1], sensible at 0 and 1. {0,1} when n is 0.
Interval wilson_interval(int64_t successes, int64_t n);

struct ClassScores {
  int64_t count = 0;                // images of the class
  double precision = 0, recall = 0;  // 0 when undefined (nothing predicted, no image)
};

class Confusion {
 public:
  explicit Confusion(int64_t classes) : classes_(classes), counts_(static_cast<size_t>(classes * classes), 0) {}
  // Precondition: both in [0, classes).
  void add(int64_t truth, int64_t predicted) { ++counts_[static_cast<size_t>(truth * classes_ + predicted)]; }
  int64_t classes() const { return classes_; }
  int64_t at(int64_t truth, int64_t predicted) const { return counts_[static_cast<size_t>(truth * classes_ + predicted)]; }
  int64_t total() const;
  int64_t correct() const;
  double accuracy() const;  // 0 when empty
  std::vector<ClassScores> per_class() const;

 private:
  int64_t classes_;
  std::vector<int64_t> counts_;
};

// accuracy(b) - accuracy(a) on the same images, with the 95 % interval for paired shares (Wald with the variance of
// discordant pairs: Agresti, Categorical Data Analysis, section 11.1).
struct PairedDifference {
  double difference = 0;
  Interval interval;
  int64_t only_a = 0, only_b = 0;  // images that just one of them got right
  int64_t n = 0;
};
// Precondition: equal lengths; elements are 1 (right) or 0.
PairedDifference paired_difference(std::span<const uint8_t> a_correct, std::span<const uint8_t> b_correct);

}  // namespace tandem::train
