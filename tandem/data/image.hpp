// SPDX-License-Identifier: Apache-2.0
// Image: 8-bit RGB in memory, and the one way from the bytes of an image file to it and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tandem/base/result.hpp"

namespace tandem::data {

// Always 8-bit R, G, B interleaved, rows from the top, no padding between rows.
struct Image {
  static constexpr int64_t kChannels = 3;
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> rgb;
  // Where the picture lies on the pixels. All of them, but after scaled decoding the last column and row may
  // be covered in part only: 1001 pixels at half size are 500.5 of 501. resize() goes by it.
  struct Extent {
    double left = 0, top = 0, right = 0, bottom = 0;
    friend bool operator==(const Extent&, const Extent&) = default;
  };
  Extent covered;

  static Image make(int64_t width, int64_t height);
  std::span<const uint8_t> row(int64_t y) const;
  std::span<uint8_t> row(int64_t y);
};

struct DecodeOptions {
  // JPEG only. 0: decode every pixel. N: the decoder may work at 1/2, 1/4 or 1/8 of the size as long as the
  // shorter side stays at least N pixels, which saves most of the time of a large photo. Ask for twice the
  // wanted size (decode_options() of preprocess.hpp does): resized to that, the result then differs from a
  // full decode by about 1 of 255 levels in the mean, 2.5 on photos full of detail (image_test.cpp holds the
  // bound).
  int64_t min_short_side = 0;
  // Refuses larger files before memory is taken: a few hostile bytes may declare 65535 x 65535.
  int64_t max_pixels = 100'000'000;
  // Turns and mirrors by the EXIF orientation of JPEG, PNG and WebP.
  bool apply_orientation = true;
};

// Decodes JPEG, PNG, WebP, BMP and PBM/PGM/PPM (plain and raw), told apart by content, never by name.
//   grey            copied to three channels
//   palette, 1..4 bit  expanded
//   16 bit          v / 257, rounded; PNM with another maximum: v * 255 / max, rounded
//   alpha           composited over white (PNG, WebP); ignored in BMP, where writers often leave it 0
//   CMYK, YCCK JPEG R = (255 - C) * (255 - K) / 255; with an Adobe marker the stored values are inverted
//   first colour profiles and gamma are not applied, as in Pillow
// Broken, truncated and empty data is kBadInput with the reason; a known kind that is not decoded is
// kUnsupported with its name. A JPEG whose data ends early or is corrupt is broken even where the decoder
// could guess the rest.
Result<Image> decode_image(std::span<const std::byte> bytes, const DecodeOptions& options = {});

// decode_image of a file; errors name it.
Result<Image> read_image(const std::string& path, const DecodeOptions& options = {});

// The picture turned and mirrored as EXIF orientation 1..8 asks; other values leave it as it is.
Image oriented(Image image, int orientation);

// Bytes of a PNG file.
Result<std::string> encode_png(const Image& image);
// Bytes of a baseline JPEG file, 4:2:0; quality 1..100.
Result<std::string> encode_jpeg(const Image& image, int quality = 80);
// A JPEG for a report whose longer side has at most `max_side` pixels.
Result<std::string> encode_thumbnail(const Image& image, int64_t max_side = 96);

}  // namespace tandem::data
