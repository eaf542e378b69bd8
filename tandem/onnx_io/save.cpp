// SPDX-License-Identifier: Apache-2.0
// Writing of models: ops through their exporters, values with QuantParams as quantize/dequantize pairs.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tandem/base/file.hpp"
#include "tandem/base/json.hpp"
#include "tandem/onnx_io/dimension_names.hpp"
#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/fold_quantization.hpp"
#include "tandem/onnx_io/import.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/onnx_io/tensor_proto.hpp"

namespace tandem::onnx_io {
namespace {

constexpr int64_t kOldestWritten = 13;  // below, axes and the like were attributes of another form
constexpr int64_t kDefaultOpset = 17;

// The IR version that came with each opset (onnx/docs/Versioning.md).
int64_t ir_version_for(int64_t opset) {
  if (opset >= 25) return 13;
  if (opset >= 24) return 12;
  if (opset >= 23) return 11;
  if (opset >= 21) return 10;
  if (opset >= 19) return 9;
  if (opset >= 15) return 8;
  return 7;
}

// `symbols` has the names of dynamic dimensions, by value.
void write_value_info(const ir::Value& value, const std::string& name, const DimensionNames& symbols,
                      onnx::ValueInfoProto& info) {
  info.set_name(name);
  const auto known = symbols.find(value.name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int32_t>(dtype_to_onnx(value.dtype)));
  if (!value.shape) return;
  auto& shape = *tensor.mutable_shape();
  for (size_t i = 0; i < value.shape->rank(); ++i) {
    auto& dim = *shape.add_dim();
    if ((*value.shape)[i] != kDynamic)
      dim.set_dim_value((*value.shape)[i]);
    else if (known != symbols.end() && i < known->second.size() && !known->second[i].empty())
      dim.set_dim_param(known->second[i]);
    else if (i == 0)
      dim.set_dim_param("N");
  }
}

// Opaque nodes mean what they meant under the opset they were read under.
int64_t opset_of_opaques(const ir::Graph& graph) {
  int64_t opset = 0;
  for (ir::NodeId id : graph.live_nodes()) {
    const auto* opaque = std::get_if<ir::Opaque>(&graph.node(id).op);
    if (opaque != nullptr && opaque->domain.empty()) opset = std::max(opset, opaque->version);
  }
  return opset;
}

Status write_graph(Export& out) {
  const ir::Graph& graph = out.graph();
  for (ir::ValueId id : graph.inputs) TANDEM_TRY(out.write_quantization(id));
  const std::vector<ir::NodeId> order = TANDEM_TRY(ir::topological_order(graph));
  for (ir::NodeId id : order) {
    TANDEM_TRY(out.write_node(id).context(
        fmt::format("writing node '{}' ({})", graph.node(id).name, ir::op_name(graph.node(id).op))));
    for (ir::ValueId output : graph.node(id).outputs) {
      if (output != ir::kNoValue) TANDEM_TRY(out.write_quantization(output));
    }
  }
  return {};
}

void set_opsets(const Export& out, const std::vector<FileNode>& nodes, onnx::ModelProto& model) {
  std::map<std::string, int64_t> versions{{"", out.opset()}};
  for (const FileNode& node : nodes) {
    if (!node.domain.empty()) versions.emplace(node.domain, 1);
  }
  for (ir::NodeId id : out.graph().live_nodes()) {
    const auto* opaque = std::get_if<ir::Opaque>(&out.graph().node(id).op);
    if (opaque != nullptr && !opaque->domain.empty()) {
      versions[opaque->domain] = std::max({versions[opaque->domain], opaque->version, int64_t{1}});
    }
  }
  for (const auto& [domain, version] : versions) {
    auto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
}

void write_outputs(Export& out, const DimensionNames& symbols, onnx::GraphProto& file) {
  const ir::Graph& graph = out.graph();
  std::set<ir::ValueId> written;
  for (ir::ValueId id : graph.outputs) {
    const ir::Value& value = graph.value(id);
    if (value.is_constant()) out.value_read(id);  // writes it
    std::string name = value.name;
    if (!written.insert(id).second) {
      // A value that is an output twice: ONNX wants two names.
      name = out.fresh(value.name + "_again");
      out.nodes().push_back({name, "", "Identity", {value.name}, {name}, {}});
    }
    write_value_info(value, name, symbols, *file.add_output());
  }
}

// What ONNX cannot say of quantization; fold_quantization.cpp reads it back.
std::string quant_metadata(const ir::Graph& graph) {
  Json pow2 = Json::array(), inputs = Json::array(), bits = Json::object();
  for (const ir::Value& value : graph.values()) {
    if (!value.quant) continue;
    if (value.quant->scheme == Scheme::kPow2) pow2.push(value.name);
    if (value.quant->bits != static_cast<int>(8 * size_of(value.quant->dtype)))
      bits.set(value.name, value.quant->bits);
  }
  for (ir::ValueId id : graph.inputs) {
    if (graph.value(id).quant) inputs.push(graph.value(id).name);
  }
  if (pow2.size() + bits.size() + inputs.size() == 0) return "";
  Json all = Json::object();
  if (pow2.size() > 0) all.set("pow2", std::move(pow2));
  if (bits.size() > 0) all.set("bits", std::move(bits));
  if (inputs.size() > 0) all.set("inputs", std::move(inputs));
  return all.dump();
}

// Where constants go: into the model, or to a file beside it (ONNX's external data).
struct Weights {
  AtomicFile* file = nullptr;  // null: into the model
  std::string location;        // of the file, relative to the model
  uint64_t offset = 0;
};

constexpr uint64_t kExternalAlignment = 4096;  // so that readers can map each tensor alone
constexpr size_t kExternalBytesMin = 1024;     // smaller ones (axes, scales) stay where a reader sees them

Status write_weights(const std::string& name, const Tensor& tensor, Weights& weights,
                     onnx::TensorProto& proto) {
  if (weights.file == nullptr || tensor.size_bytes() < kExternalBytesMin) {
    tensor_to_proto(tensor, name, proto);
    return {};
  }
  const uint64_t begin = (weights.offset + kExternalAlignment - 1) / kExternalAlignment * kExternalAlignment;
  TANDEM_TRY(weights.file->write(std::string(begin - weights.offset, '\0')));
  TANDEM_TRY(weights.file->write({reinterpret_cast<const char*>(tensor.data()), tensor.size_bytes()}));
  weights.offset = begin + tensor.size_bytes();
  external_tensor_to_proto(tensor, name, {weights.location, begin}, proto);
  return {};
}

Result<std::string> to_file(Export& out, const SaveOptions& options, Weights& weights) {
  const ir::Graph& graph = out.graph();
  const DimensionNames symbols = dimension_names(graph);
  onnx::ModelProto model;
  model.set_ir_version(ir_version_for(out.opset()));
  model.set_producer_name(options.producer);
  set_opsets(out, out.nodes(), model);
  std::map<std::string, std::string> metadata = graph.metadata;
  if (std::string quant = quant_metadata(graph); !quant.empty()) metadata[kQuantMetadata] = std::move(quant);
  metadata.erase(kDimensionMetadata);  // said by the shapes
  for (const auto& [key, value] : metadata) {
    auto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  auto& file = *model.mutable_graph();
  file.set_name(graph.name.empty() ? "graph" : graph.name);
  for (ir::ValueId id : graph.inputs)
    write_value_info(graph.value(id), graph.value(id).name, symbols, *file.add_input());
  write_outputs(out, symbols, file);
  for (FileNode& node : out.nodes()) {
    auto& proto = *file.add_node();
    proto.set_name(node.name);
    proto.set_op_type(node.op_type);
    proto.set_domain(node.domain);
    for (std::string& name : node.inputs) proto.add_input(std::move(name));
    for (std::string& name : node.outputs) proto.add_output(std::move(name));
    for (const auto& [name, value] : node.attributes)
      TANDEM_TRY(attribute_to_proto(name, value, *proto.add_attribute()));
  }
  for (const auto& [name, tensor] : out.initializers())
    TANDEM_TRY(write_weights(name, *tensor, weights, *file.add_initializer()));
  for (ir::NodeId id : graph.live_nodes()) {
    if (!std::holds_alternative<ir::Opaque>(graph.node(id).op)) continue;
    for (ir::ValueId output : graph.node(id).outputs) {
      // Without a shape a float may be no more than a guess (build_graph.cpp), which must not become a
      // statement.
      if (output == ir::kNoValue) continue;
      const bool guess = graph.value(output).dtype == DType::kF32 && !graph.value(output).shape;
      if (!guess && !graph.is_output(output))
        write_value_info(graph.value(output), graph.value(output).name, symbols, *file.add_value_info());
    }
  }
  if (model.ByteSizeLong() > size_t{INT32_MAX}) {
    return unsupported(fmt::format("the model needs {} bytes; a file without external data ends at 2 GiB",
                                   model.ByteSizeLong()));
  }
  std::string bytes;
  if (!model.SerializeToString(&bytes)) return internal_error("protobuf cannot write the model");
  return bytes;
}

uint64_t constant_bytes(const ir::Graph& graph) {
  uint64_t bytes = 0;
  for (const ir::Value& value : graph.values()) {
    if (value.is_constant()) bytes += value.constant->size_bytes();
  }
  return bytes;
}

Result<std::string> write_model(const ir::Graph& graph, const SaveOptions& options, Weights& weights) {
  if (options.opset != 0 && (options.opset < kOldestWritten || options.opset > kOpsetMax)) {
    return usage_error(
        fmt::format("cannot write opset {}; {} to {} are written", options.opset, kOldestWritten, kOpsetMax));
  }
  int64_t opset = options.opset != 0 ? options.opset
                                     : std::clamp(std::max(kDefaultOpset, opset_of_opaques(graph)),
                                                  kOldestWritten, kOpsetMax);
  // A pass per raise; what an op needs can only grow with the opset, so this ends at the newest.
  while (true) {
    Export out(graph, opset);
    TANDEM_TRY(write_graph(out));
    if (out.required() <= opset) return to_file(out, options, weights);
    if (options.opset != 0) {
      return unsupported(fmt::format("opset {} cannot say {}; it needs opset {}", opset, out.required_why(),
                                     out.required()));
    }
    opset = out.required();
  }
}

// The weights first, so that a model never stands beside weights that are not its own.
Status save_with_external_data(const ir::Graph& graph, const std::string& path, const SaveOptions& options) {
  const std::string weights_path = path + ".data";
  AtomicFile file = TANDEM_TRY(AtomicFile::create(weights_path));
  Weights weights{.file = &file, .location = std::filesystem::path(weights_path).filename().string()};
  const std::string bytes = TANDEM_TRY(write_model(graph, options, weights));
  AtomicFile model = TANDEM_TRY(AtomicFile::create(path));
  TANDEM_TRY(model.write(bytes));
  TANDEM_TRY(file.commit());
  Status committed = model.commit();
  std::error_code ignored;
  if (!committed.ok()) std::filesystem::remove(weights_path, ignored);
  return committed;
}

}  // namespace

Result<std::string> to_bytes(const ir::Graph& graph, const SaveOptions& options) {
  Weights weights;
  return write_model(graph, options, weights);
}

Status save(const ir::Graph& graph, const std::string& path, const SaveOptions& options) {
  const auto context = [&](Error error) {
    return std::move(error).context(fmt::format("cannot write model '{}'", path));
  };
  if (constant_bytes(graph) > options.inline_bytes_max) {
    Status saved = save_with_external_data(graph, path, options);
    if (!saved.ok()) return context(std::move(saved).error());
    return {};
  }
  auto bytes = to_bytes(graph, options);
  if (!bytes.ok()) return context(std::move(bytes).error());
  return write_file(path, *bytes);
}

}  // namespace tandem::onnx_io
