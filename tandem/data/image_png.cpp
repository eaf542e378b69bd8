// SPDX-License-Identifier: Apache-2.0
// PNG through libpng. Errors long-jump back to the nearest guarded function; those own nothing.
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <png.h>

#include "tandem/base/check.hpp"
#include "tandem/data/codecs.hpp"

namespace tandem::data {
namespace detail {
namespace {

struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  Bytes rest;
  std::jmp_buf jump;
  char message[256] = "";

  Reader() = default;
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
  std::snprintf(reader->message, sizeof reader->message, "%s", message);
  std::longjmp(reader->jump, 1);
}

// Warnings concern ancillary chunks (colour profiles, text); damaged pixels are errors.
void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep target, size_t size_bytes) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (reader->rest.size() < size_bytes) png_error(png, "the file ends early");
  std::memcpy(target, reader->rest.data(), size_bytes);
  reader->rest = reader->rest.subspan(size_bytes);
}

bool read_header(Reader& reader) {
  if (setjmp(reader.jump) != 0) return false;
  png_set_read_fn(reader.png, &reader, on_read);
  // The area is checked by us, with a message of our own.
  png_set_user_limits(reader.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(reader.png, reader.info);
  return true;
}

// Whatever the file holds becomes 8-bit RGBA.
bool start(Reader& reader) {
  if (setjmp(reader.jump) != 0) return false;
  png_set_scale_16(reader.png);
  png_set_expand(reader.png);
  png_set_gray_to_rgb(reader.png);
  png_set_add_alpha(reader.png, 0xff, PNG_FILLER_AFTER);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_rows(Reader& reader, png_bytepp rows) {
  if (setjmp(reader.jump) != 0) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, reader.info);
  return true;
}

bool read_row(Reader& reader, png_bytep row) {
  if (setjmp(reader.jump) != 0) return false;
  png_read_row(reader.png, row, nullptr);
  return true;
}

bool read_end(Reader& reader) {
  if (setjmp(reader.jump) != 0) return false;
  png_read_end(reader.png, reader.info);
  return true;
}

int orientation_of(Reader& reader) {
  png_uint_32 size_bytes = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(reader.png, reader.info, &size_bytes, &exif) == 0 || exif == nullptr) return 1;
  return exif_orientation(Bytes(exif, size_bytes));
}

void rgba_row_to_rgb(const uint8_t* rgba, uint8_t* rgb, int64_t pixels) {
  for (int64_t x = 0; x < pixels; ++x) {
    for (int c = 0; c < 3; ++c) rgb[3 * x + c] = over_white(rgba[4 * x + c], rgba[4 * x + 3]);
  }
}

}  // namespace

Result<Decoded> decode_png(Bytes bytes, const DecodeOptions& options) {
  Reader reader;
  reader.rest = bytes;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
  if (reader.png != nullptr) reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) return internal_error("libpng cannot start");
  if (!read_header(reader)) return broken("PNG", reader.message);
  const int64_t width = png_get_image_width(reader.png, reader.info);
  const int64_t height = png_get_image_height(reader.png, reader.info);
  TANDEM_TRY(check_size(width, height, options));
  // Deflate makes at most 1032 bytes of one (zlib's documentation): do not take memory for what cannot be
  // there.
  const uint64_t packed_bytes =
      uint64_t{png_get_rowbytes(reader.png, reader.info)} * static_cast<uint64_t>(height);
  if (packed_bytes / 1032 > bytes.size()) return broken("PNG", "the file ends early");
  const bool interlaced = png_get_interlace_type(reader.png, reader.info) != PNG_INTERLACE_NONE;
  if (!start(reader)) return broken("PNG", reader.message);
  TANDEM_CHECK(png_get_rowbytes(reader.png, reader.info) == static_cast<size_t>(width) * 4);
  Decoded decoded;
  decoded.image = Image::make(width, height);
  const size_t stride = static_cast<size_t>(width) * 4;
  if (interlaced) {
    // All passes need all rows.
    std::vector<uint8_t> rgba(stride * static_cast<size_t>(height));
    std::vector<png_bytep> rows(static_cast<size_t>(height));
    for (size_t y = 0; y < rows.size(); ++y) rows[y] = rgba.data() + y * stride;
    if (!read_rows(reader, rows.data())) return broken("PNG", reader.message);
    for (int64_t y = 0; y < height; ++y) {
      rgba_row_to_rgb(rows[static_cast<size_t>(y)], decoded.image.row(y).data(), width);
    }
  } else {
    std::vector<uint8_t> row(stride);
    for (int64_t y = 0; y < height; ++y) {
      if (!read_row(reader, row.data())) return broken("PNG", reader.message);
      rgba_row_to_rgb(row.data(), decoded.image.row(y).data(), width);
    }
    if (!read_end(reader)) return broken("PNG", reader.message);
  }
  decoded.orientation = orientation_of(reader);
  return decoded;
}

}  // namespace detail

Result<std::string> encode_png(const Image& image) {
  TANDEM_CHECK(image.width > 0 && image.height > 0);
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = PNG_FORMAT_RGB;
  png_alloc_size_t size_bytes = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string bytes(size_bytes, '\0');
  if (png_image_write_to_memory(&header, bytes.data(), &size_bytes, 0, image.rgb.data(), 0, nullptr) == 0) {
    return internal_error("cannot write a PNG").because(header.message);
  }
  bytes.resize(size_bytes);
  return bytes;
}

}  // namespace tandem::data
