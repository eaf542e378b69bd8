// SPDX-License-Identifier: Apache-2.0
// classify(): the likeliest classes of each image.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/data/dataset.hpp"
#include "tandem/data/preprocess.hpp"
#include "tandem/jobs/forward.hpp"
#include "tandem/jobs/hooks.hpp"

namespace tandem::jobs {

struct ClassifyOptions {
  std::string model;                // as open_model_path() takes it; of a plan its parts are executed
  std::vector<std::string> images;  // files and folders
  std::string labels;               // file with class names; empty: those in the model
  data::PreprocessOverrides preprocess;
  Engine engine = Engine::kInt8;
  int64_t top = 5;
  int threads = 0;
  int64_t batch = 4;
  bool strict = false;
  std::string dump_dir;
};

struct ClassScore {
  int32_t index = 0;
  std::string name;  // "#17" where the model brings no names
  float score = 0;   // as the model gives it
  float probability = 0;
};

struct Classified {
  std::string image;
  std::vector<ClassScore> best;  // by falling score
};

struct ClassifySummary {
  int64_t images = 0;
  std::vector<data::Skipped> skipped;
  std::vector<std::string> fallbacks;
  double seconds = 0;       // decoding and computing
  double load_seconds = 0;  // reading and compiling the model
};

// Each image once, in order, as soon as it is known.
using ClassifySink = std::function<Status(const Classified&)>;
Result<ClassifySummary> classify(const ClassifyOptions& options, const JobHooks& hooks,
                                 const ClassifySink& sink);

}  // namespace tandem::jobs
