// SPDX-License-Identifier: Apache-2.0
// The frozen part of a model, in both precisions: cut before the classifier, calibrated, quantized. What runs
// is what was read back from the quantized file, so it is also what a reader of that file gets.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/data/dataset.hpp"
#include "tandem/ir/graph.hpp"
#include "tandem/jobs/hooks.hpp"
#include "tandem/jobs/model_source.hpp"
#include "tandem/quant/choose_scales.hpp"
#include "tandem/tensor/quant_params.hpp"
#include "tandem/train/head.hpp"

namespace tandem::jobs {

// The float network up to its features (or to its logits, when the classifier is kept), simplified.
struct FloatBackbone {
  ir::Graph graph;
  std::vector<std::string> float_nodes;  // what stays in float when it is quantized: the kept classifier
  std::string features;                  // name of the value
  std::string classifier;                // node that was cut off or kept
  int64_t feature_count = 0;             // after averaging over space
  int64_t class_count = 0;               // of the model's own classifier; 0 unknown
  std::optional<train::Head> own_head;   // that classifier, see own_classifier()
};
Result<FloatBackbone> cut_backbone(const ir::Graph& model, const std::string& features, bool keep_classifier);

// Metadata of the kept file: the key of its making. No part of a model that leaves the run.
inline constexpr const char* kRunKey = "tandem.run_key";

struct QuantizeBackboneOptions {
  Scheme scheme = Scheme::kAffine;
  quant::RangeMethod method = quant::RangeMethod::kMinMax;
  bool strict = false;
  int threads = 2;   // that decode, and as many that compute
  std::string file;  // where the quantized backbone is kept and looked for (.onnx); its report beside it
  std::string key;   // of everything that decides it
};
struct QuantizedBackbone {
  ir::Graph graph;      // as read from the file
  Json report;          // {"values": [{value, params, min, max, clipped}], "notes": [...], ...}
  bool reused = false;  // from an earlier run
};
// Calibrates on all images of `calibration`. Memory does not grow with their number.
Result<QuantizedBackbone> quantize_backbone(const FloatBackbone& backbone, const ImageModel& model,
                                            const data::Dataset& calibration,
                                            const QuantizeBackboneOptions& options, const JobHooks& hooks);

// What the executor gets: features [N,C] as the only output, and the fusions that it wants.
Result<ir::Graph> runnable_features(const ir::Graph& backbone, Scheme scheme);

}  // namespace tandem::jobs
