// SPDX-License-Identifier: Apache-2.0
// Parsing, checking and applying of Preprocess.
#include "tandem/data/preprocess.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "tandem/base/check.hpp"

namespace tandem::data {
namespace {

// Larger inputs are a slip of the keyboard, and products of sizes stay far from overflow.
constexpr int64_t kMaxSide = 16384;

template <typename T>
struct Name {
  const char* text;
  T value;
};
constexpr std::array kLayouts = {Name<PixelLayout>{"nchw", PixelLayout::kNchw},
                                 Name<PixelLayout>{"nhwc", PixelLayout::kNhwc}};
constexpr std::array kColors = {Name<Color>{"rgb", Color::kRgb}, Name<Color>{"bgr", Color::kBgr},
                                Name<Color>{"gray", Color::kGray}};
constexpr std::array kRules = {Name<ResizeRule>{"none", ResizeRule::kNone},
                               Name<ResizeRule>{"exact", ResizeRule::kExact},
                               Name<ResizeRule>{"short_side", ResizeRule::kShortSide}};
constexpr std::array kCrops = {Name<Crop>{"center", Crop::kCenter}, Name<Crop>{"none", Crop::kNone}};
constexpr std::array kFilters = {Name<Filter>{"bicubic", Filter::kBicubic},
                                 Name<Filter>{"bilinear", Filter::kBilinear}};

template <typename Table>
auto value_of(const Table& table, std::string_view text, const std::string& key)
    -> Result<decltype(table.front().value)> {
  std::string choices;
  for (const auto& entry : table) {
    if (text == entry.text) return entry.value;
    choices += (choices.empty() ? "" : ", ") + std::string(entry.text);
  }
  return bad_input(fmt::format("{} '{}' is unknown", key, text))
      .hint(fmt::format("choose one of {}", choices));
}

template <typename Table, typename T>
const char* name_of(const Table& table, T value) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.text;
  }
  TANDEM_CHECK(false, "enumerator without a name");
  return "";
}

Error wrong(const std::string& key, const char* expected, const Json& got) {
  return bad_input(fmt::format("{}: '{}' must be {}", kPreprocessKey, key, expected))
      .because("it is " + got.dump());
}

