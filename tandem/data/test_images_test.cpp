// SPDX-License-Identifier: Apache-2.0
// The writers behind test_images.hpp. Errors of the codecs abort: a test file that cannot be made is a broken
// test.
#include "tandem/data/test_images.hpp"

#include <png.h>
#include <stdlib.h>
#include <webp/encode.h>
#include <zlib.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include <jpeglib.h>

#include "tandem/base/check.hpp"
#include "tandem/base/file.hpp"

namespace tandem::data::test {
namespace {

// A TIFF block, big endian, with the orientation alone.
std::string exif_block(int orientation) {
  using std::string_literals::operator""s;
  return "MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0"s + static_cast<char>(orientation) +
         "\0\0\0\0\0\0"s;
}

}  // namespace

Image formula_image(int64_t width, int64_t height) {
  Image image = Image::make(width, height);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        image.rgb[static_cast<size_t>((y * width + x) * 3 + c)] =
            static_cast<uint8_t>((7 * x * x + 3 * y * y + 5 * x * y + 13 * y * c + 31 * c) % 256);
      }
    }
  }
  return image;
}

Image solid(int64_t width, int64_t height, uint8_t r, uint8_t g, uint8_t b) {
  Image image = Image::make(width, height);
  for (size_t i = 0; i < image.rgb.size(); i += 3) {
    image.rgb[i] = r;
    image.rgb[i + 1] = g;
    image.rgb[i + 2] = b;
  }
  return image;
}

Image quarters(int64_t side) {
  constexpr uint8_t kColors[4][3] = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {255, 255, 255}};
  Image image = Image::make(side, side);
  for (int64_t y = 0; y < side; ++y) {
    for (int64_t x = 0; x < side; ++x) {
      const auto* color = kColors[(y * 2 / side) * 2 + x * 2 / side];
      std::memcpy(&image.rgb[static_cast<size_t>((y * side + x) * 3)], color, 3);
    }
  }
  return image;
}

std::string jpeg_file(const JpegOptions& options) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size_bytes = 0;
  jpeg_mem_dest(&info, &bytes, &size_bytes);
  info.image_width = static_cast<JDIMENSION>(options.width);
  info.image_height = static_cast<JDIMENSION>(options.height);
  const bool four = options.kind == JpegKind::kCmyk || options.kind == JpegKind::kYcck;
  info.input_components = options.kind == JpegKind::kGray ? 1 : four ? 4 : 3;
  info.in_color_space = options.kind == JpegKind::kGray ? JCS_GRAYSCALE : four ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  if (four) jpeg_set_colorspace(&info, options.kind == JpegKind::kYcck ? JCS_YCCK : JCS_CMYK);
  info.write_Adobe_marker = options.adobe_marker ? TRUE : FALSE;
  jpeg_set_quality(&info, options.quality, TRUE);
  if (options.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  if (options.orientation != 0) {
    const std::string marker = std::string("Exif\0\0", 6) + exif_block(options.orientation);
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(marker.data()),
                      static_cast<unsigned>(marker.size()));
  }
  const size_t stride = static_cast<size_t>(options.width) * static_cast<size_t>(info.input_components);
  TANDEM_CHECK(options.samples.size() == stride * static_cast<size_t>(options.height));
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<uint8_t*>(options.samples.data()) + info.next_scanline * stride;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string file(reinterpret_cast<char*>(bytes), size_bytes);
  jpeg_destroy_compress(&info);
  free(bytes);
  return file;
}

std::string jpeg_file(const Image& image, int orientation) {
  JpegOptions options;
  options.width = image.width;
  options.height = image.height;
  options.samples = image.rgb;
  options.orientation = orientation;
  return jpeg_file(options);
}

