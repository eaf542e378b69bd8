// SPDX-License-Identifier: Apache-2.0
// Counting right answers over one pass per model.
#include "tandem/jobs/evaluate.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "tandem/data/labels.hpp"
#include "tandem/jobs/model_source.hpp"
#include "tandem/jobs/predict.hpp"
#include "tandem/jobs/prepare_graph.hpp"

namespace tandem::jobs {
namespace {

constexpr size_t kTop = 5;

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || rest != end || number < 0) return std::nullopt;
  return number;
}

// What one model said: per image of the dataset its answer, -1 where the image was skipped.
struct Answers {
  std::vector<int32_t> first;
  std::vector<uint8_t> in_top;
  std::vector<int32_t> model_class;  // of each class of the data
  PredictSummary summary;
  std::vector<std::string> fallbacks;
};

Result<Answers> ask(const std::string& path, const data::Dataset& dataset, const EvaluateOptions& options,
                    const JobHooks& hooks) {
  const ModelPath source = TANDEM_TRY(open_model_path(path));
  const ImageModel model = TANDEM_TRY(load_image_model(source.model, options.preprocess));
  for (const std::string& notice : model.notices) hooks.say(fmt::format("{}: {}", path, notice));
  const int64_t classes = TANDEM_TRY(class_count(model.graph).context(fmt::format("model '{}'", path)));
  const std::vector<std::string> labels = TANDEM_TRY(labels_of(model.graph, options.labels));
  Answers answers;
  std::string how;
  answers.model_class = TANDEM_TRY(match_classes(dataset.class_names, labels, classes, &how));
  hooks.say(fmt::format("{}: classes matched {}", path, how));
  const ForwardOptions forward_options{options.engine, options.threads,
                                       model.micro_batch > 1 ? options.batch : 1, options.dump_dir};
  Forward forward = TANDEM_TRY(make_forward(model.graph, source, forward_options).context(path));
  answers.fallbacks = forward.fallbacks();
  answers.first.assign(dataset.samples.size(), -1);
  answers.in_top.assign(dataset.samples.size(), 0);
  const auto sink = [&](const Prediction& p) -> Status {
    const std::vector<int32_t> best = top_classes(p.scores, kTop);
    const int32_t wanted = answers.model_class[static_cast<size_t>(p.label)];
    answers.first[p.sample] = best[0];
    answers.in_top[p.sample] = std::find(best.begin(), best.end(), wanted) != best.end() ? 1 : 0;
    return {};
  };
  const PredictOptions predict_options{"eval " + path.substr(path.rfind('/') + 1), options.strict};
  answers.summary =
      TANDEM_TRY(predict(forward, dataset, model.preprocess, predict_options, hooks, sink).context(path));
  return answers;
}

ModelScore score_of(const std::string& path, const Answers& answers, const data::Dataset& dataset) {
  ModelScore score;
  score.model = path;
  for (size_t i = 0; i < dataset.samples.size(); ++i) {
    if (answers.first[i] < 0) continue;
    ++score.count;
    score.top5 += answers.in_top[i];
    const auto truth = static_cast<size_t>(dataset.samples[i].label);
    score.top1 += answers.first[i] == answers.model_class[truth] ? 1 : 0;
  }
  score.top1_interval = train::wilson_interval(score.top1, score.count);
  score.top5_interval = train::wilson_interval(score.top5, score.count);
  return score;
}

void fill_confusion(const Answers& answers, const data::Dataset& dataset, EvaluateResult& result) {
  const size_t classes = dataset.class_names.size();
  std::map<int32_t, size_t> place;
  for (size_t c = 0; c < classes; ++c) place.emplace(answers.model_class[c], c);
  result.class_names = dataset.class_names;
  result.confusion.assign(classes, std::vector<int64_t>(classes + 1, 0));
  train::Confusion square(static_cast<int64_t>(classes) + 1);
  for (size_t i = 0; i < dataset.samples.size(); ++i) {
    if (answers.first[i] < 0) continue;
    const auto found = place.find(answers.first[i]);
    const size_t column = found == place.end() ? classes : found->second;
    const auto row = static_cast<size_t>(dataset.samples[i].label);
    ++result.confusion[row][column];
    square.add(static_cast<int64_t>(row), static_cast<int64_t>(column));
  }
  result.per_class = square.per_class();
  result.per_class.resize(classes);
}

void fill_against(const Answers& a, const Answers& b, const std::string& path, const data::Dataset& dataset,
                  EvaluateResult& result) {
  result.against = score_of(path, b, dataset);
  std::vector<uint8_t> a_right, b_right;
  for (size_t i = 0; i < dataset.samples.size(); ++i) {
    if (a.first[i] < 0 || b.first[i] < 0) continue;
    const auto truth = static_cast<size_t>(dataset.samples[i].label);
    result.agreeing += a.first[i] == b.first[i] ? 1 : 0;
    a_right.push_back(a.first[i] == a.model_class[truth] ? 1 : 0);
    b_right.push_back(b.first[i] == b.model_class[truth] ? 1 : 0);
  }
  result.difference = train::paired_difference(b_right, a_right);
}

