// SPDX-License-Identifier: Apache-2.0
// A .npz is a ZIP archive of .npy files. Both formats are read as their specifications state them, as far as
// NumPy's savez writes them.
#include "tandem/testing/npz.hpp"

#include <cstring>
#include <string_view>

#include "tandem/base/file.hpp"

namespace tandem::testing {
namespace {

// Little-endian; 0 beyond the end.
uint32_t number(std::string_view bytes, size_t at, size_t width) {
  uint32_t value = 0;
  for (size_t i = 0; i < width && at + i < bytes.size(); ++i) {
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t begin = text.find(before);
  if (begin == std::string_view::npos) return {};
  const size_t from = begin + before.size();
  const size_t end = text.find(after, from);
  return end == std::string_view::npos ? std::string_view{} : text.substr(from, end - from);
}

Result<Tensor> parse_npy(std::string_view bytes) {
  if (bytes.size() < 12 || bytes.substr(0, 6) != "\x93NUMPY") return bad_input("a member is no .npy file");
  const size_t length_bytes = bytes[6] == 1 ? 2 : 4;
  const size_t length = number(bytes, 8, length_bytes);
  const size_t begin = 8 + length_bytes;
  if (begin + length > bytes.size()) return bad_input("the .npy header is cut off");
  const std::string_view header = bytes.substr(begin, length);
  const std::string_view descr = between(header, "'descr': '", "'");
  DType dtype = DType::kF32;
  if (descr == "<i4") {
    dtype = DType::kI32;
  } else if (descr == "<i8") {
    dtype = DType::kI64;
  } else if (descr == "|u1") {
    dtype = DType::kU8;
  } else if (descr == "|i1") {
    dtype = DType::kI8;
  } else if (descr != "<f4") {
    return bad_input("dtype " + std::string(descr) + " is not read here");
  }
  if (header.find("'fortran_order': False") == std::string_view::npos)
    return bad_input("the array is not row-major");
  Shape shape;
  int64_t dim = -1;
  for (const char c : between(header, "'shape': (", ")")) {
    if (c >= '0' && c <= '9') {
      dim = (dim < 0 ? 0 : dim * 10) + (c - '0');
    } else if (dim >= 0) {
      shape.push_back(dim);
      dim = -1;
    }
  }
  if (dim >= 0) shape.push_back(dim);
  Tensor t = TANDEM_TRY(Tensor::make(dtype, shape));
  const std::string_view data = bytes.substr(begin + length);
  if (data.size() < t.size_bytes()) return bad_input("the .npy data is cut off");
  std::memcpy(t.data(), data.data(), t.size_bytes());
  return t;
}

}  // namespace

Result<std::map<std::string, Tensor>> read_npz(const std::string& path) {
  const std::string file = TANDEM_TRY(read_file(path));
  const std::string_view bytes = file;
  // The end record is found from the back, the directory through it.
  const size_t end = bytes.rfind("PK\x05\x06");
  if (end == std::string_view::npos) return bad_input("'" + path + "' is no ZIP archive");
  size_t at = number(bytes, end + 16, 4);
  std::map<std::string, Tensor> members;
  for (uint32_t i = 0, count = number(bytes, end + 10, 2); i < count; ++i) {
    if (number(bytes, at, 4) != 0x02014b50) return bad_input("'" + path + "' has a broken directory");
    const uint32_t method = number(bytes, at + 10, 2), size = number(bytes, at + 24, 4);
    const uint32_t name_length = number(bytes, at + 28, 2), local = number(bytes, at + 42, 4);
    std::string name(bytes.substr(at + 46, name_length));
    if (method != 0) return bad_input("member '" + name + "' of '" + path + "' is compressed");
    const size_t data = size_t{local} + 30 + number(bytes, local + 26, 2) + number(bytes, local + 28, 2);
    if (data + size > bytes.size()) return bad_input("'" + path + "' is cut off");
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    members[name] = TANDEM_TRY(parse_npy(bytes.substr(data, size)));
    at += 46 + name_length + number(bytes, at + 30, 2) + number(bytes, at + 32, 2);
  }
  return members;
}

}  // namespace tandem::testing
