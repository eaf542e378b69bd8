// SPDX-License-Identifier: Apache-2.0
// tandem quantize
#include <memory>

#include "apps/cli/shared_flags.hpp"
#include "tandem/base/units.hpp"
#include "tandem/jobs/quantize.hpp"
#include "tandem/report/html.hpp"

namespace tandem::cli {
namespace {

struct Options {
  jobs::QuantizeModelOptions job;
  std::string scheme = "affine", method = "minmax", report;
  PreprocessFlags preprocess;
  EngineFlags engine;
};

void print_list(const Session& session, const char* title, const std::vector<std::string>& items) {
  if (items.empty()) return;
  TextTable table({{title}});
  for (const std::string& item : items) table.add_row({item});
  session.print("\n" + table.to_string());
}

void print_result(const Session& session, const Options& options, const jobs::QuantizeModelResult& r) {
  TextTable values({{"value"},
                    {"stored as"},
                    {"least", Align::kRight},
                    {"greatest", Align::kRight},
                    {"clipped", Align::kRight}});
  for (const quant::ValueReport& v : r.report.activations) {
    values.add_row({v.value, v.params.to_string(), fmt::format("{:.4g}", v.min), fmt::format("{:.4g}", v.max),
                    percent(v.clipped_fraction)});
  }
  session.print(values.to_string());
  print_list(session, "stays in float", r.report.float_reasons);
  print_list(session, "dead channel", r.report.dead_channels);
  print_list(session, "weight scale raised so that the bias fits", r.report.raised_scales);
  print_list(session, "constant during calibration", r.report.constant_values);
  TextTable sum({{"what"}, {"value"}});
  sum.add_row({"nodes in integers", fmt::format("{}", r.report.quantized_nodes)});
  sum.add_row({"nodes in float", fmt::format("{}", r.report.float_nodes)});
  sum.add_row({"calibration images", fmt::format("{} ({} skipped)", r.images, r.skipped.size())});
  if (r.report.saturated_biases > 0)
    sum.add_row({"saturated biases", fmt::format("{}", r.report.saturated_biases)});
  sum.add_row(
      {"weights", fmt::format("{} (before {})", format_bytes(static_cast<uint64_t>(r.weight_bytes_after)),
                              format_bytes(static_cast<uint64_t>(r.weight_bytes_before)))});
  sum.add_row({"written", options.job.output});
  session.print("\n" + sum.to_string());
}

Status run(Session& session, Options& options) {
  jobs::QuantizeModelOptions& job = options.job;
  job.scheme = options.scheme == "pow2" ? Scheme::kPow2 : Scheme::kAffine;
  job.method = *quant::range_method_from_string(options.method);  // one of the flag's choices
  job.preprocess = TANDEM_TRY(options.preprocess.overrides());
  job.threads = options.engine.threads;
  job.dump_dir = options.engine.dump_dir;
  job.strict = session.strict;
  const jobs::QuantizeModelResult result = TANDEM_TRY(jobs::quantize_model(job, session.hooks()));
  for (const data::Skipped& s : result.skipped) session.note(fmt::format("skipped {}: {}", s.path, s.reason));
  print_result(session, options, result);
  TANDEM_TRY(session.write_json(jobs::to_json(result)));
  if (!options.report.empty()) {
    TANDEM_TRY(report::write_report(jobs::quantize_document(job, result), options.report));
  }
  std::vector<std::string> doubtful = result.report.raised_scales;
  doubtful.insert(doubtful.end(), result.report.constant_values.begin(), result.report.constant_values.end());
  if (result.report.saturated_biases > 0) {
    doubtful.push_back(fmt::format("{} biases saturated", result.report.saturated_biases));
  }
  return session.strict ? session.accept_fallbacks(doubtful) : Status();
}

}  // namespace

Verb quantize_verb() {
  const auto o = std::make_shared<Options>();
  Verb verb{"quantize", "make an INT8 model from one in floating point and a few hundred images"};
  verb.description =
      "Folds BatchNorm, chooses scales from what the images make of every value, and writes ONNX with "
      "quantize and dequantize pairs. The file carries preprocessing and labels of the model. In pow2 the "
      "power of two of each tensor is then tried one step up and one down, and stays where the outputs on a "
      "few of the images change least.";
  verb.flags = {
      required({"MODEL", &o->job.model, "An ONNX file in floating point"}),
      required({"--calib",
                &o->job.calib,
                "Images: a folder, class folders, IDX files or a CSV",
                "PATH",
                {},
                Takes::kPath}),
      required({"-o,--output", &o->job.output, "The file to write", "OUT.onnx", {}, Takes::kFile}),
      {"--scheme",
       &o->scheme,
       "affine: float scales; pow2: powers of two, as a DPU wants",
       "",
       {"affine", "pow2"}},
      {"--method", &o->method, "How ranges are chosen", "", {"minmax", "percentile", "mse", "entropy"}},
      {"--calib-images", &o->job.calib_images, "At most so many, chosen by seed", "N"},
      {"--keep-float", &o->job.keep_float, "A node that stays in float; may be given several times", "NODE"},
      {"--keep-head", &o->job.keep_head, "The classifier stays in float"},
      {"--report", &o->report, "Also write a report", "FILE.html", {}, Takes::kFile},
      {"--seed", &o->job.seed, "Chooses the images", "N"},
      {"--threads", &o->engine.threads,
       "Threads that decode, and as many that compute; one per core when not given", "N"}};
  o->preprocess.add_to(verb.flags);
  o->engine.add_dump_dir(verb.flags);
  verb.examples = {
      {"quantize lite0.onnx --calib photos/ -o lite0_int8.onnx", "affine, ranges from 512 images"},
      {"quantize net.onnx --calib cifar/ --scheme pow2 --method mse -o net_dpu.onnx", "for a DPU"},
      {"quantize net.onnx --calib photos/ --mean 127 --std 128 --size 224 -o out.onnx",
       "a model without preprocessing"}};
  verb.run = [o](Session& session) { return run(session, *o); };
  return verb;
}

}  // namespace tandem::cli
