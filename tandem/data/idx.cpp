// SPDX-License-Identifier: Apache-2.0
// Header checks come before memory is taken: the sizes in a hostile header promise anything.
#include "tandem/data/idx.hpp"

#include <zlib.h>

#include <algorithm>
#include <filesystem>

#include "tandem/base/check.hpp"
#include "tandem/data/codecs.hpp"

namespace tandem::data {
namespace {

using detail::Bytes;

constexpr uint8_t kUnsignedByte = 0x08;
constexpr uint64_t kLimitBytes = uint64_t{4} << 30;
constexpr int64_t kMaxSide = 4096;

Error broken_idx(const std::string& name, std::string reason) {
  return bad_input(fmt::format("broken IDX file '{}'", name)).because(std::move(reason));
}

struct Header {
  std::vector<int64_t> dims;
  size_t header_bytes = 0;
  uint64_t data_bytes = 0;
};

// Two zeros, the element type, the rank, then each dimension, big endian.
Result<Header> parse_header(Bytes bytes, size_t rank, const std::string& name) {
  Header h;
  h.header_bytes = 4 + 4 * rank;
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0)
    return broken_idx(name, "it does not start like one");
  if (bytes[2] != kUnsignedByte)
    return broken_idx(name, fmt::format("its element type is {}, not bytes", bytes[2]));
  if (bytes[3] != rank)
    return broken_idx(name, fmt::format("it has {} dimensions, expected are {}", bytes[3], rank));
  if (bytes.size() < h.header_bytes) return broken_idx(name, "the file ends early");
  h.data_bytes = 1;
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t dim = detail::read_u32_be(&bytes[4 + 4 * axis]);
    if (axis > 0 && (dim < 1 || dim > kMaxSide))
      return broken_idx(name, fmt::format("an image side is {}", dim));
    h.dims.push_back(dim);
    // At most 2^32 * 2^12 * 2^12: no overflow.
    h.data_bytes *= static_cast<uint64_t>(dim);
  }
  if (h.data_bytes > kLimitBytes) return broken_idx(name, fmt::format("it declares {} bytes", h.data_bytes));
  return h;
}

bool is_gzip(Bytes bytes) { return bytes.size() > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; }

struct Inflater {
  z_stream stream{};
  bool ready = false;
  Inflater() { ready = inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK; }  // 16: expects a gzip header
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `out` as far as the data goes; Z_STREAM_END after the checksum was right.
  int fill(std::span<uint8_t> out, size_t& done) {
    stream.next_out = out.data();
    stream.avail_out = static_cast<uInt>(out.size());
    const int code = inflate(&stream, Z_NO_FLUSH);
    done = out.size() - stream.avail_out;
    return code;
  }
};

// The unpacked file, exactly as long as its header says.
Result<std::string> unpack(Bytes packed, size_t rank, const std::string& name) {
  Inflater inflater;
  if (!inflater.ready) return internal_error("zlib cannot start");
  if (packed.size() > kLimitBytes / 2) return broken_idx(name, "it is too large");
  inflater.stream.next_in = const_cast<uint8_t*>(packed.data());
  inflater.stream.avail_in = static_cast<uInt>(packed.size());
  const size_t header_bytes = 4 + 4 * rank;
  std::string bytes(header_bytes, '\0');
  const auto as_span = [&bytes](size_t from, size_t size) {
    return std::span<uint8_t>(reinterpret_cast<uint8_t*>(bytes.data()) + from, size);
  };
  size_t done = 0;
  int code = inflater.fill(as_span(0, header_bytes), done);
  if ((code != Z_OK && code != Z_STREAM_END) || done < header_bytes) {
    return broken_idx(name, "its gzip data is cut or corrupt");
  }
  const Header h = TANDEM_TRY(parse_header(as_span(0, header_bytes), rank, name));
  // Deflate makes at most 1032 bytes of one.
  if (h.data_bytes / 1032 > packed.size())
    return broken_idx(name, "its gzip data is shorter than its header says");
  bytes.resize(header_bytes + h.data_bytes);
  size_t filled = header_bytes;
  // avail_out is 32 bits wide: in pieces.
  constexpr size_t kPieceBytes = size_t{1} << 30;
  while (filled < bytes.size() && code == Z_OK) {
    code = inflater.fill(as_span(filled, std::min(kPieceBytes, bytes.size() - filled)), done);
    filled += done;
    if (done == 0 && code == Z_OK) break;
  }
  uint8_t extra = 0;
  size_t surplus = 0;
  if (code == Z_OK) code = inflater.fill({&extra, 1}, surplus);
  if (filled < bytes.size()) return broken_idx(name, "its gzip data is cut or corrupt");
  if (surplus > 0) return broken_idx(name, "it is longer than its header says");
  if (code != Z_STREAM_END) return broken_idx(name, "its gzip data is cut or corrupt");
  return bytes;
}

