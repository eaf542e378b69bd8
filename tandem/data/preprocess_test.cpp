// SPDX-License-Identifier: Apache-2.0
// Goal: the JSON form is strict and round-trips; fitting follows torchvision's rounding; normalisation is the
// formula.
#include "tandem/data/preprocess.hpp"

#include <gtest/gtest.h>

#include "tandem/data/test_images.hpp"

namespace tandem::data {
namespace {

using test::formula_image;
using test::solid;

constexpr const char* kLite0 =
    R"({"layout":"nchw","color":"rgb","size":[224,224],)"
    R"("resize":{"rule":"short_side","short_side":256,"filter":"bicubic","antialias":true},)"
    R"("crop":"center","mean":[127,127,127],"std":[128,128,128],"range":[0,255]})";

Preprocess lite0() { return *parse_preprocess(kLite0); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Preprocess, JsonRoundTrips) {
  const Preprocess p = lite0();
  EXPECT_EQ(p.short_side, 256);
  EXPECT_EQ(p.mean, (std::vector<double>{127, 127, 127}));
  EXPECT_EQ(*parse_preprocess(to_json(p).dump()), p);
  EXPECT_EQ(*preprocess_from_json(to_json(p)), p);
  Preprocess other;
  other.layout = PixelLayout::kNhwc;
  other.color = Color::kGray;
  other.height = 28;
  other.width = 30;
  other.rule = ResizeRule::kExact;
  other.filter = Filter::kBilinear;
  other.antialias = false;
  other.crop = Crop::kNone;
  other.mean = {0.5};
  other.std = {0.25};
  other.range_high = 1;
  EXPECT_EQ(*parse_preprocess(to_json(other).dump()), other);
  other.rule = ResizeRule::kNone;
  other.filter = Filter::kBicubic;
  other.antialias = true;
  EXPECT_EQ(*parse_preprocess(to_json(other).dump()), other);
}

TEST(Preprocess, ParsingIsStrictAndNamesTheKey) {
  struct Fault {
    const char* from;
    const char* to;
    const char* says;
  };
  for (const Fault& fault : {Fault{"\"nchw\"", "\"chw\"", "layout 'chw'"},
                             {"\"rgb\"", "\"rbg\"", "color 'rbg'"},
                             {"[224,224]", "224", "'size'"},
                             {"[224,224]", "[0,224]", "'size'"},
                             {"[224,224]", "[224.5,224]", "'size'"},
                             {"\"short_side\":256", "\"short_side\":200", "does not fit"},
                             {"\"short_side\":256,", "", "'short_side' is missing"},
                             {"\"rule\":\"short_side\"", "\"rule\":\"long_side\"", "resize.rule 'long_side'"},
                             {"\"filter\"", "\"fliter\"", "unknown key 'fliter' in resize"},
                             {"\"antialias\":true", "\"antialias\":1", "resize.antialias"},
                             {"\"crop\":\"center\"", "\"crop\":\"none\"", "needs crop center"},
                             {"\"mean\":[127,127,127]", "\"mean\":[127]", "3 values"},
                             {"\"mean\":[127,127,127]", "\"mean\":[127,\"x\",127]", "'mean'"},
                             {"\"std\":[128,128,128]", "\"std\":[128,0,128]", "std 0"},
                             {"\"range\":[0,255]", "\"range\":[255,0]", "range"},
                             {"\"range\":[0,255]", "\"range\":[0]", "'range'"},
                             {",\"range\":[0,255]", "", "'range' is missing"},
                             {"\"range\"", "\"rnage\"", "unknown key 'rnage'"}}) {
    const auto parsed = parse_preprocess(replaced(kLite0, fault.from, fault.to));
    ASSERT_FALSE(parsed.ok()) << fault.to;
    EXPECT_NE(parsed.error().message().find(fault.says), std::string::npos) << parsed.error().message();
  }
  // What a rule does not use may stay and makes no difference.
  const auto unused = parse_preprocess(
      replaced(kLite0, "\"rule\":\"short_side\",\"short_side\":256", "\"rule\":\"exact\",\"short_side\":7"));
  ASSERT_TRUE(unused.ok());
  EXPECT_FALSE(to_json(*unused)["resize"].has("short_side"));
  EXPECT_FALSE(parse_preprocess("{").ok());
  EXPECT_FALSE(parse_preprocess("[]").ok());
}

TEST(Preprocess, OverridesKeepTheRest) {
  PreprocessOverrides overrides;
  overrides.size = 192;
  overrides.resize_short = 200;
  Preprocess p = *with_overrides(lite0(), overrides);
  EXPECT_EQ(p.height, 192);
  EXPECT_EQ(p.short_side, 200);
  EXPECT_EQ(p.mean[0], 127);
  overrides.size = 256;
  EXPECT_FALSE(with_overrides(lite0(), overrides).ok());
  // The model thinks in 0..1, the user in 0..255: mean 0.5 is 127.5, std 0.2 is 51.
  Preprocess unit = lite0();
  unit.range_high = 1;
  unit.mean = {0.5, 0.4, 0.3};
  unit.std = {0.2, 0.2, 0.2};
  PreprocessOverrides mean_only;
  mean_only.mean = {{100}};
  p = *with_overrides(unit, mean_only);
  EXPECT_EQ(p.range_high, 255);
  EXPECT_EQ(p.mean, (std::vector<double>{100, 100, 100}));
  EXPECT_NEAR(p.std[1], 51, 1e-9);
  PreprocessOverrides bgr;
  bgr.color = Color::kBgr;
  EXPECT_EQ(with_overrides(unit, bgr)->mean, (std::vector<double>{0.3, 0.4, 0.5}));
  PreprocessOverrides gray;
  gray.color = Color::kGray;
  EXPECT_FALSE(with_overrides(unit, gray).ok());  // which of three means?
  gray.mean = {{127}};
  gray.std = {{128}};
  EXPECT_TRUE(with_overrides(unit, gray).ok());
  EXPECT_EQ(*with_overrides(unit, {}), unit);
}

TEST(Preprocess, CenterOffsetRoundsTiesToEven) {
  // torchvision: int(round((from - to) / 2.0)); Python rounds ties to even.
  EXPECT_EQ(center_offset(341, 224), 58);  // 58.5
  EXPECT_EQ(center_offset(343, 224), 60);  // 59.5
  EXPECT_EQ(center_offset(256, 224), 16);
  EXPECT_EQ(center_offset(225, 224), 0);  // 0.5
  EXPECT_EQ(center_offset(227, 224), 2);  // 1.5
  EXPECT_EQ(center_offset(224, 224), 0);
}

TEST(Preprocess, ShortSideRuleRoundsDown) {
  // 500 x 375, short side 256: 256 * 500 / 375 = 341.33, so 341; the crop starts at 58 and 16.
  const Image image = formula_image(500, 375);
  ResizeOptions whole;
  whole.width = 341;
  whole.height = 256;
  EXPECT_EQ(fit(lite0(), image)->rgb, crop(resize(image, whole), {58, 16, 224, 224}).rgb);
  // Portrait: 375 x 500.
  const Image portrait = formula_image(375, 500);
  whole.width = 256;
  whole.height = 341;
  EXPECT_EQ(fit(lite0(), portrait)->rgb, crop(resize(portrait, whole), {16, 58, 224, 224}).rgb);
}

TEST(Preprocess, ExtremeShapesFit) {
  EXPECT_EQ(fit(lite0(), formula_image(1, 1))->width, 224);
  EXPECT_EQ(fit(lite0(), formula_image(1, 9000))->height, 224);
  EXPECT_EQ(fit(lite0(), formula_image(9000, 1))->height, 224);
}

TEST(Preprocess, WrongSizeWithoutResizingIsAnError) {
  Preprocess p = lite0();
  p.rule = ResizeRule::kNone;
  p.height = p.width = 4;
  EXPECT_EQ(fit(p, formula_image(6, 5))->rgb, crop(formula_image(6, 5), {1, 0, 4, 4}).rgb);
  EXPECT_NE(fit(p, formula_image(3, 5)).error().message().find("3 x 5"), std::string::npos);
  p.crop = Crop::kNone;
  EXPECT_FALSE(fit(p, formula_image(6, 5)).ok());
  EXPECT_TRUE(fit(p, formula_image(4, 4)).ok());
}

TEST(Preprocess, ShortSideTooShortForTheLongSideOfTheInput) {
  Preprocess p = lite0();
  p.height = 48;
  p.width = 192;
  p.short_side = 64;
  EXPECT_EQ(fit(p, formula_image(400, 100))->width, 192);
  EXPECT_NE(fit(p, formula_image(100, 100)).error().message().find("resized it has 64 x 64"),
            std::string::npos);
}

TEST(Preprocess, NormalizesByTheFormula) {
  Preprocess p = lite0();
  p.rule = ResizeRule::kNone;
  p.crop = Crop::kNone;
  p.height = 1;
  p.width = 2;
  p.mean = {10, 20, 30};
  p.std = {2, 4, 5};
  Image image = Image::make(2, 1);
  image.rgb = {14, 28, 40, 10, 20, 255};
  std::vector<float> out(6);
  ASSERT_TRUE(apply(p, image, PixelLayout::kNchw, out).ok());
  // (14 - 10) / 2, (10 - 10) / 2 | (28 - 20) / 4, 0 | (40 - 30) / 5, (255 - 30) / 5.
  EXPECT_EQ(out, (std::vector<float>{2, 0, 2, 0, 2, 45}));
  ASSERT_TRUE(apply(p, image, PixelLayout::kNhwc, out).ok());
  EXPECT_EQ(out, (std::vector<float>{2, 2, 2, 0, 0, 45}));
  // Blue first; the first mean and std are blue's: (40 - 10) / 2.
  p.color = Color::kBgr;
  ASSERT_TRUE(apply(p, image, PixelLayout::kNchw, out).ok());
  EXPECT_EQ(out, (std::vector<float>{15, 122.5f, 2, 0, -3.2f, -4}));
  // Values 0..1: 51 / 255 = 0.2.
  p = lite0();
  p.height = p.width = 1;
  p.range_high = 1;
  p.mean = {0.1, 0.1, 0.1};
  p.std = {0.5, 0.5, 0.5};
  std::vector<float> one(3);
  ASSERT_TRUE(apply(p, solid(3, 3, 51, 51, 51), PixelLayout::kNchw, one).ok());
  for (const float value : one) EXPECT_NEAR(value, 0.2, 1e-6);
}

TEST(Preprocess, GrayUsesPillowsWeights) {
  Preprocess p = lite0();
  p.color = Color::kGray;
  p.height = p.width = 1;
  p.mean = {0};
  p.std = {1};
  std::vector<float> out(1);
  // (19595 * 255 + 32768) >> 16 = 76; green 150; blue 29; white stays 255.
  const auto level = [&](uint8_t r, uint8_t g, uint8_t b) {
    EXPECT_TRUE(apply(p, solid(2, 2, r, g, b), PixelLayout::kNchw, out).ok());
    return out[0];
  };
  EXPECT_EQ(level(255, 0, 0), 76);
  EXPECT_EQ(level(0, 255, 0), 150);
  EXPECT_EQ(level(0, 0, 255), 29);
  EXPECT_EQ(level(255, 255, 255), 255);
}

TEST(Preprocess, AffineFoldsTheSame) {
  const Preprocess p = lite0();
  const Affine affine = normalization(p);
  const Image image = formula_image(300, 260);
  const Image fitted = *fit(p, image);
  std::vector<float> out(static_cast<size_t>(p.elements()));
  normalize(p, fitted, PixelLayout::kNhwc, out);
  for (size_t i = 0; i < out.size(); ++i)
    ASSERT_FLOAT_EQ(out[i], fitted.rgb[i] * affine.scale[i % 3] + affine.offset[i % 3]);
  std::vector<uint8_t> levels(out.size());
  for (const PixelLayout layout : {PixelLayout::kNchw, PixelLayout::kNhwc}) {
    normalize(p, fitted, layout, out);
    write_levels(p, fitted, layout, levels);
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_FLOAT_EQ(out[i], levels[i] * affine.scale[0] + affine.offset[0]);
  }
}

TEST(Preprocess, DecodingKeepsTwiceTheSize) {
  EXPECT_EQ(decode_options(lite0()).min_short_side, 512);
  Preprocess p = lite0();
  p.rule = ResizeRule::kExact;
  p.width = 300;
  EXPECT_EQ(decode_options(p).min_short_side, 600);
  p.rule = ResizeRule::kNone;
  EXPECT_EQ(decode_options(p).min_short_side, 0);
}

}  // namespace
}  // namespace tandem::data
