// SPDX-License-Identifier: Apache-2.0
// tandem inspect
#include <fmt/ranges.h>

#include <map>
#include <memory>

#include "apps/cli/shared_flags.hpp"
#include "tandem/base/units.hpp"
#include "tandem/jobs/inspect.hpp"

namespace tandem::cli {
namespace {

struct Options {
  jobs::InspectOptions job;
  bool nodes = false, values = false, text = false, raw = false;
};

std::string number_or_dash(int64_t number) {
  return number == 0 ? "-" : format_count(static_cast<double>(number));
}

// "rgb 224x224: short side to 256 by bicubic, centre crop, (x - 127) / 128"
std::string preprocess_text(const data::Preprocess& p) {
  const Json json = data::to_json(p);
  const auto numbers = [](const std::vector<double>& values) {
    bool same = true;
    for (const double v : values) same = same && v == values[0];
    return same ? fmt::format("{:.6g}", values[0]) : fmt::format("[{:.6g}]", fmt::join(values, ","));
  };
  std::string text = fmt::format("{} {}x{}", json["color"].as_string(), p.height, p.width);
  if (p.rule == data::ResizeRule::kShortSide) text += fmt::format(", short side to {}", p.short_side);
  if (p.rule == data::ResizeRule::kExact) text += ", resized";
  if (p.rule != data::ResizeRule::kNone) text += " by " + json["resize"]["filter"].as_string();
  if (p.crop == data::Crop::kCenter) text += ", centre crop";
  const bool levels = p.range_low == 0 && p.range_high == 255;
  text += fmt::format(", (x - {}) / {}", numbers(p.mean), numbers(p.std));
  return levels ? text : text + fmt::format(" of {:.6g}..{:.6g}", p.range_low, p.range_high);
}

void print_summary(const Session& session, const jobs::InspectResult& r) {
  TextTable table({{"what"}, {"value"}});
  table.add_row({"model", r.path});
  if (!r.plan_path.empty()) table.add_row({"plan", r.plan_path});
  table.add_row({"made by", r.producer.empty() ? "unknown" : r.producer});
  table.add_row({"opset", fmt::format("{} (IR version {})", r.opset, r.ir_version)});
  for (const jobs::ValueInfo& v : r.inputs) {
    table.add_row({"input", fmt::format("'{}' {} {} {}", v.name, v.dtype, v.shape, v.quant)});
  }
  for (const jobs::ValueInfo& v : r.outputs) {
    table.add_row({"output", fmt::format("'{}' {} {} {}", v.name, v.dtype, v.shape, v.quant)});
  }
  table.add_row({"nodes", fmt::format("{}", r.nodes.size())});
  table.add_row({"MACs", format_count(static_cast<double>(r.macs))});
  table.add_row({"parameters", format_count(static_cast<double>(r.parameters))});
  table.add_row({"constants", format_bytes(r.constant_bytes)});
  table.add_row({"quantized", r.quantized ? "yes" : "no"});
  table.add_row({"preprocess", r.preprocess ? preprocess_text(*r.preprocess) : "none: give flags to run"});
  table.add_row({"labels", r.labels.empty() ? "none" : fmt::format("{}", r.labels.size())});
  session.print(table.to_string());
}

void print_ops(const Session& session, const jobs::InspectResult& r) {
  struct Sum {
    int64_t count = 0, macs = 0, parameters = 0;
  };
  std::map<std::string, Sum> sums;
  for (const jobs::NodeInfo& n : r.nodes) {
    Sum& sum = sums[n.op];
    ++sum.count;
    sum.macs += n.macs;
    sum.parameters += n.parameters;
  }
  TextTable table({{"op"}, {"nodes", Align::kRight}, {"MACs", Align::kRight}, {"parameters", Align::kRight}});
  for (const auto& [op, sum] : sums) {
    table.add_row(
        {op, fmt::format("{}", sum.count), number_or_dash(sum.macs), number_or_dash(sum.parameters)});
  }
  session.print("\n" + table.to_string());
}

void print_placement(const Session& session, const jobs::InspectResult& r) {
  struct Sum {
    int64_t count = 0, macs = 0;
  };
  std::map<std::vector<std::string>, Sum> sums;
  for (const jobs::NodeInfo& n : r.nodes) {
    Sum& sum = sums[{n.part, n.device, std::string(jobs::to_string(n.placement)), n.reason}];
    ++sum.count;
    sum.macs += n.macs;
  }
  TextTable table(
      {{"part"}, {"device"}, {"computes in"}, {"nodes", Align::kRight}, {"MACs", Align::kRight}, {"why"}});
  for (const auto& [key, sum] : sums) {
    table.add_row({key[0].empty() ? "whole" : key[0], key[1], key[2], fmt::format("{}", sum.count),
                   number_or_dash(sum.macs), key[3]});
  }
  const char* title = r.placement_is_forecast ? "\nAfter tandem quantize:\n" : "\n";
  session.print(title + table.to_string());
}

void print_nodes(const Session& session, const jobs::InspectResult& r) {
  TextTable table({{"node"},
                   {"op"},
                   {"shape"},
                   {"MACs", Align::kRight},
                   {"parameters", Align::kRight},
                   {"part"},
                   {"device"},
                   {"computes in"},
                   {"implementation"},
                   {"why"}});
  for (const jobs::NodeInfo& n : r.nodes) {
    table.add_row({n.name, n.op, n.shape, number_or_dash(n.macs), number_or_dash(n.parameters),
                   n.part.empty() ? "whole" : n.part, n.device, std::string(jobs::to_string(n.placement)),
                   n.implementation, n.reason});
  }
  session.print("\n" + table.to_string());
}

void print_values(const Session& session, const jobs::InspectResult& r) {
  TextTable table({{"value"}, {"stored"}, {"shape"}, {"quantization"}, {"from"}});
  for (const jobs::ValueInfo& v : r.values) table.add_row({v.name, v.dtype, v.shape, v.quant, v.producer});
  session.print("\n" + table.to_string());
}

Status run(Session& session, Options& options) {
  options.job.simplify = !options.raw;
  const jobs::InspectResult result = TANDEM_TRY(jobs::inspect(options.job));
  for (const std::string& notice : result.notices) session.note(notice);
  if (options.text) {
    session.print(result.text);
  } else {
    print_summary(session, result);
    print_ops(session, result);
    if (options.job.placement && result.placement_note.empty() && !options.raw)
      print_placement(session, result);
    if (options.nodes) print_nodes(session, result);
    if (options.values) print_values(session, result);
  }
  TANDEM_TRY(session.write_json(jobs::to_json(result)));
  if (!result.placement_note.empty()) session.note("no placement: " + result.placement_note);
  return session.accept_fallbacks(result.opaque);
}

}  // namespace

Verb inspect_verb() {
  const auto o = std::make_shared<Options>();
  Verb verb{"inspect", "what is in a model: ops, shapes, MACs, parameters, quantization, placement"};
  verb.description =
      "For a quantized model the placement is what the executor does with each node: int8 reads integers, "
      "f32 "
      "reads floating point, convert goes from one to the other, - costs nothing. Of a plan it is told for "
      "each "
      "part on its device. For a model in floating point it is what tandem quantize would make of it, and "
      "why "
      "some nodes stay in f32.";
  verb.flags = {
      required({"MODEL", &o->job.model, "An ONNX file, a plan.json beside its model, or a run directory"}),
      {"--nodes", &o->nodes, "One line per node"},
      {"--values", &o->values, "One line per value, with its quantization"},
      {"--text", &o->text, "The whole graph as IR text"},
      {"--raw", &o->raw, "The nodes as the file has them, not as the executors see them"},
      {"--size", &o->job.size, "Height and width where the model leaves them open", "N"},
      {"--placement,!--no-placement", &o->job.placement, "Tell where nodes run (compiles the model)"},
      {"--dump-dir",
       &o->job.dump_dir,
       "Write numbered IR text there after each pass",
       "DIR",
       {},
       Takes::kFolder}};
  verb.examples = {{"inspect model.onnx", "summary, ops, and what would run in integers"},
                   {"inspect model.onnx --nodes --values", "everything"},
                   {"inspect model.onnx --text > model.txt", "text that diff understands"}};
  verb.run = [o](Session& session) { return run(session, *o); };
  return verb;
}

}  // namespace tandem::cli
