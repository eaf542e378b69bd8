// SPDX-License-Identifier: Apache-2.0
// Tensors and attributes of the file format.
#include "tandem/onnx_io/tensor_proto.hpp"

#include <onnx/onnx_pb.h>

#include <charconv>
#include <cstring>
#include <filesystem>

#include "tandem/base/overload.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {
namespace {

static_assert(std::endian::native == std::endian::little,
              "raw_data of ONNX is little-endian, and so is this room");

std::string tensor_label(const onnx::TensorProto& proto) {
  return proto.name().empty() ? std::string("an unnamed tensor") : "tensor '" + proto.name() + "'";
}

// Typed fields are wider than some of the elements they hold; values that do not fit are an error, not a
// wrap.
template <typename To, typename Field>
Status copy_field(const Field& field, Tensor& tensor, const std::string& label) {
  const auto to = tensor.as<To>();
  if (static_cast<int64_t>(field.size()) != tensor.elements()) {
    return bad_input(fmt::format("{} has {} elements of data, but its shape {} needs {}", label, field.size(),
                                 tensor.shape().to_string(), tensor.elements()));
  }
  for (int i = 0; i < field.size(); ++i) {
    if constexpr (!std::is_floating_point_v<To> && !std::is_same_v<To, bool>) {
      if (!std::in_range<To>(field[i])) {
        return bad_input(fmt::format("{}: element {} is {}, which {} cannot hold", label, i, field[i],
                                     to_string(tensor.dtype())));
      }
    }
    to[static_cast<size_t>(i)] = static_cast<To>(field[i]);
  }
  return {};
}

Status copy_typed(const onnx::TensorProto& proto, Tensor& tensor) {
  const std::string label = tensor_label(proto);
  switch (tensor.dtype()) {
    case DType::kF32: return copy_field<float>(proto.float_data(), tensor, label);
    case DType::kF64: return copy_field<double>(proto.double_data(), tensor, label);
    case DType::kF16:
    case DType::kBF16:
    case DType::kU16: return copy_field<uint16_t>(proto.int32_data(), tensor, label);
    case DType::kI8: return copy_field<int8_t>(proto.int32_data(), tensor, label);
    case DType::kU8: return copy_field<uint8_t>(proto.int32_data(), tensor, label);
    case DType::kI16: return copy_field<int16_t>(proto.int32_data(), tensor, label);
    case DType::kI32: return copy_field<int32_t>(proto.int32_data(), tensor, label);
    case DType::kBool: return copy_field<bool>(proto.int32_data(), tensor, label);
    case DType::kI64: return copy_field<int64_t>(proto.int64_data(), tensor, label);
    case DType::kU32: return copy_field<uint32_t>(proto.uint64_data(), tensor, label);
    case DType::kU64: return copy_field<uint64_t>(proto.uint64_data(), tensor, label);
  }
  return internal_error("no such dtype");
}

// How many elements the typed fields hold, to refuse a huge shape before memory is asked for.
int64_t typed_elements(const onnx::TensorProto& proto, DType dtype) {
  switch (dtype) {
    case DType::kF32: return proto.float_data_size();
    case DType::kF64: return proto.double_data_size();
    case DType::kI64: return proto.int64_data_size();
    case DType::kU32:
    case DType::kU64: return proto.uint64_data_size();
    default: return proto.int32_data_size();
  }
}

void copy_bytes(std::span<const std::byte> bytes, Tensor& tensor) {
  if (bytes.empty()) return;
  std::memcpy(tensor.data(), bytes.data(), bytes.size());
  if (tensor.dtype() != DType::kBool) return;
  // Any byte but 0 and 1 would be no bool at all.
  for (size_t i = 0; i < tensor.size_bytes(); ++i) {
    if (tensor.data()[i] != std::byte{0}) tensor.data()[i] = std::byte{1};
  }
}

struct ExternalEntry {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Result<ExternalEntry> read_external_entry(const onnx::TensorProto& proto) {
  ExternalEntry entry;
  for (const auto& pair : proto.external_data()) {
    if (pair.key() == "location") entry.location = pair.value();
    if (pair.key() != "offset" && pair.key() != "length") continue;
    uint64_t number = 0;
    const std::string& text = pair.value();
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) {
      return bad_input(fmt::format("{}: {} of its external data is '{}', not a number of bytes",
                                   tensor_label(proto), pair.key(), text));
    }
    if (pair.key() == "offset")
      entry.offset = number;
    else
      entry.length = number;
  }
  if (entry.location.empty()) return bad_input(tensor_label(proto) + " has external data without a location");
  return entry;
}

}  // namespace

