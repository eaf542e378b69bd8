// SPDX-License-Identifier: Apache-2.0
// Goal: every kind of image file becomes the right 8-bit RGB, and every broken one an error with a reason.
// Method: lossless files are compared exactly, JPEG within what its quantization allows; files are cut at
// every byte.
#include "tandem/data/image.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "tandem/data/dataset.hpp"
#include "tandem/data/resize.hpp"
#include "tandem/data/test_images.hpp"
#include "tandem/testing/shared_path.hpp"

namespace tandem::data {
namespace {

using std::string_literals::operator""s;
using test::decode;
using test::formula_image;
using test::jpeg_file;
using test::JpegKind;
using test::JpegOptions;
using test::png_file;
using test::PngKind;
using test::quarters;
using test::solid;
using test::webp_file;
using test::webp_file_rgba;

int largest_difference(const Image& a, const Image& b) {
  if (a.width != b.width || a.height != b.height) return 256;
  int largest = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i) largest = std::max(largest, std::abs(a.rgb[i] - b.rgb[i]));
  return largest;
}

double mean_difference(const Image& a, const Image& b) {
  if (a.width != b.width || a.height != b.height) return 256;
  double sum = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i) sum += std::abs(a.rgb[i] - b.rgb[i]);
  return sum / static_cast<double>(a.rgb.size());
}

std::array<int, 3> pixel(const Image& image, int64_t x, int64_t y) {
  const auto row = image.row(y);
  const auto at = static_cast<size_t>(x) * 3;
  return {row[at], row[at + 1], row[at + 2]};
}

::testing::AssertionResult near(const std::array<int, 3>& got, const std::array<int, 3>& want,
                                int tolerance) {
  for (size_t c = 0; c < 3; ++c) {
    if (std::abs(got[c] - want[c]) > tolerance) {
      return ::testing::AssertionFailure() << got[0] << "," << got[1] << "," << got[2] << " is not near "
                                           << want[0] << "," << want[1] << "," << want[2];
    }
  }
  return ::testing::AssertionSuccess();
}

TEST(Image, ComparatorsSeeADifference) {
  Image a = formula_image(8, 8), b = a;
  EXPECT_EQ(largest_difference(a, b), 0);
  b.rgb[5] = static_cast<uint8_t>(b.rgb[5] ^ 4);
  EXPECT_EQ(largest_difference(a, b), 4);
  EXPECT_GT(mean_difference(a, b), 0.0);
  EXPECT_EQ(largest_difference(a, formula_image(8, 7)), 256);
  EXPECT_FALSE(near({1, 2, 3}, {1, 2, 7}, 3));
}

TEST(Image, LosslessFilesDecodeExactly) {
  const Image image = formula_image(21, 13);
  EXPECT_EQ(decode(*encode_png(image))->rgb, image.rgb);
  EXPECT_EQ(decode(png_file(PngKind::kRgb8, 21, 13, image.rgb))->rgb, image.rgb);
  EXPECT_EQ(decode(png_file(PngKind::kRgb8, 21, 13, image.rgb, true))->rgb, image.rgb);
  EXPECT_EQ(decode(webp_file(image))->rgb, image.rgb);
  const std::string raw(image.rgb.begin(), image.rgb.end());
  EXPECT_EQ(decode("P6\n# made by hand\n21 13\n255\n" + raw)->rgb, image.rgb);
}

TEST(Image, JpegDecodesWithinItsLoss) {
  Image image = Image::make(32, 32);
  for (size_t i = 0; i < image.rgb.size(); ++i)
    image.rgb[i] = static_cast<uint8_t>(i / 3 % 32 * 4 + i / 96 + i % 3 * 30);
  EXPECT_LE(largest_difference(*decode(jpeg_file(image)), image), 12);
  EXPECT_LE(largest_difference(*decode(*encode_jpeg(image, 95)), image), 12);
  JpegOptions options;
  options.width = options.height = 32;
  options.samples = image.rgb;
  options.progressive = true;
  EXPECT_LE(largest_difference(*decode(jpeg_file(options)), image), 12);
}

