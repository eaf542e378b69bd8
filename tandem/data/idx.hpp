// SPDX-License-Identifier: Apache-2.0
// IDX files (MNIST's format): images as [count, rows, columns] of bytes, labels as [count]; also gzipped.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tandem/base/file.hpp"
#include "tandem/base/result.hpp"
#include "tandem/data/image.hpp"

namespace tandem::data {

// Grey images of one size. A plain file is mapped, a gzipped one unpacked into one buffer; both are told by
// content.
class IdxImages {
 public:
  static Result<std::shared_ptr<const IdxImages>> open(const std::string& path);
  // From the bytes of a file.
  static Result<std::shared_ptr<const IdxImages>> parse(std::string bytes, const std::string& name);

  int64_t count() const { return count_; }
  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  const std::string& name() const { return name_; }  // of the file, without its folder
  // Precondition: 0 <= index < count().
  Image image(int64_t index) const;

 private:
  Status attach(std::span<const uint8_t> bytes);
  std::string name_;
  std::optional<MappedFile> mapped_;
  std::string unpacked_;
  std::span<const uint8_t> pixels_;
  int64_t count_ = 0, height_ = 0, width_ = 0;
};

Result<std::vector<uint8_t>> read_idx_labels(const std::string& path);
Result<std::vector<uint8_t>> parse_idx_labels(std::string bytes, const std::string& name);

}  // namespace tandem::data