Json score_json(const ModelScore& score) {
  const auto share = [&](int64_t n) {
    return score.count == 0 ? 0.0 : static_cast<double>(n) / static_cast<double>(score.count);
  };
  const auto pair = [](const train::Interval& i) {
    Json list = Json::array();
    list.push(i.low).push(i.high);
    return list;
  };
  return Json::object({{"model", score.model},
                       {"images", score.count},
                       {"top1", share(score.top1)},
                       {"top1_interval", pair(score.top1_interval)},
                       {"top5", share(score.top5)},
                       {"top5_interval", pair(score.top5_interval)}});
}

}  // namespace

Result<std::vector<int32_t>> match_classes(std::span<const std::string> data_classes,
                                           std::span<const std::string> model_labels, int64_t classes,
                                           std::string* how) {
  std::vector<int32_t> by_name, by_number, by_place;
  for (const std::string& name : data_classes) {
    const auto at = std::find(model_labels.begin(), model_labels.end(), name);
    if (at != model_labels.end()) by_name.push_back(static_cast<int32_t>(at - model_labels.begin()));
    const std::optional<int64_t> number = whole_number(name);
    if (number && *number < classes) by_number.push_back(static_cast<int32_t>(*number));
    by_place.push_back(static_cast<int32_t>(by_place.size()));
  }
  const auto say = [how](const char* text) {
    if (how != nullptr) *how = text;
  };
  if (!model_labels.empty() && static_cast<int64_t>(model_labels.size()) != classes) {
    return bad_input(fmt::format("{} class names for a model with {} classes", model_labels.size(), classes));
  }
  if (by_name.size() == data_classes.size()) return say("by name"), by_name;
  if (by_number.size() == data_classes.size()) return say("by number"), by_number;
  if (model_labels.empty() && static_cast<int64_t>(data_classes.size()) == classes) {
    return say("by place, in the order of their names"), by_place;
  }
  const std::string known =
      model_labels.empty() ? fmt::format("{} classes without names", classes) : data::list_of(model_labels);
  return bad_input("the classes of the data are not those of the model")
      .because(fmt::format("the data has {}, the model {}", data::list_of(data_classes), known))
      .hint("name the model's classes with --labels FILE, one a line, or call the data's classes by number");
}

Result<EvaluateResult> evaluate(const EvaluateOptions& options, const JobHooks& hooks) {
  data::DatasetOptions dataset_options;
  dataset_options.seed = options.seed;
  dataset_options.val_limit = options.limit;
  dataset_options.allow_absolute_paths = options.allow_absolute_paths;
  std::vector<std::string> notes;
  const data::Dataset dataset = TANDEM_TRY(data::open_labelled(options.data, dataset_options, &notes));
  for (const std::string& note : notes) hooks.say(note);
  const Answers a = TANDEM_TRY(ask(options.model, dataset, options, hooks));
  EvaluateResult result;
  result.score = score_of(options.model, a, dataset);
  result.seconds = a.summary.seconds;
  result.skipped = a.summary.skipped;
  result.fallbacks = a.fallbacks;
  fill_confusion(a, dataset, result);
  if (!options.against.empty()) {
    const Answers b = TANDEM_TRY(ask(options.against, dataset, options, hooks));
    fill_against(a, b, options.against, dataset, result);
  }
  return result;
}

Json to_json(const EvaluateResult& result) {
  Json json = score_json(result.score);
  if (result.against) {
    json.set("against", score_json(*result.against));
    json.set("agreeing", result.agreeing);
    json.set("difference", result.difference->difference);
    Json interval = Json::array();
    interval.push(result.difference->interval.low).push(result.difference->interval.high);
    json.set("difference_interval", interval);
  }
  Json classes = Json::array();
  for (size_t c = 0; c < result.class_names.size(); ++c) {
    classes.push(Json::object({{"name", result.class_names[c]},
                               {"images", result.per_class[c].count},
                               {"precision", result.per_class[c].precision},
                               {"recall", result.per_class[c].recall},
                               {"answers", Json(result.confusion[c])}}));
  }
  json.set("classes", classes);
  Json skipped = Json::array();
  for (const data::Skipped& s : result.skipped)
    skipped.push(Json::object({{"path", s.path}, {"reason", s.reason}}));
  json.set("skipped", skipped);
  json.set("fallbacks", Json(result.fallbacks));
  json.set("seconds", result.seconds);
  return json;
}

}  // namespace tandem::jobs
