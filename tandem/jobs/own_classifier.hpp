// SPDX-License-Identifier: Apache-2.0
// The classifier that a model already has, as a head: what a new one must beat when the classes are the same.
#pragma once

#include <optional>
#include <string>

#include "tandem/ir/graph.hpp"
#include "tandem/train/head.hpp"

namespace tandem::jobs {

// The node `classifier` of a simplified float graph as a linear head on averaged features, with the model's
// class names. Nothing when it is no plain dense layer (a Gemm or a 1x1 Conv without activation, then only
// pooling by average, reshaping and Softmax), or the model does not name its classes.
std::optional<train::Head> own_classifier(const ir::Graph& graph, const std::string& classifier);

// The head for these classes only, in this order. Nothing when it does not know one of them.
std::optional<train::Head> restricted_to(const train::Head& head,
                                         const std::vector<std::string>& class_names);

}  // namespace tandem::jobs
