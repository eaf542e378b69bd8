// SPDX-License-Identifier: Apache-2.0
// Cutting, calibrating and quantizing the frozen part.
#include "tandem/jobs/frozen_backbone.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "tandem/base/file.hpp"
#include "tandem/jobs/own_classifier.hpp"
#include "tandem/jobs/quantize_on_images.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/partition/classifier.hpp"
#include "tandem/partition/extract.hpp"
#include "tandem/passes/pass_runner.hpp"

namespace tandem::jobs {
namespace {

// Names of the nodes that `graph` has and `part` does not.
std::vector<std::string> nodes_outside(const ir::Graph& graph, const ir::Graph& part) {
  std::vector<std::string> names;
  for (const ir::NodeId id : graph.live_nodes()) {
    const std::string& name = graph.node(id).name;
    if (part.find_node(name) == ir::kNoNode) names.push_back(name);
  }
  return names;
}

Json report_of(const quant::QuantizeReport& report, int64_t images) {
  Json values = Json::array();
  for (const quant::ValueReport& value : report.activations) {
    values.push(Json::object({{"value", value.value},
                              {"params", value.params.to_string()},
                              {"min", value.min},
                              {"max", value.max},
                              {"clipped", value.clipped_fraction}}));
  }
  Json notes = Json::array();
  const auto list = [&](const char* what, const std::vector<std::string>& items) {
    for (const std::string& item : items) notes.push(fmt::format("{}: {}", what, item));
  };
  list("kept in float", report.float_reasons);
  list("dead channel", report.dead_channels);
  list("constant during calibration", report.constant_values);
  list("weight scale raised so that the bias fits", report.raised_scales);
  if (report.saturated_biases > 0) notes.push(fmt::format("{} biases saturated", report.saturated_biases));
  return Json::object({{"calibration_images", images},
                       {"quantized_nodes", report.quantized_nodes},
                       {"float_nodes", report.float_nodes},
                       {"saturated_biases", report.saturated_biases},
                       {"values", values},
                       {"notes", notes}});
}

std::string report_path(const std::string& file) { return file + ".json"; }

// Nothing when there is none, or of another key, or it cannot be read: it is then made again.
std::optional<QuantizedBackbone> find_quantized(const QuantizeBackboneOptions& options) {
  std::error_code code;
  if (options.file.empty() || !std::filesystem::exists(options.file, code)) return std::nullopt;
  auto graph = onnx_io::load(options.file);
  const auto text = read_file(report_path(options.file));
  if (!graph.ok() || !text.ok()) return std::nullopt;
  auto report = Json::parse(*text);
  const auto key = graph->metadata.find(kRunKey);
  if (!report.ok() || key == graph->metadata.end() || key->second != options.key) return std::nullopt;
  graph->metadata.erase(kRunKey);
  return QuantizedBackbone{std::move(graph).value(), std::move(report).value(), true};
}

}  // namespace

Result<FloatBackbone> cut_backbone(const ir::Graph& model, const std::string& features,
                                   bool keep_classifier) {
  ir::Graph simple = model;
  TANDEM_TRY(passes::run(simple, passes::simplify_passes()));
  const partition::ClassifierCut cut = TANDEM_TRY(partition::find_classifier(simple, features));
  FloatBackbone backbone;
  backbone.features = simple.value(cut.features).name;
  backbone.classifier = cut.classifier;
  backbone.class_count = cut.class_count;
  backbone.own_head = own_classifier(simple, cut.classifier);
  ir::Graph part = TANDEM_TRY(partition::extract(simple, simple.inputs, {cut.features}));
  TANDEM_TRY(part.compact());
  TANDEM_TRY(ir::infer_shapes(part));
  if (keep_classifier) {
    if (simple.outputs.size() != 1) {
      return unsupported(
          fmt::format("the model has {} outputs, a classifier has one", simple.outputs.size()));
    }
    backbone.float_nodes = nodes_outside(simple, part);
    backbone.graph = std::move(simple);
    const auto& shape = backbone.graph.value(backbone.graph.outputs[0]).shape;
    if (!shape || shape->rank() < 2 || (*shape)[1] < 1)
      return unsupported("the model's output is no list of scores");
    backbone.class_count = backbone.feature_count = (*shape)[1];
  } else {
    backbone.graph = std::move(part);
    backbone.feature_count = cut.feature_count;
  }
  return backbone;
}

Result<QuantizedBackbone> quantize_backbone(const FloatBackbone& backbone, const ImageModel& model,
                                            const data::Dataset& calibration,
                                            const QuantizeBackboneOptions& options, const JobHooks& hooks) {
  if (auto found = find_quantized(options)) return std::move(*found);
  QuantizeOnImagesOptions on_images;
  on_images.threads = options.threads;
  on_images.strict = options.strict;
  on_images.quantize.scheme = options.scheme;
  on_images.quantize.method = options.method;
  on_images.quantize.keep_float.insert(backbone.float_nodes.begin(), backbone.float_nodes.end());
  QuantizedOnImages on = TANDEM_TRY(quantize_on_images(backbone.graph, model, calibration, on_images, hooks));
  quant::Quantized& made = on.made;
  made.graph.metadata[kRunKey] = options.key;
  const std::string bytes =
      TANDEM_TRY(onnx_io::to_bytes(made.graph).context("writing the quantized backbone"));
  const Json report = report_of(made.report, on.images);
  TANDEM_TRY(write_file(report_path(options.file), report.dump(1) + "\n"));
  TANDEM_TRY(write_file(options.file, bytes));
  QuantizedBackbone result;
  result.graph = TANDEM_TRY(onnx_io::load_bytes(bytes).context("reading the quantized backbone back"));
  result.graph.metadata.erase(kRunKey);
  result.report = report;
  return result;
}

Result<ir::Graph> runnable_features(const ir::Graph& backbone, Scheme scheme) {
  ir::Graph graph = TANDEM_TRY(train::with_flat_features(backbone));
  // In a file, activations are nodes of their own again.
  TANDEM_TRY(passes::run(graph, passes::simplify_passes()));
  if (scheme == Scheme::kAffine) TANDEM_TRY(passes::run(graph, passes::affine_passes()));
  return graph;
}

}  // namespace tandem::jobs
