// SPDX-License-Identifier: Apache-2.0
// Tells formats apart by their first bytes, applies orientation, reads files.
#include "tandem/data/image.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "tandem/base/check.hpp"
#include "tandem/base/file.hpp"
#include "tandem/data/codecs.hpp"
#include "tandem/data/resize.hpp"

namespace tandem::data {
namespace {

using detail::Bytes;
using detail::Decoded;

constexpr const char* kSupported = "supported are JPEG, PNG, WebP, BMP and PBM/PGM/PPM";

bool has(Bytes bytes, size_t offset, std::string_view magic) {
  return bytes.size() >= offset + magic.size() &&
         std::memcmp(bytes.data() + offset, magic.data(), magic.size()) == 0;
}

// Formats that are recognised in order to be refused by name.
const char* unsupported_format(Bytes bytes) {
  using std::string_view_literals::operator""sv;
  if (has(bytes, 0, "GIF8")) return "GIF";
  if (has(bytes, 0, "II*\0"sv) || has(bytes, 0, "MM\0*"sv)) return "TIFF";
  if (has(bytes, 4, "ftypavif") || has(bytes, 4, "ftypavis")) return "AVIF";
  if (has(bytes, 4, "ftyphei") || has(bytes, 4, "ftypmif1") || has(bytes, 4, "ftyphev")) return "HEIF";
  if (has(bytes, 0, "\0\0\0\x0cjP  "sv) || has(bytes, 0, "\xff\x4f\xff\x51"sv)) return "JPEG 2000";
  if (has(bytes, 0, "\xff\x0a"sv) || has(bytes, 0, "\0\0\0\x0cJXL "sv)) return "JPEG XL";
  if (has(bytes, 0, "8BPS")) return "Photoshop";
  if (has(bytes, 0, "P7\n")) return "PAM";
  if (has(bytes, 0, "%PDF")) return "PDF";
  return nullptr;
}

Result<Decoded> decode_by_content(Bytes bytes, const DecodeOptions& options) {
  using std::string_view_literals::operator""sv;
  if (bytes.empty()) return bad_input("broken image").because("the file is empty");
  if (has(bytes, 0, "\xff\xd8\xff"sv)) return detail::decode_jpeg(bytes, options);
  if (has(bytes, 0, "\x89PNG\r\n\x1a\n"sv)) return detail::decode_png(bytes, options);
  if (has(bytes, 0, "RIFF") && has(bytes, 8, "WEBP")) return detail::decode_webp(bytes, options);
  if (has(bytes, 0, "BM")) return detail::decode_bmp(bytes, options);
  if (bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' &&
      (bytes[2] == '#' || bytes[2] == ' ' || (bytes[2] >= '\t' && bytes[2] <= '\r'))) {
    return detail::decode_pnm(bytes, options);
  }
  if (const char* name = unsupported_format(bytes)) {
    return unsupported(fmt::format("{} images cannot be read", name)).hint(kSupported);
  }
  return bad_input("not an image")
      .because("its first bytes belong to no known image format")
      .hint(kSupported);
}

}  // namespace

Image Image::make(int64_t width, int64_t height) {
  TANDEM_CHECK(width >= 0 && height >= 0);
  Image image;
  image.width = width;
  image.height = height;
  image.covered = {0, 0, static_cast<double>(width), static_cast<double>(height)};
  image.rgb.resize(static_cast<size_t>(width * height * kChannels));
  return image;
}

std::span<const uint8_t> Image::row(int64_t y) const {
  const auto stride = static_cast<size_t>(width * kChannels);
  return std::span(rgb).subspan(static_cast<size_t>(y) * stride, stride);
}

std::span<uint8_t> Image::row(int64_t y) {
  const auto stride = static_cast<size_t>(width * kChannels);
  return std::span(rgb).subspan(static_cast<size_t>(y) * stride, stride);
}

Status detail::check_size(int64_t width, int64_t height, const DecodeOptions& options) {
  if (width < 1 || height < 1) {
    return bad_input("broken image").because(fmt::format("its size is {} x {}", width, height));
  }
  // Formats store sides in at most 32 bits, so the division cannot be by zero and nothing overflows.
  if (width > options.max_pixels / height) {
    return bad_input("image is too large")
        .because(fmt::format("it declares {} x {} pixels, the limit is {} pixels", width, height,
                             options.max_pixels));
  }
  return {};
}

Result<Image> decode_image(std::span<const std::byte> bytes, const DecodeOptions& options) {
  const Bytes unsigned_bytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  Decoded decoded = TANDEM_TRY(decode_by_content(unsigned_bytes, options));
  if (!options.apply_orientation) return std::move(decoded.image);
  return oriented(std::move(decoded.image), decoded.orientation);
}

Result<Image> read_image(const std::string& path, const DecodeOptions& options) {
  // Read rather than mapped: a file cut while it is mapped would end the process with SIGBUS.
  constexpr uint64_t kLimitBytes = uint64_t{1} << 30;
  const std::string bytes = TANDEM_TRY(read_file(path, kLimitBytes));
  return decode_image(std::as_bytes(std::span(bytes)), options).context(fmt::format("'{}'", path));
}

namespace {

Image::Extent oriented_extent(const Image& image, int orientation) {
  Image::Extent e = image.covered;
  const auto w = static_cast<double>(image.width), h = static_cast<double>(image.height);
  const bool mirrored = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool upside_down = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  // First mirrored as stored, then transposed: 6 is "upside down, then transposed".
  if (mirrored) e = {w - e.right, e.top, w - e.left, e.bottom};
  if (upside_down) e = {e.left, h - e.bottom, e.right, h - e.top};
  if (orientation >= 5) e = {e.top, e.left, e.bottom, e.right};
  return e;
}

}  // namespace

Image oriented(Image image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  const int64_t w = image.width, h = image.height;
  const bool transposed = orientation >= 5;
  Image result = Image::make(transposed ? h : w, transposed ? w : h);
  // Source of result pixel (x, y) is start + x * step_x + y * step_y, in pixels.
  const int64_t last_column = w - 1, last_row = (h - 1) * w;
  int64_t start = 0, step_x = 1, step_y = w;
  switch (orientation) {
    case 2:
      start = last_column;
      step_x = -1;
      break;  // mirrored left to right
    case 3:
      start = last_row + last_column;
      step_x = -1;
      step_y = -w;
      break;  // turned by 180 degrees
    case 4:
      start = last_row;
      step_y = -w;
      break;  // mirrored top to bottom
    case 5:
      step_x = w;
      step_y = 1;
      break;  // transposed
    case 6:
      start = last_row;
      step_x = -w;
      step_y = 1;
      break;  // to be turned 90 degrees clockwise
    case 7:
      start = last_row + last_column;
      step_x = -w;
      step_y = -1;
      break;  // transposed over the other diagonal
    default:
      start = last_column;
      step_x = w;
      step_y = -1;
      break;  // 8: to be turned 90 degrees back
  }
  result.covered = oriented_extent(image, orientation);
  const uint8_t* source = image.rgb.data();
  uint8_t* target = result.rgb.data();
  for (int64_t y = 0; y < result.height; ++y) {
    int64_t from = start + y * step_y;
    for (int64_t x = 0; x < result.width; ++x, from += step_x, target += 3) {
      std::memcpy(target, source + from * 3, 3);
    }
  }
  return result;
}

Result<std::string> encode_thumbnail(const Image& image, int64_t max_side) {
  TANDEM_CHECK(max_side > 0);
  const int64_t longer = std::max(image.width, image.height);
  if (longer <= max_side) return encode_jpeg(image);
  ResizeOptions options;
  options.width = std::max<int64_t>(1, image.width * max_side / longer);
  options.height = std::max<int64_t>(1, image.height * max_side / longer);
  options.filter = Filter::kBilinear;
  return encode_jpeg(resize(image, options));
}

}  // namespace tandem::data
