// SPDX-License-Identifier: Apache-2.0
// A model file as the jobs use it: loaded, with the preprocessing that its images need.
#pragma once

#include <string>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/data/preprocess.hpp"
#include "tandem/ir/graph.hpp"

namespace tandem::jobs {

struct ImageModel {
  ir::Graph graph;  // one input, whose height and width are those of the preprocessing
  data::Preprocess preprocess;
  std::string path;
  std::string hash;                  // SHA-256 of the file
  std::vector<std::string> notices;  // of the import
  int64_t micro_batch = 4;           // 1 where the graph only works for one image at a time
};

// Loads an ONNX model for one image input; the preprocessing is the model's own, changed by `overrides`.
// Errors: kUnsupported for models whose input is no image, kUsage (with the flags to give) when the model
// brings no preprocessing and the overrides do not say enough, kBadInput when both contradict the input's
// shape or a weight is NaN.
Result<ImageModel> load_image_model(const std::string& path, const data::PreprocessOverrides& overrides = {});

// The model's own words with the overrides. A model without any needs mean and std, and size where its input
// leaves it open; the short side is then 256/224 of the size, for sizes up to 96 the image is squeezed to it.
Result<data::Preprocess> preprocess_of(const ir::Graph& graph, const data::PreprocessOverrides& overrides);

}  // namespace tandem::jobs
