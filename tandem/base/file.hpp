// SPDX-License-Identifier: Apache-2.0
// Files: whole reads with a limit, writes that appear under their final name only when complete, read-only mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/result.hpp"

namespace tandem {

inline constexpr uint64_t kDefaultFileLimitBytes = uint64_t{8} << 30;

// The whole file. Errors say whether it is missing, a directory, unreadable or over `limit_bytes`.
Result<std::string> read_file(const std::string& path, uint64_t limit_bytes = kDefaultFileLimitBytes);

// Writes to a temporary name in the same directory, syncs and renames; on failure nothing is left behind.
Status write_file(const std::string& path, std::string_view content);

// Makes the directory and its parents.
Status make_directories(const std::string& path);

// A new file that replaces `path` at commit(); removed again when dropped before.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();
  Status write(std::string_view bytes);
  Status commit();

 private:
  AtomicFile() = default;
  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

// A read-only mapping of a regular file; empty files map to an empty span.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }
  std::string_view text() const { return {static_cast<const char*>(address_), size_}; }

 private:
  MappedFile() = default;
  const void* address_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tandem
