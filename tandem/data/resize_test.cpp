// SPDX-License-Identifier: Apache-2.0
// Goal: antialiased resizing equals Pillow's, plain bilinear TensorFlow's.
// Method: pictures by formula; what Pillow 13.0.0 (PyPI) makes of them is written here, whole for small sizes
// and as CRC-32 for large ones. TensorFlow's values are computed by hand.
#include "tandem/data/resize.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include "tandem/data/test_images.hpp"

namespace tandem::data {
namespace {

using test::formula_image;

ResizeOptions to_size(int64_t width, int64_t height, Filter filter, bool antialias = true) {
  ResizeOptions options;
  options.width = width;
  options.height = height;
  options.filter = filter;
  options.antialias = antialias;
  return options;
}

unsigned long checksum(const Image& image) {
  return crc32(0, image.rgb.data(), static_cast<uInt>(image.rgb.size()));
}

TEST(Resize, SmallResultsEqualPillow) {
  EXPECT_EQ(
      resize(formula_image(13, 9), to_size(5, 4, Filter::kBicubic)).rgb,
      (std::vector<uint8_t>{11,  52,  98,  104, 141, 153, 151, 133, 128, 142, 127, 148, 143, 105, 146,
                            47,  124, 172, 144, 145, 113, 122, 133, 146, 124, 121, 127, 109, 88,  131,
                            118, 185, 99,  130, 135, 139, 125, 126, 138, 106, 113, 128, 93,  108, 113,
                            174, 107, 167, 127, 134, 139, 139, 120, 151, 102, 139, 153, 108, 118, 125}));
  EXPECT_EQ(
      resize(formula_image(13, 9), to_size(5, 4, Filter::kBilinear)).rgb,
      (std::vector<uint8_t>{22,  64,  105, 105, 139, 148, 144, 129, 130, 141, 128, 145, 140, 107, 145,
                            56,  124, 162, 134, 141, 119, 123, 133, 147, 125, 118, 131, 110, 92,  130,
                            117, 175, 107, 129, 137, 136, 127, 128, 137, 107, 116, 126, 97,  107, 115,
                            168, 112, 164, 130, 132, 139, 134, 124, 150, 104, 135, 150, 107, 120, 127}));
  // Only the height changes: Pillow then skips the first pass.
  EXPECT_EQ(resize(formula_image(9, 8), to_size(9, 3, Filter::kBicubic)).rgb,
            (std::vector<uint8_t>{3,   46,  94,  15,  57,  106, 40,  83,  138, 80,  128, 161, 139, 172,
                                  148, 197, 173, 118, 109, 74,  123, 134, 161, 142, 160, 106, 155, 38,
                                  122, 150, 63,  146, 174, 101, 181, 126, 157, 189, 99,  179, 89,  117,
                                  86,  121, 149, 136, 174, 171, 120, 113, 100, 114, 142, 139, 112, 140,
                                  81,  150, 177, 118, 201, 127, 154, 82,  125, 143, 94,  112, 126, 178,
                                  109, 153, 106, 150, 161, 145, 76,  125, 107, 151, 162}));
  EXPECT_EQ(checksum(resize(formula_image(4, 3), to_size(7, 5, Filter::kBicubic))), 0xa8a3d829u);
  EXPECT_EQ(checksum(resize(formula_image(4, 3), to_size(7, 5, Filter::kBilinear))), 0xfbb967a5u);
}

TEST(Resize, LargeResultsEqualPillow) {
  struct Case {
    int64_t from_width, from_height, width, height;
    Filter filter;
    unsigned long crc;
  };
  for (const Case& c :
       {Case{640, 480, 341, 256, Filter::kBicubic, 0x27f66cc1},
        Case{640, 480, 341, 256, Filter::kBilinear, 0x40fb5760},
        Case{100, 75, 299, 224, Filter::kBicubic, 0x119698f4},
        Case{1000, 37, 224, 224, Filter::kBilinear, 0x121834a3},
        Case{333, 500, 256, 384, Filter::kBicubic, 0x73e043ab},
        Case{1, 1, 5, 4, Filter::kBicubic, 0x7c524211}, Case{3000, 2, 7, 2, Filter::kBicubic, 0x719b3d82}}) {
    const Image result =
        resize(formula_image(c.from_width, c.from_height), to_size(c.width, c.height, c.filter));
    EXPECT_EQ(checksum(result), c.crc)
        << c.from_width << "x" << c.from_height << " to " << c.width << "x" << c.height;
  }
}

TEST(Resize, EveryInstructionSetGivesTheSame) {
  for (const int64_t width : {1, 2, 7, 64, 141}) {
    ResizeOptions options = to_size(width, width + 3, Filter::kBicubic);
    const Image fast = resize(formula_image(97, 61), options);
    options.portable = true;
    EXPECT_EQ(resize(formula_image(97, 61), options).rgb, fast.rgb);
  }
}

TEST(Resize, ChecksumSeesOneLevel) {
  Image image = resize(formula_image(640, 480), to_size(341, 256, Filter::kBicubic));
  image.rgb[1000] = static_cast<uint8_t>(image.rgb[1000] ^ 1);
  EXPECT_NE(checksum(image), 0x27f66cc1u);
}

TEST(Resize, WindowIsTheCropOfTheWhole) {
  const Image image = formula_image(97, 61);
  for (const bool antialias : {true, false}) {
    for (const Filter filter : {Filter::kBicubic, Filter::kBilinear}) {
      for (const auto& size : {Box{0, 0, 40, 25}, Box{0, 0, 150, 90}, Box{0, 0, 97, 61}}) {
        ResizeOptions options = to_size(size.width, size.height, filter, antialias);
        const Image whole = resize(image, options);
        for (const Box& box :
             {Box{3, 2, 20, 11}, Box{0, 0, 1, 1}, Box{size.width - 5, size.height - 4, 5, 4}}) {
          options.window = box;
          EXPECT_EQ(resize(image, options).rgb, crop(whole, box).rgb);
        }
      }
    }
  }
}

TEST(Resize, SameSizeIsACopy) {
  const Image image = formula_image(31, 17);
  EXPECT_EQ(resize(image, to_size(31, 17, Filter::kBicubic)).rgb, image.rgb);
}

TEST(Resize, FlatPicturesStayFlat) {
  for (const uint8_t level : {uint8_t{0}, uint8_t{1}, uint8_t{128}, uint8_t{255}}) {
    const Image image = test::solid(50, 40, level, level, level);
    for (const bool antialias : {true, false}) {
      for (const uint8_t value : resize(image, to_size(33, 71, Filter::kBicubic, antialias)).rgb)
        ASSERT_EQ(value, level);
    }
  }
}

Image gray_row(const std::vector<uint8_t>& levels) {
  Image image = Image::make(static_cast<int64_t>(levels.size()), 1);
  for (size_t i = 0; i < levels.size(); ++i) {
    for (size_t c = 0; c < 3; ++c) image.rgb[3 * i + c] = levels[i];
  }
  return image;
}

std::vector<int> resized_row(const std::vector<uint8_t>& levels, int64_t width, Filter filter) {
  const Image image = resize(gray_row(levels), to_size(width, 1, filter, false));
  std::vector<int> row;
  for (size_t i = 0; i < image.rgb.size(); i += 3) row.push_back(image.rgb[i]);
  return row;
}

TEST(Resize, PlainBilinearEqualsTensorFlow) {
  // Half-pixel centres: source position (i + 0.5) * 2/4 - 0.5 = -0.25, 0.25, 0.75, 1.25; outside, the edge
  // repeats. 0, 0.25 * 255 = 63.75, 191.25, 255.
  EXPECT_EQ(resized_row({0, 255}, 4, Filter::kBilinear), (std::vector<int>{0, 64, 191, 255}));
  // No antialiasing: positions 1.5 and 5.5 of 8 use two pixels each, whatever lies between.
  EXPECT_EQ(resized_row({9, 100, 200, 9, 9, 50, 60, 9}, 2, Filter::kBilinear), (std::vector<int>{150, 55}));
  // 5 to 3: positions 1/3, 2, 11/3. 10 + (40 - 10) / 3 = 20; 90; 160 + 2/3 * (250 - 160) = 220.
  EXPECT_EQ(resized_row({10, 40, 90, 160, 250}, 3, Filter::kBilinear), (std::vector<int>{20, 90, 220}));
}

TEST(Resize, PlainBicubicDropsTapsOutside) {
  // Position -0.25 with a = -0.5: taps at distance 0.25 and 1.25 remain, w(0.25) = 0.8671875, w(1.25) =
  // -0.0703125, their sum 0.796875. 0 * ... + 255 * -0.0703125 / 0.796875 = -22.5, cut to 0; the mirror gives
  // 277.5, cut to 255. Position 0.25: taps 0 and 1 at distance 0.25 and 0.75 (w = 0.2265625), sum 1.09375:
  // 255 * 0.2265625 / 1.09375 = 52.8.
  EXPECT_EQ(resized_row({0, 255}, 4, Filter::kBicubic), (std::vector<int>{0, 53, 202, 255}));
}

TEST(Resize, CropTakesTheBox) {
  const Image image = formula_image(5, 4);
  const Image part = crop(image, {2, 1, 2, 3});
  for (int64_t y = 0; y < 3; ++y) {
    for (int64_t x = 0; x < 6; ++x)
      EXPECT_EQ(part.row(y)[static_cast<size_t>(x)], image.row(y + 1)[static_cast<size_t>(x + 6)]);
  }
}

}  // namespace
}  // namespace tandem::data
