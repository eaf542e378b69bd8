// SPDX-License-Identifier: Apache-2.0
// Preprocess: how an image becomes the input of a model. Travels with the model as JSON under the key
// "tandem.preprocess".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/data/image.hpp"
#include "tandem/data/resize.hpp"

namespace tandem::data {

inline constexpr const char* kPreprocessKey = "tandem.preprocess";

enum class PixelLayout { kNchw, kNhwc };
// kGray: one channel, (19595 R + 38470 G + 7471 B + 32768) >> 16, ITU-R BT.601 as Pillow rounds it.
enum class Color { kRgb, kBgr, kGray };
enum class ResizeRule {
  kNone,       // the image must already have the size (with a centre crop: at least)
  kExact,      // to size, aspect ratio not kept
  kShortSide,  // the shorter side becomes short_side, the longer one floor(short_side * long / short), as
               // torchvision does
};
enum class Crop { kNone, kCenter };

// value = range_low + (range_high - range_low) * level / 255;  input = (value - mean) / std, per channel of
// the tensor, so for bgr the first mean is blue's.
struct Preprocess {
  PixelLayout layout = PixelLayout::kNchw;
  Color color = Color::kRgb;
  int64_t height = 224;
  int64_t width = 224;
  ResizeRule rule = ResizeRule::kShortSide;
  int64_t short_side = 256;
  Filter filter = Filter::kBicubic;
  bool antialias = true;
  // The centre crop starts at (long - size) / 2 rounded to the nearest, ties to even, as torchvision's
  // CenterCrop.
  Crop crop = Crop::kCenter;
  std::vector<double> mean = {0, 0, 0};
  std::vector<double> std = {1, 1, 1};
  double range_low = 0;
  double range_high = 255;

  int64_t channels() const { return color == Color::kGray ? 1 : 3; }
  int64_t elements() const { return channels() * height * width; }
  friend bool operator==(const Preprocess&, const Preprocess&) = default;
};

// Strict: unknown or missing keys, wrong types and values that contradict each other are errors that name the
// key. Only what the resize rule does not use may stay.
Result<Preprocess> preprocess_from_json(const Json& json);
Result<Preprocess> parse_preprocess(std::string_view json_text);
// preprocess_from_json(to_json(p)) == p.
Json to_json(const Preprocess& preprocess);
// The checks of preprocess_from_json for one made in the program.
Status validate(const Preprocess& preprocess);

// What a user may say over the model's own words; unset fields keep them. mean and std are in 0..255 units,
// one value for all channels or one a channel in the order of the tensor; giving either converts the other to
// the same units.
struct PreprocessOverrides {
  std::optional<int64_t> size;
  std::optional<int64_t> resize_short;  // also sets the rule
  std::optional<Crop> crop;
  std::optional<std::vector<double>> mean;
  std::optional<std::vector<double>> std;
  std::optional<Color> color;

  bool empty() const { return !size && !resize_short && !crop && !mean && !std && !color; }
};
Result<Preprocess> with_overrides(Preprocess preprocess, const PreprocessOverrides& overrides);
// "rgb", "bgr", "gray"; "center", "none". Errors list the choices.
Result<Color> color_from_string(std::string_view text);
Result<Crop> crop_from_string(std::string_view text);

// Decoding that leaves twice the size that resizing wants.
DecodeOptions decode_options(const Preprocess& preprocess);

// Where a centre crop starts along one axis: (from - to) / 2, ties to even. Precondition: to <= from.
int64_t center_offset(int64_t from, int64_t to);

// Resized and cropped, still 8-bit RGB: width x height.
// Error when the image does not have the size that the rule asks for.
Result<Image> fit(const Preprocess& preprocess, const Image& image);

// input = level * scale[c] + offset[c], c in the order of the tensor.
struct Affine {
  std::vector<float> scale;
  std::vector<float> offset;
};
Affine normalization(const Preprocess& preprocess);

// Writes a fitted image as floats, in the layout given: out [C,H,W] or [H,W,C]. Preconditions: the image has
// the size of the preprocess, out.size() == elements().
void normalize(const Preprocess& preprocess, const Image& fitted, PixelLayout layout, std::span<float> out);

// The same without the normalisation: levels 0..255 in the colour order and layout of the tensor, for callers
// that fold normalization() into the first layer.
void write_levels(const Preprocess& preprocess, const Image& fitted, PixelLayout layout,
                  std::span<uint8_t> out);

// fit and normalize.
Status apply(const Preprocess& preprocess, const Image& image, PixelLayout layout, std::span<float> out);

}  // namespace tandem::data
