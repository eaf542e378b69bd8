// SPDX-License-Identifier: Apache-2.0
// ONNX files to ir::Graph and back. Quantize/dequantize pairs become QuantParams on the way in and pairs on
// the way out. Nothing in a file can crash the process; every refusal says what, where and what was expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/ir/graph.hpp"

namespace tandem::onnx_io {

// Opsets: older ones are read with a notice, as far as their operators are the same; the newest whose
// operators are known; up to the last one with a notice, the operators by their newest known form.
inline constexpr int64_t kOpsetMin = 6;
inline constexpr int64_t kOpsetMax = 28;
inline constexpr int64_t kOpsetMaxTried = 40;
inline constexpr int64_t kIrVersionMax = 13;
inline constexpr int64_t kIrVersionMaxTried = 20;

// What the file said of itself, and what its user should know. Notices are sentences for a person.
struct LoadReport {
  int64_t ir_version = 0;
  int64_t opset = 0;
  std::string producer;
  std::vector<std::string> notices;
  // "domain::OpType (node 'name'): reason", one per node that became Opaque.
  std::vector<std::string> opaque_ops;
};

struct LoadOptions {
  bool fold_quantization = true;  // off: Q/DQ stay explicit nodes
  // IR version >= 4 lets a caller override initializers that are also inputs. They become constants (with a
  // notice) unless this is set: then they stay graph inputs.
  bool keep_overridable_inputs = false;
};

struct LoadedModel {
  ir::Graph graph;
  LoadReport report;
};

// The whole story: graph and report. The graph is inferred and verified.
Result<LoadedModel> load_model(const std::string& path, const LoadOptions& options = {});
// `base_dir` is where external data may lie; empty: external data is refused.
Result<LoadedModel> load_model_bytes(std::string_view bytes, const std::string& base_dir,
                                     const LoadOptions& options = {});

// Only the graph.
Result<ir::Graph> load(const std::string& path, const LoadOptions& options = {});
Result<ir::Graph> load_bytes(std::string_view bytes, const std::string& base_dir = "",
                             const LoadOptions& options = {});

struct SaveOptions {
  // 0: the oldest from 17 on that can say everything in the graph. Else exactly this one, or an error that
  // names the op.
  int64_t opset = 0;
  std::string producer = "tandem";
  // When the constants take more bytes than this, save() writes them as external data: into PATH.data, a file
  // of its own beside the model. 0: always. A file without external data ends at 2 GiB, by protobuf.
  uint64_t inline_bytes_max = (uint64_t{1} << 31) - (uint64_t{1} << 26);
};

// Precondition: the graph verifies. Error kUnsupported when ONNX cannot say something in it, or when it needs
// external data, for which bytes have no place.
Result<std::string> to_bytes(const ir::Graph& graph, const SaveOptions& options = {});
// Appears under its name only when complete.
Status save(const ir::Graph& graph, const std::string& path, const SaveOptions& options = {});

// One tensor as the ONNX backend tests store it (input_0.pb). Error kUnsupported for strings, sequences and
// optionals.
Result<Tensor> tensor_from_proto_file(const std::string& path);

}  // namespace tandem::onnx_io
