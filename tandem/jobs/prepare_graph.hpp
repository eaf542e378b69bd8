// SPDX-License-Identifier: Apache-2.0
// What every verb does to a loaded model before it computes with it: simplify, name its classes, choose who
// computes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/base/rng.hpp"
#include "tandem/ir/graph.hpp"

namespace tandem::jobs {

inline constexpr const char* kLabelsKey = "tandem.labels";  // a JSON array with one class name per logit

// The class names a model brings, or those of `file` (one a line) when it is not empty. Empty when there are
// none. Error kBadInput for metadata that is no array of texts.
Result<std::vector<std::string>> labels_of(const ir::Graph& graph, const std::string& file = "");

struct SimplifyOptions {
  bool fuse_residual = false;  // also what drops a rounding in affine graphs (passes::affine_passes())
  std::string dump_dir;        // where numbered IR text goes after each pass; empty: nowhere
};
// Values stay equal within float rounding, names of those that stay are kept.
Result<ir::Graph> simplified(ir::Graph graph, const SimplifyOptions& options = {});

// The same network in floating point: constants are dequantized, nothing is rounded to integers any more.
Result<ir::Graph> without_quantization(ir::Graph graph);

// Some value that a node makes is stored as integers by quantization.
bool is_quantized(const ir::Graph& graph);

// Open height and width of image inputs become `size`; nothing happens for 0.
Status set_open_sizes(ir::Graph& graph, int64_t size);

// One tensor per graph input, as stored: standard normal numbers, quantized or cut to whole ones where the
// input is no f32. Error kUnsupported for inputs without a fixed shape.
Result<std::vector<Tensor>> random_inputs(const ir::Graph& graph, Rng& rng);

}  // namespace tandem::jobs
