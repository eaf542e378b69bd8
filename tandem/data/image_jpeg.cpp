// SPDX-License-Identifier: Apache-2.0
// JPEG through libjpeg-turbo. libjpeg reports errors by a callback that must not return: it long-jumps back
// to the nearest setjmp below. Those functions own nothing, so no destructor is ever jumped over.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <jpeglib.h>

#include <jerror.h>  // needs jpeglib.h first

#include "tandem/base/check.hpp"
#include "tandem/data/codecs.hpp"

namespace tandem::data {
namespace detail {
namespace {

constexpr int kExifMarker = JPEG_APP0 + 1;
// Progressive files have about ten scans; thousands are an attack on the decoder's time.
constexpr int kMaxScans = 200;

struct ErrorState {
  jpeg_error_mgr manager;  // first: libjpeg hands out its address
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void fail(j_common_ptr info) {
  auto* state = reinterpret_cast<ErrorState*>(info->err);
  (*info->err->format_message)(info, state->message);
  std::longjmp(state->jump, 1);
}

// Warnings that mean that pixels are missing or guessed. The others (stray bytes between markers, an odd JFIF
// version) occur in sound photos of many cameras.
void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL: fail(info);
    default: break;
  }
}

void on_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
  auto* state = reinterpret_cast<ErrorState*>(info->err);
  std::snprintf(state->message, sizeof state->message, "it has more than %d scans", kMaxScans);
  std::longjmp(state->jump, 1);
}

void attach(ErrorState& state) {
  jpeg_std_error(&state.manager);
  state.manager.error_exit = fail;
  state.manager.emit_message = on_message;
  state.message[0] = '\0';
}

struct Reader {
  jpeg_decompress_struct info;
  jpeg_progress_mgr progress;
  ErrorState errors;

  Reader() {
    std::memset(&info, 0, sizeof info);
    attach(errors);
    info.err = &errors.manager;
  }
  ~Reader() { jpeg_destroy_decompress(&info); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
};

bool read_header(Reader& reader, const uint8_t* data, size_t size_bytes) {
  if (setjmp(reader.errors.jump) != 0) return false;
  jpeg_create_decompress(&reader.info);
  reader.progress.progress_monitor = on_progress;
  reader.info.progress = &reader.progress;
  jpeg_mem_src(&reader.info, data, static_cast<unsigned long>(size_bytes));
  jpeg_save_markers(&reader.info, kExifMarker, 0xffff);
  jpeg_read_header(&reader.info, TRUE);
  return true;
}

bool start(Reader& reader) {
  if (setjmp(reader.errors.jump) != 0) return false;
  jpeg_start_decompress(&reader.info);
  return true;
}

// R = (255 - C) * (255 - K) / 255; Adobe stores 255 - C and 255 - K already.
void cmyk_row_to_rgb(const uint8_t* cmyk, bool inverted, uint8_t* rgb, size_t pixels) {
  const uint32_t flip = inverted ? 0 : 255;
  for (size_t x = 0; x < pixels; ++x) {
    const uint32_t k = cmyk[4 * x + 3] ^ flip;
    for (size_t c = 0; c < 3; ++c) {
      rgb[3 * x + c] = static_cast<uint8_t>(((cmyk[4 * x + c] ^ flip) * k + 127) / 255);
    }
  }
}

// `cmyk_row` is one row of scratch memory for four-channel images, else null.
bool read_rows(Reader& reader, uint8_t* rgb, uint8_t* cmyk_row) {
  if (setjmp(reader.errors.jump) != 0) return false;
  const size_t stride = size_t{reader.info.output_width} * 3;
  while (reader.info.output_scanline < reader.info.output_height) {
    uint8_t* target = rgb + reader.info.output_scanline * stride;
    if (cmyk_row != nullptr) {
      JSAMPROW rows[1] = {cmyk_row};
      jpeg_read_scanlines(&reader.info, rows, 1);
      cmyk_row_to_rgb(cmyk_row, reader.info.saw_Adobe_marker == TRUE, target, reader.info.output_width);
    } else {
      // Two rows at a time: with 4:2:0 the decoder makes them in pairs.
      JSAMPROW rows[2] = {target, target + stride};
      const JDIMENSION left = reader.info.output_height - reader.info.output_scanline;
      jpeg_read_scanlines(&reader.info, rows, left < 2 ? left : 2);
    }
  }
  jpeg_finish_decompress(&reader.info);
  return true;
}

int orientation_of(const Reader& reader) {
  using std::string_view_literals::operator""sv;
  constexpr auto kPrefix = "Exif\0\0"sv;
  for (auto* marker = reader.info.marker_list; marker != nullptr; marker = marker->next) {
    if (marker->marker != kExifMarker || marker->data_length < kPrefix.size()) continue;
    if (std::memcmp(marker->data, kPrefix.data(), kPrefix.size()) != 0) continue;
    return exif_orientation(Bytes(marker->data, marker->data_length).subspan(kPrefix.size()));
  }
  return 1;
}

// The largest of 8, 4, 2, 1 that leaves the shorter side at least `min_short_side`.
unsigned scale_denominator(int64_t short_side, int64_t min_short_side) {
  if (min_short_side <= 0) return 1;
  unsigned denominator = 8;
  while (denominator > 1 && short_side / denominator < min_short_side) denominator /= 2;
  return denominator;
}

}  // namespace

Result<Decoded> decode_jpeg(Bytes bytes, const DecodeOptions& options) {
  Reader reader;
  if (!read_header(reader, bytes.data(), bytes.size())) return broken("JPEG", reader.errors.message);
  const int64_t width = reader.info.image_width, height = reader.info.image_height;
  TANDEM_TRY(check_size(width, height, options));
  bool four_channels = false;
  switch (reader.info.num_components) {
    case 1:
    case 3: reader.info.out_color_space = JCS_RGB; break;
    case 4:
      reader.info.out_color_space = JCS_CMYK;
      four_channels = true;
      break;
    default:
      return unsupported(
          fmt::format("JPEG images with {} components cannot be read", reader.info.num_components));
  }
  reader.info.scale_num = 1;
  reader.info.scale_denom = scale_denominator(std::min(width, height), options.min_short_side);
  if (!start(reader)) return broken("JPEG", reader.errors.message);
  Decoded decoded;
  decoded.orientation = orientation_of(reader);
  decoded.image = Image::make(reader.info.output_width, reader.info.output_height);
  decoded.image.covered.right = static_cast<double>(width) / reader.info.scale_denom;
  decoded.image.covered.bottom = static_cast<double>(height) / reader.info.scale_denom;
  std::vector<uint8_t> cmyk_row(four_channels ? size_t{reader.info.output_width} * 4 : 0);
  if (!read_rows(reader, decoded.image.rgb.data(), four_channels ? cmyk_row.data() : nullptr)) {
    return broken("JPEG", reader.errors.message);
  }
  return decoded;
}

namespace {

struct Writer {
  jpeg_compress_struct info;
  ErrorState errors;
  unsigned char* bytes = nullptr;
  unsigned long size_bytes = 0;

