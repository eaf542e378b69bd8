// SPDX-License-Identifier: Apache-2.0
// Reading of models: the file's kind, its versions, the graph, folding, inference, verification.
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <limits>

#include "tandem/base/file.hpp"
#include "tandem/ir/verify.hpp"
#include "tandem/onnx_io/build_graph.hpp"
#include "tandem/onnx_io/file_kind.hpp"
#include "tandem/onnx_io/fold_quantization.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/onnx_io/tensor_proto.hpp"

namespace tandem::onnx_io {
namespace {

Status check_versions(const onnx::ModelProto& model, LoadReport& report) {
  report.ir_version = model.ir_version();
  report.producer = model.producer_name();
  if (!model.producer_version().empty()) report.producer += " " + model.producer_version();
  if (report.ir_version > kIrVersionMaxTried || report.ir_version < 1) {
    return bad_input(fmt::format("the file has IR version {}; versions 3 to {} are supported",
                                 report.ir_version, kIrVersionMax))
        .hint("export the model again with an older ONNX, or update Tandem");
  }
  if (report.ir_version > kIrVersionMax) {
    report.notices.push_back(fmt::format("IR version {} is newer than the newest that is known, {}",
                                         report.ir_version, kIrVersionMax));
  }
  bool found = false;
  for (const auto& import : model.opset_import()) {
    if (!normal_domain(import.domain()).empty()) continue;
    report.opset = import.version();
    found = true;
  }
  if (!found && report.ir_version < 3) report.opset = 1;  // the first files did not say
  if (!found && report.ir_version >= 3) {
    for (const auto& node : model.graph().node()) {
      if (normal_domain(node.domain()).empty())
        return bad_input("the file does not say which opset of ONNX it uses");
    }
    report.opset = kOpsetMax;
    return {};
  }
  if (report.opset < 1 || report.opset > kOpsetMaxTried) {
    return bad_input(fmt::format("the file has opset {}; opsets {} to {} are supported", report.opset,
                                 kOpsetMin, kOpsetMax))
        .hint("convert the model to a supported opset (onnx.version_converter)");
  }
  if (report.opset < kOpsetMin) {
    report.notices.push_back(
        fmt::format("opset {} is older than the oldest that is promised, {}; operators that changed before "
                    "it are refused",
                    report.opset, kOpsetMin));
  }
  if (report.opset > kOpsetMax) {
    report.notices.push_back(fmt::format(
        "opset {} is newer than the newest that is known, {}; operators are read by their newest known form",
        report.opset, kOpsetMax));
  }
  return {};
}

Result<LoadedModel> load_parsed(onnx::ModelProto& model, const std::string& base_dir,
                                const LoadOptions& options) {
  LoadedModel loaded;
  TANDEM_TRY(check_versions(model, loaded.report));
  ExternalData external(base_dir);
  loaded.graph = TANDEM_TRY(build_graph(model, external, options, loaded.report));
  if (options.fold_quantization) fold_quantization(loaded.graph, loaded.report);
  TANDEM_TRY(loaded.graph.compact());
  TANDEM_TRY(ir::infer_shapes(loaded.graph));
  TANDEM_TRY(ir::verify(loaded.graph));
  return loaded;
}

}  // namespace

Result<LoadedModel> load_model_bytes(std::string_view bytes, const std::string& base_dir,
                                     const LoadOptions& options) {
  TANDEM_TRY(check_file_kind(bytes));
  onnx::ModelProto model;
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return bad_input(fmt::format("the file has {} bytes; protobuf ends at 2 GiB", bytes.size()))
        .hint("store the weights as external data");
  }
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return bad_input("the file is no valid ONNX model")
        .because("its outer structure is protobuf, but a message inside is malformed");
  }
  if (!model.has_graph())
    return bad_input("the file is protobuf, but no ONNX model").because("it has no graph");
  return load_parsed(model, base_dir, options);
}

Result<LoadedModel> load_model(const std::string& path, const LoadOptions& options) {
  const MappedFile file = TANDEM_TRY(MappedFile::open(path));
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  Result<LoadedModel> loaded = load_model_bytes(file.text(), folder, options);
  if (loaded.ok()) return loaded;
  Error error = std::move(loaded).error();
  if (error.code() == ErrorCode::kBadInput && error.hint_text().empty())
    error.hint("the file is damaged or wrongly made: copy it again, or export the model again");
  return std::move(error.context(fmt::format("cannot read model '{}'", path)));
}

Result<ir::Graph> load(const std::string& path, const LoadOptions& options) {
  LoadedModel loaded = TANDEM_TRY(load_model(path, options));
  return std::move(loaded.graph);
}

Result<ir::Graph> load_bytes(std::string_view bytes, const std::string& base_dir,
                             const LoadOptions& options) {
  LoadedModel loaded = TANDEM_TRY(load_model_bytes(bytes, base_dir, options));
  return std::move(loaded.graph);
}

Result<Tensor> tensor_from_proto_file(const std::string& path) {
  const std::string bytes = TANDEM_TRY(read_file(path, uint64_t{1} << 30));
  onnx::TensorProto proto;
  const auto context = [&](Error error) {
    return std::move(error).context("cannot read tensor '" + path + "'");
  };
  // A file holds one message without saying which; sequences and optionals do not parse as tensors or have no
  // type.
  if (!proto.ParseFromString(bytes) || proto.data_type() == 0) {
    return context(unsupported("it holds no tensor (a sequence, an optional, or no protobuf)"));
  }
  ExternalData external(std::filesystem::path(path).parent_path().string());
  auto tensor = tensor_from_proto(proto, external);
  if (!tensor.ok()) return context(std::move(tensor).error());
  return tensor;
}

}  // namespace tandem::onnx_io
