// SPDX-License-Identifier: Apache-2.0
// extract_features(): images of a dataset through a frozen backbone into a feature cache, decoding and
// computing at the same time. Row first_row + s of the cache belongs to sample s of the dataset.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/base/trace.hpp"
#include "tandem/data/loader.hpp"
#include "tandem/ir/graph.hpp"
#include "tandem/jobs/hooks.hpp"
#include "tandem/train/feature_cache.hpp"

namespace tandem::jobs {

struct ExtractOptions {
  std::string label = "features";  // of the progress bar and the trace
  int workers = 0;  // of the backbone, one thread each; 0: one per core. As many threads decode.
  int64_t micro_batch = 4;
  data::Augment augment;
  uint64_t seed = 42;  // of the augmentation, with
  uint64_t epoch = 0;
  bool strict = false;    // a skipped image or a node without a fast kernel is an error
  int64_t first_row = 0;  // rows before it hold other features (replayed ones) and are there already
  // Spans "decode" (waiting for images), "backbone" and "store"; thread numbers from `track.thread` on.
  TraceWriter* trace = nullptr;
  int32_t trace_process = 0;
  int64_t trace_origin_ns = 0;  // steady clock at time 0 of the trace
};

// Fills the rows that the cache does not hold yet. Images that cannot be used get a row that is_skipped().
// The same rows come out whether it was interrupted in between or not: batches are cut at the same samples.
// Precondition: the graph has one image input and one output [N, cache.columns()]; the cache has first_row
// rows and a row a sample.
Status extract_features(const ir::Graph& graph, const data::Dataset& dataset,
                        const data::Preprocess& preprocess, const ExtractOptions& options,
                        const JobHooks& hooks, train::FeatureCache& cache);

// True for the row of an image that could not be used.
bool is_skipped(std::span<const float> row);
// The other rows that are done.
std::vector<int64_t> usable_rows(const train::FeatureCache& cache);
// Which images have no features and why: decoded again for the reason, so they need not be remembered.
std::vector<data::Skipped> skipped_images(const train::FeatureCache& cache, const data::Dataset& dataset,
                                          const data::Preprocess& preprocess, int64_t first_row = 0);

}  // namespace tandem::jobs
