// SPDX-License-Identifier: Apache-2.0
// Flags that several verbs share, spelled and explained once; and small words for tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/verb.hpp"
#include "tandem/base/table.hpp"
#include "tandem/data/preprocess.hpp"
#include "tandem/jobs/forward.hpp"

namespace tandem::cli {

// --size, --resize-short, --crop, --mean, --std, --color.
struct PreprocessFlags {
  std::optional<int64_t> size, resize_short;
  std::string crop, color;
  std::optional<std::vector<double>> mean, std;

  void add_to(std::vector<Flag>& flags);
  Result<data::PreprocessOverrides> overrides() const;
};

// --device, --threads, --dump-dir.
struct EngineFlags {
  std::string device = "int8";
  int threads = 0;
  std::string dump_dir;

  void add_to(std::vector<Flag>& flags, std::vector<std::string> devices = {"int8", "host", "ref"});
  void add_dump_dir(std::vector<Flag>& flags);
  Result<jobs::Engine> engine() const { return jobs::engine_from_string(device); }
};

Flag required(Flag flag);

// "1 image", "3 images"
std::string image_count(int64_t count);
// "87.40 %"
std::string percent(double share);
// "12.3 dB", "equal" for infinity
std::string decibel(double db);

}  // namespace tandem::cli