// Every required key is there, and none that is neither required nor optional.
Status check_keys(const Json& json, const std::string& where,
                  std::initializer_list<std::string_view> required,
                  std::initializer_list<std::string_view> optional = {}) {
  if (!json.is_object()) return wrong(where, "an object", json);
  const auto among = [](std::initializer_list<std::string_view> keys, std::string_view key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  for (const auto& member : json.members()) {
    if (!among(required, member.first) && !among(optional, member.first)) {
      return bad_input(fmt::format("{}: unknown key '{}' in {}", kPreprocessKey, member.first, where));
    }
  }
  for (const auto key : required) {
    if (!json.has(key))
      return bad_input(fmt::format("{}: key '{}' is missing in {}", kPreprocessKey, key, where));
  }
  return {};
}

Result<std::vector<double>> numbers(const Json& json, const std::string& key) {
  if (!json.is_array()) return wrong(key, "a list of numbers", json);
  std::vector<double> values;
  for (const auto& item : json.items()) {
    if (!item.is_number()) return wrong(key, "a list of numbers", json);
    values.push_back(item.as_number());
  }
  return values;
}

Result<int64_t> side(const Json& json, const std::string& key) {
  if (!json.is_number() || json.as_number() != std::floor(json.as_number()) || json.as_number() < 1 ||
      json.as_number() > static_cast<double>(kMaxSide)) {
    return wrong(key, "a whole number from 1 to 16384", json);
  }
  return static_cast<int64_t>(json.as_number());
}

template <typename Table>
auto choice(const Table& table, const Json& json, const std::string& key)
    -> Result<decltype(table.front().value)> {
  if (!json.is_string()) return wrong(key, "a string", json);
  return value_of(table, json.as_string(), key).context(kPreprocessKey);
}

Status parse_resize(const Json& json, Preprocess& p) {
  if (!json.is_object()) return wrong("resize", "an object", json);
  p.rule = TANDEM_TRY(choice(kRules, json["rule"], "resize.rule"));
  switch (p.rule) {
    case ResizeRule::kNone:
      return check_keys(json, "resize", {"rule"}, {"short_side", "filter", "antialias"});
    case ResizeRule::kExact:
      TANDEM_TRY(check_keys(json, "resize", {"rule", "filter", "antialias"}, {"short_side"}));
      break;
    case ResizeRule::kShortSide:
      TANDEM_TRY(check_keys(json, "resize", {"rule", "short_side", "filter", "antialias"}));
      p.short_side = TANDEM_TRY(side(json["short_side"], "resize.short_side"));
      break;
  }
  p.filter = TANDEM_TRY(choice(kFilters, json["filter"], "resize.filter"));
  if (!json["antialias"].is_bool()) return wrong("resize.antialias", "true or false", json["antialias"]);
  p.antialias = json["antialias"].as_bool();
  return {};
}

// Fields without a meaning under the rule get their default, so that equal rules compare equal.
void normalize_unused(Preprocess& p) {
  const Preprocess defaults;
  if (p.rule != ResizeRule::kShortSide) p.short_side = defaults.short_side;
  if (p.rule == ResizeRule::kNone) {
    p.filter = defaults.filter;
    p.antialias = defaults.antialias;
  }
}

// width x height: after resizing.
Error wrong_size(const Preprocess& p, const Image& image, int64_t width, int64_t height,
                 const char* comparison) {
  Error error =
      bad_input(fmt::format("image of {} x {} pixels does not fit the model", image.width, image.height));
  error.hint("give a resize rule that suits, for example --resize-short");
  if (p.rule == ResizeRule::kNone) {
    error.because(fmt::format("without resizing it must be {}{} x {}", comparison, p.width, p.height));
  } else {
    error.because(fmt::format("resized it has {} x {} pixels, the model takes {}{} x {}", width, height,
                              comparison, p.width, p.height));
  }
  return error;
}

// Size after resizing. The aspect ratio is that of the covered part: exact, also after scaled decoding by 2,
// 4 or 8.
std::array<int64_t, 2> resized_size(const Preprocess& p, const Image& image) {
  if (p.rule == ResizeRule::kExact) return {p.width, p.height};
  if (p.rule == ResizeRule::kNone) return {image.width, image.height};
  constexpr double kEighths = 8;
  const auto width = std::llround((image.covered.right - image.covered.left) * kEighths);
  const auto height = std::llround((image.covered.bottom - image.covered.top) * kEighths);
  if (width <= height) return {p.short_side, p.short_side * height / width};
  return {p.short_side * width / height, p.short_side};
}

}  // namespace

Status validate(const Preprocess& p) {
  const auto channels = static_cast<size_t>(p.channels());
  const auto bad = [](std::string reason) {
    return Status(bad_input("preprocessing contradicts itself").because(std::move(reason)));
  };
  for (const int64_t value : {p.height, p.width, p.short_side}) {
    if (value < 1 || value > kMaxSide)
      return bad(fmt::format("a size of {} is not in 1..{}", value, kMaxSide));
  }
  if (p.mean.size() != channels || p.std.size() != channels) {
    return bad(fmt::format("color {} needs {} values of mean and of std, given are {} and {}",
                           name_of(kColors, p.color), channels, p.mean.size(), p.std.size()));
  }
  for (const double value : p.mean) {
    if (!std::isfinite(value)) return bad("mean is not finite");
  }
  for (const double value : p.std) {
    if (!(value > 0) || !std::isfinite(value)) return bad(fmt::format("std {} is not above 0", value));
  }
  if (!(p.range_high > p.range_low) || !std::isfinite(p.range_high - p.range_low)) {
    return bad(fmt::format("range [{}, {}] is empty", p.range_low, p.range_high));
  }
  if (p.rule == ResizeRule::kShortSide) {
    if (p.crop == Crop::kNone)
      return bad("resize rule short_side leaves the longer side open and needs crop center");
    if (p.short_side < std::min(p.height, p.width)) {
      return bad(fmt::format("the crop of {} x {} does not fit into a short side of {}", p.width, p.height,
                             p.short_side));
    }
  }
  return {};
}

