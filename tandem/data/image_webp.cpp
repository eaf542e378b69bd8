// SPDX-License-Identifier: Apache-2.0
// WebP through libwebp.
#include <webp/decode.h>

#include <cstring>

#include "tandem/data/codecs.hpp"

namespace tandem::data::detail {
namespace {

const char* reason(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return "out of memory";
    case VP8_STATUS_BITSTREAM_ERROR: return "its data is corrupt";
    case VP8_STATUS_UNSUPPORTED_FEATURE: return "it uses an unsupported feature";
    case VP8_STATUS_NOT_ENOUGH_DATA: return "the file ends early";
    default: return "it cannot be decoded";
  }
}

// RIFF: chunks of a four-letter name, a size and the data padded to an even size; "EXIF" may come after the
// pixels.
int orientation_of(Bytes bytes) {
  using std::string_view_literals::operator""sv;
  constexpr size_t kFileHeaderBytes = 12, kChunkHeaderBytes = 8;
  constexpr auto kPrefix = "Exif\0\0"sv;
  size_t at = kFileHeaderBytes;
  while (at + kChunkHeaderBytes <= bytes.size()) {
    const size_t size_bytes = read_u32_le(&bytes[at + 4]);
    const bool is_exif = std::memcmp(&bytes[at], "EXIF", 4) == 0;
    at += kChunkHeaderBytes;
    if (size_bytes > bytes.size() - at) return 1;
    if (is_exif) {
      Bytes tiff = bytes.subspan(at, size_bytes);
      // Some writers keep the prefix that only JPEG needs.
      if (tiff.size() >= kPrefix.size() && std::memcmp(tiff.data(), kPrefix.data(), kPrefix.size()) == 0) {
        tiff = tiff.subspan(kPrefix.size());
      }
      return exif_orientation(tiff);
    }
    at += size_bytes + (size_bytes & 1);
  }
  return 1;
}

}  // namespace

Result<Decoded> decode_webp(Bytes bytes, const DecodeOptions& options) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return internal_error("libwebp has another version than its headers");
  if (const auto status = WebPGetFeatures(bytes.data(), bytes.size(), &config.input);
      status != VP8_STATUS_OK) {
    return broken("WebP", reason(status));
  }
  if (config.input.has_animation) return unsupported("animated WebP images cannot be read");
  const int64_t width = config.input.width, height = config.input.height;
  TANDEM_TRY(check_size(width, height, options));
  const bool alpha = config.input.has_alpha != 0;
  Decoded decoded;
  decoded.image = Image::make(width, height);
  std::vector<uint8_t> rgba(alpha ? static_cast<size_t>(width * height * 4) : 0);
  config.output.colorspace = alpha ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = alpha ? rgba.data() : decoded.image.rgb.data();
  config.output.u.RGBA.stride = static_cast<int>(width * (alpha ? 4 : 3));
  config.output.u.RGBA.size = alpha ? rgba.size() : decoded.image.rgb.size();
  const VP8StatusCode status = WebPDecode(bytes.data(), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) return broken("WebP", reason(status));
  for (size_t i = 0; i < rgba.size() / 4; ++i) {
    for (size_t c = 0; c < 3; ++c)
      decoded.image.rgb[3 * i + c] = over_white(rgba[4 * i + c], rgba[4 * i + 3]);
  }
  decoded.orientation = orientation_of(bytes);
  return decoded;
}

}  // namespace tandem::data::detail