  Writer() {
    std::memset(&info, 0, sizeof info);
    attach(errors);
    info.err = &errors.manager;
  }
  ~Writer() {
    jpeg_destroy_compress(&info);
    std::free(bytes);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
};

bool write_rows(Writer& writer, const Image& image, int quality) {
  if (setjmp(writer.errors.jump) != 0) return false;
  jpeg_create_compress(&writer.info);
  jpeg_mem_dest(&writer.info, &writer.bytes, &writer.size_bytes);
  writer.info.image_width = static_cast<JDIMENSION>(image.width);
  writer.info.image_height = static_cast<JDIMENSION>(image.height);
  writer.info.input_components = 3;
  writer.info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&writer.info);
  jpeg_set_quality(&writer.info, quality, TRUE);
  jpeg_start_compress(&writer.info, TRUE);
  const size_t stride = static_cast<size_t>(image.width) * 3;
  while (writer.info.next_scanline < writer.info.image_height) {
    JSAMPROW rows[1] = {const_cast<uint8_t*>(image.rgb.data()) + writer.info.next_scanline * stride};
    jpeg_write_scanlines(&writer.info, rows, 1);
  }
  jpeg_finish_compress(&writer.info);
  return true;
}

}  // namespace
}  // namespace detail

Result<std::string> encode_jpeg(const Image& image, int quality) {
  TANDEM_CHECK(image.width > 0 && image.height > 0 && quality >= 1 && quality <= 100);
  if (image.width > JPEG_MAX_DIMENSION || image.height > JPEG_MAX_DIMENSION) {
    return unsupported(fmt::format("cannot write a JPEG of {} x {} pixels", image.width, image.height));
  }
  detail::Writer writer;
  if (!detail::write_rows(writer, image, quality)) {
    return internal_error("cannot write a JPEG").because(writer.errors.message);
  }
  return std::string(reinterpret_cast<const char*>(writer.bytes), writer.size_bytes);
}

}  // namespace tandem::data
