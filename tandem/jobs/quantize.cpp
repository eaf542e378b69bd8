// SPDX-License-Identifier: Apache-2.0
// Loading, calibrating, quantizing, writing.
#include "tandem/jobs/quantize.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "tandem/ir/cost.hpp"
#include "tandem/jobs/model_source.hpp"
#include "tandem/jobs/prepare_graph.hpp"
#include "tandem/jobs/quantize_on_images.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/partition/classifier.hpp"
#include "tandem/partition/extract.hpp"

namespace tandem::jobs {
namespace {

// Nodes that the features do not need: the classifier and what follows it.
Result<std::vector<std::string>> head_nodes(const ir::Graph& graph) {
  const partition::ClassifierCut cut = TANDEM_TRY(partition::find_classifier(graph));
  const ir::Graph backbone = TANDEM_TRY(partition::extract(graph, graph.inputs, {cut.features}));
  std::vector<std::string> names;
  for (const ir::NodeId id : graph.live_nodes()) {
    const std::string& name = graph.node(id).name;
    if (backbone.find_node(name) == ir::kNoNode) names.push_back(name);
  }
  return names;
}

int64_t constant_bytes(const ir::Graph& graph) {
  int64_t bytes = 0;
  for (const ir::Value& value : graph.values()) {
    if (value.is_constant()) bytes += static_cast<int64_t>(value.constant->size_bytes());
  }
  return bytes;
}

report::Table list_table(const std::string& caption, const std::vector<std::string>& items) {
  report::Table table{caption, {"what"}, {}};
  for (const std::string& item : items) table.rows.push_back({{report::Cell(item)}, false});
  return table;
}

}  // namespace

Result<data::Dataset> open_calibration(const std::string& path, int64_t limit, uint64_t seed,
                                       const JobHooks& hooks) {
  if (path.ends_with(".csv")) {
    data::DatasetOptions labelled;
    labelled.seed = seed;
    labelled.train_limit = limit;
    data::Datasets sets = TANDEM_TRY(data::open_datasets(path, labelled));
    for (const std::string& note : sets.notes) hooks.say(note);
    return std::move(sets.train);
  }
  std::error_code code;
  const std::filesystem::path train = std::filesystem::path(path) / "train";
  const bool has_train = std::filesystem::is_directory(train, code);
  const std::vector<std::string> paths = {has_train ? train.string() : path};
  data::Dataset plain = TANDEM_TRY(data::open_unlabelled(paths));
  if (plain.samples.empty()) return bad_input(fmt::format("'{}' holds no image", paths[0]));
  return data::limited(std::move(plain), limit, seed);
}

Result<QuantizeModelResult> quantize_model(const QuantizeModelOptions& options, const JobHooks& hooks) {
  const auto start = std::chrono::steady_clock::now();
  const ImageModel model = TANDEM_TRY(load_image_model(options.model, options.preprocess));
  for (const std::string& notice : model.notices) hooks.say(notice);
  if (is_quantized(model.graph)) {
    return unsupported(fmt::format("'{}' is quantized already", options.model))
        .hint("give the floating point model it was made from");
  }
  const data::Dataset dataset =
      TANDEM_TRY(open_calibration(options.calib, options.calib_images, options.seed, hooks));
  if (options.strict) TANDEM_TRY(data::refuse_skipped(dataset.skipped));
  const ir::Graph graph =
      TANDEM_TRY(simplified(model.graph, {.fuse_residual = false, .dump_dir = options.dump_dir}));
  QuantizeOnImagesOptions on_images;
  on_images.threads = options.threads;
  on_images.strict = options.strict;
  quant::QuantizeOptions& quantize = on_images.quantize;
  quantize.scheme = options.scheme;
  quantize.method = options.method;
  quantize.keep_float = {options.keep_float.begin(), options.keep_float.end()};
  if (options.keep_head) {
    const std::vector<std::string> head = TANDEM_TRY(head_nodes(graph));
    quantize.keep_float.insert(head.begin(), head.end());
  }
  QuantizedOnImages on = TANDEM_TRY(quantize_on_images(graph, model, dataset, on_images, hooks));
  quant::Quantized& made = on.made;
  made.graph.metadata[data::kPreprocessKey] = data::to_json(model.preprocess).dump();
  if (!options.output.empty()) TANDEM_TRY(onnx_io::save(made.graph, options.output));
  QuantizeModelResult result;
  result.report = std::move(made.report);
  result.images = on.images;
  result.skipped = dataset.skipped;
  result.skipped.insert(result.skipped.end(), on.skipped.begin(), on.skipped.end());
  result.weight_bytes_before = constant_bytes(graph);
  result.weight_bytes_after = constant_bytes(made.graph);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

Json to_json(const QuantizeModelResult& result) {
  Json values = Json::array();
  for (const quant::ValueReport& value : result.report.activations) {
    values.push(Json::object({{"value", value.value},
                              {"params", value.params.to_string()},
                              {"min", value.min},
                              {"max", value.max},
                              {"clipped", value.clipped_fraction}}));
  }
  return Json::object({{"calibration_images", result.images},
                       {"images_skipped", static_cast<int64_t>(result.skipped.size())},
                       {"quantized_nodes", result.report.quantized_nodes},
                       {"float_nodes", result.report.float_nodes},
                       {"float_reasons", Json(result.report.float_reasons)},
                       {"dead_channels", Json(result.report.dead_channels)},
                       {"constant_values", Json(result.report.constant_values)},
                       {"raised_scales", Json(result.report.raised_scales)},
                       {"saturated_biases", result.report.saturated_biases},
                       {"weight_bytes_before", result.weight_bytes_before},
                       {"weight_bytes_after", result.weight_bytes_after},
                       {"seconds", result.seconds},
                       {"activations", values}});
}

report::Document quantize_document(const QuantizeModelOptions& options, const QuantizeModelResult& result) {
  const quant::QuantizeReport& q = result.report;
  report::Document document;
  document.title = "Quantization";
  document.subtitle = options.model;
  report::KeyValues figures;
  figures.items = {
      {"nodes in integers", fmt::format("{}", q.quantized_nodes)},
      {"nodes in float", fmt::format("{}", q.float_nodes)},
      {"biases that saturate", fmt::format("{}", q.saturated_biases)},
      {"calibration images", fmt::format("{}", result.images)},
      {"weights", fmt::format("{:.2f} MiB", static_cast<double>(result.weight_bytes_after) / 1048576),
       fmt::format("before {:.2f} MiB", static_cast<double>(result.weight_bytes_before) / 1048576)}};
  report::Table table{"Activations", {"value", "stored as", "least", "greatest", "clipped %"}, {}};
  for (const quant::ValueReport& v : q.activations) {
    table.rows.push_back(
        {{report::Cell(v.value), report::Cell(v.params.to_string()),
          report::Cell(fmt::format("{:.5g}", v.min)), report::Cell(fmt::format("{:.5g}", v.max)),
          report::Cell(fmt::format("{:.4f}", 100 * v.clipped_fraction))},
         v.clipped_fraction > 0.01});
  }
  document.sections.push_back({"Result", {figures, table}});
  report::Section notes{"What to know", {}};
  const auto add = [&notes](const char* caption, const std::vector<std::string>& items) {
    if (!items.empty()) notes.blocks.push_back(list_table(caption, items));
  };
  add("Nodes that stay in float, and why", q.float_reasons);
  add("Dead channels", q.dead_channels);
  add("Values that were constant during calibration", q.constant_values);
  add("Weight scales raised so that the bias fits", q.raised_scales);
  if (!notes.blocks.empty()) document.sections.push_back(std::move(notes));
  return document;
}

}  // namespace tandem::jobs