Result<std::span<const std::byte>> ExternalData::bytes(const std::string& location, uint64_t offset,
                                                       uint64_t length) {
  namespace fs = std::filesystem;
  const auto refuse = [&](std::string why) {
    return bad_input(fmt::format("external data '{}' is refused", location)).because(std::move(why));
  };
  if (base_dir_.empty())
    return refuse("the model was given as bytes, so there is no folder for its external data");
  if (location.find('\0') != std::string::npos) return refuse("its name contains a zero byte");
  const fs::path relative(location);
  if (relative.is_absolute())
    return refuse("it is an absolute path; external data must lie beside the model");
  std::error_code failed;
  const fs::path base = fs::weakly_canonical(fs::path(base_dir_), failed);
  if (failed) return refuse("the model's folder cannot be resolved: " + failed.message());
  const fs::path full = fs::weakly_canonical(base / relative, failed);
  if (failed) return refuse("its path cannot be resolved: " + failed.message());
  const fs::path inside = full.lexically_relative(base);
  if (inside.empty() || *inside.begin() == "..") return refuse("it leaves the model's folder");
  auto found = open_.find(full.string());
  if (found == open_.end()) {
    MappedFile file = TANDEM_TRY(MappedFile::open(full.string()));
    found = open_.emplace(full.string(), std::move(file)).first;
  }
  const auto all = found->second.bytes();
  if (offset > all.size() || length > all.size() - offset) {
    return bad_input(fmt::format("external data '{}' is too short", location))
        .because(
            fmt::format("bytes {} to {} are wanted, the file has {}", offset, offset + length, all.size()));
  }
  return all.subspan(offset, length);
}

Result<Tensor> tensor_from_proto(const onnx::TensorProto& proto, ExternalData& external) {
  const auto dtype = dtype_from_onnx(proto.data_type());
  if (!dtype) {
    return unsupported(
        fmt::format("{} has element type {}", tensor_label(proto), onnx_type_name(proto.data_type())));
  }
  if (proto.has_segment()) return unsupported(tensor_label(proto) + " is stored in segments");
  const Shape shape(std::vector<int64_t>(proto.dims().begin(), proto.dims().end()));
  const auto counted = shape.checked_elements();
  if (!counted.ok())
    return bad_input(tensor_label(proto) + " has an impossible shape").because(counted.error().what());
  const uint64_t elements = static_cast<uint64_t>(*counted);
  if (elements > UINT64_MAX / size_of(*dtype))
    return bad_input(tensor_label(proto) + " is larger than memory can be");
  const uint64_t wanted = elements * size_of(*dtype);
  const auto lies = [&](uint64_t have) {
    return bad_input(fmt::format("{} has {} bytes of data, but its shape {} of {} needs {}",
                                 tensor_label(proto), have, shape.to_string(), to_string(*dtype), wanted));
  };
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    const ExternalEntry entry = TANDEM_TRY(read_external_entry(proto));
    if (entry.length && *entry.length != wanted) return lies(*entry.length);
    auto bytes = external.bytes(entry.location, entry.offset, wanted);
    if (!bytes.ok()) return std::move(bytes).error().context(tensor_label(proto));
    Tensor tensor = TANDEM_TRY(Tensor::make(*dtype, shape));
    copy_bytes(*bytes, tensor);
    return tensor;
  }
  if (proto.has_raw_data()) {
    const std::string& raw = proto.raw_data();
    if (raw.size() != wanted) return lies(raw.size());
    Tensor tensor = TANDEM_TRY(Tensor::make(*dtype, shape));
    copy_bytes(std::as_bytes(std::span(raw.data(), raw.size())), tensor);
    return tensor;
  }
  if (static_cast<uint64_t>(typed_elements(proto, *dtype)) != elements) {
    return bad_input(fmt::format("{} has {} elements of data, but its shape {} needs {}", tensor_label(proto),
                                 typed_elements(proto, *dtype), shape.to_string(), elements));
  }
  Tensor tensor = TANDEM_TRY(Tensor::make(*dtype, shape));
  TANDEM_TRY(copy_typed(proto, tensor));
  return tensor;
}

Result<Tensor> tensor_from_sparse(const onnx::SparseTensorProto& proto, ExternalData& external) {
  const Tensor values = TANDEM_TRY(tensor_from_proto(proto.values(), external));
  const Tensor index_tensor = TANDEM_TRY(tensor_from_proto(proto.indices(), external));
  const std::vector<int64_t> indices = TANDEM_TRY(to_int64s(index_tensor));
  const Shape shape(std::vector<int64_t>(proto.dims().begin(), proto.dims().end()));
  TANDEM_TRY(shape.checked_elements());
  // A few bytes can claim any dense size; this much is beyond what sparse weights of vision models take.
  constexpr uint64_t kDenseLimitBytes = uint64_t{256} << 20;
  Tensor dense = TANDEM_TRY(Tensor::make(values.dtype(), shape, kDenseLimitBytes));
  const size_t rank = shape.rank();
  const size_t count = static_cast<size_t>(values.elements());
  const bool linear = index_tensor.shape().rank() == 1;
  if (indices.size() != (linear ? count : count * rank))
    return bad_input("a sparse tensor has too few or too many indices");
  const std::vector<int64_t> strides = shape.strides();
  for (size_t i = 0; i < count; ++i) {
    int64_t at = linear ? indices[i] : 0;
    for (size_t d = 0; !linear && d < rank; ++d) {
      const int64_t index = indices[i * rank + d];
      if (index < 0 || index >= shape[d])
        return bad_input(fmt::format("a sparse tensor has index {} in a dimension of {}", index, shape[d]));
      at += index * strides[d];
    }
    if (at < 0 || at >= dense.elements())
      return bad_input(fmt::format("a sparse tensor has index {} of {} elements", at, dense.elements()));
    const size_t size = size_of(dense.dtype());
    std::memcpy(dense.data() + static_cast<size_t>(at) * size, values.data() + i * size, size);
  }
  return dense;
}

