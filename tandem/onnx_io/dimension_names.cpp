// SPDX-License-Identifier: Apache-2.0
// Names of dimensions as JSON in the metadata: {"value": ["batch", "", "height", "width"]}.
#include "tandem/onnx_io/dimension_names.hpp"

#include "tandem/base/json.hpp"

namespace tandem::onnx_io {

void keep_dimension_names(const DimensionNames& names, ir::Graph& graph) {
  graph.metadata.erase(kDimensionMetadata);
  if (names.empty()) return;
  Json all = Json::object();
  for (const auto& [value, dimensions] : names) all.set(value, Json(dimensions));
  graph.metadata[kDimensionMetadata] = all.dump();
}

DimensionNames dimension_names(const ir::Graph& graph) {
  DimensionNames names;
  const auto kept = graph.metadata.find(kDimensionMetadata);
  if (kept == graph.metadata.end()) return names;
  const auto parsed = Json::parse(kept->second);
  if (!parsed.ok()) return names;
  for (const auto& [value, dimensions] : parsed->members()) {
    for (const Json& dimension : dimensions.items()) names[value].push_back(dimension.as_string());
  }
  return names;
}

}  // namespace tandem::onnx_io
