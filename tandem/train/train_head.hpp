// SPDX-License-Identifier: Apache-2.0
// train_head(): trains a head on cached features. Everything random is derived from (seed, epoch), so a run
// that was interrupted and resumed from its checkpoint ends with the same bits as one that was not.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/cancel.hpp"
#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/train/head.hpp"

namespace tandem::train {

enum class Optimizer : uint8_t { kAdamW, kSgd };
enum class Schedule : uint8_t { kCosine, kConstant };
std::string_view to_string(Optimizer optimizer);
std::string_view to_string(Schedule schedule);
// "adamw", "sgd"; "cosine", "constant". Errors list the choices.
Result<Optimizer> optimizer_from_string(std::string_view name);
Result<Schedule> schedule_from_string(std::string_view name);

struct TrainOptions {
  int64_t epochs = 5;
  // Samples of a step. The last step of an epoch takes what is left, however few: it is a mean over those, no
  // sample is dropped or repeated, and a head has no BatchNorm that could not take one sample.
  int64_t batch = 16;
  double rate = 1e-3;
  Optimizer optimizer = Optimizer::kAdamW;
  double momentum = 0.9;       // sgd only
  double weight_decay = 0.01;  // of weights, never of biases
  // Cosine: from `rate` to 0 over all steps (Loshchilov and Hutter 2017).
  Schedule schedule = Schedule::kCosine;
  uint64_t seed = 42;
  // Trains on (x - mean of its column) / deviation of all columns, over the rows that are trained on, and
  // puts that into the weights afterwards: one learning rate then suits features of any scale (measured with
  // EfficientNet-Lite0 at 1e-3: +1.0 points on Fashion-MNIST 1,000/1,000, +0.9 on 1,750 photos of flowers).
  bool normalize = true;
  // Class c weighs N / (K n_c), so that a rare class counts as much as a common one.
  bool balance_classes = true;
  // Share of each class that is not trained on but chooses the best epoch; a class with fewer than 5 rows
  // gives none. Nothing held out at all: the last epoch is taken.
  double holdout = 0.1;
};
// Error kUsage names the option and its range.
Status validate(const TrainOptions& options);

// Rows of features [.., columns] and their labels; row r of `values` has label labels[r].
struct TrainData {
  std::span<const float> values;
  int64_t columns = 0;
  std::span<const int32_t> labels;
  std::vector<int64_t> rows;  // the rows to use; others are not looked at
  // With augmentation: other features of the same rows, asked for before each epoch (counted from 1) and
  // valid until the next one. The held-out rows always come from `values`.
  std::function<Result<std::span<const float>>(int64_t epoch)> augmented;
};

struct EpochMetrics {
  int64_t epoch = 0;  // from 1
  double rate = 0;    // at its end
  double train_loss = 0;
  double holdout_loss = 0;      // NaN when nothing is held out
  double holdout_accuracy = 0;  // NaN when nothing is held out
  double seconds = 0;
};
Json to_json(const EpochMetrics& metrics);

struct TrainHooks {
  const CancelToken* cancel = nullptr;
  std::string checkpoint;  // path; written whole after each epoch. Empty: none.
  bool resume = false;     // continue from the checkpoint where there is one
  std::string key;  // of all that decides the result beyond TrainOptions (data, model); checked on resuming
  // After each epoch and its checkpoint, and for those found in a checkpoint.
  std::function<void(const EpochMetrics&)> epoch_done;
  std::function<void()> step_done;
};

struct TrainedHead {
  Head head;  // of the best epoch
  std::vector<EpochMetrics> epochs;
  int64_t best_epoch = 0;
  int64_t train_rows = 0, holdout_rows = 0;
  std::vector<std::string> notes;  // sentences for the user: divergence, what was not held out
};

// Errors: kUsage for options that do not fit the data (batch above the rows), kBadInput for features that are
// not finite and a loss that is not finite in the first epoch (later the best epoch is kept, and said),
// kInterrupted, and kUsage for a checkpoint of another run. Precondition: labels in range of the head's
// classes.
Result<TrainedHead> train_head(const Head& initial, const TrainData& data, const TrainOptions& options,
                               const TrainHooks& hooks = {});

// Which rows are held out, sorted; the others train. Exposed because reports and tests need the same answer.
struct HoldoutSplit {
  std::vector<int64_t> train, holdout;
};
HoldoutSplit split_holdout(std::span<const int64_t> rows, std::span<const int32_t> labels, double fraction,
                           uint64_t seed);

// N / (K n_c) over these rows, K counting the classes that occur; 1 for classes that do not.
std::vector<float> balanced_weights(std::span<const int64_t> rows, std::span<const int32_t> labels,
                                    int64_t classes);

}  // namespace tandem::train