Result<Preprocess> preprocess_from_json(const Json& json) {
  TANDEM_TRY(check_keys(json, "the top level",
                        {"layout", "color", "size", "resize", "crop", "mean", "std", "range"}));
  Preprocess p;
  p.layout = TANDEM_TRY(choice(kLayouts, json["layout"], "layout"));
  p.color = TANDEM_TRY(choice(kColors, json["color"], "color"));
  if (!json["size"].is_array() || json["size"].size() != 2)
    return wrong("size", "[height, width]", json["size"]);
  p.height = TANDEM_TRY(side(json["size"].items()[0], "size"));
  p.width = TANDEM_TRY(side(json["size"].items()[1], "size"));
  TANDEM_TRY(parse_resize(json["resize"], p));
  p.crop = TANDEM_TRY(choice(kCrops, json["crop"], "crop"));
  p.mean = TANDEM_TRY(numbers(json["mean"], "mean"));
  p.std = TANDEM_TRY(numbers(json["std"], "std"));
  const auto range = TANDEM_TRY(numbers(json["range"], "range"));
  if (range.size() != 2) return wrong("range", "[low, high]", json["range"]);
  p.range_low = range[0];
  p.range_high = range[1];
  normalize_unused(p);
  TANDEM_TRY(validate(p).context(kPreprocessKey));
  return p;
}

Result<Preprocess> parse_preprocess(std::string_view json_text) {
  const Json json = TANDEM_TRY(Json::parse(json_text).context(kPreprocessKey));
  return preprocess_from_json(json);
}

Json to_json(const Preprocess& p) {
  Json resize = Json::object({{"rule", name_of(kRules, p.rule)}});
  if (p.rule == ResizeRule::kShortSide) resize.set("short_side", p.short_side);
  if (p.rule != ResizeRule::kNone) {
    resize.set("filter", name_of(kFilters, p.filter));
    resize.set("antialias", p.antialias);
  }
  return Json::object({{"layout", name_of(kLayouts, p.layout)},
                       {"color", name_of(kColors, p.color)},
                       {"size", Json(Json::Array{p.height, p.width})},
                       {"resize", std::move(resize)},
                       {"crop", name_of(kCrops, p.crop)},
                       {"mean", Json(p.mean)},
                       {"std", Json(p.std)},
                       {"range", Json(Json::Array{p.range_low, p.range_high})}});
}

Result<Color> color_from_string(std::string_view text) { return value_of(kColors, text, "color"); }
Result<Crop> crop_from_string(std::string_view text) { return value_of(kCrops, text, "crop"); }

Result<Preprocess> with_overrides(Preprocess p, const PreprocessOverrides& overrides) {
  if (overrides.empty()) return p;
  if (overrides.size) p.height = p.width = *overrides.size;
  if (overrides.resize_short) {
    p.rule = ResizeRule::kShortSide;
    p.short_side = *overrides.resize_short;
  }
  if (overrides.crop) p.crop = *overrides.crop;
  if (overrides.mean || overrides.std) {
    const double unit = 255 / (p.range_high - p.range_low);
    for (double& value : p.mean) value = (value - p.range_low) * unit;
    for (double& value : p.std) value *= unit;
    p.range_low = 0;
    p.range_high = 255;
  }
  if (overrides.mean) p.mean = *overrides.mean;
  if (overrides.std) p.std = *overrides.std;
  if (overrides.color && *overrides.color != p.color) {
    // A model that says nothing else means the same statistics for the same colours.
    const bool reversed = *overrides.color != Color::kGray && p.color != Color::kGray;
    if (reversed && !overrides.mean) std::reverse(p.mean.begin(), p.mean.end());
    if (reversed && !overrides.std) std::reverse(p.std.begin(), p.std.end());
    p.color = *overrides.color;
  }
  const auto channels = static_cast<size_t>(p.channels());
  if (p.mean.size() == 1) p.mean.resize(channels, p.mean[0]);
  if (p.std.size() == 1) p.std.resize(channels, p.std[0]);
  normalize_unused(p);
  TANDEM_TRY(validate(p));
  return p;
}

DecodeOptions decode_options(const Preprocess& p) {
  DecodeOptions options;
  if (p.rule == ResizeRule::kShortSide) options.min_short_side = 2 * p.short_side;
  if (p.rule == ResizeRule::kExact) options.min_short_side = 2 * std::max(p.width, p.height);
  return options;
}

