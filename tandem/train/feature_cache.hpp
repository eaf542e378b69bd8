// SPDX-License-Identifier: Apache-2.0
// FeatureCache: rows of backbone features in a memory-mapped file, filled in order, continued after an interruption and
// reused by later epochs and runs. Its memory belongs to the page cache, not to the process.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tandem/base/result.hpp"

namespace tandem::train {

class FeatureCache {
 public:
  // Opens `path` when it was made for the same key, row count and width, else starts a new file there (the old one is
  // replaced). `key` is a hash of everything that decides the features: model, preprocessing, data, device.
  // Errors: kIo for files that cannot be made or mapped (a full disk is noticed here, not later by a signal).
  static Result<FeatureCache> open(const std::string& path, const std::string& key, int64_t rows, int64_t columns);
  FeatureCache(FeatureCache&& other) noexcept;
  FeatureCache& operator=(FeatureCache&& other) noexcept;
  ~FeatureCache();

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t rows_done() const;   // rows [0, rows_done) hold features
  bool complete() const { return rows_done() == rows_; }
  // Copies whole rows behind the last one. Precondition: fits. Counts them as done only after they are written.
  void append(std::span<const float> features);
  std::span<const float> row(int64_t i) const;
  std::span<const float> all() const;  // [rows_done, columns]

 private:
  FeatureCache() = default;
  void* address_ = nullptr;
  size_t bytes_ = 0;
  int64_t rows_ = 0, columns_ = 0;
};

}  // namespace tandem::train
