// SPDX-License-Identifier: Apache-2.0
// Calibration: runs the float model over images and keeps a histogram of every value that may be quantized.
// Memory does not grow with the number of images.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tandem/base/cancel.hpp"
#include "tandem/ir/graph.hpp"
#include "tandem/quant/histogram.hpp"

namespace tandem::quant {

// Histograms by value id of the graph that was calibrated.
struct Calibration {
  std::map<ir::ValueId, Histogram> seen;
  int64_t images = 0;
  // A few of the images, spread evenly over all of them, each [1,C,H,W]; see CalibrateOptions.
  std::vector<Tensor> kept;
};

// The next batch for the graph's single input, [n,C,H,W] f32 with n >= 1, or nothing at the end. The first
// one is the largest. Called by one thread at a time, in order.
using BatchSource = std::function<Result<std::optional<Tensor>>()>;

struct CalibrateOptions {
  bool only_extremes = false;  // enough for RangeMethod::kMinMax; the bins of the histograms stay empty
  int threads = 0;             // workers that run the model, one thread each; 0: one per core
  // So many images stay in Calibration::kept, up to twice as many while there are more of them than that.
  int64_t keep_images = 0;
  const CancelToken* cancel = nullptr;
  std::function<void(int64_t images)> progress;  // called by one thread at a time
};

// Observes every f32 value that is not constant and on which the outputs depend. The result is the same at
// any number of threads. Error when the source gives no image, and when a value was NaN or infinite for every
// image (the message names the node).
Result<Calibration> calibrate(const ir::Graph& graph, const BatchSource& next,
                              const CalibrateOptions& options = {});

}  // namespace tandem::quant
