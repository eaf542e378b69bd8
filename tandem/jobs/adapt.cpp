// SPDX-License-Identifier: Apache-2.0
// The flow of adapt(): load, quantize, extract features, train, evaluate, write.
#include "tandem/jobs/adapt.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <thread>

#include "tandem/base/file.hpp"
#include "tandem/base/hash.hpp"
#include "tandem/base/text.hpp"
#include "tandem/exec/isa.hpp"
#include "tandem/jobs/adaptation.hpp"
#include "tandem/jobs/extract_features.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/tensor/safetensors.hpp"

namespace tandem::jobs {
namespace {

// Part of every key: raise it when features come out differently for the same input.
constexpr uint64_t kFeatureVersion = 1;

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Status validate(const AdaptOptions& o) {
  TANDEM_TRY(train::validate(o.train));
  if (o.data.empty()) return usage_error("no data was given").hint("give it with --data");
  if (o.model.empty() && o.extend.empty()) return usage_error("no model was given");
  if (o.device != "int8") {
    return usage_error(fmt::format("unknown device '{}'", o.device)).hint(did_you_mean(o.device, {"int8"}));
  }
  if (o.calib_images < 1) return usage_error(fmt::format("--calib-images {} is not above 0", o.calib_images));
  if (o.train_limit < 0 || o.val_limit < 0)
    return usage_error("--train-limit and --val-limit are not negative");
  if (o.threads < 0 || o.threads > 1024)
    return usage_error(fmt::format("--threads {} is not between 0 and 1024", o.threads));
  if (o.hidden < 1 || o.hidden > 65536)
    return usage_error(fmt::format("--hidden {} is not between 1 and 65536", o.hidden));
  if (o.head == HeadChoice::kKeep && o.augment.any()) {
    return usage_error("--augment does nothing with --head keep").because("nothing is trained then");
  }
  if (o.head == HeadChoice::kKeep && !o.extend.empty()) {
    return usage_error("--extend needs a head that is trained").hint("leave out --head keep");
  }
  return {};
}

Sha256& add_preprocess(Sha256& hash, const data::Preprocess& p) { return hash.add(data::to_json(p).dump()); }

}  // namespace

std::string_view to_string(HeadChoice head) {
  switch (head) {
    case HeadChoice::kAuto: return "auto";
    case HeadChoice::kLinear: return "linear";
    case HeadChoice::kMlp: return "mlp";
    case HeadChoice::kKeep: return "keep";
  }
  return "auto";
}

Result<HeadChoice> head_choice_from_string(std::string_view name) {
  for (const auto head : {HeadChoice::kAuto, HeadChoice::kLinear, HeadChoice::kMlp, HeadChoice::kKeep}) {
    if (to_string(head) == name) return head;
  }
  return usage_error(fmt::format("unknown head '{}'", name))
      .hint(did_you_mean(name, {"auto", "linear", "mlp", "keep"}));
}

Adaptation::Adaptation(const AdaptOptions& o, const JobHooks& h)
    : options(o), hooks(h), start_ns(steady_ns()), scheme(o.scheme) {
  train.name = "train";
  val.name = "val";
}

int Adaptation::threads() const {
  return options.threads > 0 ? options.threads
                             : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

void Adaptation::say(std::string sentence) {
  hooks.say(sentence);
  notes.push_back(std::move(sentence));
}

int64_t Adaptation::now_ns() const { return steady_ns() - start_ns; }

template <typename F>
Status Adaptation::stage(const std::string& name, F&& work) {
  TANDEM_TRY(hooks.check());
  const int64_t begin = now_ns();
  Status status = work();
  const int64_t took = now_ns() - begin;
  trace.span({1, 0}, name, begin, took);
  seconds.emplace_back(name, static_cast<double>(took) * 1e-9);
  return status;
}

// --- load ---

Status Adaptation::load_base() {
  namespace fs = std::filesystem;
  std::error_code code;
  const std::string directory = fs::is_directory(options.extend, code)
                                    ? options.extend
                                    : fs::path(options.extend).parent_path().string();
  RunDirectory old = RunDirectory::existing(directory.empty() ? "." : directory);
  const Json record = TANDEM_TRY(old.read_record());
  if (record.is_null()) {
    return bad_input(fmt::format("'{}' is no run that can be extended", options.extend))
        .because(fmt::format("'{}' is missing", old.work("run.json")))
        .hint("give the run directory that 'adapt' made; its work/ folder holds the features to replay");
  }
  train::Head head = TANDEM_TRY(train::load_head(old.file("head.safetensors")).context("the run to extend"));
  const TensorFile labels =
      TANDEM_TRY(load_safetensors(old.work("labels.safetensors")).context("the run to extend"));
  BaseRun found{std::move(old), record, std::move(head), std::nullopt, {}, {}};
  std::error_code code_fp32;
  if (options.compare_fp32 && fs::exists(found.directory.work(kFp32Backbone), code_fp32))
    found.fp32_head =
        TANDEM_TRY(train::load_head(found.directory.work(kFp32Head)).context("the run to extend"));
  for (const auto& [name, to] :
       {std::pair{"train", &found.train_labels}, std::pair{"val", &found.val_labels}}) {
    const auto tensor = labels.tensors.find(name);
    if (tensor == labels.tensors.end() || tensor->second.dtype() != DType::kI32) {
      return bad_input(fmt::format("'{}' is damaged", found.directory.work("labels.safetensors")));
    }
    const auto values = tensor->second.as<int32_t>();
    to->assign(values.begin(), values.end());
    for (const int32_t label : *to) {
      if (label < 0 || label >= found.head.class_count())
        return bad_input("labels of the run to extend are out of range");
    }
  }
  base.emplace(std::move(found));
  return {};
}

Status Adaptation::load_data() {
  data::DatasetOptions open;
  open.seed = options.train.seed;
  open.train_limit = options.train_limit;
  open.val_limit = options.val_limit;
  open.classes_min = base ? 1 : 2;
  open.allow_absolute_paths = options.allow_absolute_paths;
  data::Datasets datasets = TANDEM_TRY(data::open_datasets(options.data, open));
  for (const std::string& note : datasets.notes) say(note);
  class_names = base ? base->head.class_names : datasets.train.class_names;
  std::vector<int32_t> label_of;  // from the labels of the data to those of this run
  for (const std::string& name : datasets.train.class_names) {
    auto found = std::find(class_names.begin(), class_names.end(), name);
    if (found == class_names.end()) found = class_names.insert(class_names.end(), name);
    label_of.push_back(static_cast<int32_t>(found - class_names.begin()));
  }
  train.dataset = std::move(datasets.train);
  val.dataset = std::move(datasets.val);
  for (DataPart* part : {&train, &val}) {
    if (base) part->labels = part == &train ? base->train_labels : base->val_labels;
    part->replayed = static_cast<int64_t>(part->labels.size());
    for (const data::Sample& sample : part->dataset.samples)
      part->labels.push_back(label_of[static_cast<size_t>(sample.label)]);
    part->skipped = part->dataset.skipped;
    if (options.strict) TANDEM_TRY(data::refuse_skipped(part->skipped));
    part->listing = listing_hash(part->dataset, options.data);
  }
  if (train.dataset.samples.empty() || val.dataset.samples.empty()) {
    return bad_input(fmt::format("'{}' gives {} training and {} validation images", options.data,
                                 train.dataset.samples.size(), val.dataset.samples.size()));
  }
  if (options.train.batch > train.rows()) {
    return usage_error(fmt::format("a batch of {} is larger than the {} training images", options.train.batch,
                                   train.rows()))
        .hint(fmt::format("use --batch {} or less, or more images", train.rows()));
  }
  return {};
}

Status Adaptation::load() {
  if (!options.extend.empty()) {
    TANDEM_TRY(load_base());
    // The frozen part of that run, already quantized; it carries the preprocessing.
    model = TANDEM_TRY(load_image_model(base->directory.work("backbone-int8.onnx"), options.preprocess));
    model.path = base->directory.file("adapted.onnx");
    if (!options.model.empty()) {
      say(fmt::format("the backbone is that of the extended run '{}'; '{}' is not read",
                      base->directory.path(), options.model));
    }
    model.graph.metadata.erase(kRunKey);
    scheme = base->record["options"]["scheme"].as_string() == "pow2" ? Scheme::kPow2 : Scheme::kAffine;
  } else {
    model = TANDEM_TRY(load_image_model(options.model, options.preprocess));
  }
  for (const std::string& notice : model.notices) say(notice);
  TANDEM_TRY(load_data());
  if (!base) {
    model.graph.metadata[data::kPreprocessKey] = data::to_json(model.preprocess).dump();
    float_backbone = TANDEM_TRY(cut_backbone(model.graph, options.features, keeps_head())
                                    .context(fmt::format("model '{}'", model.path)));
  }
  if (keeps_head()) {
    const std::vector<std::string> own = train::labels_of(model.graph);
    if (!own.empty()) TANDEM_TRY(data::check_same_classes(own, class_names).context("--head keep"));
    if (float_backbone.class_count != static_cast<int64_t>(class_names.size())) {
      return bad_input(fmt::format("the model's classifier knows {} classes, the data has {}",
                                   float_backbone.class_count, class_names.size()))
          .hint("train a new head with --head linear or --head mlp");
    }
  }
  if (!exec::isa().exact_int8) {
    say(
        fmt::format("this CPU ({}) has no 8-bit dot products: the INT8 backbone runs with other kernels, "
                    "exact but slower",
                    exec::isa().effective));
  }
  return {};
}

// --- the run directory ---

Json Adaptation::record() const {
  const train::TrainOptions& t = options.train;
  Json caches = Json::object();
  for (const Branch& branch : branches) {
    for (const auto* part : {&train, &val}) {
      const auto& cache = part == &train ? branch.train : branch.val;
      if (!cache) continue;
      caches.set(
          fmt::format("{}-{}", part->name, branch.name),
          Json::object(
              {{"key", cache_key(branch, *part)}, {"rows", cache->rows()}, {"columns", cache->columns()}}));
    }
  }
  return Json::object(
      {{"format", 1},
       {"classes", Json(class_names)},
       {"options", Json::object({{"model", model.hash},
                                 {"preprocess", data::to_json(model.preprocess)},
                                 {"train images", train.listing},
                                 {"validation images", val.listing},
                                 {"head", to_string(options.head)},
                                 {"hidden", options.hidden},
                                 {"features", options.features},
                                 {"scheme", scheme == Scheme::kPow2 ? "pow2" : "affine"},
                                 {"method", quant::to_string(options.method)},
                                 {"calib-images", options.calib_images},
                                 {"epochs", t.epochs},
                                 {"batch", t.batch},
                                 {"lr", t.rate},
                                 {"optimizer", train::to_string(t.optimizer)},
                                 {"momentum", t.momentum},
                                 {"weight-decay", t.weight_decay},
                                 {"schedule", train::to_string(t.schedule)},
                                 {"balance", t.balance_classes},
                                 {"holdout", t.holdout},
                                 {"normalize", t.normalize},
                                 {"seed", t.seed},
                                 {"augment", fmt::format("{}{}", options.augment.flip ? "flip " : "",
                                                         options.augment.crop ? "crop" : "")}})},
       {"caches", caches}});
}

Status Adaptation::check_record(const Json& old, const Json& now) const {
  std::vector<std::string> then_classes;
  for (const Json& name : old["classes"].items()) then_classes.push_back(name.as_string());
  TANDEM_TRY(
      data::check_same_classes(then_classes, class_names).context(fmt::format("resuming '{}'", run->path())));
  std::string differences;
  for (const auto& [name, value] : now["options"].members()) {
    const Json& before = old["options"][name];
    if (before.dump() == value.dump()) continue;
    differences += fmt::format("{}{}: then {}, now {}", differences.empty() ? "" : "\n  ", name,
                               before.dump(), value.dump());
  }
  if (differences.empty()) return {};
  return usage_error(fmt::format("'{}' was started with other options or data", run->path()))
      .because(differences)
      .hint("repeat the options of that run to resume it, or start afresh without --resume");
}

Status Adaptation::open_run() {
  run.emplace(TANDEM_TRY(RunDirectory::open(options.output)));
  const Json old = options.resume ? TANDEM_TRY(run->read_record()) : Json();
  const Json now = record();
  if (options.resume && old.is_null()) {
    say(fmt::format("there is nothing to resume in '{}': the run starts from the beginning", run->path()));
  }
  if (!old.is_null()) {
    TANDEM_TRY(check_record(old, now));
  } else {
    TANDEM_TRY(run->remove_checkpoints());
  }
  TANDEM_TRY(run->remove_results());
  writing = true;
  TANDEM_TRY(run->write_record(now));
  trace = TANDEM_TRY(TraceWriter::create(run->work("trace.json")));
  trace.name_process(1, "tandem adapt");
  trace.name_thread({1, 0}, "stages");
  trace.name_thread({1, 1}, "images: decode and prepare");
  for (int lane = 0; lane < 2 * threads(); ++lane)
    trace.name_thread({1, 2 + lane}, fmt::format("backbone, lane {}", lane));
  return {};
}

// --- backbones ---

Status Adaptation::make_backbones() {
  Sha256 common;
  common.add(kFeatureVersion)
      .add(model.hash)
      .add(options.features)
      .add(keeps_head() ? "keep" : "cut")
      .add(exec::isa().effective);
  add_preprocess(common, model.preprocess).add(static_cast<uint64_t>(model.micro_batch));
  Branch int8;
  int8.name = "int8";
  if (base) {
    quantized.graph = model.graph;
    quantized.reused = true;
    if (const auto text = read_file(base->directory.work("backbone-int8.onnx.json")); text.ok()) {
      if (auto json = Json::parse(*text); json.ok()) quantized.report = std::move(json).value();
    }
    int8.backbone_key = Sha256(common).add("base").hex();
    // Kept beside the features of this run, so that it can be extended in its turn.
    const std::string bytes = TANDEM_TRY(read_file(base->directory.work("backbone-int8.onnx")));
    TANDEM_TRY(write_file(run->work("backbone-int8.onnx"), bytes));
    TANDEM_TRY(write_file(run->work("backbone-int8.onnx.json"), quantized.report.dump(1) + "\n"));
    if (options.compare_fp32 && !base->fp32_head)
      say("the extended run kept no FP32 backbone to compare with: only INT8 is measured");
  } else {
    QuantizeBackboneOptions quantizing;
    quantizing.scheme = scheme;
    quantizing.method = options.method;
    quantizing.strict = options.strict;
    quantizing.threads = threads();
    quantizing.file = run->work("backbone-int8.onnx");
    Sha256 key = common;
    key.add(scheme == Scheme::kPow2 ? "pow2" : "affine").add(quant::to_string(options.method));
    key.add(static_cast<uint64_t>(options.calib_images)).add(options.train.seed).add(train.listing);
    quantizing.key = key.hex();
    int8.backbone_key = key.add("int8").hex();
    const data::Dataset calibration = data::limited(train.dataset, options.calib_images, options.train.seed);
    quantized = TANDEM_TRY(quantize_backbone(float_backbone, model, calibration, quantizing, hooks));
  }
  int8.runnable = TANDEM_TRY(runnable_features(quantized.graph, scheme).context("the quantized backbone"));
  branches.push_back(std::move(int8));
  return options.compare_fp32 && (!base || base->fp32_head) ? make_fp32_branch(common) : Status();
}

Status Adaptation::make_fp32_branch(const Sha256& common) {
  // Kept as a file, so that the run can be extended and both then compute the same.
  const std::string bytes =
      base ? TANDEM_TRY(read_file(base->directory.work(kFp32Backbone)))
           : TANDEM_TRY(onnx_io::to_bytes(float_backbone.graph).context("writing the FP32 backbone"));
  TANDEM_TRY(write_file(run->work(kFp32Backbone), bytes));
  const ir::Graph graph = TANDEM_TRY(onnx_io::load_bytes(bytes).context("reading the FP32 backbone back"));
  Branch fp32;
  fp32.name = "fp32";
  fp32.backbone_key = Sha256(common).add("fp32").hex();
  fp32.runnable = TANDEM_TRY(runnable_features(graph, Scheme::kAffine));
  branches.push_back(std::move(fp32));
  return {};
}

// --- features ---

Result<std::optional<train::FeatureCache>> Adaptation::base_cache(const std::string& part,
                                                                  const Branch& branch) const {
  if (!base) return std::optional<train::FeatureCache>();
  const Json& item = base->record["caches"][fmt::format("{}-{}", part, branch.name)];
  const std::string path = base->directory.work(fmt::format("features-{}-{}.bin", part, branch.name));
  std::error_code code;
  const auto labels =
      static_cast<int64_t>(part == "train" ? base->train_labels.size() : base->val_labels.size());
  if (!std::filesystem::exists(path, code) || item["rows"].as_int() != labels ||
      item["columns"].as_int() < 1) {
    return bad_input(fmt::format("the features to replay are missing or damaged: '{}'", path))
        .hint("an extension needs the work/ folder of a run that was finished");
  }
  auto cache =
      TANDEM_TRY(train::FeatureCache::open(path, item["key"].as_string(), labels, item["columns"].as_int()));
  if (!cache.complete())
    return bad_input(fmt::format("'{}' is not complete", path)).hint("finish that run with --resume first");
  return std::optional<train::FeatureCache>(std::move(cache));
}

std::string Adaptation::cache_key(const Branch& branch, const DataPart& part) const {
  Sha256 key;
  key.add(branch.backbone_key).add(part.listing);
  if (base) key.add(base->record.dump());
  return key.hex();
}

Status Adaptation::open_cache(const Branch& branch, const DataPart& part, const train::FeatureCache* replay,
                              std::optional<train::FeatureCache>& cache) {
  const auto& shape = branch.runnable.value(branch.runnable.outputs[0]).shape;
  if (!shape || shape->rank() != 2 || (*shape)[1] < 1)
    return internal_error("the backbone's features have no width");
  const std::string path = run->work(fmt::format("features-{}-{}.bin", part.name, branch.name));
  cache.emplace(
      TANDEM_TRY(train::FeatureCache::open(path, cache_key(branch, part), part.rows(), (*shape)[1])));
  if (replay == nullptr) return {};
  if (replay->columns() != cache->columns()) return bad_input("the features to replay have another width");
  while (cache->rows_done() < part.replayed) cache->append(replay->row(cache->rows_done()));
  return {};
}

ExtractOptions Adaptation::extract_options(std::string label, const DataPart& part) {
  ExtractOptions e;
  e.label = std::move(label);
  e.workers = threads();
  e.micro_batch = model.micro_batch;
  e.strict = options.strict;
  e.seed = options.train.seed;
  e.first_row = part.replayed;
  e.trace = &trace;
  e.trace_process = 1;
  e.trace_origin_ns = start_ns;
  return e;
}

Status Adaptation::extract_part(Branch& branch, DataPart& part, std::optional<train::FeatureCache>& cache) {
  const auto replay = TANDEM_TRY(base_cache(part.name, branch));
  TANDEM_TRY(open_cache(branch, part, replay ? &*replay : nullptr, cache));
  const ExtractOptions e = extract_options(fmt::format("{} features, {}", branch.name, part.name), part);
  return extract_features(branch.runnable, part.dataset, model.preprocess, e, hooks, *cache);
}

Status Adaptation::extract(Branch& branch) {
  TANDEM_TRY(extract_part(branch, train, branch.train));
  TANDEM_TRY(extract_part(branch, val, branch.val));
  branch.train_rows = usable_rows(*branch.train);
  branch.val_rows = usable_rows(*branch.val);
  if (branch.train_rows.empty() || branch.val_rows.empty()) {
    return bad_input(fmt::format("'{}' gives {} usable training and {} usable validation images",
                                 options.data, branch.train_rows.size(), branch.val_rows.size()));
  }
  if (&branch != &branches.front()) return {};
  for (DataPart* part : {&train, &val}) {
    const auto broken = skipped_images(part == &train ? *branch.train : *branch.val, part->dataset,
                                       model.preprocess, part->replayed);
    part->skipped.insert(part->skipped.end(), broken.begin(), broken.end());
    if (!part->skipped.empty()) {
      say(fmt::format("{} {} image(s) cannot be used and are left out; '{}': {}{}", part->skipped.size(),
                      part == &train ? "training" : "validation", part->skipped[0].path,
                      part->skipped[0].reason, part->skipped.size() > 1 ? "; the report lists all" : ""));
    }
  }
  return {};
}

Status Adaptation::evaluate_branch(Branch& branch) {
  branch.evaluation =
      evaluate_rows(*branch.val, val.labels, branch.val_rows, static_cast<int64_t>(class_names.size()),
                    branch.trained ? &branch.trained->head : nullptr);
  return {};
}

Result<AdaptResult> Adaptation::all() {
  TANDEM_TRY(validate(options));
  TANDEM_TRY(stage("load", [&] { return load(); }));
  TANDEM_TRY(open_run());
  TANDEM_TRY(stage("quantize", [&] { return make_backbones(); }));
  for (Branch& branch : branches) {
    TANDEM_TRY(stage(branch.name + " features", [&] { return extract(branch); }));
    if (!keeps_head()) TANDEM_TRY(stage(branch.name + " training", [&] { return train_branch(branch); }));
    TANDEM_TRY(stage(branch.name + " evaluation", [&] { return evaluate_branch(branch); }));
  }
  TANDEM_TRY(hooks.check());
  return write_results(*this);
}

Result<AdaptResult> adapt(const AdaptOptions& options, const JobHooks& hooks) {
  Adaptation adaptation(options, hooks);
  Result<AdaptResult> result = adaptation.all();
  // Half of the results would look like a run; the first error is the one to tell.
  if (!result.ok() && adaptation.writing) static_cast<void>(adaptation.run->remove_results());
  if (!result.ok() && result.error().code() == ErrorCode::kInterrupted && adaptation.run) {
    return Error(ErrorCode::kInterrupted, "interrupted")
        .because(fmt::format("what was done so far is kept in '{}'", adaptation.run->path()))
        .hint("the same command with --resume continues");
  }
  return result;
}

}  // namespace tandem::jobs
