// SPDX-License-Identifier: Apache-2.0
// adapt(): teaches a deployed classifier new classes. The backbone is quantized and stays frozen, its
// features are computed once, a head is trained on them in FP32, and everything that was made lies in a run
// directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/data/loader.hpp"
#include "tandem/data/preprocess.hpp"
#include "tandem/jobs/hooks.hpp"
#include "tandem/quant/choose_scales.hpp"
#include "tandem/tensor/quant_params.hpp"
#include "tandem/train/metrics.hpp"
#include "tandem/train/train_head.hpp"

namespace tandem::jobs {

enum class HeadChoice : uint8_t {
  // Tries keep (where the model knows the classes by name), linear and mlp, and takes the smallest that is
  // within
  // one standard error of the best on the held-out images.
  kAuto,
  kLinear,
  kMlp,   // one hidden layer with hard-swish
  kKeep,  // the model's own classifier, in FP32: nothing is trained, the accuracy is measured
};
std::string_view to_string(HeadChoice head);
Result<HeadChoice> head_choice_from_string(std::string_view name);

struct AdaptOptions {
  std::string model;          // an ONNX file
  std::string data;           // as data::open_datasets() takes it
  std::string output;         // the run directory; made where it does not exist
  bool resume = false;        // continue the run that was interrupted there
  train::TrainOptions train;  // its seed also splits and limits the data
  HeadChoice head = HeadChoice::kAuto;
  int64_t hidden = 256;  // width of an mlp's hidden layer
  std::string features;  // value to cut at; empty: before the classifier, found by structure
  Scheme scheme = Scheme::kAffine;
  quant::RangeMethod method = quant::RangeMethod::kMinMax;
  int64_t calib_images = 512;
  int64_t train_limit = 0, val_limit = 0;  // 0: all
  bool allow_absolute_paths = false;       // in a CSV
  int threads = 0;                         // 0: one per core
  std::string device = "int8";             // of the backbone
  bool compare_fp32 = true;
  data::PreprocessOverrides preprocess;
  data::Augment augment;
  bool strict = false;  // a skipped image is an error
  std::string extend;   // a run directory or its adapted.onnx, whose classes are kept and replayed
  std::string command;  // how it was called, for the report; may stay empty
};

struct Accuracy {
  double value = 0;
  train::Interval interval;  // 95 %
  int64_t correct = 0, count = 0;
};

// Of an extended run.
struct ByAge {
  Accuracy old_classes, new_classes;
};

struct AdaptResult {
  Accuracy int8;
  std::optional<Accuracy> fp32;
  std::optional<train::PairedDifference> difference;  // int8 - fp32
  std::optional<ByAge> int8_by_age, fp32_by_age;
  std::string head, head_why;                     // the kind of head; why, where it was chosen
  int64_t train_count = 0, validation_count = 0;  // images used, without the skipped ones
  int64_t images_skipped = 0;
  double seconds_total = 0;
  std::vector<std::string> class_names;
  Json summary;                    // as written to summary.json
  std::vector<std::string> files;  // what was written, by path
};

// Errors leave no partial file under a final name. kInterrupted: the run directory holds what resume needs.
Result<AdaptResult> adapt(const AdaptOptions& options, const JobHooks& hooks = {});

}  // namespace tandem::jobs
