// SPDX-License-Identifier: Apache-2.0
// tandem eval
#include <memory>

#include "apps/cli/shared_flags.hpp"
#include "tandem/base/units.hpp"
#include "tandem/jobs/evaluate.hpp"

namespace tandem::cli {
namespace {

constexpr size_t kConfusionShown = 20;  // classes; larger matrices are for --json

struct Options {
  jobs::EvaluateOptions job;
  std::optional<double> min_top1, min_agreement;
  PreprocessFlags preprocess;
  EngineFlags engine;
};

double share_of(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void add_score(TextTable& table, const jobs::ModelScore& s) {
  const auto interval = [](const train::Interval& i) {
    return fmt::format("{:.2f} to {:.2f} %", 100 * i.low, 100 * i.high);
  };
  table.add_row({s.model, fmt::format("{}", s.count), percent(share_of(s.top1, s.count)),
                 interval(s.top1_interval), percent(share_of(s.top5, s.count)), interval(s.top5_interval)});
}

void print_scores(const Session& session, const jobs::EvaluateResult& r) {
  TextTable table({{"model"},
                   {"images", Align::kRight},
                   {"top-1", Align::kRight},
                   {"95 % interval"},
                   {"top-5", Align::kRight},
                   {"95 % interval"}});
  add_score(table, r.score);
  if (r.against) add_score(table, *r.against);
  session.print(table.to_string());
  if (!r.against) return;
  TextTable pair({{"both models"}, {"value"}, {"95 % interval"}});
  pair.add_row({"same answer", percent(share_of(r.agreeing, r.difference->n)),
                fmt::format("{} of {}", r.agreeing, r.difference->n)});
  pair.add_row({"top-1 difference", fmt::format("{:+.2f} points", 100 * r.difference->difference),
                fmt::format("{:+.2f} to {:+.2f}", 100 * r.difference->interval.low,
                            100 * r.difference->interval.high)});
  session.print("\n" + pair.to_string());
}

void print_classes(const Session& session, const jobs::EvaluateResult& r) {
  if (r.class_names.size() > kConfusionShown) {
    session.note(fmt::format("{} classes: the confusion matrix is left out here, --json has it",
                             r.class_names.size()));
    return;
  }
  std::vector<TableColumn> columns = {
      {"class"}, {"images", Align::kRight}, {"precision", Align::kRight}, {"recall", Align::kRight}};
  for (const std::string& name : r.class_names) columns.push_back({name, Align::kRight});
  columns.push_back({"other", Align::kRight});
  TextTable table(columns);
  for (size_t c = 0; c < r.class_names.size(); ++c) {
    std::vector<std::string> cells = {r.class_names[c], fmt::format("{}", r.per_class[c].count),
                                      percent(r.per_class[c].precision), percent(r.per_class[c].recall)};
    for (const int64_t count : r.confusion[c]) cells.push_back(count == 0 ? "." : fmt::format("{}", count));
    table.add_row(std::move(cells));
  }
  session.print("\n" + table.to_string());
}

Status judge(const Options& options, const jobs::EvaluateResult& r) {
  const double top1 = share_of(r.score.top1, r.score.count);
  if (options.min_top1 && top1 * 100 < *options.min_top1) {
    return Error(ErrorCode::kGateFailed,
                 fmt::format("top-1 of {} is below {} %", percent(top1), *options.min_top1));
  }
  if (!options.min_agreement || !r.difference) return {};
  const double agreement = share_of(r.agreeing, r.difference->n);
  if (agreement * 100 >= *options.min_agreement) return {};
  return Error(ErrorCode::kGateFailed,
               fmt::format("agreement of {} is below {} %", percent(agreement), *options.min_agreement));
}

Status run(Session& session, Options& options) {
  options.job.preprocess = TANDEM_TRY(options.preprocess.overrides());
  options.job.engine = TANDEM_TRY(options.engine.engine());
  options.job.threads = options.engine.threads;
  options.job.dump_dir = options.engine.dump_dir;
  options.job.strict = session.strict;
  if (options.job.batch < 1) return usage_error("--batch wants at least 1");
  if (options.min_agreement && options.job.against.empty()) {
    return usage_error("--min-agreement needs a second model").hint("give it with --against MODEL");
  }
  const jobs::EvaluateResult result = TANDEM_TRY(jobs::evaluate(options.job, session.hooks()));
  for (const data::Skipped& s : result.skipped) session.note(fmt::format("skipped {}: {}", s.path, s.reason));
  print_scores(session, result);
  print_classes(session, result);
  TANDEM_TRY(session.write_json(jobs::to_json(result)));
  session.note(fmt::format("{} in {}, {:.1f}/s", image_count(result.score.count),
                           format_duration_ns(static_cast<int64_t>(result.seconds * 1e9)),
                           static_cast<double>(result.score.count) / result.seconds));
  TANDEM_TRY(judge(options, result));
  return session.accept_fallbacks(result.fallbacks);
}

}  // namespace

Verb eval_verb() {
  const auto o = std::make_shared<Options>();
  Verb verb{"eval", "accuracy on labelled images, and agreement of two models"};
  verb.description =
      "Classes of the data are matched with those of the model by name, by number (folders or labels called "
      "0, 1, 2, "
      "...), or by place where both have as many and the model brings no names. The validation part is used "
      "where the "
      "data brings one.";
  verb.flags = {
      required({"MODEL", &o->job.model, "An ONNX file, a run directory or a plan.json"}),
      required({"--data",
                &o->job.data,
                "Class folders, IDX files, or a CSV of path,label",
                "PATH",
                {},
                Takes::kPath}),
      {"--against", &o->job.against, "A second model on the same images", "MODEL", {}, Takes::kFile},
      {"--labels", &o->job.labels, "File with the model's class names, one a line", "FILE", {}, Takes::kFile},
      {"--limit", &o->job.limit, "At most so many images, each class in proportion", "N"},
      {"--batch", &o->job.batch, "Images computed together by one worker", "N"},
      {"--seed", &o->job.seed, "Chooses the images of --limit", "N"},
      {"--min-top1", &o->min_top1, "Fail with exit code 1 below this top-1 accuracy", "PERCENT"},
      {"--min-agreement", &o->min_agreement, "Fail with exit code 1 when fewer answers are the same",
       "PERCENT"},
      {"--allow-absolute-paths", &o->job.allow_absolute_paths, "In a CSV; you vouch for it"}};
  o->engine.add_to(verb.flags);
  o->preprocess.add_to(verb.flags);
  verb.examples = {
      {"eval lite0.onnx --data val.csv", "top-1 and top-5 with their intervals"},
      {"eval int8.onnx --against float.onnx --data val/ --min-agreement 99", "a gate for a build"},
      {"eval RUN --data test/ --device ref", "by the reference interpreter"}};
  verb.run = [o](Session& session) { return run(session, *o); };
  return verb;
}

}  // namespace tandem::cli