int64_t center_offset(int64_t from, int64_t to) {
  TANDEM_CHECK(to <= from);
  const int64_t half = (from - to) / 2;
  const bool tie = (from - to) % 2 != 0;
  return half + (tie && half % 2 != 0 ? 1 : 0);
}

Result<Image> fit(const Preprocess& p, const Image& image) {
  TANDEM_CHECK(image.width > 0 && image.height > 0);
  // The size rule goes by the picture's own sides, which scaled decoding rounds up.
  const auto size = resized_size(p, image);
  const int64_t width = size[0], height = size[1];
  if (width < p.width || height < p.height) return wrong_size(p, image, width, height, "at least ");
  if (p.crop == Crop::kNone && (width != p.width || height != p.height))
    return wrong_size(p, image, width, height, "");
  const Box window{center_offset(width, p.width), center_offset(height, p.height), p.width, p.height};
  if (p.rule == ResizeRule::kNone) return crop(image, window);
  ResizeOptions options;
  options.width = width;
  options.height = height;
  options.filter = p.filter;
  options.antialias = p.antialias;
  options.window = window;
  return resize(image, options);
}

Affine normalization(const Preprocess& p) {
  Affine affine;
  const double unit = (p.range_high - p.range_low) / 255;
  for (size_t c = 0; c < static_cast<size_t>(p.channels()); ++c) {
    affine.scale.push_back(static_cast<float>(unit / p.std[c]));
    affine.offset.push_back(static_cast<float>((p.range_low - p.mean[c]) / p.std[c]));
  }
  return affine;
}

namespace {

uint8_t gray_level(const uint8_t* rgb) {
  return static_cast<uint8_t>(
      (uint32_t{19595} * rgb[0] + uint32_t{38470} * rgb[1] + uint32_t{7471} * rgb[2] + 32768) >> 16);
}

// Writes out[...] = value(level, channel of the tensor). One loop per case, so that each vectorises.
template <typename T, typename Value>
void write_pixels(const Preprocess& p, const Image& fitted, PixelLayout layout, std::span<T> out,
                  Value value) {
  TANDEM_CHECK(fitted.width == p.width && fitted.height == p.height);
  TANDEM_CHECK(static_cast<int64_t>(out.size()) == p.elements());
  const auto pixels = static_cast<size_t>(p.width * p.height);
  const uint8_t* rgb = fitted.rgb.data();
  if (p.color == Color::kGray) {
    for (size_t i = 0; i < pixels; ++i) out[i] = value(gray_level(rgb + 3 * i), 0);
    return;
  }
  const size_t first = p.color == Color::kBgr ? 2 : 0, last = 2 - first;
  if (layout == PixelLayout::kNchw) {
    T* plane0 = out.data();
    T* plane1 = plane0 + pixels;
    T* plane2 = plane1 + pixels;
    for (size_t i = 0; i < pixels; ++i) {
      plane0[i] = value(rgb[3 * i + first], 0);
      plane1[i] = value(rgb[3 * i + 1], 1);
      plane2[i] = value(rgb[3 * i + last], 2);
    }
    return;
  }
  for (size_t i = 0; i < pixels; ++i) {
    out[3 * i] = value(rgb[3 * i + first], 0);
    out[3 * i + 1] = value(rgb[3 * i + 1], 1);
    out[3 * i + 2] = value(rgb[3 * i + last], 2);
  }
}

}  // namespace

void normalize(const Preprocess& p, const Image& fitted, PixelLayout layout, std::span<float> out) {
  const Affine affine = normalization(p);
  float scale[3], offset[3];
  for (size_t c = 0; c < 3; ++c) {
    const size_t from = std::min(c, affine.scale.size() - 1);
    scale[c] = affine.scale[from];
    offset[c] = affine.offset[from];
  }
  write_pixels(p, fitted, layout, out, [&](uint8_t level, size_t c) { return level * scale[c] + offset[c]; });
}

void write_levels(const Preprocess& p, const Image& fitted, PixelLayout layout, std::span<uint8_t> out) {
  write_pixels(p, fitted, layout, out, [](uint8_t level, size_t) { return level; });
}

Status apply(const Preprocess& p, const Image& image, PixelLayout layout, std::span<float> out) {
  const Image fitted = TANDEM_TRY(fit(p, image));
  normalize(p, fitted, layout, out);
  return {};
}

}  // namespace tandem::data
