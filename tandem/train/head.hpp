// SPDX-License-Identifier: Apache-2.0
// Head: the trainable end of a classifier, one or two dense layers in FP32, with the names of its classes. It
// is kept as a safetensors file and becomes Gemm nodes behind a frozen backbone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/exec/linear_train.hpp"
#include "tandem/ir/graph.hpp"
#include "tandem/tensor/safetensors.hpp"

namespace tandem::train {

// y = x W^T + b. weights [outputs, inputs], bias [outputs], row-major.
struct DenseLayer {
  int64_t inputs = 0;
  int64_t outputs = 0;
  std::vector<float> weights, bias;
  friend bool operator==(const DenseLayer&, const DenseLayer&) = default;
};

struct Head {
  std::vector<DenseLayer> layers;                                          // one (linear) or more (mlp)
  exec::HiddenActivation activation = exec::HiddenActivation::kHardSwish;  // between layers
  std::vector<std::string> class_names;

  int64_t feature_count() const { return layers.empty() ? 0 : layers.front().inputs; }
  int64_t class_count() const { return layers.empty() ? 0 : layers.back().outputs; }
  std::string_view kind() const { return layers.size() == 1 ? "linear" : "mlp"; }
  friend bool operator==(const Head&, const Head&) = default;
};

struct HeadOptions {
  int64_t features = 0;
  std::vector<std::string> class_names;
  int64_t hidden = 0;  // 0: linear; else the width of the hidden layer
  exec::HiddenActivation activation = exec::HiddenActivation::kHardSwish;
  uint64_t seed = 42;
};

// Uniform in +-1/sqrt(inputs), each layer from a stream of its own. Precondition: features and the number of
// classes above 0.
Head make_head(const HeadOptions& options);

// The head with room for further classes behind the old ones; weights of the old ones stay.
Head with_more_classes(const Head& head, const std::vector<std::string>& added, uint64_t seed);

// Tensors "layer0.weight", "layer0.bias", ...; metadata "classes" (JSON), "activation", "format".
TensorFile to_tensors(const Head& head);
// Checks that layers are there, chain, are finite, and fit the class names.
Result<Head> head_from_tensors(const TensorFile& file);
Status save_head(const Head& head, const std::string& path);
Result<Head> load_head(const std::string& path);

// The layers for exec's trainer, without an optimizer's moments.
std::vector<exec::LinearLayerState> layer_states(const Head& head);

// logits of rows of features: features [rows, feature_count], result [rows, class_count].
std::vector<float> logits_of(const Head& head, std::span<const float> features);

// --- in a graph ---

// A graph whose only output is [N,C], or [N,C,H,W] which is averaged over H and W and flattened; the output
// is then "features". Error kUnsupported for other shapes.
Result<ir::Graph> with_flat_features(ir::Graph backbone);
// `features` with the head behind its only output: Gemm nodes "head0", "head0.act", "head1", output "logits",
// the class names as metadata "tandem.labels" (JSON list). Error when the widths differ.
Result<ir::Graph> attach_head(ir::Graph features, const Head& head);

inline constexpr const char* kLabelsKey = "tandem.labels";
std::string labels_to_metadata(const std::vector<std::string>& names);
// The names in a graph's metadata, empty when there are none. Takes JSON lists and one name a line.
std::vector<std::string> labels_of(const ir::Graph& graph);

}  // namespace tandem::train
