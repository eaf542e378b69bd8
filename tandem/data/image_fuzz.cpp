// SPDX-License-Identifier: Apache-2.0
// Any bytes decode or fail with a reason; what decodes keeps its own promises.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tandem/data/image.hpp"
#include "tandem/data/resize.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tandem::data::DecodeOptions options;
  options.max_pixels = 1 << 20;
  // The last byte chooses scaled decoding, so that a seed file decodes as it is.
  if (size > 0 && data[size - 1] % 4 == 1) options.min_short_side = 8;
  const auto image = tandem::data::decode_image(std::as_bytes(std::span(data, size)), options);
  if (!image.ok()) {
    if (image.error().what().empty()) std::abort();
    return 0;
  }
  if (image->width < 1 || image->height < 1 || image->width > options.max_pixels / image->height)
    std::abort();
  if (image->rgb.size() != static_cast<size_t>(image->width * image->height * 3)) std::abort();
  tandem::data::ResizeOptions small;
  small.width = 7;
  small.height = 5;
  small.antialias = size % 2 == 0;
  if (tandem::data::resize(*image, small).rgb.size() != 7 * 5 * 3) std::abort();
  return 0;
}

extern "C" bool tandem_fuzz_seed(size_t index, std::vector<uint8_t>* bytes) {
  tandem::data::Image image = tandem::data::Image::make(19, 11);
  for (size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = static_cast<uint8_t>(i * i / 7);
  std::string file;
  switch (index) {
    case 0: file = *tandem::data::encode_png(image); break;
    case 1: file = *tandem::data::encode_jpeg(image, 70); break;
    case 2: file = "P6\n19 11\n255\n" + std::string(image.rgb.begin(), image.rgb.end()); break;
    case 3: file = "P2 3 2 15 0 1 2 3 4 15"; break;
    case 4:
      file = std::string("BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0", 30) +
             std::string(24, '\0') + "\x01\x02\x03" + std::string(1, '\0');
      break;
    case 5:
      file = std::string("RIFF\x1c\0\0\0WEBPVP8L\x0f\0\0\0\x2f\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0\0",
                         36);
      break;
    default: return false;
  }
  bytes->assign(file.begin(), file.end());
  return true;
}
