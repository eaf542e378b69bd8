// SPDX-License-Identifier: Apache-2.0
// XIR models (.xmodel of Vitis AI) to ir::Graph and back. `fix` ops become QuantParams on values on the way
// in and `fix` ops on the way out. docs/xir.md says what is kept. Nothing in a file can crash the process.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/ir/graph.hpp"
#include "tandem/xir_io/xmodel.hpp"

namespace tandem::xir_io {

// Metadata keys of graphs that come from XIR: attributes that the ops of the IR have no place for, by node,
// and the subgraphs with their devices.
inline constexpr const char* kAttributesKey = "tandem.xir.attributes";
inline constexpr const char* kSubgraphsKey = "tandem.xir.subgraphs";

enum class FileKind : uint8_t {
  kFloat,      // no fix op
  kQuantized,  // what the quantizer hands to the compiler
  kCompiled,   // what the compiler made: fixed-point ops in subgraphs of devices
};
std::string_view to_string(FileKind kind);

struct LoadReport {
  FileKind kind = FileKind::kFloat;
  std::string producer;              // "Vitis AI compiler xcompiler.2.5.0 for DPUCZDX8G_ISA1_B4096", or less
  std::string content_hash;          // of the file's content, whatever the order it was written in
  std::vector<std::string> notices;  // sentences for a person
  std::vector<std::string> opaque_ops;         // "xir::type (node 'name'): reason"
  std::map<std::string, std::string> devices;  // of nodes, where the file has placed them
};

struct LoadedModel {
  ir::Graph graph;
  LoadReport report;
};

// The graph is inferred and verified. Inputs and outputs have the file's layout (NHWC, mostly), inside it is
// NCHW.
Result<LoadedModel> load_model(const std::string& path);
Result<LoadedModel> load_model_bytes(std::string_view bytes);
Result<LoadedModel> import_model(const XModel& model);

// Precondition: the graph verifies. Error kUnsupported names what XIR cannot say: dynamic shapes other than
// the batch (which becomes 1), params that are not pow2.
Result<XModel> export_model(const ir::Graph& graph);
Result<std::string> to_bytes(const ir::Graph& graph);
// Appears under its name only when complete.
Status save(const ir::Graph& graph, const std::string& path);

}  // namespace tandem::xir_io
