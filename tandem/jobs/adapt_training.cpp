// SPDX-License-Identifier: Apache-2.0
// Heads on cached features: which kind, and the training of it.
#include <algorithm>

#include "tandem/base/hash.hpp"
#include "tandem/jobs/adaptation.hpp"
#include "tandem/jobs/extract_features.hpp"
#include "tandem/jobs/own_classifier.hpp"

namespace tandem::jobs {
namespace {

constexpr const char* kKept = "keep";

int64_t parameter_count(const train::Head& head) {
  int64_t count = 0;
  for (const train::DenseLayer& layer : head.layers) count += (layer.inputs + 1) * layer.outputs;
  return count;
}

// Index of the smallest head that is not clearly worse than the best on the held-out rows: by no more than
// one standard error of the paired difference (the rule of Breiman et al. 1984, section 3.4.3). `trials` by
// size.
size_t chosen_of(const std::vector<HeadTrial>& trials) {
  const auto best =
      std::max_element(trials.begin(), trials.end(), [](const HeadTrial& a, const HeadTrial& b) {
        return a.held.accuracy.correct < b.held.accuracy.correct;
      });
  constexpr double kErrorsIn95 = 1.96;
  for (size_t i = 0; i < trials.size(); ++i) {
    const train::PairedDifference d = train::paired_difference(trials[i].held.correct, best->held.correct);
    const double standard_error = (d.interval.high - d.interval.low) / (2 * kErrorsIn95);
    if (d.difference <= standard_error) return i;
  }
  return static_cast<size_t>(best - trials.begin());
}

}  // namespace

Result<std::span<const float>> Adaptation::augmented_features(Branch& branch, int64_t epoch) {
  Sha256 key;
  key.add(branch.backbone_key).add(train.listing).add(static_cast<uint64_t>(epoch)).add(options.train.seed);
  key.add(options.augment.flip ? "flip" : "").add(options.augment.crop ? "crop" : "");
  if (base) key.add(base->record.dump());
  const std::string path = run->work(fmt::format("features-augmented-{}.bin", branch.name));
  branch.augmented.reset();
  branch.augmented.emplace(
      TANDEM_TRY(train::FeatureCache::open(path, key.hex(), train.rows(), branch.train->columns())));
  while (branch.augmented->rows_done() < train.replayed) {
    branch.augmented->append(branch.train->row(branch.augmented->rows_done()));
  }
  ExtractOptions e = extract_options(fmt::format("{} features, epoch {}", branch.name, epoch), train);
  e.augment = options.augment;
  e.epoch = static_cast<uint64_t>(epoch);
  TANDEM_TRY(extract_features(branch.runnable, train.dataset, model.preprocess, e, hooks, *branch.augmented));
  return branch.augmented->all();
}

train::Head Adaptation::initial_head(const Branch& branch, const std::string& kind) const {
  if (base) {
    const train::Head& old = branch.name == "fp32" ? *base->fp32_head : base->head;
    const std::vector<std::string> added(class_names.begin() + old.class_count(), class_names.end());
    return train::with_more_classes(old, added, options.train.seed);
  }
  train::HeadOptions head;
  head.features = branch.train->columns();
  head.class_names = class_names;
  head.hidden = kind == "mlp" ? options.hidden : 0;
  head.seed = options.train.seed;
  return train::make_head(head);
}

Result<train::TrainedHead> Adaptation::train_kind(Branch& branch, const std::string& kind, bool augmented) {
  train::TrainData data;
  data.values = branch.train->all();
  data.columns = branch.train->columns();
  data.labels = train.labels;
  data.rows = branch.train_rows;
  if (augmented) data.augmented = [&](int64_t epoch) { return augmented_features(branch, epoch); };
  train::TrainHooks train_hooks;
  train_hooks.cancel = hooks.cancel;
  train_hooks.checkpoint = run->work(
      fmt::format("checkpoint-{}-{}{}.safetensors", branch.name, kind, augmented ? "-augmented" : ""));
  train_hooks.resume = options.resume;
  train_hooks.key = Sha256().add(branch.backbone_key).add(train.listing).hex();
  Progress progress = hooks.start(fmt::format("train {} head on {}", kind, branch.name),
                                  static_cast<uint64_t>(options.train.epochs), "epochs");
  train_hooks.epoch_done = [&](const train::EpochMetrics& m) {
    progress.update(static_cast<uint64_t>(m.epoch));
  };
  return train::train_head(initial_head(branch, kind), data, options.train, train_hooks);
}

std::optional<train::TrainedHead> Adaptation::kept_head() const {
  if (base || !float_backbone.own_head) return std::nullopt;
  std::optional<train::Head> own = restricted_to(*float_backbone.own_head, class_names);
  if (!own) return std::nullopt;
  train::TrainedHead kept;
  kept.head = std::move(*own);
  return kept;
}

// Tries the kinds on plain features: with --augment only the one that is chosen is trained again.
Status Adaptation::choose_head(Branch& branch) {
  const train::HoldoutSplit split =
      train::split_holdout(branch.train_rows, train.labels, options.train.holdout, options.train.seed);
  if (split.holdout.empty()) {
    head_kind = "linear";
    say("head: linear, the smallest that learns; there are too few images to hold some out and compare "
        "kinds");
    return {};
  }
  const auto classes = static_cast<int64_t>(class_names.size());
  const auto add = [&](const char* kind, train::TrainedHead trained) {
    HeadTrial trial;
    trial.kind = kind;
    trial.parameters = parameter_count(trained.head);
    trial.held = evaluate_rows(*branch.train, train.labels, split.holdout, classes, &trained.head);
    trial.trained = std::move(trained);
    trials.push_back(std::move(trial));
  };
  if (auto kept = kept_head()) add(kKept, std::move(*kept));
  for (const char* kind : {"linear", "mlp"}) add(kind, TANDEM_TRY(train_kind(branch, kind, false)));
  const HeadTrial& chosen = trials[chosen_of(trials)];
  head_kind = chosen.kind;
  std::string tried;
  for (const HeadTrial& t : trials) {
    tried += fmt::format("{}{} {:.1f} %", tried.empty() ? "" : ", ", t.kind, 100 * t.held.accuracy.value);
  }
  head_why = fmt::format(
      "{} right on {} held-out images: the smallest that is within one standard error of the best", tried,
      split.holdout.size());
  say(fmt::format("head: {} chosen; {}", head_kind, head_why));
  return {};
}

Status Adaptation::train_branch(Branch& branch) {
  const bool augmented = options.augment.any();
  if (head_kind.empty()) {
    if (options.head == HeadChoice::kAuto && !base)
      TANDEM_TRY(choose_head(branch));
    else if (base)
      head_kind = base->head.kind();
    else
      head_kind = to_string(options.head);
  }
  const auto trial =
      std::find_if(trials.begin(), trials.end(), [&](const HeadTrial& t) { return t.kind == head_kind; });
  const bool tried = trial != trials.end() && &branch == &branches.front() && !augmented;
  if (head_kind == kKept)
    branch.trained = kept_head();
  else if (tried)
    branch.trained = trial->trained;
  else
    branch.trained = TANDEM_TRY(train_kind(branch, head_kind, augmented));
  for (const std::string& note : branch.trained->notes) say(fmt::format("{}: {}", branch.name, note));
  return write_metrics(*this);
}

}  // namespace tandem::jobs
