// SPDX-License-Identifier: Apache-2.0
// The names of dynamic dimensions ("batch", "height"). The IR knows only that a dimension is dynamic; the
// names travel in the graph's metadata, from the file that was read to the file that is written.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tandem/ir/graph.hpp"

namespace tandem::onnx_io {

// By value; one name per dimension, empty where there is none.
using DimensionNames = std::map<std::string, std::vector<std::string>>;

// The key of Graph::metadata; never written to a file.
inline constexpr const char* kDimensionMetadata = "tandem.dimensions";

void keep_dimension_names(const DimensionNames& names, ir::Graph& graph);
// Nothing when the metadata has none, or is not what keep_dimension_names() wrote.
DimensionNames dimension_names(const ir::Graph& graph);

}  // namespace tandem::onnx_io
