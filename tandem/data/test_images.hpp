// SPDX-License-Identifier: Apache-2.0
// For tests: pictures by formula, files of every kind made with the codecs' own writers, folders that clean
// up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/data/image.hpp"

namespace tandem::data::test {

// rgb(x, y, c) = (7 x^2 + 3 y^2 + 5 x y + 13 y c + 31 c) mod 256: the resize goldens were made from it.
Image formula_image(int64_t width, int64_t height);
// One colour a quarter: red, green / blue, white.
Image quarters(int64_t side);
Image solid(int64_t width, int64_t height, uint8_t r, uint8_t g, uint8_t b);

enum class JpegKind { kGray, kRgb, kCmyk, kYcck };
struct JpegOptions {
  JpegKind kind = JpegKind::kRgb;
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> samples;  // interleaved, 1, 3 or 4 a pixel; for CMYK as stored
  bool adobe_marker = false;
  int orientation = 0;  // 0: no EXIF
  bool progressive = false;
  int quality = 95;
};
std::string jpeg_file(const JpegOptions& options);
std::string jpeg_file(const Image& image, int orientation = 0);

enum class PngKind {
  kGray8,
  kGray16,
  kGray1,
  kGrayAlpha8,
  kRgb8,
  kRgba8,
  kRgb16,
  kPalette,
  kPaletteTransparent
};
// `rows` as stored in the file (16 bit big endian). Palettes: 0 red, 1 green, 2 blue, 3 white (transparent:
// alpha 0 for 0).
std::string png_file(PngKind kind, int64_t width, int64_t height, const std::vector<uint8_t>& rows,
                     bool interlaced = false, int orientation = 0);

std::string webp_file(const Image& image);  // lossless
std::string webp_file_rgba(int64_t width, int64_t height, const std::vector<uint8_t>& rgba);

Result<Image> decode(std::string_view bytes, const DecodeOptions& options = {});

// A new folder under the test's temporary one, removed at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  // Makes the folders on the way.
  void write(const std::string& name, std::string_view bytes) const;

 private:
  std::string path_;
};

std::string gzip(std::string_view bytes);
std::string idx_images_file(int64_t count, int64_t height, int64_t width, const std::vector<uint8_t>& pixels);
std::string idx_labels_file(const std::vector<uint8_t>& labels);

}  // namespace tandem::data::test
