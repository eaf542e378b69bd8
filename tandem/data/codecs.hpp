// SPDX-License-Identifier: Apache-2.0
// Internal to the room: one decoder per file format, and what they share.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tandem/base/result.hpp"
#include "tandem/data/image.hpp"

namespace tandem::data::detail {

using Bytes = std::span<const uint8_t>;

struct Decoded {
  Image image;
  int orientation = 1;  // EXIF
};

// Each expects bytes whose first ones identify the format. None lets an exception or a long jump out.
Result<Decoded> decode_jpeg(Bytes bytes, const DecodeOptions& options);
Result<Decoded> decode_png(Bytes bytes, const DecodeOptions& options);
Result<Decoded> decode_webp(Bytes bytes, const DecodeOptions& options);
Result<Decoded> decode_bmp(Bytes bytes, const DecodeOptions& options);
Result<Decoded> decode_pnm(Bytes bytes, const DecodeOptions& options);

// Orientation in a TIFF structure (what follows "Exif\0\0" in a JPEG); 1 when there is none or it makes no
// sense.
int exif_orientation(Bytes tiff);

// Error when a side is below 1 or the area is over the limit.
Status check_size(int64_t width, int64_t height, const DecodeOptions& options);

inline Error broken(const char* format, std::string reason) {
  return bad_input(fmt::format("broken {} image", format)).because(std::move(reason));
}

// v * alpha / 255 over white, rounded: c * a + 255 * (255 - a), divided by 255.
inline uint8_t over_white(uint32_t color, uint32_t alpha) {
  return static_cast<uint8_t>((color * alpha + 255 * (255 - alpha) + 127) / 255);
}

inline uint32_t read_u16_le(const uint8_t* p) { return uint32_t{p[0]} | uint32_t{p[1]} << 8; }
inline uint32_t read_u32_le(const uint8_t* p) { return read_u16_le(p) | read_u16_le(p + 2) << 16; }
inline uint32_t read_u16_be(const uint8_t* p) { return uint32_t{p[0]} << 8 | uint32_t{p[1]}; }
inline uint32_t read_u32_be(const uint8_t* p) { return read_u16_be(p) << 16 | read_u16_be(p + 2); }

}  // namespace tandem::data::detail
