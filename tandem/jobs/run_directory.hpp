// SPDX-License-Identifier: Apache-2.0
// RunDirectory: where everything lies that one adapt run makes. Results lie at the top under final names,
// what resuming needs in work/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/data/dataset.hpp"

namespace tandem::jobs {

// In work/, where a run compared with FP32: for those that extend it.
inline constexpr const char* kFp32Backbone = "backbone-fp32.onnx";
inline constexpr const char* kFp32Head = "head-fp32.safetensors";

class RunDirectory {
 public:
  // Makes the directory and work/, and tries whether files can be written there. Error kIo.
  static Result<RunDirectory> open(const std::string& path);
  // One that exists already and is only read.
  static RunDirectory existing(std::string path) { return RunDirectory(std::move(path)); }

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  std::string work(std::string_view name) const { return file("work") + "/" + std::string(name); }
  // Removes the results of an earlier run (not work/), so that a mixture of two never lies there.
  Status remove_results() const;
  // work/NAME, whole now, becomes NAME.
  Status publish(std::string_view name) const;
  // Removes checkpoints: a run that does not resume starts its training from the beginning.
  Status remove_checkpoints() const;
  // work/run.json: what the run was started with; null when there is none.
  Result<Json> read_record() const;
  Status write_record(const Json& record) const;

 private:
  explicit RunDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// A hash of which images these are and of their labels: names, sizes and times of the files, not their
// content.
std::string listing_hash(const data::Dataset& dataset, const std::string& data_path);

}  // namespace tandem::jobs
