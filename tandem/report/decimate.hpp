// SPDX-License-Identifier: Apache-2.0
// Thinning of long series for drawing: which points to keep so that the picture stays the same.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tandem::report {

// Increasing indices of the points to draw: all when there are at most points_max (>= 8), else at most
// points_max. Ends, the least and the greatest value of every stretch, and one point of every gap (non-finite
// y) in a stretch are kept, so no peak and no gap longer than a stretch is lost.
std::vector<size_t> decimate(std::span<const double> y, size_t points_max);

}  // namespace tandem::report