namespace {

void describe_tensor(const Tensor& tensor, const std::string& name, onnx::TensorProto& proto) {
  proto.set_name(name);
  proto.set_data_type(static_cast<int32_t>(dtype_to_onnx(tensor.dtype())));
  for (int64_t dim : tensor.shape()) proto.add_dims(dim);
}

}  // namespace

void tensor_to_proto(const Tensor& tensor, const std::string& name, onnx::TensorProto& proto) {
  describe_tensor(tensor, name, proto);
  proto.set_raw_data(tensor.data(), tensor.size_bytes());
}

void external_tensor_to_proto(const Tensor& tensor, const std::string& name, const ExternalPlace& place,
                              onnx::TensorProto& proto) {
  describe_tensor(tensor, name, proto);
  proto.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto say = [&](const char* key, const std::string& value) {
    auto& entry = *proto.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  say("location", place.location);
  say("offset", std::to_string(place.offset));
  say("length", std::to_string(tensor.size_bytes()));
}

Result<ir::AttributeValue> attribute_from_proto(const onnx::AttributeProto& proto, ExternalData& external) {
  using onnx::AttributeProto;
  using Value = ir::AttributeValue;
  auto type = proto.type();
  if (type == AttributeProto::UNDEFINED) {  // the oldest writers left it out
    if (proto.has_f())
      type = AttributeProto::FLOAT;
    else if (proto.has_i())
      type = AttributeProto::INT;
    else if (proto.has_s())
      type = AttributeProto::STRING;
    else if (proto.has_t())
      type = AttributeProto::TENSOR;
    else if (proto.floats_size() > 0)
      type = AttributeProto::FLOATS;
    else if (proto.ints_size() > 0)
      type = AttributeProto::INTS;
    else if (proto.strings_size() > 0)
      type = AttributeProto::STRINGS;
  }
  switch (type) {
    case AttributeProto::FLOAT: return Value(double{proto.f()});
    case AttributeProto::INT: return Value(int64_t{proto.i()});
    case AttributeProto::STRING: return Value(std::string(proto.s()));
    case AttributeProto::FLOATS:
      return Value(std::vector<double>(proto.floats().begin(), proto.floats().end()));
    case AttributeProto::INTS: return Value(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeProto::STRINGS:
      return Value(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case AttributeProto::TENSOR: {
      auto tensor = tensor_from_proto(proto.t(), external);
      if (tensor.ok()) return Value(ConstTensor(std::make_shared<const Tensor>(std::move(tensor).value())));
      if (tensor.error().code() != ErrorCode::kUnsupported) return std::move(tensor).error();
      break;
    }
    case AttributeProto::SPARSE_TENSOR: {
      auto tensor = tensor_from_sparse(proto.sparse_tensor(), external);
      if (tensor.ok()) return Value(ConstTensor(std::make_shared<const Tensor>(std::move(tensor).value())));
      if (tensor.error().code() != ErrorCode::kUnsupported) return std::move(tensor).error();
      break;
    }
    default: break;
  }
  return Value(ir::EncodedAttribute{proto.SerializeAsString()});
}

Status attribute_to_proto(const std::string& name, const ir::AttributeValue& value,
                          onnx::AttributeProto& proto) {
  using onnx::AttributeProto;
  if (const auto* encoded = std::get_if<ir::EncodedAttribute>(&value)) {
    if (!proto.ParseFromString(encoded->bytes)) {
      return unsupported(fmt::format("attribute '{}' is in the encoding of another file format", name));
    }
    return {};
  }
  proto.set_name(name);
  std::visit(Overload{[&](int64_t i) {
                        proto.set_type(AttributeProto::INT);
                        proto.set_i(i);
                      },
                      [&](double d) {
                        proto.set_type(AttributeProto::FLOAT);
                        proto.set_f(static_cast<float>(d));
                      },
                      [&](const std::string& s) {
                        proto.set_type(AttributeProto::STRING);
                        proto.set_s(s);
                      },
                      [&](const std::vector<int64_t>& list) {
                        proto.set_type(AttributeProto::INTS);
                        for (int64_t i : list) proto.add_ints(i);
                      },
                      [&](const std::vector<double>& list) {
                        proto.set_type(AttributeProto::FLOATS);
                        for (double d : list) proto.add_floats(static_cast<float>(d));
                      },
                      [&](const std::vector<std::string>& list) {
                        proto.set_type(AttributeProto::STRINGS);
                        for (const std::string& s : list) proto.add_strings(s);
                      },
                      [&](const ConstTensor& t) {
                        proto.set_type(AttributeProto::TENSOR);
                        tensor_to_proto(*t, "", *proto.mutable_t());
                      },
                      [&](const ir::EncodedAttribute&) {}},
             value);
  return {};
}

}  // namespace tandem::onnx_io
