// SPDX-License-Identifier: Apache-2.0
// The fix_points of pow2, chosen by what the network's output loses on calibration images. Powers of two are
// so coarse that a rule for each tensor alone leaves several points of accuracy behind.
#pragma once

#include <functional>

#include "tandem/base/cancel.hpp"
#include "tandem/quant/quantize.hpp"

namespace tandem::quant {

struct SearchOptions {
  int threads = 0;  // workers that run the trials, one thread each; 0: one per core
  int sweeps = 1;   // over all positions
  const CancelToken* cancel = nullptr;
  std::function<void(size_t done, size_t total)> progress;  // of the positions of all sweeps
};

struct SearchResult {
  Quantized best;
  double error_before = 0,
         error_after = 0;         // squared error of the outputs over their squared sum, on the kept images
  int64_t trials = 0, moved = 0;  // positions that are not where quantize() alone would put them
};

// From the positions that quantize() gives: one after the other, in order of the network, each position is
// tried one step coarser and finer, and stays where the outputs of the integer network on calibration.kept
// differ least from those of the float network. Never worse than the start by that measure. Precondition:
// scheme pow2, calibration.kept is not empty, and the graph's outputs are real.
Result<SearchResult> search_fix_points(const ir::Graph& graph, const Calibration& calibration,
                                       QuantizeOptions options, const SearchOptions& search = {});

}  // namespace tandem::quant
