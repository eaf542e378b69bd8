// SPDX-License-Identifier: Apache-2.0
// The files that adapt() leaves behind.
#include "tandem/base/file.hpp"
#include "tandem/base/hash.hpp"
#include "tandem/exec/isa.hpp"
#include "tandem/jobs/adaptation.hpp"
#include "tandem/jobs/head_plan.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/tensor/safetensors.hpp"

namespace tandem::jobs {
namespace {

Json interval_json(const train::Interval& interval) {
  Json out = Json::array();
  out.push(interval.low);
  out.push(interval.high);
  return out;
}

Json skipped_json(const Adaptation& a) {
  Json out = Json::array();
  for (const DataPart* part : {&a.train, &a.val}) {
    for (const data::Skipped& s : part->skipped) {
      out.push(Json::object({{"part", part->name}, {"path", s.path}, {"reason", s.reason}}));
    }
  }
  return out;
}

void add_by_age(Json& out, const char* suffix, const ByAge& by_age) {
  out.set(fmt::format("accuracy_old_classes{}", suffix), by_age.old_classes.value);
  out.set(fmt::format("accuracy_old_classes{}_interval", suffix), interval_json(by_age.old_classes.interval));
  const Accuracy& on_new = by_age.new_classes;
  out.set(fmt::format("accuracy_new_classes{}", suffix), on_new.count > 0 ? Json(on_new.value) : Json());
  out.set(fmt::format("accuracy_new_classes{}_interval", suffix), interval_json(on_new.interval));
}

Json trials_json(const Adaptation& a) {
  Json out = Json::array();
  for (const HeadTrial& t : a.trials) {
    out.push(Json::object({{"head", t.kind},
                           {"parameters", t.parameters},
                           {"holdout_accuracy", t.held.accuracy.value},
                           {"holdout_count", t.held.accuracy.count}}));
  }
  return out;
}

Json summary_of(const Adaptation& a, const AdaptResult& r) {
  const exec::Isa& isa = exec::isa();
  Json out = Json::object();
  out.set("model", a.model.path);
  out.set("model_sha256", a.model.hash);
  out.set("data", a.options.data);
  out.set("accuracy_int8", r.int8.value);
  out.set("accuracy_int8_interval", interval_json(r.int8.interval));
  out.set("accuracy_fp32", r.fp32 ? Json(r.fp32->value) : Json());
  out.set("accuracy_fp32_interval", r.fp32 ? interval_json(r.fp32->interval) : Json());
  if (r.difference) {
    out.set("difference", Json::object({{"int8_minus_fp32", r.difference->difference},
                                        {"interval", interval_json(r.difference->interval)},
                                        {"only_int8_right", r.difference->only_b},
                                        {"only_fp32_right", r.difference->only_a},
                                        {"images", r.difference->n}}));
  }
  out.set("train_count", r.train_count);
  out.set("validation_count", r.validation_count);
  out.set("images_skipped", r.images_skipped);
  out.set("classes", Json(a.class_names));
  if (a.base) {
    out.set("extended", a.base->directory.path());
    out.set("old_classes", a.base->head.class_count());
    add_by_age(out, "", *r.int8_by_age);
    if (r.fp32_by_age) add_by_age(out, "_fp32", *r.fp32_by_age);
  }
  out.set("head", r.head);
  if (!a.trials.empty()) {
    out.set("head_why", r.head_why);
    out.set("heads_tried", trials_json(a));
  }
  if (a.branches.front().trained) {
    const train::TrainedHead& trained = *a.branches.front().trained;
    out.set("best_epoch", trained.best_epoch);
    out.set("holdout_count", trained.holdout_rows);
  }
  const train::TrainOptions& t = a.options.train;
  out.set("epochs", t.epochs);
  out.set("batch", t.batch);
  out.set("learning_rate", t.rate);
  out.set("optimizer", train::to_string(t.optimizer));
  out.set("features", a.base ? Json() : Json(a.float_backbone.features));
  out.set("scheme", a.scheme == Scheme::kPow2 ? "pow2" : "affine");
  out.set("method", quant::to_string(a.options.method));
  out.set("calibration_images", a.quantized.report["calibration_images"]);
  out.set("seconds_total", r.seconds_total);
  Json stages = Json::object();
  for (const auto& [name, seconds] : a.seconds) stages.set(name, seconds);
  out.set("seconds", stages);
  out.set("device", a.options.device);
  out.set("isa", isa.effective);
  out.set("library", isa.library);
  out.set("threads", a.threads());
  out.set("seed", t.seed);
  out.set("preprocess", data::to_json(a.model.preprocess));
  out.set("notes", Json(a.notes));
  out.set("skipped", skipped_json(a));
  return out;
}

Status save_labels(const Adaptation& a) {
  TensorFile file;
  file.tensors.emplace("train", Tensor::of<int32_t>({a.train.rows()}, a.train.labels));
  file.tensors.emplace("val", Tensor::of<int32_t>({a.val.rows()}, a.val.labels));
  file.metadata["classes"] = train::labels_to_metadata(a.class_names);
  return save_safetensors(file, a.run->work("labels.safetensors"));
}

AdaptResult result_of(const Adaptation& a) {
  AdaptResult r;
  const Branch& int8 = a.branches.front();
  r.int8 = int8.evaluation.accuracy;
  if (a.branches.size() > 1) {
    const Branch& fp32 = a.branches[1];
    r.fp32 = fp32.evaluation.accuracy;
    r.difference = train::paired_difference(fp32.evaluation.correct, int8.evaluation.correct);
  }
  r.train_count = static_cast<int64_t>(int8.train_rows.size());
  r.validation_count = static_cast<int64_t>(int8.val_rows.size());
  r.images_skipped = static_cast<int64_t>(a.train.skipped.size() + a.val.skipped.size());
  r.class_names = a.class_names;
  r.head = a.head_kind.empty() ? to_string(HeadChoice::kKeep) : a.head_kind;
  r.head_why = a.head_why;
  if (a.base) {
    const auto old = static_cast<int32_t>(a.base->head.class_count());
    const auto all = static_cast<int32_t>(a.class_names.size());
    const auto by_age = [&](const Branch& branch) {
      return ByAge{accuracy_of_classes(branch.evaluation, 0, old),
                   accuracy_of_classes(branch.evaluation, old, all)};
    };
    r.int8_by_age = by_age(int8);
    if (r.fp32) r.fp32_by_age = by_age(a.branches[1]);
  }
  return r;
}

}  // namespace

Result<ir::Graph> adapted_graph(const Adaptation& a) {
  ir::Graph graph = TANDEM_TRY(train::with_flat_features(a.quantized.graph));
  const Branch& int8 = a.branches.front();
  if (int8.trained) graph = TANDEM_TRY(train::attach_head(std::move(graph), int8.trained->head));
  graph.metadata[train::kLabelsKey] = train::labels_to_metadata(a.class_names);
  graph.metadata[data::kPreprocessKey] = data::to_json(a.model.preprocess).dump();
  return graph;
}

Status write_metrics(const Adaptation& a) {
  std::string lines;
  const auto add = [&](const std::string& backbone, const std::string& head,
                       const train::TrainedHead& trained) {
    for (const train::EpochMetrics& m : trained.epochs) {
      Json line = Json::object({{"backbone", backbone}, {"head", head}});
      const Json values = train::to_json(m);
      for (const auto& [name, value] : values.members()) line.set(name, value);
      lines += line.dump() + "\n";
    }
  };
  for (const Branch& branch : a.branches) {
    if (branch.trained) add(branch.name, a.head_kind, *branch.trained);
  }
  for (const HeadTrial& trial : a.trials) {
    if (trial.kind != a.head_kind) add(a.branches.front().name, trial.kind, trial.trained);
  }
  return write_file(a.run->file("metrics.jsonl"), lines);
}

Result<AdaptResult> write_results(Adaptation& a) {
  const int64_t begin = a.now_ns();
  AdaptResult result = result_of(a);
  const ir::Graph adapted = TANDEM_TRY(adapted_graph(a));
  const std::string bytes = TANDEM_TRY(onnx_io::to_bytes(adapted).context("writing adapted.onnx"));
  const auto written = [&](const char* name) { result.files.push_back(a.run->file(name)); };
  // The plan speaks of the file as its readers see it.
  const ir::Graph as_read = TANDEM_TRY(onnx_io::load_bytes(bytes).context("reading adapted.onnx back"));
  const plan::Plan plan = TANDEM_TRY(head_plan(as_read, "adapted.onnx", sha256_hex(bytes), a.options.device));
  TANDEM_TRY(save_labels(a));
  TANDEM_TRY(a.run->write_record(a.record()));
  TANDEM_TRY(write_metrics(a));
  written("metrics.jsonl");
  if (a.branches.front().trained) {
    TANDEM_TRY(train::save_head(a.branches.front().trained->head, a.run->file("head.safetensors")));
    written("head.safetensors");
  }
  if (a.branches.size() > 1 && a.branches[1].trained)
    TANDEM_TRY(train::save_head(a.branches[1].trained->head, a.run->work(kFp32Head)));
  TANDEM_TRY(write_file(a.run->file("adapted.onnx"), bytes));
  written("adapted.onnx");
  TANDEM_TRY(write_file(a.run->file("plan.json"), plan::to_json(plan).dump(1) + "\n"));
  written("plan.json");
  a.seconds.emplace_back("write", static_cast<double>(a.now_ns() - begin) * 1e-9);
  result.seconds_total = static_cast<double>(a.now_ns()) * 1e-9;
  result.summary = summary_of(a, result);
  TANDEM_TRY(write_adapt_report(a, result, a.run->file("report.html")));
  written("report.html");
  a.trace.span({1, 0}, "write", begin, a.now_ns() - begin);
  TANDEM_TRY(a.trace.close());
  TANDEM_TRY(a.run->publish("trace.json"));
  written("trace.json");
  TANDEM_TRY(write_file(a.run->file("summary.json"), result.summary.dump(1) + "\n"));
  written("summary.json");
  return result;
}

}  // namespace tandem::jobs
