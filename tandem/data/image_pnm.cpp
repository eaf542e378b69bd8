// SPDX-License-Identifier: Apache-2.0
// PBM, PGM and PPM, plain (P1..P3) and raw (P4..P6). Only the first image of a file counts.
#include <cctype>
#include <optional>

#include "tandem/data/codecs.hpp"

namespace tandem::data::detail {
namespace {

constexpr const char* kFormat = "PNM";

class Scanner {
 public:
  explicit Scanner(Bytes bytes) : bytes_(bytes) {}

  // White space and comments ('#' to the end of the line), then a decimal number.
  std::optional<int64_t> number() {
    skip_space();
    if (at_ >= bytes_.size() || !std::isdigit(bytes_[at_])) return std::nullopt;
    int64_t value = 0;
    for (; at_ < bytes_.size() && std::isdigit(bytes_[at_]); ++at_) {
      value = value * 10 + (bytes_[at_] - '0');
      if (value > INT32_MAX) return std::nullopt;
    }
    return value;
  }
  // Plain PBM: digits need no space between them.
  std::optional<int64_t> bit() {
    skip_space();
    if (at_ >= bytes_.size() || (bytes_[at_] != '0' && bytes_[at_] != '1')) return std::nullopt;
    return bytes_[at_++] - '0';
  }
  // The raw pixels: after exactly one white space.
  Bytes raw() const { return at_ < bytes_.size() ? bytes_.subspan(at_ + 1) : Bytes(); }

 private:
  void skip_space() {
    while (at_ < bytes_.size()) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      } else if (std::isspace(bytes_[at_])) {
        ++at_;
      } else {
        break;
      }
    }
  }
  Bytes bytes_;
  size_t at_ = 2;
};

struct Header {
  int64_t width = 0;
  int64_t height = 0;
  uint64_t max = 1;
  int channels = 1;
};

uint8_t scaled(uint64_t value, uint64_t max) { return static_cast<uint8_t>((value * 255 + max / 2) / max); }

void put(Image& image, size_t sample, int channels, uint8_t value) {
  if (channels == 3) {
    image.rgb[sample] = value;
  } else {
    for (size_t c = 0; c < 3; ++c) image.rgb[sample * 3 + c] = value;
  }
}

Status read_plain(Scanner& scanner, const Header& h, bool bits, Image& image) {
  const auto samples = static_cast<size_t>(h.width * h.height * h.channels);
  for (size_t i = 0; i < samples; ++i) {
    const auto value = bits ? scanner.bit() : scanner.number();
    if (!value) return broken(kFormat, fmt::format("it has {} of {} values", i, samples));
    if (static_cast<uint64_t>(*value) > h.max)
      return broken(kFormat, fmt::format("value {} over {}", *value, h.max));
    // In a bitmap 1 is black.
    put(image, i, h.channels, bits ? (*value == 1 ? 0 : 255) : scaled(static_cast<uint64_t>(*value), h.max));
  }
  return {};
}

Status read_raw_bits(Bytes raw, const Header& h, Image& image) {
  const auto width = static_cast<size_t>(h.width), height = static_cast<size_t>(h.height);
  const size_t stride = (width + 7) / 8;
  if (raw.size() / stride < height) return broken(kFormat, "the file ends early");
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      const bool black = (raw[y * stride + x / 8] >> (7 - x % 8) & 1) != 0;
      put(image, y * width + x, 1, black ? 0 : 255);
    }
  }
  return {};
}

Status read_raw(Bytes raw, const Header& h, Image& image) {
  const size_t sample_bytes = h.max > 255 ? 2 : 1;
  const auto samples = static_cast<size_t>(h.width * h.height * h.channels);
  if (raw.size() / sample_bytes < samples) return broken(kFormat, "the file ends early");
  for (size_t i = 0; i < samples; ++i) {
    const uint32_t value = sample_bytes == 2 ? read_u16_be(&raw[2 * i]) : raw[i];
    if (value > h.max) return broken(kFormat, fmt::format("value {} over {}", value, h.max));
    put(image, i, h.channels, h.max == 255 ? static_cast<uint8_t>(value) : scaled(value, h.max));
  }
  return {};
}

}  // namespace

Result<Decoded> decode_pnm(Bytes bytes, const DecodeOptions& options) {
  const int kind = bytes[1] - '0';
  const bool bits = kind == 1 || kind == 4;
  Scanner scanner(bytes);
  Header h;
  const auto width = scanner.number();
  const auto height = scanner.number();
  const auto max = bits ? std::optional<int64_t>(1) : scanner.number();
  if (!width || !height || !max) return broken(kFormat, "its header is incomplete");
  if (*max < 1 || *max > 65535) return broken(kFormat, fmt::format("its largest value is {}", *max));
  h = {*width, *height, static_cast<uint64_t>(*max), kind == 3 || kind == 6 ? 3 : 1};
  TANDEM_TRY(check_size(h.width, h.height, options));
  // Even a bitmap needs a byte for eight pixels: do not take memory for what cannot be there.
  if (static_cast<uint64_t>(h.width) * static_cast<uint64_t>(h.height) / 8 > bytes.size()) {
    return broken(kFormat, "the file ends early");
  }
  Decoded decoded;
  decoded.image = Image::make(h.width, h.height);
  if (kind <= 3) {
    TANDEM_TRY(read_plain(scanner, h, bits, decoded.image));
  } else if (bits) {
    TANDEM_TRY(read_raw_bits(scanner.raw(), h, decoded.image));
  } else {
    TANDEM_TRY(read_raw(scanner.raw(), h, decoded.image));
  }
  return decoded;
}

}  // namespace tandem::data::detail
