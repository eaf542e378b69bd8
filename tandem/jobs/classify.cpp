// SPDX-License-Identifier: Apache-2.0
// Few images start no more workers than they need: the first answer counts.
#include "tandem/jobs/classify.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "tandem/jobs/model_source.hpp"
#include "tandem/jobs/predict.hpp"
#include "tandem/jobs/prepare_graph.hpp"

namespace tandem::jobs {
Result<ClassifySummary> classify(const ClassifyOptions& options, const JobHooks& hooks,
                                 const ClassifySink& sink) {
  if (options.top < 1) return usage_error("--top wants at least 1");
  if (options.batch < 1) return usage_error("--batch wants at least 1");
  const auto start = std::chrono::steady_clock::now();
  const ModelPath source = TANDEM_TRY(open_model_path(options.model));
  const std::string& path = source.model;
  const data::Dataset dataset = TANDEM_TRY(data::open_unlabelled(options.images));
  if (dataset.samples.empty())
    return bad_input("there is no image").because("nothing that was given holds one");
  const ImageModel model = TANDEM_TRY(load_image_model(path, options.preprocess));
  for (const std::string& notice : model.notices) hooks.say(notice);
  const int64_t classes = TANDEM_TRY(class_count(model.graph).context(fmt::format("model '{}'", path)));
  const std::vector<std::string> labels = TANDEM_TRY(labels_of(model.graph, options.labels));
  if (!labels.empty() && static_cast<int64_t>(labels.size()) != classes) {
    return bad_input(fmt::format("{} class names for a model with {} classes", labels.size(), classes))
        .hint("one name a line, in the order of the model's outputs");
  }
  ForwardOptions forward_options;
  forward_options.engine = options.engine;
  forward_options.dump_dir = options.dump_dir;
  const auto images = static_cast<int64_t>(dataset.samples.size());
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const int64_t wanted = options.threads > 0 ? options.threads : cores;
  forward_options.threads = static_cast<int>(std::min(wanted, images));
  const int64_t share = (images + forward_options.threads - 1) / forward_options.threads;
  forward_options.micro_batch = model.micro_batch > 1 ? std::min(options.batch, share) : 1;
  Forward forward = TANDEM_TRY(
      make_forward(model.graph, source, forward_options).context(fmt::format("model '{}'", options.model)));
  ClassifySummary summary;
  summary.fallbacks = forward.fallbacks();
  summary.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto each = [&](const Prediction& p) -> Status {
    Classified classified{dataset.name(p.sample), {}};
    const std::vector<float> probabilities = as_probabilities(p.scores);
    for (const int32_t index : top_classes(p.scores, static_cast<size_t>(options.top))) {
      const auto at = static_cast<size_t>(index);
      classified.best.push_back(
          {index, labels.empty() ? fmt::format("#{}", index) : labels[at], p.scores[at], probabilities[at]});
    }
    return sink(classified);
  };
  const PredictOptions predict_options{"run", options.strict};
  PredictSummary done = TANDEM_TRY(predict(forward, dataset, model.preprocess, predict_options, hooks, each));
  summary.images = done.images;
  summary.skipped = std::move(done.skipped);
  summary.seconds = done.seconds;
  return summary;
}

}  // namespace tandem::jobs
