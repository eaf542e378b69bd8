// SPDX-License-Identifier: Apache-2.0
// The training loop and its checkpoints.
#include "tandem/train/train_head.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <numbers>
#include <optional>

#include "tandem/base/text.hpp"
#include "tandem/base/units.hpp"

namespace tandem::train {
namespace {

// Streams of the run's seed.
enum Stream : uint64_t { kHoldoutStream = 1, kShuffleStream = 2 };

constexpr const char* kFormat = "tandem.checkpoint.1";
constexpr int64_t kHoldoutRowsMin = 5;

exec::UpdateRule rule_of(const TrainOptions& o) {
  const auto rate = static_cast<float>(o.rate), decay = static_cast<float>(o.weight_decay);
  if (o.optimizer == Optimizer::kSgd) {
    exec::Sgd sgd;
    sgd.rate = rate;
    sgd.momentum = static_cast<float>(o.momentum);
    sgd.decay = decay;
    return sgd;
  }
  exec::AdamW adam;
  adam.rate = rate;
  adam.decay = decay;
  return adam;
}

std::vector<exec::LinearLayerState> fresh_layers(const Head& head, const TrainOptions& options) {
  std::vector<exec::LinearLayerState> layers = layer_states(head);
  for (exec::LinearLayerState& layer : layers) {
    layer.weights_m.assign(layer.weights.size(), 0);
    layer.bias_m.assign(layer.bias.size(), 0);
    if (options.optimizer == Optimizer::kAdamW) {
      layer.weights_v.assign(layer.weights.size(), 0);
      layer.bias_v.assign(layer.bias.size(), 0);
    }
  }
  return layers;
}

void copy_weights(const std::vector<exec::LinearLayerState>& from, Head& to) {
  for (size_t i = 0; i < from.size(); ++i) {
    to.layers[i].weights = from[i].weights;
    to.layers[i].bias = from[i].bias;
  }
}

// Features as they are trained on: (x - mean) / scale.
struct Normalization {
  std::vector<float> mean;
  float scale = 1;

  // Of these rows; sums in double and in a fixed order.
  static Normalization of(const TrainData& data, std::span<const int64_t> rows) {
    const auto columns = static_cast<size_t>(data.columns);
    Normalization n;
    n.mean.assign(columns, 0);
    if (rows.empty()) return n;
    std::vector<double> sum(columns, 0);
    double squares = 0;
    for (const int64_t row : rows) {
      const auto x = data.values.subspan(static_cast<size_t>(row) * columns, columns);
      for (size_t c = 0; c < columns; ++c) {
        sum[c] += x[c];
        squares += double{x[c]} * x[c];
      }
    }
    const auto count = static_cast<double>(rows.size());
    for (size_t c = 0; c < columns; ++c) {
      n.mean[c] = static_cast<float>(sum[c] / count);
      squares -= sum[c] * sum[c] / count;
    }
    const double variance = squares / (count * static_cast<double>(columns));
    if (variance > 0) n.scale = static_cast<float>(std::sqrt(variance));
    return n;
  }

  void apply(std::span<float> x) const {
    for (size_t c = 0; c < x.size(); ++c) x[c] = (x[c] - mean[c]) / scale;
  }

  // The head for plain features from the one for these, and back: W x + b = (W s) ((x - m) / s) + (b + W m).
  void fold(Head& head, bool into_plain) const {
    DenseLayer& layer = head.layers.front();
    for (int64_t o = 0; o < layer.outputs; ++o) {
      double shift = 0;
      for (int64_t i = 0; i < layer.inputs; ++i) {
        float& w = layer.weights[static_cast<size_t>(o * layer.inputs + i)];
        if (into_plain) w /= scale;
        shift += double{w} * mean[static_cast<size_t>(i)];
        if (!into_plain) w *= scale;
      }
      float& b = layer.bias[static_cast<size_t>(o)];
      b = static_cast<float>(into_plain ? b - shift : b + shift);
    }
  }
};

// Mean loss and accuracy of rows, unweighted.
struct Score {
  double loss = std::numeric_limits<double>::quiet_NaN();
  double accuracy = std::numeric_limits<double>::quiet_NaN();
};

// One run of train_head().
class Run {
 public:
  Run(const Head& initial, const TrainData& data, const TrainOptions& options, const TrainHooks& hooks)
      : data_(data),
        options_(options),
        hooks_(hooks),
        split_(split_holdout(data.rows, data.labels, options.holdout, options.seed)),
        normalization_(options.normalize ? std::optional(Normalization::of(data, split_.train))
                                         : std::nullopt),
        trainer_(fresh_layers(normalized(initial), options), initial.activation, rule_of(options)) {
    result_.head = normalized(initial);
    result_.train_rows = static_cast<int64_t>(split_.train.size());
    result_.holdout_rows = static_cast<int64_t>(split_.holdout.size());
    if (options.balance_classes)
      class_weights_ = balanced_weights(split_.train, data.labels, initial.class_count());
    steps_per_epoch_ = (result_.train_rows + options.batch - 1) / options.batch;
  }

