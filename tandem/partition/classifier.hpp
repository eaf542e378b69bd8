// SPDX-License-Identifier: Apache-2.0
// Where a classification network ends and its classifier begins.
#pragma once

#include <string>
#include <vector>

#include "tandem/ir/graph.hpp"

namespace tandem::partition {

// The cut before the classifier.
struct ClassifierCut {
  ir::ValueId features = ir::kNoValue;  // [N,C] or [N,C,1,1], or [N,C,H,W] when `pooled` says so
  bool needs_global_average =
      false;  // features are a map: average over H and W before the head (1x1 Conv classifiers)
  int64_t feature_count = 0;  // C
  int64_t class_count = 0;    // outputs of the old classifier
  std::string classifier;     // name of the node that was the classifier
};

// By structure: from the model's only output upward through ops that compute no new features (Softmax,
// Flatten, Reshape, Squeeze, Identity, pools, activations, Q/DQ) to the last Gemm, MatMul or 1x1 Conv with
// constant weights. Its input are the features; of a Conv classifier the input is a map (SqueezeNet,
// MobileNetV2). With `features` the user names the value instead. Error kUnsupported says what was found and
// how to name the value.
Result<ClassifierCut> find_classifier(const ir::Graph& graph, const std::string& features = "");

}  // namespace tandem::partition
