// SPDX-License-Identifier: Apache-2.0
// BMP: core and info headers, 1/4/8-bit palettes, 16/24/32 bit with or without masks. Run-length coding is
// refused.
#include <array>
#include <bit>

#include "tandem/data/codecs.hpp"

namespace tandem::data::detail {
namespace {

constexpr size_t kFileHeaderBytes = 14;
constexpr uint32_t kCoreHeaderBytes = 12, kInfoHeaderBytes = 40;
constexpr uint32_t kRgb = 0, kBitFields = 3, kAlphaBitFields = 6;

struct Header {
  int64_t width = 0;
  int64_t height = 0;
  bool top_down = false;
  uint32_t bits = 0;
  uint32_t compression = kRgb;
  size_t palette_at = 0;
  size_t palette_entry_bytes = 4;
  size_t palette_size = 0;
  size_t pixels_at = 0;
  std::array<uint32_t, 3> masks{};  // red, green, blue
};

Result<Header> read_header(Bytes bytes) {
  Header h;
  if (bytes.size() < kFileHeaderBytes + kCoreHeaderBytes) return broken("BMP", "the file ends early");
  const uint8_t* info = bytes.data() + kFileHeaderBytes;
  h.pixels_at = read_u32_le(&bytes[10]);
  const uint32_t header_bytes = read_u32_le(info);
  uint32_t colors_used = 0;
  if (header_bytes == kCoreHeaderBytes) {
    h.width = read_u16_le(info + 4);
    h.height = read_u16_le(info + 6);
    h.bits = read_u16_le(info + 10);
    h.palette_entry_bytes = 3;
  } else if (header_bytes >= kInfoHeaderBytes && header_bytes <= 1024) {
    if (bytes.size() < kFileHeaderBytes + header_bytes) return broken("BMP", "the file ends early");
    h.width = static_cast<int32_t>(read_u32_le(info + 4));
    const int64_t height = static_cast<int32_t>(read_u32_le(info + 8));
    h.top_down = height < 0;
    h.height = height < 0 ? -height : height;
    h.bits = read_u16_le(info + 14);
    h.compression = read_u32_le(info + 16);
    colors_used = read_u32_le(info + 32);
  } else {
    return broken("BMP", fmt::format("its header has {} bytes", header_bytes));
  }
  h.palette_at = kFileHeaderBytes + header_bytes;
  if (h.compression == kBitFields || h.compression == kAlphaBitFields) {
    // The masks follow the shortest header and are part of the longer ones: the same place.
    const size_t masks_at = kFileHeaderBytes + kInfoHeaderBytes;
    if (bytes.size() < masks_at + 12) return broken("BMP", "the file ends early");
    for (size_t c = 0; c < 3; ++c) h.masks[c] = read_u32_le(&bytes[masks_at + 4 * c]);
  } else if (h.bits == 16) {
    h.masks = {0x7c00, 0x03e0, 0x001f};
  } else {
    h.masks = {0xff0000, 0x00ff00, 0x0000ff};
  }
  if (h.bits <= 8) {
    h.palette_size = size_t{1} << h.bits;
    if (colors_used != 0 && colors_used < h.palette_size) h.palette_size = colors_used;
  }
  return h;
}

Status check_header(const Header& h, Bytes bytes) {
  if (h.compression != kRgb && h.compression != kBitFields && h.compression != kAlphaBitFields) {
    return unsupported(fmt::format("BMP images with compression {} cannot be read", h.compression));
  }
  const bool masked = h.compression != kRgb;
  if (h.bits != 1 && h.bits != 4 && h.bits != 8 && h.bits != 16 && h.bits != 24 && h.bits != 32) {
    return unsupported(fmt::format("BMP images with {} bits a pixel cannot be read", h.bits));
  }
  if (masked && h.bits != 16 && h.bits != 32)
    return broken("BMP", "it has colour masks but no 16 or 32 bits a pixel");
  const uint64_t stride = (static_cast<uint64_t>(h.width) * h.bits + 31) / 32 * 4;
  if (h.pixels_at > bytes.size() || stride * static_cast<uint64_t>(h.height) > bytes.size() - h.pixels_at) {
    return broken("BMP", "the file ends early");
  }
  if (h.bits <= 8 && h.palette_at + h.palette_size * h.palette_entry_bytes > bytes.size()) {
    return broken("BMP", "its palette is cut");
  }
  return {};
}

// A field of `mask` scaled to 0..255, rounded.
uint8_t field(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const int shift = std::countr_zero(mask);
  const uint64_t max = mask >> shift;
  const uint64_t value = (pixel & mask) >> shift;
  return static_cast<uint8_t>((value * 255 + max / 2) / max);
}

}  // namespace

Result<Decoded> decode_bmp(Bytes bytes, const DecodeOptions& options) {
  const Header h = TANDEM_TRY(read_header(bytes));
  TANDEM_TRY(check_size(h.width, h.height, options));
  TANDEM_TRY(check_header(h, bytes));
  std::array<std::array<uint8_t, 3>, 256> palette{};
  for (size_t i = 0; i < h.palette_size; ++i) {
    const uint8_t* entry = &bytes[h.palette_at + i * h.palette_entry_bytes];
    palette[i] = {entry[2], entry[1], entry[0]};
  }
  Decoded decoded;
  decoded.image = Image::make(h.width, h.height);
  const size_t stride = (static_cast<size_t>(h.width) * h.bits + 31) / 32 * 4;
  const auto width = static_cast<size_t>(h.width);
  for (int64_t y = 0; y < h.height; ++y) {
    const int64_t stored = h.top_down ? y : h.height - 1 - y;
    const uint8_t* source = bytes.data() + h.pixels_at + static_cast<size_t>(stored) * stride;
    uint8_t* target = decoded.image.row(y).data();
    for (size_t x = 0; x < width; ++x, target += 3) {
      if (h.bits <= 8) {
        const size_t bit = x * h.bits;
        const size_t index = source[bit / 8] >> (8 - h.bits - bit % 8) & ((1u << h.bits) - 1);
        if (index >= h.palette_size) return broken("BMP", "a pixel names a colour outside the palette");
        for (size_t c = 0; c < 3; ++c) target[c] = palette[index][c];
      } else if (h.bits == 24) {
        for (size_t c = 0; c < 3; ++c) target[c] = source[3 * x + 2 - c];
      } else {
        const uint32_t pixel = h.bits == 16 ? read_u16_le(source + 2 * x) : read_u32_le(source + 4 * x);
        for (size_t c = 0; c < 3; ++c) target[c] = field(pixel, h.masks[c]);
      }
    }
  }
  return decoded;
}

}  // namespace tandem::data::detail
