// SPDX-License-Identifier: Apache-2.0
// Intervals and counts.
#include "tandem/train/metrics.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/base/check.hpp"

namespace tandem::train {
namespace {

constexpr double kZ = 1.959963984540054;  // 97.5 % quantile of the normal distribution

}  // namespace

Interval wilson_interval(int64_t successes, int64_t n) {
  if (n <= 0) return {0, 1};
  const double m = static_cast<double>(n), p = static_cast<double>(successes) / m;
  const double centre = (p + kZ * kZ / (2 * m)) / (1 + kZ * kZ / m);
  const double half = kZ / (1 + kZ * kZ / m) * std::sqrt(p * (1 - p) / m + kZ * kZ / (4 * m * m));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

int64_t Confusion::total() const {
  int64_t sum = 0;
  for (int64_t c : counts_) sum += c;
  return sum;
}

int64_t Confusion::correct() const {
  int64_t sum = 0;
  for (int64_t k = 0; k < classes_; ++k) sum += at(k, k);
  return sum;
}

double Confusion::accuracy() const {
  const int64_t n = total();
  return n == 0 ? 0 : static_cast<double>(correct()) / static_cast<double>(n);
}

std::vector<ClassScores> Confusion::per_class() const {
  std::vector<ClassScores> scores(static_cast<size_t>(classes_));
  for (int64_t k = 0; k < classes_; ++k) {
    int64_t predicted = 0;
    ClassScores& s = scores[static_cast<size_t>(k)];
    for (int64_t j = 0; j < classes_; ++j) {
      s.count += at(k, j);
      predicted += at(j, k);
    }
    if (s.count > 0) s.recall = static_cast<double>(at(k, k)) / static_cast<double>(s.count);
    if (predicted > 0) s.precision = static_cast<double>(at(k, k)) / static_cast<double>(predicted);
  }
  return scores;
}

PairedDifference paired_difference(std::span<const uint8_t> a_correct, std::span<const uint8_t> b_correct) {
  TANDEM_CHECK(a_correct.size() == b_correct.size(), "paired results differ in length");
  PairedDifference result;
  result.n = static_cast<int64_t>(a_correct.size());
  if (result.n == 0) return result;
  for (size_t i = 0; i < a_correct.size(); ++i) {
    result.only_a += a_correct[i] != 0 && b_correct[i] == 0;
    result.only_b += a_correct[i] == 0 && b_correct[i] != 0;
  }
  const double n = static_cast<double>(result.n);
  const double gain = static_cast<double>(result.only_b - result.only_a);
  const double discordant = static_cast<double>(result.only_a + result.only_b);
  result.difference = gain / n;
  const double half = kZ * std::sqrt(std::max(0.0, discordant - gain * gain / n)) / n;
  result.interval = {result.difference - half, result.difference + half};
  return result;
}

}  // namespace tandem::train
