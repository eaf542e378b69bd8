// SPDX-License-Identifier: Apache-2.0
// Placement comes from those who decide it: the executor for a quantized model, the quantizer (fed with one
// random input) for one that is not quantized yet.
#include "tandem/jobs/inspect.hpp"

#include <map>
#include <set>

#include "tandem/base/rng.hpp"
#include "tandem/exec/executable.hpp"
#include "tandem/ir/cost.hpp"
#include "tandem/ir/text.hpp"
#include "tandem/jobs/forward.hpp"
#include "tandem/jobs/prepare_graph.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/quant/quantize.hpp"

namespace tandem::jobs {
namespace {

std::string shape_text(const std::optional<Shape>& shape) { return shape ? shape->to_string() : "?"; }

ValueInfo value_info(const ir::Graph& graph, ir::ValueId id) {
  const ir::Value& value = graph.value(id);
  ValueInfo info{value.name, std::string(to_string(value.storage())), shape_text(value.shape), "", ""};
  if (value.quant) info.quant = value.quant->to_string();
  if (value.is_constant())
    info.producer = "constant";
  else if (value.producer == ir::kNoNode)
    info.producer = "input";
  else
    info.producer = graph.node(value.producer).name;
  return info;
}

int64_t parameters_of(const ir::Graph& graph, const ir::Node& node) {
  int64_t count = 0;
  for (const ir::ValueId id : node.inputs) {
    if (id != ir::kNoValue && graph.value(id).is_constant() && is_float(graph.value(id).dtype)) {
      count += graph.value(id).constant->elements();
    }
  }
  return count;
}

bool makes_integers(const ir::Graph& graph, const ir::Node& node) {
  for (const ir::ValueId id : node.outputs) {
    if (id != ir::kNoValue && graph.value(id).quant) return true;
  }
  return false;
}

bool reads_integers(const ir::Graph& graph, const ir::Node& node) {
  for (const ir::ValueId id : node.inputs) {
    if (id != ir::kNoValue && !graph.value(id).is_constant() && graph.value(id).quant) return true;
  }
  return false;
}

// "Foo (node 'n'): why" -> "why".
std::string opaque_reason(const std::vector<std::string>& opaque, const std::string& node) {
  const std::string mark = fmt::format("(node '{}'): ", node);
  for (const std::string& text : opaque) {
    if (const size_t at = text.find(mark); at != std::string::npos) return text.substr(at + mark.size());
  }
  return "not known here";
}

// A graph that is executed as one: the model, or a part of its plan.
struct Piece {
  std::string part, device;
  ir::Graph graph;
  size_t first_node = 0;  // of its nodes in the result
};

bool converts(const ir::Node& node) {
  return std::holds_alternative<ir::Requantize>(node.op) ||
         std::holds_alternative<ir::QuantizeLinear>(node.op) ||
         std::holds_alternative<ir::DequantizeLinear>(node.op);
}

std::string float_reason(const exec::NodeReport& report, const Piece& piece) {
  if (!report.fallback_reason.empty()) return report.fallback_reason;
  return piece.device == "host" ? "the plan gives it to the host" : "what it reads is not quantized";
}

// Where the nodes run: what the executor reports.
Status place_by_executor(const Piece& piece, InspectResult& result) {
  const exec::Executable executable = TANDEM_TRY(exec::Executable::compile(piece.graph));
  std::map<std::string, NodeInfo*, std::less<>> places;
  for (size_t i = piece.first_node; i < result.nodes.size(); ++i)
    places.emplace(result.nodes[i].name, &result.nodes[i]);
  for (const exec::NodeReport& report : executable.report()) {
    const auto found = places.find(report.name);
    if (found == places.end()) continue;
    NodeInfo& info = *found->second;
    info.implementation = report.implementation;
    info.reason = report.fallback_reason;
    const bool nothing = report.implementation == "view" || report.implementation == "unused" ||
                         report.implementation == "constant";
    if (nothing) {
      info.placement = Placement::kNothing;
    } else if (converts(executable.graph().node(report.node))) {
      info.placement = Placement::kConvert;
    } else if (report.in_floats) {
      info.placement = Placement::kFloat;
      info.reason = float_reason(report, piece);
    } else {
      info.placement = Placement::kInt8;
    }
  }
  return {};
}

// Where the quantizer would put the nodes. Its choice hangs on the structure alone, so one random input will
// do.
Status place_by_quantizer(const ir::Graph& graph, InspectResult& result) {
  if (graph.inputs.size() != 1) return unsupported("models with several inputs are not quantized");
  const ir::Graph bound = TANDEM_TRY(ir::bind_batch(graph, 1));
  const ir::Value& input = bound.value(bound.inputs[0]);
  if (input.dtype != DType::kF32 || !input.shape || !input.shape->is_static()) {
    return unsupported(fmt::format("the input '{}' is {} {}", input.name, to_string(input.dtype),
                                   shape_text(input.shape)))
        .hint("give the height and width with --size");
  }
  bool fed = false;
  const auto once = [&]() -> Result<std::optional<Tensor>> {
    if (fed) return std::optional<Tensor>();
    fed = true;
    Rng rng(1);
    std::vector<Tensor> inputs = TANDEM_TRY(random_inputs(bound, rng));
    return std::optional<Tensor>(std::move(inputs[0]));
  };
  const quant::Calibration calibration = TANDEM_TRY(quant::calibrate(bound, once));
  const quant::Quantized made = TANDEM_TRY(quant::quantize(bound, calibration, {}));
  std::map<std::string, std::string> reasons;
  for (const std::string& text : made.report.float_reasons) {
    const size_t colon = text.rfind(": ");
    const size_t open = text.rfind(" (", colon);
    if (colon != std::string::npos && open != std::string::npos)
      reasons[text.substr(0, open)] = text.substr(colon + 2);
  }
  for (NodeInfo& info : result.nodes) {
    const ir::NodeId id = made.graph.find_node(info.name);
    if (id == ir::kNoNode) continue;
    const ir::Node& node = made.graph.node(id);
    const auto reason = reasons.find(info.name);
    const bool in_integers =
        reason == reasons.end() && (makes_integers(made.graph, node) || reads_integers(made.graph, node));
    info.placement = in_integers ? Placement::kInt8 : Placement::kFloat;
    if (reason != reasons.end()) info.reason = reason->second;
  }
  return {};
}

void list_nodes(Piece& piece, InspectResult& result) {
  const ir::Graph& graph = piece.graph;
  piece.first_node = result.nodes.size();
  for (const ir::NodeId id : graph.live_nodes()) {
    const ir::Node& node = graph.node(id);
    NodeInfo info;
    info.name = node.name;
    info.part = piece.part;
    info.device = piece.device;
    info.op = ir::describe(node.op);
    for (const ir::ValueId out : node.outputs) {
      if (out == ir::kNoValue) continue;
      info.shape = shape_text(graph.value(out).shape);
      break;
    }
    info.macs = ir::cost_of(graph, id).macs;
    info.parameters = parameters_of(graph, node);
    const bool integers = makes_integers(graph, node) || reads_integers(graph, node);
    info.placement = integers ? Placement::kInt8 : Placement::kFloat;
    if (std::holds_alternative<ir::Opaque>(node.op)) {
      info.placement = Placement::kMissing;
      info.reason = opaque_reason(result.opaque, node.name);
    }
    result.macs += info.macs;
    result.nodes.push_back(std::move(info));
  }
}

}  // namespace

std::string_view to_string(Placement placement) {
  switch (placement) {
    case Placement::kInt8: return "int8";
    case Placement::kFloat: return "f32";
    case Placement::kConvert: return "convert";
    case Placement::kNothing: return "-";
    case Placement::kMissing: return "missing";
  }
  return "?";
}

namespace {

// What the file says, before anything is simplified.
Result<ir::Graph> read_model(const InspectOptions& options, const std::string& path, InspectResult& result) {
  onnx_io::LoadedModel loaded = TANDEM_TRY(onnx_io::load_model(path));
  result.producer = loaded.report.producer;
  result.opset = loaded.report.opset;
  result.ir_version = loaded.report.ir_version;
  result.notices = loaded.report.notices;
  result.opaque = loaded.report.opaque_ops;
  ir::Graph graph = std::move(loaded.graph);
  TANDEM_TRY(set_open_sizes(graph, options.size));
  for (const ir::ValueId id : graph.inputs) result.inputs.push_back(value_info(graph, id));
  for (const ir::ValueId id : graph.outputs) result.outputs.push_back(value_info(graph, id));
  const auto own = graph.metadata.find(data::kPreprocessKey);
  if (own != graph.metadata.end()) {
    Result<data::Preprocess> preprocess = data::parse_preprocess(own->second);
    if (preprocess.ok())
      result.preprocess = std::move(preprocess).value();
    else
      result.notices.push_back(preprocess.error().what());
  }
  Result<std::vector<std::string>> labels = labels_of(graph);
  if (labels.ok())
    result.labels = std::move(labels).value();
  else
    result.notices.push_back(labels.error().what());
  return graph;
}

// The graphs as they are executed, or as the file has them.
Result<std::vector<Piece>> pieces_of(ir::Graph graph, const ModelPath& source,
                                     const InspectOptions& options) {
  std::vector<Piece> pieces;
  if (!options.simplify) {
    pieces.push_back({"", "", std::move(graph)});
    return pieces;
  }
  if (!source.plan) {
    ir::Graph whole = TANDEM_TRY(graph_for(Engine::kInt8, std::move(graph), options.dump_dir));
    pieces.push_back({"", "int8", std::move(whole)});
    return pieces;
  }
  std::vector<PartGraph> parts = TANDEM_TRY(cut_parts(graph, *source.plan));
  for (PartGraph& part : parts) {
    const std::string dump = options.dump_dir.empty() ? "" : options.dump_dir + "/" + part.name;
    const Engine engine = TANDEM_TRY(engine_from_string(part.device));
    ir::Graph executed = TANDEM_TRY(graph_for(engine, std::move(part.graph), dump));
    pieces.push_back({part.name, part.device, std::move(executed)});
  }
  return pieces;
}

void list_values(const Piece& piece, std::set<std::string>& listed, InspectResult& result) {
  for (uint32_t i = 0; i < piece.graph.values().size(); ++i) {
    const ir::Value& value = piece.graph.value(ir::ValueId{i});
    if (value.is_constant()) result.constant_bytes += value.constant->size_bytes();
    if (listed.insert(value.name).second) result.values.push_back(value_info(piece.graph, ir::ValueId{i}));
  }
}

Status place(const std::vector<Piece>& pieces, InspectResult& result) {
  if (result.placement_is_forecast) return place_by_quantizer(pieces.front().graph, result);
  for (const Piece& piece : pieces) TANDEM_TRY(place_by_executor(piece, result));
  return {};
}

}  // namespace

Result<InspectResult> inspect(const InspectOptions& options) {
  const ModelPath source = TANDEM_TRY(open_model_path(options.model));
  InspectResult result;
  result.path = source.model;
  result.plan_path = source.plan_path;
  ir::Graph graph = TANDEM_TRY(read_model(options, source.model, result));
  std::vector<Piece> pieces =
      TANDEM_TRY(pieces_of(std::move(graph), source, options).context(fmt::format("'{}'", options.model)));
  std::set<std::string> listed;
  for (Piece& piece : pieces) {
    result.parameters += ir::parameter_count(piece.graph);
    result.quantized = result.quantized || is_quantized(piece.graph);
    list_nodes(piece, result);
    list_values(piece, listed, result);
    result.text += ir::print(piece.graph);
  }
  if (!options.placement || !options.simplify) return result;
  result.placement_is_forecast = !result.quantized;
  const Status placed = place(pieces, result);
  if (!placed.ok()) result.placement_note = placed.error().message();
  return result;
}

Json to_json(const InspectResult& result) {
  const auto list = [](const std::vector<ValueInfo>& values) {
    Json json = Json::array();
    for (const ValueInfo& v : values) {
      Json one =
          Json::object({{"name", v.name}, {"dtype", v.dtype}, {"shape", v.shape}, {"from", v.producer}});
      if (!v.quant.empty()) one.set("quant", v.quant);
      json.push(std::move(one));
    }
    return json;
  };
  Json nodes = Json::array();
  for (const NodeInfo& n : result.nodes) {
    Json one = Json::object({{"name", n.name},
                             {"op", n.op},
                             {"shape", n.shape},
                             {"macs", n.macs},
                             {"parameters", n.parameters},
                             {"placement", to_string(n.placement)}});
    if (!n.part.empty()) one.set("part", n.part);
    if (!n.device.empty()) one.set("device", n.device);
    if (!n.implementation.empty()) one.set("implementation", n.implementation);
    if (!n.reason.empty()) one.set("reason", n.reason);
    nodes.push(std::move(one));
  }
  Json json = Json::object({{"model", result.path},
                            {"producer", result.producer},
                            {"opset", result.opset},
                            {"ir_version", result.ir_version},
                            {"macs", result.macs},
                            {"parameters", result.parameters},
                            {"constant_bytes", result.constant_bytes},
                            {"quantized", result.quantized},
                            {"placement_is_forecast", result.placement_is_forecast}});
  if (!result.plan_path.empty()) json.set("plan", result.plan_path);
  if (!result.placement_note.empty()) json.set("placement_note", result.placement_note);
  json.set("inputs", list(result.inputs));
  json.set("outputs", list(result.outputs));
  if (result.preprocess) json.set("preprocess", data::to_json(*result.preprocess));
  if (!result.labels.empty()) json.set("labels", Json(result.labels));
  json.set("notices", Json(result.notices));
  json.set("opaque", Json(result.opaque));
  json.set("nodes", nodes);
  json.set("values", list(result.values));
  return json;
}

}  // namespace tandem::jobs
