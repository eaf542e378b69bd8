// SPDX-License-Identifier: Apache-2.0
// Resizing of 8-bit RGB images: antialiased as Pillow does it, or plain as TensorFlow does it.
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/data/image.hpp"

namespace tandem::data {

enum class Filter {
  kBilinear,  // triangle, support 1
  kBicubic,   // Keys' cubic convolution with a = -0.5, support 2
};
const char* to_string(Filter filter);

// Part of an image in whole pixels.
struct Box {
  int64_t x = 0;
  int64_t y = 0;
  int64_t width = 0;
  int64_t height = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

struct ResizeOptions {
  int64_t width = 0;
  int64_t height = 0;
  Filter filter = Filter::kBicubic;
  // true: when shrinking, the filter widens by the shrink factor; rows first, rounded to 8 bits, then
  // columns: bit for bit Pillow's Image.resize. false: the filter keeps its size and skips pixels; pixel
  // centres are at +0.5, taps outside drop out: tf.image.resize(antialias=False), which returns floats,
  // rounded once to the nearest level.
  bool antialias = true;
  // Only this part of the result is computed and returned: crop(resize(image)) at the price of the crop.
  std::optional<Box> window;
  // The loops for any machine in place of those for its instruction set; the result is the same.
  bool portable = false;
};

// Preconditions: a non-empty image, sizes above 0, a non-empty window inside the result.
Image resize(const Image& image, const ResizeOptions& options);

// A copy of a part. Precondition: the box is not empty and lies inside.
Image crop(const Image& image, const Box& box);

}  // namespace tandem::data
