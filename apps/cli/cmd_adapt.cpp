// SPDX-License-Identifier: Apache-2.0
// tandem adapt
#include <memory>

#include "apps/cli/shared_flags.hpp"
#include "tandem/base/units.hpp"
#include "tandem/jobs/adapt.hpp"

namespace tandem::cli {
namespace {

struct Options {
  Options() { job.output = "run"; }
  jobs::AdaptOptions job;
  std::string head = "auto", scheme = "affine", method = "minmax", optimizer = "adamw", schedule = "cosine",
              augment;
  PreprocessFlags preprocess;
};

Status fill(Session& session, Options& options) {
  jobs::AdaptOptions& job = options.job;
  job.head = TANDEM_TRY(jobs::head_choice_from_string(options.head));
  job.scheme = options.scheme == "pow2" ? Scheme::kPow2 : Scheme::kAffine;
  job.method = *quant::range_method_from_string(options.method);  // one of the flag's choices
  job.train.optimizer = TANDEM_TRY(train::optimizer_from_string(options.optimizer));
  job.train.schedule = TANDEM_TRY(train::schedule_from_string(options.schedule));
  job.preprocess = TANDEM_TRY(options.preprocess.overrides());
  job.augment.flip = options.augment == "flip" || options.augment == "flip,crop";
  job.augment.crop = options.augment == "crop" || options.augment == "flip,crop";
  job.strict = session.strict;
  job.command = session.command;
  return {};
}

void add_accuracy(TextTable& table, const char* what, const jobs::Accuracy& a) {
  table.add_row({what, percent(a.value),
                 fmt::format("{:.2f} to {:.2f} %", 100 * a.interval.low, 100 * a.interval.high),
                 fmt::format("{} of {}", a.correct, a.count)});
}

void print_result(const Session& session, const Options& options, const jobs::AdaptResult& r) {
  TextTable table({{"accuracy"}, {"value", Align::kRight}, {"95 % interval"}, {"right"}});
  add_accuracy(table, "INT8 backbone", r.int8);
  if (r.fp32) add_accuracy(table, "FP32 backbone", *r.fp32);
  if (r.difference) {
    table.add_row({"difference", fmt::format("{:+.2f}", 100 * r.difference->difference),
                   fmt::format("{:+.2f} to {:+.2f}", 100 * r.difference->interval.low,
                               100 * r.difference->interval.high)});
  }
  const auto add_by_age = [&](const char* backbone, const jobs::ByAge& by_age) {
    add_accuracy(table, fmt::format("{}, old classes", backbone).c_str(), by_age.old_classes);
    add_accuracy(table, fmt::format("{}, new classes", backbone).c_str(), by_age.new_classes);
  };
  if (r.int8_by_age) add_by_age("INT8", *r.int8_by_age);
  if (r.fp32_by_age) add_by_age("FP32", *r.fp32_by_age);
  session.print(table.to_string());
  TextTable sum({{"what"}, {"value"}});
  sum.add_row({"classes", fmt::format("{}", r.class_names.size())});
  sum.add_row({"images", fmt::format("{} to train, {} to validate, {} skipped", r.train_count,
                                     r.validation_count, r.images_skipped)});
  sum.add_row({"head", r.head});
  sum.add_row({"time", format_duration_ns(static_cast<int64_t>(r.seconds_total * 1e9))});
  sum.add_row({"run", options.job.output});
  for (const std::string& file : r.files) {
    if (file.ends_with(".html") || file.ends_with(".onnx")) sum.add_row({"written", file});
  }
  session.print("\n" + sum.to_string());
}

Status run(Session& session, Options& options) {
  TANDEM_TRY(fill(session, options));
  const jobs::AdaptResult result = TANDEM_TRY(jobs::adapt(options.job, session.hooks()));
  print_result(session, options, result);
  return session.write_json(result.summary);
}

}  // namespace

Verb adapt_verb() {
  const auto o = std::make_shared<Options>();
  Verb verb{"adapt", "teach a model new classes: quantized backbone, new head, honest accuracy"};
  verb.description =
      "DATA is a folder with train/ and val/, one folder of class folders, IDX files, or a CSV of "
      "path,label. The "
      "backbone is quantized and frozen; its features are computed once and kept in the run directory; a "
      "head is "
      "trained on them in FP32. The run directory holds adapted.onnx, head.safetensors, plan.json, "
      "metrics.jsonl, "
      "trace.json, summary.json and report.html. Ctrl-C stops cleanly, --resume goes on to the same result.";
  jobs::AdaptOptions& job = o->job;
  verb.flags = {
      required({"MODEL", &job.model, "An ONNX file in floating point"}),
      required({"--data", &job.data, "Labelled images", "PATH", {}, Takes::kPath}),
      {"-o,--output", &job.output, "The run directory", "RUN", {}, Takes::kFolder},
      {"--resume", &job.resume, "Go on with the run that was interrupted there"},
      {"--extend",
       &job.extend,
       "Keep the classes of that run (or adapted.onnx) and add the new ones",
       "RUN",
       {},
       Takes::kPath},
      {"--epochs", &job.train.epochs, "Passes over the features", "N"},
      {"--lr", &job.train.rate, "Learning rate at the start", "X"},
      {"--batch", &job.train.batch, "Samples per training step", "N"},
      {"--optimizer", &o->optimizer, "Of the head", "", {"adamw", "sgd"}},
      {"--schedule", &o->schedule, "Of the learning rate", "", {"cosine", "constant"}},
      {"--momentum", &job.train.momentum, "With sgd", "X"},
      {"--weight-decay", &job.train.weight_decay, "Of weights, never of biases", "X"},
      {"--class-weights,!--no-class-weights", &job.train.balance_classes,
       "A rare class counts as much as a common one"},
      {"--holdout", &job.train.holdout, "Share of the training images that chooses the best epoch", "X"},
      {"--seed", &job.train.seed, "Of everything random", "N"},
      {"--head",
       &o->head,
       "keep: the model's own classifier, only measured; auto: what the held-out images favour",
       "",
       {"auto", "linear", "mlp", "keep"}},
      {"--hidden", &job.hidden, "Width of the hidden layer of an mlp head", "N"},
      {"--features", &job.features, "Value to cut at; found by structure when not given", "VALUE"},
      {"--scheme",
       &o->scheme,
       "affine: float scales; pow2: powers of two, as a DPU wants",
       "",
       {"affine", "pow2"}},
      {"--method", &o->method, "How ranges are chosen", "", {"minmax", "percentile", "mse", "entropy"}},
      {"--calib-images", &job.calib_images, "Training images that choose the scales, at most", "N"},
      {"--train-limit", &job.train_limit, "At most so many training images, seeded and stratified", "N"},
      {"--val-limit", &job.val_limit, "The same for validation", "N"},
      {"--augment",
       &o->augment,
       "Features are then computed again for each epoch",
       "",
       {"flip", "crop", "flip,crop"}},
      {"--compare-fp32,!--no-compare-fp32", &job.compare_fp32,
       "Also train and measure on FP32 features (the default)"},
      {"--device", &job.device, "Of the backbone", "", {"int8"}},
      {"--threads", &job.threads, "Worker threads; one per core when not given", "N"},
      {"--allow-absolute-paths", &job.allow_absolute_paths, "In a CSV; you vouch for it"}};
  o->preprocess.add_to(verb.flags);
  verb.examples = {
      {"adapt lite0.onnx --data flowers/ -o run", "five epochs, INT8 and FP32 compared"},
      {"adapt lite0.onnx --data flowers/ -o run --resume", "after an interruption"},
      {"adapt lite0.onnx --data /usr/share/datasets/fashion-mnist --train-limit 2000 --val-limit 1000",
       "a quick try on IDX files"},
      {"adapt lite0.onnx --data new/ --extend run -o run2", "more classes, the old ones replayed"}};
  verb.run = [o](Session& session) { return run(session, *o); };
  return verb;
}

}  // namespace tandem::cli
