// SPDX-License-Identifier: Apache-2.0
// Thinning by stretches: the least and the greatest value of each, and one point of a gap.
#include "tandem/report/decimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "tandem/base/check.hpp"

namespace tandem::report {

std::vector<size_t> decimate(std::span<const double> y, size_t points_max) {
  TANDEM_CHECK(points_max >= 8);
  std::vector<size_t> kept;
  const size_t n = y.size();
  if (n <= points_max) {
    for (size_t i = 0; i < n; ++i) kept.push_back(i);
    return kept;
  }
  // Each stretch gives at most three points (least, greatest, a gap); two more are the ends.
  const size_t stretches = (points_max - 2) / 3;
  kept.push_back(0);
  for (size_t s = 0; s < stretches; ++s) {
    const size_t begin = 1 + (n - 2) * s / stretches;
    const size_t end = 1 + (n - 2) * (s + 1) / stretches;
    size_t least = end, greatest = end, gap = end;
    for (size_t i = begin; i < end; ++i) {
      if (!std::isfinite(y[i])) {
        if (gap == end) gap = i;
        continue;
      }
      if (least == end || y[i] < y[least]) least = i;
      if (greatest == end || y[i] > y[greatest]) greatest = i;
    }
    std::array<size_t, 3> picks = {least, greatest, gap};
    std::sort(picks.begin(), picks.end());
    for (const size_t pick : picks) {
      if (pick != end && pick != kept.back()) kept.push_back(pick);
    }
  }
  kept.push_back(n - 1);
  return kept;
}

}  // namespace tandem::report