TEST(Image, OrientationFollowsExifTable) {
  // EXIF 2.3, tag 274: where the stored row 0 and column 0 belong on the upright picture. The stored picture
  // has one colour a quarter; the quarter at stored (row half r, column half c) must show up at the place
  // that the table gives.
  struct Rule {
    const char* row_zero;
    const char* column_zero;
  };
  constexpr Rule kRules[9] = {{},
                              {"top", "left"},
                              {"top", "right"},
                              {"bottom", "right"},
                              {"bottom", "left"},
                              {"left", "top"},
                              {"right", "top"},
                              {"right", "bottom"},
                              {"left", "bottom"}};
  const Image stored = quarters(32);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image jpeg = *decode(jpeg_file(stored, orientation));
    const Image png = *decode(png_file(PngKind::kRgb8, 32, 32, stored.rgb, false, orientation));
    for (int r = 0; r < 2; ++r) {
      for (int c = 0; c < 2; ++c) {
        int64_t x = 0, y = 0;
        const auto place = [&](const std::string& side, int half) {
          if (side == "top") y = half == 0 ? 8 : 24;
          if (side == "bottom") y = half == 0 ? 24 : 8;
          if (side == "left") x = half == 0 ? 8 : 24;
          if (side == "right") x = half == 0 ? 24 : 8;
        };
        place(kRules[orientation].row_zero, r);
        place(kRules[orientation].column_zero, c);
        const auto want = pixel(stored, c * 16 + 8, r * 16 + 8);
        EXPECT_TRUE(near(pixel(jpeg, x, y), want, 8)) << "orientation " << orientation;
        EXPECT_TRUE(near(pixel(png, x, y), want, 0)) << "orientation " << orientation;
      }
    }
  }
  DecodeOptions as_stored;
  as_stored.apply_orientation = false;
  EXPECT_EQ(pixel(*decode(png_file(PngKind::kRgb8, 32, 32, stored.rgb, false, 3), as_stored), 0, 0),
            pixel(stored, 0, 0));
}

