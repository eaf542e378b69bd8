// SPDX-License-Identifier: Apache-2.0
// The orientation tag of an EXIF block. Only IFD0 is read, so hostile offsets have nowhere to lead.
#include <string_view>

#include "tandem/data/codecs.hpp"

namespace tandem::data::detail {

int exif_orientation(Bytes tiff) {
  // TIFF 6.0: byte order, 42, offset of the first directory; a directory is a count and entries of 12 bytes.
  constexpr uint32_t kOrientationTag = 0x0112, kShort = 3;
  constexpr size_t kHeaderBytes = 8, kEntryBytes = 12;
  if (tiff.size() < kHeaderBytes) return 1;
  const bool little = tiff[0] == 'I' && tiff[1] == 'I';
  if (!little && !(tiff[0] == 'M' && tiff[1] == 'M')) return 1;
  const auto u16 = [&](size_t at) { return little ? read_u16_le(&tiff[at]) : read_u16_be(&tiff[at]); };
  const auto u32 = [&](size_t at) { return little ? read_u32_le(&tiff[at]) : read_u32_be(&tiff[at]); };
  if (u16(2) != 42) return 1;
  const size_t directory = u32(4);
  if (directory > tiff.size() || tiff.size() - directory < 2) return 1;
  const size_t entries = u16(directory);
  for (size_t i = 0; i < entries; ++i) {
    const size_t at = directory + 2 + i * kEntryBytes;
    if (at + kEntryBytes > tiff.size()) return 1;
    if (u16(at) != kOrientationTag) continue;
    if (u16(at + 2) != kShort || u32(at + 4) != 1) return 1;
    const uint32_t value = u16(at + 8);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace tandem::data::detail