  Result<TrainedHead> all() {
    TANDEM_TRY(check_data());
    if (split_.holdout.empty() && options_.holdout > 0) {
      result_.notes.push_back(
          fmt::format("no class has the {} training images that holding one out takes: the last epoch is "
                      "kept instead of the best",
                      kHoldoutRowsMin));
    }
    if (hooks_.resume && !hooks_.checkpoint.empty() && std::filesystem::exists(hooks_.checkpoint)) {
      TANDEM_TRY(load_checkpoint().context(fmt::format("resuming from '{}'", hooks_.checkpoint)));
    }
    for (int64_t epoch = static_cast<int64_t>(result_.epochs.size()) + 1; epoch <= options_.epochs; ++epoch) {
      const bool finite = TANDEM_TRY(one_epoch(epoch));
      if (!finite) {
        if (result_.epochs.empty()) return diverged();
        result_.notes.push_back(
            fmt::format("training diverged in epoch {} (its loss is not a finite number): epoch {} is kept; "
                        "a lower learning rate than {} "
                        "avoids this",
                        epoch, result_.best_epoch, options_.rate));
        break;
      }
      if (!hooks_.checkpoint.empty()) TANDEM_TRY(save_checkpoint());
      if (hooks_.epoch_done) hooks_.epoch_done(result_.epochs.back());
    }
    if (normalization_) normalization_->fold(result_.head, true);
    return std::move(result_);
  }

 private:
  Head normalized(Head head) const {
    if (normalization_) normalization_->fold(head, false);
    return head;
  }

  Status check_data() const {
    if (options_.batch > result_.train_rows) {
      return usage_error(fmt::format("a batch of {} is larger than the training data", options_.batch))
          .because(fmt::format("{} images are left to train on; {} are held out to choose the best epoch",
                               result_.train_rows, result_.holdout_rows))
          .hint(fmt::format("use --batch {} or less, or more images",
                            std::max<int64_t>(1, result_.train_rows)));
    }
    for (const int64_t row : data_.rows) {
      const auto r = static_cast<size_t>(row);
      TANDEM_CHECK(data_.labels[r] >= 0 && data_.labels[r] < result_.head.class_count(),
                   "label out of range");
      for (const float v :
           data_.values.subspan(r * static_cast<size_t>(data_.columns), static_cast<size_t>(data_.columns))) {
        if (!std::isfinite(v)) {
          return bad_input(fmt::format("the features of image {} hold NaN or infinity", row))
              .because("the backbone computes no finite numbers for it")
              .hint("look at the model's weights and at the preprocessing (mean, std, range)");
        }
      }
    }
    return {};
  }

  Error diverged() const {
    return bad_input("training diverged in its first epoch: the loss is not a finite number")
        .because(fmt::format("the learning rate {} is too high for these features", options_.rate))
        .hint(fmt::format("try --lr {}", options_.rate / 10));
  }

  double rate_at(int64_t step) const {
    if (options_.schedule == Schedule::kConstant) return options_.rate;
    const double total = static_cast<double>(std::max<int64_t>(1, steps_per_epoch_ * options_.epochs));
    return options_.rate * 0.5 * (1 + std::cos(std::numbers::pi * static_cast<double>(step) / total));
  }

  std::span<const float> row_of(std::span<const float> values, int64_t row) const {
    return values.subspan(static_cast<size_t>(row * data_.columns), static_cast<size_t>(data_.columns));
  }

  void gather(std::span<const float> values, std::span<const int64_t> rows) {
    const int64_t size = static_cast<int64_t>(rows.size()) * data_.columns;
    if (batch_store_.elements() < size) batch_store_ = Tensor(DType::kF32, Shape{size});
    batch_values_ = batch_store_.as<float>().first(static_cast<size_t>(size));
    batch_labels_.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto from = row_of(values, rows[i]);
      const auto to = batch_values_.subspan(i * from.size(), from.size());
      std::copy(from.begin(), from.end(), to.begin());
      if (normalization_) normalization_->apply(to);
      batch_labels_[i] = data_.labels[static_cast<size_t>(rows[i])];
    }
  }

