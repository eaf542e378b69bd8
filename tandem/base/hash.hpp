// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4): names content for cache keys, the same on every machine. Not a place for secrets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tandem/base/result.hpp"

namespace tandem {

class Sha256 {
 public:
  Sha256();
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  // Framed input for keys made of several parts: ("ab", "c") and ("a", "bc") differ. Numbers go in as 8
  // bytes.
  Sha256& add(std::string_view part);
  Sha256& add(uint64_t part);
  // The digest of everything so far; the object stays usable.
  std::array<uint8_t, 32> digest() const;
  // 64 lower-case hexadecimal digits.
  std::string hex() const;

 private:
  void compress(const uint8_t* block);
  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> pending_{};
  uint64_t length_bytes_ = 0;
};

std::string sha256_hex(std::string_view content);
// Streams the file: memory does not grow with its size.
Result<std::string> sha256_file_hex(const std::string& path);

}  // namespace tandem
