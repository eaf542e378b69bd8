// SPDX-License-Identifier: Apache-2.0
// quantize_on_images(): a simplified float graph and images become a quantized graph. What `quantize` and
// `adapt` share.
#pragma once

#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/data/dataset.hpp"
#include "tandem/jobs/hooks.hpp"
#include "tandem/jobs/model_source.hpp"
#include "tandem/quant/quantize.hpp"

namespace tandem::jobs {

struct QuantizeOnImagesOptions {
  quant::QuantizeOptions quantize;
  int threads = 0;  // that decode, and as many that compute; 0: one per core
  bool strict = false;
};

struct QuantizedOnImages {
  quant::Quantized made;
  int64_t images = 0;
  std::vector<data::Skipped> skipped;  // while reading
};

// Memory does not grow with the number of images. In pow2 the fix_points are then searched by the error of
// the graph's outputs on a few of the images. The same result at any number of threads.
Result<QuantizedOnImages> quantize_on_images(const ir::Graph& graph, const ImageModel& model,
                                             const data::Dataset& images,
                                             const QuantizeOnImagesOptions& options, const JobHooks& hooks);

}  // namespace tandem::jobs