  // False when the loss stopped being a finite number; the result keeps what was best before.
  Result<bool> one_epoch(int64_t epoch) {
    const auto start = std::chrono::steady_clock::now();
    const std::span<const float> values = data_.augmented ? TANDEM_TRY(data_.augmented(epoch)) : data_.values;
    std::vector<int64_t> order = split_.train;
    Rng rng = Rng(options_.seed).fork(kShuffleStream).fork(static_cast<uint64_t>(epoch));
    rng.shuffle(order);
    EpochMetrics metrics;
    metrics.epoch = epoch;
    double loss_sum = 0;
    for (size_t first = 0; first < order.size(); first += static_cast<size_t>(options_.batch)) {
      if (hooks_.cancel != nullptr) TANDEM_TRY(hooks_.cancel->check());
      const size_t count = std::min(static_cast<size_t>(options_.batch), order.size() - first);
      gather(values, std::span<const int64_t>(order).subspan(first, count));
      trainer_.set_rate(static_cast<float>(rate_at(trainer_.steps())));
      const double loss = trainer_.step(batch_values_, batch_labels_, class_weights_);
      if (!std::isfinite(loss)) return false;
      loss_sum += loss * static_cast<double>(count);
      if (hooks_.step_done) hooks_.step_done();
    }
    metrics.rate = rate_at(trainer_.steps());
    metrics.train_loss = loss_sum / static_cast<double>(std::max<size_t>(1, order.size()));
    const Score score = evaluate();
    if (!split_.holdout.empty() && !std::isfinite(score.loss)) return false;
    if (split_.holdout.empty() && !weights_finite()) return false;
    metrics.holdout_loss = score.loss;
    metrics.holdout_accuracy = score.accuracy;
    metrics.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    result_.epochs.push_back(metrics);
    if (is_best(metrics)) {
      result_.best_epoch = epoch;
      copy_weights(trainer_.layers(), result_.head);
    }
    return true;
  }

  bool weights_finite() const {
    for (const auto& layer : trainer_.layers()) {
      for (const float w : layer.weights) {
        if (!std::isfinite(w)) return false;
      }
    }
    return true;
  }

  // More held-out images right, then less loss; without any, the last.
  bool is_best(const EpochMetrics& now) const {
    if (result_.best_epoch == 0 || split_.holdout.empty()) return true;
    const EpochMetrics& best = result_.epochs[static_cast<size_t>(result_.best_epoch - 1)];
    if (now.holdout_accuracy != best.holdout_accuracy) return now.holdout_accuracy > best.holdout_accuracy;
    return now.holdout_loss < best.holdout_loss;
  }

  Score evaluate() {
    Score score;
    if (split_.holdout.empty()) return score;
    constexpr size_t kRows = 256;
    const auto classes = static_cast<size_t>(result_.head.class_count());
    double loss = 0;
    int64_t right = 0;
    std::vector<float> logits, gradient;
    for (size_t first = 0; first < split_.holdout.size(); first += kRows) {
      const size_t count = std::min(kRows, split_.holdout.size() - first);
      gather(data_.values, std::span<const int64_t>(split_.holdout).subspan(first, count));
      logits.resize(count * classes);
      gradient.resize(logits.size());
      trainer_.logits(batch_values_, static_cast<int64_t>(count), logits);
      loss += exec::softmax_cross_entropy(logits, batch_labels_, {}, gradient) * static_cast<double>(count);
      for (size_t i = 0; i < count; ++i) {
        const float* z = logits.data() + i * classes;
        right += std::max_element(z, z + classes) - z == batch_labels_[i] ? 1 : 0;
      }
    }
    score.loss = loss / static_cast<double>(split_.holdout.size());
    score.accuracy = static_cast<double>(right) / static_cast<double>(split_.holdout.size());
    return score;
  }

  // All that decides the result, as text.
  std::string key() const {
    const TrainOptions& o = options_;
    return fmt::format(
        "{}|{}|epochs {} batch {} lr {} {} momentum {} decay {} {} seed {} balance {} holdout {} normalize "
        "{}",
        hooks_.key, result_.head.kind(), o.epochs, o.batch, o.rate, to_string(o.optimizer), o.momentum,
        o.weight_decay, to_string(o.schedule), o.seed, o.balance_classes, o.holdout, o.normalize);
  }