std::string base_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

Bytes as_bytes(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

Status check_length(const Header& h, Bytes bytes, const std::string& name) {
  const uint64_t got = bytes.size() - h.header_bytes;
  if (got == h.data_bytes) return {};
  return broken_idx(name, fmt::format("it has {} bytes of data, its header says {}", got, h.data_bytes));
}

}  // namespace

Status IdxImages::attach(Bytes bytes) {
  const Header h = TANDEM_TRY(parse_header(bytes, 3, name_));
  TANDEM_TRY(check_length(h, bytes, name_));
  count_ = h.dims[0];
  height_ = h.dims[1];
  width_ = h.dims[2];
  pixels_ = bytes.subspan(h.header_bytes);
  return {};
}

Result<std::shared_ptr<const IdxImages>> IdxImages::open(const std::string& path) {
  MappedFile file = TANDEM_TRY(MappedFile::open(path));
  auto images = std::make_shared<IdxImages>();
  images->name_ = base_name(path);
  if (is_gzip(as_bytes(file.text()))) {
    images->unpacked_ = TANDEM_TRY(unpack(as_bytes(file.text()), 3, images->name_));
    TANDEM_TRY(images->attach(as_bytes(images->unpacked_)));
  } else {
    images->mapped_.emplace(std::move(file));
    TANDEM_TRY(images->attach(as_bytes(images->mapped_->text())));
  }
  return std::shared_ptr<const IdxImages>(std::move(images));
}

Result<std::shared_ptr<const IdxImages>> IdxImages::parse(std::string bytes, const std::string& name) {
  auto images = std::make_shared<IdxImages>();
  images->name_ = name;
  images->unpacked_ = std::move(bytes);
  if (is_gzip(as_bytes(images->unpacked_)))
    images->unpacked_ = TANDEM_TRY(unpack(as_bytes(images->unpacked_), 3, name));
  TANDEM_TRY(images->attach(as_bytes(images->unpacked_)));
  return std::shared_ptr<const IdxImages>(std::move(images));
}

Image IdxImages::image(int64_t index) const {
  TANDEM_CHECK(index >= 0 && index < count_);
  Image image = Image::make(width_, height_);
  const auto size = static_cast<size_t>(width_ * height_);
  const uint8_t* gray = pixels_.data() + static_cast<size_t>(index) * size;
  for (size_t i = 0; i < size; ++i) {
    for (size_t c = 0; c < 3; ++c) image.rgb[3 * i + c] = gray[i];
  }
  return image;
}

Result<std::vector<uint8_t>> parse_idx_labels(std::string bytes, const std::string& name) {
  if (is_gzip(as_bytes(bytes))) bytes = TANDEM_TRY(unpack(as_bytes(bytes), 1, name));
  const Header h = TANDEM_TRY(parse_header(as_bytes(bytes), 1, name));
  TANDEM_TRY(check_length(h, as_bytes(bytes), name));
  const Bytes labels = as_bytes(bytes).subspan(h.header_bytes);
  return std::vector<uint8_t>(labels.begin(), labels.end());
}

Result<std::vector<uint8_t>> read_idx_labels(const std::string& path) {
  std::string bytes = TANDEM_TRY(read_file(path, kLimitBytes));
  return parse_idx_labels(std::move(bytes), base_name(path));
}

}  // namespace tandem::data
