// SPDX-License-Identifier: Apache-2.0
// evaluate(): how often a model is right on labelled images, and how far a second one agrees with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/data/dataset.hpp"
#include "tandem/data/preprocess.hpp"
#include "tandem/jobs/forward.hpp"
#include "tandem/jobs/hooks.hpp"
#include "tandem/train/metrics.hpp"

namespace tandem::jobs {

struct EvaluateOptions {
  std::string model;    // as open_model_path() takes it; of a plan its parts are executed
  std::string against;  // a second model on the same images; empty: none
  std::string data;     // as data::open_labelled() takes it
  std::string labels;   // file with the model's class names; empty: those in the model
  data::PreprocessOverrides preprocess;
  Engine engine = Engine::kInt8;
  int threads = 0;
  int64_t batch = 4;
  int64_t limit = 0;  // images, seeded and stratified; 0: all
  uint64_t seed = 42;
  bool allow_absolute_paths = false;  // in a CSV
  bool strict = false;
  std::string dump_dir;
};

struct ModelScore {
  std::string model;
  int64_t top1 = 0, top5 = 0, count = 0;
  train::Interval top1_interval, top5_interval;  // 95 %
};

struct EvaluateResult {
  ModelScore score;
  std::optional<ModelScore> against;
  int64_t agreeing = 0;                               // images on which both say the same
  std::optional<train::PairedDifference> difference;  // model - against
  // Over the classes of the data; the last column counts answers that are none of them.
  std::vector<std::string> class_names;
  std::vector<std::vector<int64_t>> confusion;
  std::vector<train::ClassScores> per_class;
  std::vector<data::Skipped> skipped;
  std::vector<std::string> fallbacks;
  double seconds = 0;
};

Result<EvaluateResult> evaluate(const EvaluateOptions& options, const JobHooks& hooks = {});
Json to_json(const EvaluateResult& result);

// The model's class for each class of the data: by name where the model names all of them, else by number
// where the classes are called by whole numbers below `classes`, else by place where both have as many. `how`
// says which.
Result<std::vector<int32_t>> match_classes(std::span<const std::string> data_classes,
                                           std::span<const std::string> model_labels, int64_t classes,
                                           std::string* how = nullptr);

}  // namespace tandem::jobs