  Status save_checkpoint() const {
    TensorFile file = to_tensors(result_.head);  // the best so far
    for (size_t i = 0; i < trainer_.layers().size(); ++i) {
      const exec::LinearLayerState& layer = trainer_.layers()[i];
      const auto put = [&](const char* name, const std::vector<float>& values) {
        file.tensors.emplace(fmt::format("now{}.{}", i, name),
                             Tensor::of<float>({static_cast<int64_t>(values.size())}, values));
      };
      put("weight", layer.weights);
      put("bias", layer.bias);
      put("weight_m", layer.weights_m);
      put("weight_v", layer.weights_v);
      put("bias_m", layer.bias_m);
      put("bias_v", layer.bias_v);
    }
    Json epochs = Json::array();
    for (const EpochMetrics& metrics : result_.epochs) epochs.push(to_json(metrics));
    file.metadata["checkpoint"] = kFormat;
    file.metadata["key"] = key();
    file.metadata["steps"] = std::to_string(trainer_.steps());
    file.metadata["best_epoch"] = std::to_string(result_.best_epoch);
    file.metadata["epochs"] = epochs.dump();
    return save_safetensors(file, hooks_.checkpoint);
  }

  Status load_checkpoint() {
    const TensorFile file = TANDEM_TRY(load_safetensors(hooks_.checkpoint));
    const auto text = [&](const char* name) {
      const auto found = file.metadata.find(name);
      return found == file.metadata.end() ? std::string() : found->second;
    };
    if (text("checkpoint") != kFormat) return bad_input("this is no checkpoint of a head");
    if (text("key") != key()) {
      return usage_error("the checkpoint belongs to a run with other options or data")
          .because(fmt::format("then: {}\n  now:  {}", text("key"), key()))
          .hint("repeat the options of that run, or start afresh without --resume");
    }
    Head best = TANDEM_TRY(head_from_tensors(file));
    const Json epochs = TANDEM_TRY(Json::parse(text("epochs")));
    const Json steps = TANDEM_TRY(Json::parse(text("steps"))),
               best_epoch = TANDEM_TRY(Json::parse(text("best_epoch")));
    const auto done = static_cast<int64_t>(epochs.size());
    if (done < 1 || done > options_.epochs || best_epoch.as_int() < 1 || best_epoch.as_int() > done ||
        steps.as_int() < 0) {
      return bad_input("its counts contradict each other");
    }
    if (best.feature_count() != result_.head.feature_count() ||
        best.class_names != result_.head.class_names) {
      return bad_input("its head has another form");
    }
    TANDEM_TRY(load_layers(file));
    trainer_.set_steps(steps.as_int());
    result_.head = std::move(best);
    result_.best_epoch = best_epoch.as_int();
    for (const Json& item : epochs.items()) {
      EpochMetrics m;
      const double nan = std::numeric_limits<double>::quiet_NaN();
      m.epoch = item["epoch"].as_int();
      m.rate = item["rate"].as_number(nan);
      m.train_loss = item["train_loss"].as_number(nan);
      m.holdout_loss = item["holdout_loss"].as_number(nan);
      m.holdout_accuracy = item["holdout_accuracy"].as_number(nan);
      m.seconds = item["seconds"].as_number(nan);
      result_.epochs.push_back(m);
      if (hooks_.epoch_done) hooks_.epoch_done(m);
    }
    return {};
  }

  Status load_layers(const TensorFile& file) {
    for (size_t i = 0; i < trainer_.layers().size(); ++i) {
      exec::LinearLayerState& layer = trainer_.layers()[i];
      const auto get = [&](const char* name, std::vector<float>& values) -> Status {
        const auto found = file.tensors.find(fmt::format("now{}.{}", i, name));
        if (found == file.tensors.end() || found->second.dtype() != DType::kF32 ||
            found->second.as<float>().size() != values.size()) {
          return bad_input(fmt::format("'now{}.{}' is missing or has another size", i, name));
        }
        const auto from = found->second.as<float>();
        std::copy(from.begin(), from.end(), values.begin());
        return {};
      };
      TANDEM_TRY(get("weight", layer.weights));
      TANDEM_TRY(get("bias", layer.bias));
      TANDEM_TRY(get("weight_m", layer.weights_m));
      TANDEM_TRY(get("weight_v", layer.weights_v));
      TANDEM_TRY(get("bias_m", layer.bias_m));
      TANDEM_TRY(get("bias_v", layer.bias_v));
    }
    return {};
  }

  const TrainData& data_;
  const TrainOptions& options_;
  const TrainHooks& hooks_;
  const HoldoutSplit split_;
  const std::optional<Normalization> normalization_;
  exec::HeadTrainer trainer_;
  std::vector<float> class_weights_;
  int64_t steps_per_epoch_ = 1;
  Tensor batch_store_;  // aligned, which a step gains a third from
  std::span<float> batch_values_;
  std::vector<int32_t> batch_labels_;
  TrainedHead result_;
};

}  // namespace

