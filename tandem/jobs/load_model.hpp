// SPDX-License-Identifier: Apache-2.0
// A model file of any format that Tandem reads, told apart by its content.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tandem/ir/graph.hpp"

namespace tandem::jobs {

struct AnyModel {
  ir::Graph graph;
  std::string format;  // "ONNX opset 17 (IR version 8)", "XIR quantized"
  std::string producer;
  std::vector<std::string> notices;
  std::vector<std::string> opaque_ops;         // "domain::type (node 'name'): reason"
  std::map<std::string, std::string> devices;  // of nodes that the file has placed: "DPU", "CPU", "USER"
  std::string content_hash;                    // of XIR files, whose bytes are not stable
  int64_t opset = 0, ir_version = 0;           // of ONNX files
  bool is_compiled = false;
};

// Errors as of onnx_io::load_model() and xir_io::load_model().
Result<AnyModel> load_any_model(const std::string& path);

// Writes the format that the name asks for: XIR for .xmodel, else ONNX.
Status save_any_model(const ir::Graph& graph, const std::string& path);
bool names_xir(const std::string& path);

}  // namespace tandem::jobs