std::string png_file(PngKind kind, int64_t width, int64_t height, const std::vector<uint8_t>& rows,
                     bool interlaced, int orientation) {
  struct Format {
    int type, bits, bits_per_pixel;
  };
  const auto format = [kind]() -> Format {
    switch (kind) {
      case PngKind::kGray8: return {PNG_COLOR_TYPE_GRAY, 8, 8};
      case PngKind::kGray16: return {PNG_COLOR_TYPE_GRAY, 16, 16};
      case PngKind::kGray1: return {PNG_COLOR_TYPE_GRAY, 1, 1};
      case PngKind::kGrayAlpha8: return {PNG_COLOR_TYPE_GRAY_ALPHA, 8, 16};
      case PngKind::kRgb8: return {PNG_COLOR_TYPE_RGB, 8, 24};
      case PngKind::kRgba8: return {PNG_COLOR_TYPE_RGB_ALPHA, 8, 32};
      case PngKind::kRgb16: return {PNG_COLOR_TYPE_RGB, 16, 48};
      default: return {PNG_COLOR_TYPE_PALETTE, 8, 8};
    }
  }();
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string file;
  png_set_write_fn(
      png, &file,
      [](png_structp p, png_bytep data, size_t size) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<char*>(data), size);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), format.bits,
               format.type, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (format.type == PNG_COLOR_TYPE_PALETTE) {
    const png_color palette[4] = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {255, 255, 255}};
    png_set_PLTE(png, info, palette, 4);
    const png_byte alpha[1] = {0};
    if (kind == PngKind::kPaletteTransparent) png_set_tRNS(png, info, alpha, 1, nullptr);
  }
  std::string exif = exif_block(orientation);
  if (orientation != 0) {
    png_set_eXIf_1(png, info, static_cast<png_uint_32>(exif.size()),
                   reinterpret_cast<png_bytep>(exif.data()));
  }
  png_write_info(png, info);
  const size_t stride = (static_cast<size_t>(width) * static_cast<size_t>(format.bits_per_pixel) + 7) / 8;
  TANDEM_CHECK(rows.size() == stride * static_cast<size_t>(height));
  std::vector<png_bytep> pointers;
  for (size_t y = 0; y < static_cast<size_t>(height); ++y) {
    pointers.push_back(const_cast<uint8_t*>(rows.data()) + y * stride);
  }
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::string webp_file(const Image& image) {
  uint8_t* bytes = nullptr;
  const size_t size =
      WebPEncodeLosslessRGB(image.rgb.data(), static_cast<int>(image.width), static_cast<int>(image.height),
                            static_cast<int>(image.width * 3), &bytes);
  std::string file(reinterpret_cast<char*>(bytes), size);
  WebPFree(bytes);
  return file;
}

std::string webp_file_rgba(int64_t width, int64_t height, const std::vector<uint8_t>& rgba) {
  WebPConfig config;
  WebPPicture picture;
  TANDEM_CHECK(WebPConfigInit(&config) && WebPPictureInit(&picture));
  config.lossless = 1;
  config.exact = 1;  // keep the colour under alpha 0
  picture.use_argb = 1;
  picture.width = static_cast<int>(width);
  picture.height = static_cast<int>(height);
  TANDEM_CHECK(WebPPictureImportRGBA(&picture, rgba.data(), static_cast<int>(width * 4)));
  WebPMemoryWriter writer;
  WebPMemoryWriterInit(&writer);
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = &writer;
  TANDEM_CHECK(WebPEncode(&config, &picture));
  std::string file(reinterpret_cast<char*>(writer.mem), writer.size);
  WebPMemoryWriterClear(&writer);
  WebPPictureFree(&picture);
  return file;
}

Result<Image> decode(std::string_view bytes, const DecodeOptions& options) {
  return decode_image(std::as_bytes(std::span(bytes)), options);
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "tandem-data-XXXXXX").string();
  TANDEM_CHECK(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void Folder::write(const std::string& name, std::string_view bytes) const {
  const std::filesystem::path full(file(name));
  TANDEM_CHECK(make_directories(full.parent_path().string()).ok());
  TANDEM_CHECK(write_file(full.string(), bytes).ok());
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  TANDEM_CHECK(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  TANDEM_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

namespace {

void put_u32(std::string& bytes, int64_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
}

}  // namespace

std::string idx_images_file(int64_t count, int64_t height, int64_t width,
                            const std::vector<uint8_t>& pixels) {
  std::string bytes("\0\0\x08\x03", 4);
  for (const int64_t dim : {count, height, width}) put_u32(bytes, dim);
  bytes.append(pixels.begin(), pixels.end());
  return bytes;
}

std::string idx_labels_file(const std::vector<uint8_t>& labels) {
  std::string bytes("\0\0\x08\x01", 4);
  put_u32(bytes, static_cast<int64_t>(labels.size()));
  bytes.append(labels.begin(), labels.end());
  return bytes;
}

}  // namespace tandem::data::test
