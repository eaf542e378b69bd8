// SPDX-License-Identifier: Apache-2.0
// Reading and writing by format.
#include "tandem/jobs/load_model.hpp"

#include "tandem/base/file.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/xir_io/xir_io.hpp"

namespace tandem::jobs {
namespace {

AnyModel from_xir(xir_io::LoadedModel loaded) {
  AnyModel model;
  xir_io::LoadReport& report = loaded.report;
  model.format = fmt::format("XIR {}", to_string(report.kind));
  model.producer = std::move(report.producer);
  model.notices = std::move(report.notices);
  model.opaque_ops = std::move(report.opaque_ops);
  model.devices = std::move(report.devices);
  model.content_hash = std::move(report.content_hash);
  model.is_compiled = report.kind == xir_io::FileKind::kCompiled;
  model.graph = std::move(loaded.graph);
  return model;
}

}  // namespace

bool names_xir(const std::string& path) { return path.ends_with(".xmodel"); }

Result<AnyModel> load_any_model(const std::string& path) {
  bool is_xir = false;
  {
    const MappedFile file = TANDEM_TRY(MappedFile::open(path));
    is_xir = xir_io::looks_like_xmodel(file.text());
  }
  // What is neither is explained by the reader that its name asks for.
  if (is_xir || names_xir(path)) return from_xir(TANDEM_TRY(xir_io::load_model(path)));
  onnx_io::LoadedModel loaded = TANDEM_TRY(onnx_io::load_model(path));
  AnyModel model;
  model.format = fmt::format("ONNX opset {} (IR version {})", loaded.report.opset, loaded.report.ir_version);
  model.producer = std::move(loaded.report.producer);
  model.notices = std::move(loaded.report.notices);
  model.opaque_ops = std::move(loaded.report.opaque_ops);
  model.opset = loaded.report.opset;
  model.ir_version = loaded.report.ir_version;
  model.graph = std::move(loaded.graph);
  return model;
}

Status save_any_model(const ir::Graph& graph, const std::string& path) {
  return names_xir(path) ? xir_io::save(graph, path) : onnx_io::save(graph, path);
}

}  // namespace tandem::jobs