TEST(Image, OrientationSwapsSides) {
  Image image = Image::make(3, 2);
  for (size_t i = 0; i < 6; ++i) image.rgb[3 * i] = static_cast<uint8_t>(i);
  const auto reds = [&](int orientation) {
    const Image turned = oriented(image, orientation);
    std::vector<int> values = {static_cast<int>(turned.width)};
    for (size_t i = 0; i < turned.rgb.size(); i += 3) values.push_back(turned.rgb[i]);
    return values;
  };
  // Stored 0 1 2 / 3 4 5; the first number is the width.
  EXPECT_EQ(reds(1), (std::vector<int>{3, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(reds(2), (std::vector<int>{3, 2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(reds(3), (std::vector<int>{3, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(reds(4), (std::vector<int>{3, 3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(reds(5), (std::vector<int>{2, 0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(reds(6), (std::vector<int>{2, 3, 0, 4, 1, 5, 2}));
  EXPECT_EQ(reds(7), (std::vector<int>{2, 5, 2, 4, 1, 3, 0}));
  EXPECT_EQ(reds(8), (std::vector<int>{2, 2, 5, 1, 4, 0, 3}));
  EXPECT_EQ(reds(0), reds(1));
  EXPECT_EQ(reds(9), reds(1));
}

TEST(Image, G33CmykJpegWithAndWithoutAdobeMarker) {
  // Ink cyan 255, magenta 51, yellow 0, black 102 of 255. R = 0, G = 204 * 153 / 255 = 122.4, B = 153.
  const std::array<uint8_t, 4> ink = {255, 51, 0, 102};
  const std::array<int, 3> want = {0, 122, 153};
  for (const JpegKind kind : {JpegKind::kCmyk, JpegKind::kYcck}) {
    for (const bool adobe : {true, false}) {
      if (kind == JpegKind::kYcck && !adobe) continue;  // Only the marker says that it is YCCK.
      JpegOptions options;
      options.kind = kind;
      options.width = options.height = 32;
      options.adobe_marker = adobe;
      for (int i = 0; i < 32 * 32; ++i) {
        for (const uint8_t value : ink)
          options.samples.push_back(adobe ? static_cast<uint8_t>(255 - value) : value);
      }
      const auto image = decode(jpeg_file(options));
      ASSERT_TRUE(image.ok()) << image.error().message();
      EXPECT_TRUE(near(pixel(*image, 16, 16), want, 3))
          << "adobe " << adobe << " ycck " << (kind == JpegKind::kYcck);
    }
  }
}

TEST(Image, G33GrayJpegBecomesThreeChannels) {
  JpegOptions options;
  options.kind = JpegKind::kGray;
  options.width = options.height = 32;
  options.samples.assign(32 * 32, 77);
  EXPECT_TRUE(near(pixel(*decode(jpeg_file(options)), 5, 5), {77, 77, 77}, 1));
}

TEST(Image, G33AlphaIsCompositedOverWhite) {
  // Red at alpha 255, 0, 128: (255 * 128 + 255 * 127) / 255 = 255 in red, 127 in green and blue.
  const std::vector<uint8_t> rgba = {255, 0, 0, 255, 255, 0, 0, 0, 255, 0, 0, 128};
  for (const std::string& file : {png_file(PngKind::kRgba8, 3, 1, rgba), webp_file_rgba(3, 1, rgba)}) {
    const auto image = decode(file);
    ASSERT_TRUE(image.ok()) << image.error().message();
    EXPECT_EQ(pixel(*image, 0, 0), (std::array<int, 3>{255, 0, 0}));
    EXPECT_EQ(pixel(*image, 1, 0), (std::array<int, 3>{255, 255, 255}));
    EXPECT_EQ(pixel(*image, 2, 0), (std::array<int, 3>{255, 127, 127}));
  }
  const Image gray = *decode(png_file(PngKind::kGrayAlpha8, 2, 1, {10, 255, 10, 0}));
  EXPECT_EQ(gray.rgb, (std::vector<uint8_t>{10, 10, 10, 255, 255, 255}));
}

TEST(Image, G33PaletteIsExpanded) {
  const Image plain = *decode(png_file(PngKind::kPalette, 4, 1, {0, 1, 2, 3}));
  EXPECT_EQ(plain.rgb, (std::vector<uint8_t>{255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255}));
  const Image transparent = *decode(png_file(PngKind::kPaletteTransparent, 2, 1, {0, 1}));
  EXPECT_EQ(transparent.rgb, (std::vector<uint8_t>{255, 255, 255, 0, 255, 0}));
  EXPECT_EQ(decode(png_file(PngKind::kGray1, 2, 1, {0x40}))->rgb,
            (std::vector<uint8_t>{0, 0, 0, 255, 255, 255}));
}

TEST(Image, G33SixteenBitIsScaledNotCut) {
  // All 65536 levels: v / 257 rounded.
  std::vector<uint8_t> rows;
  for (int v = 0; v < 65536; ++v) {
    rows.push_back(static_cast<uint8_t>(v >> 8));
    rows.push_back(static_cast<uint8_t>(v & 255));
  }
  const Image png = *decode(png_file(PngKind::kGray16, 256, 256, rows));
  const Image pgm = *decode("P5 256 256 65535\n" + std::string(rows.begin(), rows.end()));
  for (int v = 0; v < 65536; ++v) {
    const int want = (v + 128) / 257;
    ASSERT_EQ(png.rgb[static_cast<size_t>(v) * 3], want) << v;
    ASSERT_EQ(pgm.rgb[static_cast<size_t>(v) * 3 + 2], want) << v;
  }
}

TEST(Image, PnmKindsDecode) {
  EXPECT_EQ(decode("P2 2 1 15 0 15")->rgb, (std::vector<uint8_t>{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(decode("P3 1 1 255 1 2 3\n")->rgb, (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(decode("P1 2 1 10")->rgb, (std::vector<uint8_t>{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(decode("P4 2 1 \x80"s)->rgb, (std::vector<uint8_t>{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(decode("P5 1 1 100 \x32"s)->rgb[0], 128);  // 50 * 255 / 100 = 127.5
  EXPECT_NE(decode("P2 2 1 15 0 16").error().message().find("16 over 15"), std::string::npos);
  EXPECT_FALSE(decode("P5 2 2 255 abc").ok());
  EXPECT_FALSE(decode("P5 2").ok());
  EXPECT_FALSE(decode("P5 2 2 70000 abcd").ok());
  EXPECT_FALSE(decode("P5 0 2 255 abcd").ok());
}

TEST(Image, BmpKindsDecode) {
  const auto u16 = [](int v) { return std::string{static_cast<char>(v), static_cast<char>(v >> 8)}; };
  const auto u32 = [&](int64_t v) {
    return u16(static_cast<int>(v & 0xffff)) + u16(static_cast<int>(v >> 16 & 0xffff));
  };
  const auto bmp = [&](int w, int h, int bits, int compression, const std::string& tables,
                       const std::string& pixels) {
    const auto at = static_cast<int64_t>(14 + 40 + tables.size());
    return "BM" + u32(at + static_cast<int64_t>(pixels.size())) + u32(0) + u32(at) + u32(40) + u32(w) +
           u32(h) + u16(1) + u16(bits) + u32(compression) + u32(0) + u32(0) + u32(0) + u32(0) + u32(0) +
           tables + pixels;
  };
  // Rows run from the bottom, each filled up to 4 bytes; blue first.
  const std::string bottom_up = bmp(1, 2, 24, 0, "", "\x01\x02\x03\0\x04\x05\x06\0"s);
  EXPECT_EQ(decode(bottom_up)->rgb, (std::vector<uint8_t>{6, 5, 4, 3, 2, 1}));
  const std::string top_down = bmp(1, -2, 24, 0, "", "\x01\x02\x03\0\x04\x05\x06\0"s);
  EXPECT_EQ(decode(top_down)->rgb, (std::vector<uint8_t>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(decode(bmp(1, 1, 32, 0, "", "\x01\x02\x03\0"s))->rgb, (std::vector<uint8_t>{3, 2, 1}));
  // 5-6-5 bits: red 31, green 0, blue 16; 16 * 255 / 31 = 131.6.
  const std::string masks = u32(0xf800) + u32(0x07e0) + u32(0x001f);
  EXPECT_EQ(decode(bmp(1, 1, 16, 3, masks, u16(0xf810) + "\0\0"s))->rgb, (std::vector<uint8_t>{255, 0, 132}));
  std::string palette;
  for (int i = 0; i < 16; ++i) palette += std::string{static_cast<char>(i), 0, static_cast<char>(10 * i), 0};
  EXPECT_EQ(decode(bmp(2, 1, 4, 0, palette, "\x3f\0\0\0"s))->rgb,
            (std::vector<uint8_t>{30, 0, 3, 150, 0, 15}));
  EXPECT_EQ(decode(bmp(1, 1, 8, 1, std::string(1024, '\0'), "\0\0\0\0"s)).error().code(),
            ErrorCode::kUnsupported);
  EXPECT_FALSE(decode(bmp(2, 2, 24, 0, "", "abc")).ok());
  for (size_t cut = 0; cut < bottom_up.size(); ++cut)
    EXPECT_FALSE(decode(bottom_up.substr(0, cut)).ok()) << cut;
}

TEST(Image, G31CutFilesAreBrokenAtEveryLength) {
  const Image image = formula_image(40, 24);
  JpegOptions progressive;
  progressive.width = 40;
  progressive.height = 24;
  progressive.samples = image.rgb;
  progressive.progressive = true;
  for (const std::string& file : {jpeg_file(image), jpeg_file(progressive), *encode_png(image),
                                  webp_file(image), png_file(PngKind::kRgb8, 40, 24, image.rgb, true)}) {
    ASSERT_TRUE(decode(file).ok());
    for (size_t size = 0; size < file.size(); ++size) {
      const auto cut = decode(file.substr(0, size));
      ASSERT_FALSE(cut.ok()) << size << " of " << file.size();
      EXPECT_EQ(cut.error().code(), ErrorCode::kBadInput);
      EXPECT_FALSE(cut.error().because_text().empty());
    }
  }
}

TEST(Image, DamagedBytesNeverCrash) {
  const Image image = formula_image(40, 24);
  for (const std::string& file : {jpeg_file(image, 6), *encode_png(image), webp_file(image)}) {
    for (size_t i = 0; i < file.size(); ++i) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x5a);
      static_cast<void>(decode(damaged).ok());
    }
  }
}

TEST(Image, ErrorsSayWhatAndWhy) {
  EXPECT_NE(decode("").error().message().find("empty"), std::string::npos);
  EXPECT_NE(decode("hello, I am a text").error().message().find("not an image"), std::string::npos);
  const auto gif = decode("GIF89a........");
  EXPECT_EQ(gif.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(gif.error().message().find("GIF"), std::string::npos);
  EXPECT_NE(decode(jpeg_file(quarters(64)).substr(0, 700)).error().message().find("JPEG"), std::string::npos);
}

TEST(Image, HugeSizesAreRefusedBeforeMemoryIsTaken) {
  std::string png = *encode_png(formula_image(4, 4));
  // IHDR: width at 16, height at 20, both big endian. The checksum is wrong then, which libpng says first, so
  // the limit is tested with one that holds.
  DecodeOptions small;
  small.max_pixels = 15;
  EXPECT_NE(decode(png, small).error().message().find("4 x 4"), std::string::npos);
  std::string jpeg = jpeg_file(quarters(32));
  const size_t frame = jpeg.find("\xff\xc0"s);
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xff\xdc\xff\xdc"s);  // 65500 x 65500
  EXPECT_NE(decode(jpeg).error().message().find("65500 x 65500"), std::string::npos);
  EXPECT_NE(decode("P6 2000000000 2000000000 255 abc").error().message().find("limit"), std::string::npos);
  EXPECT_FALSE(decode("P6 9000 9000 255 abc").ok());
}

TEST(Image, ScaledDecodingKeepsTheAskedSize) {
  const std::string file = jpeg_file(solid(400, 320, 10, 200, 30));
  const auto size = [&](int64_t min_short_side) {
    DecodeOptions options;
    options.min_short_side = min_short_side;
    const Image image = *decode(file, options);
    return std::array<int64_t, 2>{image.width, image.height};
  };
  EXPECT_EQ(size(0), (std::array<int64_t, 2>{400, 320}));
  EXPECT_EQ(size(161), (std::array<int64_t, 2>{400, 320}));
  EXPECT_EQ(size(160), (std::array<int64_t, 2>{200, 160}));
  EXPECT_EQ(size(80), (std::array<int64_t, 2>{100, 80}));
  EXPECT_EQ(size(1), (std::array<int64_t, 2>{50, 40}));
}

TEST(Image, ScaledDecodingKnowsPartlyCoveredPixels) {
  // 33 x 21 at half size: 17 x 11 pixels, of which 16.5 x 10.5 are covered; turned, the part pixel is at the
  // other end.
  DecodeOptions options;
  options.min_short_side = 10;
  using Extent = Image::Extent;
  constexpr Extent kWant[9] = {{},
                               {0, 0, 16.5, 10.5},
                               {0.5, 0, 17, 10.5},
                               {0.5, 0.5, 17, 11},
                               {0, 0.5, 16.5, 11},
                               {0, 0, 10.5, 16.5},
                               {0.5, 0, 11, 16.5},
                               {0.5, 0.5, 11, 17},
                               {0, 0.5, 10.5, 17}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image image = *decode(jpeg_file(formula_image(33, 21), orientation), options);
    EXPECT_EQ(image.covered, kWant[orientation]) << orientation;
  }
}

TEST(Image, ScaledDecodingStaysNearTheFullOne) {
  // The promise of DecodeOptions: at twice the wanted size the resized photo differs little in the mean.
  TANDEM_SHARED_OR_SKIP(folder, "images/flowers5/val/daisy");
  double sum = 0;
  const Dataset photos = *open_unlabelled(std::vector<std::string>{folder});
  for (size_t i = 0; i < std::min<size_t>(20, photos.samples.size()); ++i) {
    const std::string& path = photos.samples[i].path;
    const Image full = *read_image(path);
    DecodeOptions scaled_options;
    const int64_t target = std::min(full.width, full.height) / 4;
    scaled_options.min_short_side = 2 * target;
    const Image scaled = *read_image(path, scaled_options);
    ASSERT_LT(scaled.width, full.width);
    ResizeOptions resize_options;
    resize_options.width = target;
    resize_options.height = target;
    const double difference = mean_difference(resize(full, resize_options), resize(scaled, resize_options));
    EXPECT_LE(difference, 2.5) << path;
    sum += difference;
  }
  EXPECT_LE(sum / 20, 1.5);
}

TEST(Image, ThumbnailIsSmallAndDecodes) {
  const Image thumbnail = *decode(*encode_thumbnail(quarters(300), 64));
  EXPECT_EQ(thumbnail.width, 64);
  EXPECT_TRUE(near(pixel(thumbnail, 16, 16), {255, 0, 0}, 12));
  EXPECT_EQ(decode(*encode_thumbnail(solid(1, 500, 1, 2, 3), 64))->width, 1);
}

}  // namespace
}  // namespace tandem::data
