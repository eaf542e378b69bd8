// SPDX-License-Identifier: Apache-2.0
// Internal to adapt(): what is known while it runs, and the steps that fill it in.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/base/hash.hpp"
#include "tandem/base/trace.hpp"
#include "tandem/data/dataset.hpp"
#include "tandem/ir/graph.hpp"
#include "tandem/jobs/adapt.hpp"
#include "tandem/jobs/extract_features.hpp"
#include "tandem/jobs/frozen_backbone.hpp"
#include "tandem/jobs/head_evaluation.hpp"
#include "tandem/jobs/model_source.hpp"
#include "tandem/jobs/run_directory.hpp"
#include "tandem/train/feature_cache.hpp"
#include "tandem/train/head.hpp"
#include "tandem/train/train_head.hpp"

namespace tandem::jobs {

// One part of the data: images of this run, behind the replayed rows of the run that is extended.
struct DataPart {
  std::string name;  // "train", "val"
  data::Dataset dataset;
  std::string listing;                 // hash of the dataset
  int64_t replayed = 0;                // rows before the first image
  std::vector<int32_t> labels;         // per row, in the classes of this run
  std::vector<data::Skipped> skipped;  // while listing and while decoding
  int64_t rows() const { return replayed + static_cast<int64_t>(dataset.samples.size()); }
};

// All that is done once per precision of the backbone.
struct Branch {
  std::string name;  // "int8", "fp32"
  ir::Graph runnable;
  std::string backbone_key;  // of what decides the features, apart from the images
  std::optional<train::FeatureCache> train, val;
  std::optional<train::FeatureCache> augmented;  // of the present epoch
  std::vector<int64_t> train_rows, val_rows;     // the usable ones
  std::optional<train::TrainedHead> trained;     // none when the classifier is kept
  Evaluation evaluation;
};

// A head that --head auto tried on the INT8 features.
struct HeadTrial {
  std::string kind;  // "keep", "linear", "mlp"
  int64_t parameters = 0;
  train::TrainedHead trained;
  Evaluation held;  // on the held-out rows
};

// The run that is extended.
struct BaseRun {
  RunDirectory directory;
  Json record;
  train::Head head;
  std::optional<train::Head> fp32_head;  // where that run compared with FP32
  std::vector<int32_t> train_labels, val_labels;
};

struct Adaptation {
  Adaptation(const AdaptOptions& o, const JobHooks& h);

  const AdaptOptions& options;
  const JobHooks& hooks;
  const int64_t start_ns;

  ImageModel model;
  Scheme scheme;  // as asked for; that of the extended run where there is one
  std::vector<std::string> class_names;
  DataPart train, val;
  std::optional<BaseRun> base;
  std::optional<RunDirectory> run;
  bool writing = false;  // the results of an earlier run were removed, this one's are made
  FloatBackbone float_backbone;
  QuantizedBackbone quantized;
  std::vector<Branch> branches;     // int8 first
  std::string head_kind, head_why;  // once it is decided; why with --head auto
  std::vector<HeadTrial> trials;    // of --head auto, by size
  TraceWriter trace;
  std::vector<std::string> notes;
  std::vector<std::pair<std::string, double>> seconds;  // per stage, in order

  bool keeps_head() const { return options.head == HeadChoice::kKeep; }
  int threads() const;
  void say(std::string sentence);
  // Runs a stage, times it, puts it on the timeline.
  template <typename F>
  Status stage(const std::string& name, F&& work);
  int64_t now_ns() const;  // since the start

  Status load();
  Status open_run();
  Status make_backbones();
  Status extract(Branch& branch);
  Status train_branch(Branch& branch);
  Status evaluate_branch(Branch& branch);
  Result<AdaptResult> all();
  // What the run was started with, and once they are open its feature caches: for resuming and extending.
  Json record() const;

 private:
  Status load_base();
  Status load_data();
  Status check_record(const Json& old, const Json& now) const;
  std::string cache_key(const Branch& branch, const DataPart& part) const;
  Status open_cache(const Branch& branch, const DataPart& part, const train::FeatureCache* replay,
                    std::optional<train::FeatureCache>& cache);
  Status extract_part(Branch& branch, DataPart& part, std::optional<train::FeatureCache>& cache);
  Result<std::optional<train::FeatureCache>> base_cache(const std::string& part, const Branch& branch) const;
  Status make_fp32_branch(const Sha256& common);
  ExtractOptions extract_options(std::string label, const DataPart& part);
  // --- adapt_training.cpp ---
  Result<std::span<const float>> augmented_features(Branch& branch, int64_t epoch);
  train::Head initial_head(const Branch& branch, const std::string& kind) const;
  Result<train::TrainedHead> train_kind(Branch& branch, const std::string& kind, bool augmented);
  // The model's own classifier, when it knows the classes of this run by name.
  std::optional<train::TrainedHead> kept_head() const;
  Status choose_head(Branch& branch);
};

// --- adapt_outputs.cpp ---

// The model with its head, labels and preprocessing.
Result<ir::Graph> adapted_graph(const Adaptation& a);
Status write_metrics(const Adaptation& a);
// adapted.onnx, head.safetensors, plan.json, report.html, summary.json, in this order.
Result<AdaptResult> write_results(Adaptation& a);

// --- adapt_report.cpp ---

Status write_adapt_report(const Adaptation& a, const AdaptResult& result, const std::string& path);

}  // namespace tandem::jobs
