// SPDX-License-Identifier: Apache-2.0
// Reading and writing of safetensors.
#include "tandem/tensor/safetensors.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "tandem/base/file.hpp"
#include "tandem/base/json.hpp"

namespace tandem {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, as every supported machine is");

constexpr uint64_t kHeaderBytesMax = 100u << 20;  // The format's own limit.

constexpr std::array<std::string_view, kDTypeCount> kNames = {
    "F32", "F64", "F16", "BF16", "I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64", "BOOL"};

std::optional<DType> dtype_from_file(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

Error broken(std::string why) { return bad_input("not a valid safetensors file").because(std::move(why)); }

Result<Tensor> read_tensor(const std::string& name, const Json& entry, std::string_view data) {
  const auto dtype = dtype_from_file(entry["dtype"].as_string());
  if (!dtype)
    return broken(fmt::format("tensor '{}' has the unknown dtype '{}'", name, entry["dtype"].as_string()));
  std::vector<int64_t> dims;
  for (const Json& dim : entry["shape"].items()) {
    if (!dim.is_int() || dim.as_int() < 0) return broken(fmt::format("tensor '{}' has a bad shape", name));
    dims.push_back(dim.as_int());
  }
  const auto& offsets = entry["data_offsets"].items();
  if (!entry["shape"].is_array() || offsets.size() != 2)
    return broken(fmt::format("tensor '{}' lacks its shape or place", name));
  const int64_t begin = offsets[0].as_int(-1), end = offsets[1].as_int(-1);
  if (begin < 0 || end < begin || static_cast<uint64_t>(end) > data.size()) {
    return broken(fmt::format("tensor '{}' lies outside of the {} data bytes", name, data.size()));
  }
  Shape shape(std::move(dims));
  const int64_t elements = TANDEM_TRY(shape.checked_elements().context("tensor '" + name + "'"));
  if (elements > (end - begin) || elements * static_cast<int64_t>(size_of(*dtype)) != end - begin) {
    return broken(fmt::format("tensor '{}' of shape {} does not fill its {} bytes", name, shape.to_string(),
                              end - begin));
  }
  Tensor tensor = TANDEM_TRY(Tensor::make(*dtype, std::move(shape)));
  if (end > begin) std::memcpy(tensor.data(), data.data() + begin, static_cast<size_t>(end - begin));
  return tensor;
}

}  // namespace

std::string to_safetensors(const TensorFile& file) {
  Json header = Json::object();
  if (!file.metadata.empty()) {
    Json metadata = Json::object();
    for (const auto& [key, value] : file.metadata) metadata.set(key, value);
    header.set("__metadata__", std::move(metadata));
  }
  uint64_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    const uint64_t end = offset + tensor.size_bytes();
    header.set(name, Json::object({{"dtype", kNames[static_cast<size_t>(tensor.dtype())]},
                                   {"shape", Json(tensor.shape().dims())},
                                   {"data_offsets", Json::Array{Json(offset), Json(end)}}}));
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  bytes.reserve(bytes.size() + text.size() + offset);
  bytes += text;
  for (const auto& [name, tensor] : file.tensors) {
    bytes.append(reinterpret_cast<const char*>(tensor.data()), tensor.size_bytes());
  }
  return bytes;
}

Result<TensorFile> from_safetensors(std::string_view bytes) {
  uint64_t length = 0;
  if (bytes.size() < sizeof(length)) return broken(fmt::format("it has {} bytes", bytes.size()));
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kHeaderBytesMax || length > bytes.size() - sizeof(length)) {
    return broken(fmt::format("its header claims {} bytes of {}", length, bytes.size()));
  }
  const Json header =
      TANDEM_TRY(Json::parse(bytes.substr(sizeof(length), length)).context("safetensors header"));
  if (!header.is_object()) return broken("its header is no object");
  const std::string_view data = bytes.substr(sizeof(length) + length);
  TensorFile file;
  for (const auto& [name, entry] : header.members()) {
    if (name == "__metadata__") {
      for (const auto& [key, value] : entry.members()) file.metadata[key] = value.as_string();
      continue;
    }
    file.tensors.insert_or_assign(name, TANDEM_TRY(read_tensor(name, entry, data)));
  }
  return file;
}

Status save_safetensors(const TensorFile& file, const std::string& path) {
  return write_file(path, to_safetensors(file));
}

Result<TensorFile> load_safetensors(const std::string& path) {
  const MappedFile mapped = TANDEM_TRY(MappedFile::open(path));
  return from_safetensors(mapped.text()).context(fmt::format("'{}'", path));
}

}  // namespace tandem