std::string_view to_string(Optimizer optimizer) { return optimizer == Optimizer::kAdamW ? "adamw" : "sgd"; }
std::string_view to_string(Schedule schedule) {
  return schedule == Schedule::kCosine ? "cosine" : "constant";
}

Result<Optimizer> optimizer_from_string(std::string_view name) {
  for (const auto optimizer : {Optimizer::kAdamW, Optimizer::kSgd}) {
    if (to_string(optimizer) == name) return optimizer;
  }
  return usage_error(fmt::format("unknown optimizer '{}'", name)).hint(did_you_mean(name, {"adamw", "sgd"}));
}

Result<Schedule> schedule_from_string(std::string_view name) {
  for (const auto schedule : {Schedule::kCosine, Schedule::kConstant}) {
    if (to_string(schedule) == name) return schedule;
  }
  return usage_error(fmt::format("unknown schedule '{}'", name))
      .hint(did_you_mean(name, {"cosine", "constant"}));
}

Status validate(const TrainOptions& o) {
  const auto refuse = [](std::string what) { return usage_error(std::move(what)); };
  if (o.epochs < 1 || o.epochs > 100000)
    return refuse(fmt::format("--epochs {} is not between 1 and 100000", o.epochs));
  if (o.batch < 1 || o.batch > (1 << 20))
    return refuse(fmt::format("--batch {} is not between 1 and {}", o.batch, 1 << 20));
  if (!(o.rate > 0) || !std::isfinite(o.rate))
    return refuse(fmt::format("--lr {} is not a number above 0", o.rate));
  if (!(o.momentum >= 0 && o.momentum < 1))
    return refuse(fmt::format("momentum {} is not in [0, 1)", o.momentum));
  if (!(o.weight_decay >= 0) || !std::isfinite(o.weight_decay)) {
    return refuse(fmt::format("--weight-decay {} is not a number from 0 on", o.weight_decay));
  }
  if (!(o.holdout >= 0 && o.holdout < 1))
    return refuse(fmt::format("--holdout {} is not in [0, 1)", o.holdout));
  return {};
}

Json to_json(const EpochMetrics& m) {
  return Json::object({{"epoch", m.epoch},
                       {"rate", m.rate},
                       {"train_loss", m.train_loss},
                       {"holdout_loss", m.holdout_loss},
                       {"holdout_accuracy", m.holdout_accuracy},
                       {"seconds", m.seconds}});
}

HoldoutSplit split_holdout(std::span<const int64_t> rows, std::span<const int32_t> labels, double fraction,
                           uint64_t seed) {
  std::map<int32_t, std::vector<int64_t>> by_class;
  for (const int64_t row : rows) by_class[labels[static_cast<size_t>(row)]].push_back(row);
  HoldoutSplit split;
  for (auto& [label, members] : by_class) {
    const auto n = static_cast<int64_t>(members.size());
    int64_t held = 0;
    if (fraction > 0 && n >= kHoldoutRowsMin) {
      held = std::clamp<int64_t>(std::llround(fraction * static_cast<double>(n)), 1, n - 1);
    }
    Rng rng = Rng(seed).fork(kHoldoutStream).fork(static_cast<uint64_t>(label));
    rng.shuffle(members);
    split.holdout.insert(split.holdout.end(), members.begin(), members.begin() + held);
    split.train.insert(split.train.end(), members.begin() + held, members.end());
  }
  std::sort(split.train.begin(), split.train.end());
  std::sort(split.holdout.begin(), split.holdout.end());
  return split;
}

std::vector<float> balanced_weights(std::span<const int64_t> rows, std::span<const int32_t> labels,
                                    int64_t classes) {
  std::vector<int64_t> counts(static_cast<size_t>(classes), 0);
  for (const int64_t row : rows) ++counts[static_cast<size_t>(labels[static_cast<size_t>(row)])];
  const auto present = std::count_if(counts.begin(), counts.end(), [](int64_t n) { return n > 0; });
  std::vector<float> weights(counts.size(), 1);
  for (size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] == 0) continue;
    weights[c] = static_cast<float>(static_cast<double>(rows.size()) /
                                    (static_cast<double>(present) * static_cast<double>(counts[c])));
  }
  return weights;
}

Result<TrainedHead> train_head(const Head& initial, const TrainData& data, const TrainOptions& options,
                               const TrainHooks& hooks) {
  TANDEM_TRY(validate(options));
  TANDEM_CHECK(data.columns == initial.feature_count(), "features do not fit the head");
  return Run(initial, data, options, hooks).all();
}

}  // namespace tandem::train
