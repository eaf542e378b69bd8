// SPDX-License-Identifier: Apache-2.0
// From the parsed file to a graph in which quantization is still explicit.
#pragma once

#include <map>
#include <string>

#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/onnx_io/tensor_proto.hpp"

namespace onnx {
class ModelProto;
}

namespace tandem::onnx_io {

// Opset version per domain; "" is ONNX's own.
using OpsetMap = std::map<std::string, int64_t>;

// "ai.onnx" is another spelling of "".
std::string normal_domain(const std::string& domain);

// Precondition: versions are checked. Fills in the report's notices. May take parts of `model` out of it.
Result<ir::Graph> build_graph(onnx::ModelProto& model, ExternalData& external, const LoadOptions& options,
                              LoadReport& report);

}  // namespace tandem::onnx_io
