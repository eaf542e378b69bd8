// SPDX-License-Identifier: Apache-2.0
// quantize_model(): a float model file and a folder of images become a quantized model file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/data/dataset.hpp"
#include "tandem/data/preprocess.hpp"
#include "tandem/jobs/hooks.hpp"
#include "tandem/quant/quantize.hpp"
#include "tandem/report/document.hpp"

namespace tandem::jobs {

struct QuantizeModelOptions {
  std::string model;
  std::string calib;   // images: a file, a folder, a labelled data set (its training part is used)
  std::string output;  // the QDQ ONNX file; empty: none is written
  Scheme scheme = Scheme::kAffine;
  quant::RangeMethod method = quant::RangeMethod::kMinMax;
  int64_t calib_images = 512;           // at most, chosen by seed
  std::vector<std::string> keep_float;  // names of nodes
  bool keep_head = false;               // the classifier and what follows it stay in float
  data::PreprocessOverrides preprocess;
  int threads = 0;  // that decode, and as many that compute; 0: one per core
  uint64_t seed = 42;
  bool strict = false;
  std::string dump_dir;
};

struct QuantizeModelResult {
  quant::QuantizeReport report;
  int64_t images = 0;
  std::vector<data::Skipped> skipped;
  int64_t weight_bytes_before = 0, weight_bytes_after = 0;
  double seconds = 0;
};

// The file carries preprocessing and class names. Errors leave no file under the output's name.
Result<QuantizeModelResult> quantize_model(const QuantizeModelOptions& options, const JobHooks& hooks = {});
Json to_json(const QuantizeModelResult& result);
report::Document quantize_document(const QuantizeModelOptions& options, const QuantizeModelResult& result);

// Images for calibration: those of the folder train/ where there is one, else every image below the path; of
// a CSV its training part. At most `limit` (0: all), chosen by seed.
Result<data::Dataset> open_calibration(const std::string& path, int64_t limit, uint64_t seed,
                                       const JobHooks& hooks);

}  // namespace tandem::jobs
