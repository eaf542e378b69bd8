// SPDX-License-Identifier: Apache-2.0
// The exchange form of XModel: little-endian numbers, lengths before contents, and a tag before every
// attribute.
#include <bit>
#include <cstring>
#include <type_traits>

#include "tandem/xir_io/xmodel.hpp"

namespace tandem::xir_io {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire form is copied without swapping");

constexpr std::string_view kMagic = "tandem-xir-1\n";
constexpr int kDepthMax = 64;  // of subgraphs

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsMap : std::false_type {};
template <typename T>
struct IsMap<std::map<std::string, T>> : std::true_type {};

class Writer {
 public:
  template <typename T>
  void put(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      put(static_cast<uint8_t>(value));
    } else if constexpr (std::is_arithmetic_v<T>) {
      char raw[sizeof(T)];
      std::memcpy(raw, &value, sizeof(T));
      out.append(raw, sizeof(T));
    } else if constexpr (std::is_same_v<T, std::string>) {
      put(static_cast<uint64_t>(value.size()));
      out += value;
    } else if constexpr (std::is_same_v<T, Blob>) {
      put(value.bytes);
    } else if constexpr (IsVector<T>::value) {
      put(static_cast<uint64_t>(value.size()));
      for (const auto& element : value) put(element);
    } else {
      put(static_cast<uint64_t>(value.size()));
      for (const auto& [key, element] : value) {
        put(key);
        put(element);
      }
    }
  }
  void put(const Attribute& attribute) {
    put(static_cast<uint8_t>(attribute.index()));
    std::visit([this](const auto& value) { put(value); }, attribute);
  }
  void put(const XArgument& argument) {
    put(argument.name);
    put(argument.ops);
  }
  void put(const XTensor& tensor) {
    put(tensor.name);
    put(tensor.shape);
    put(tensor.dtype);
    put(tensor.attributes);
  }
  void put(const XOp& op) {
    put(op.name);
    put(op.type);
    put(op.arguments);
    put(op.attributes);
    put(op.tensor);
  }
  void put(const XSubgraph& subgraph) {
    put(subgraph.name);
    put(subgraph.attributes);
    put(subgraph.ops);
    put(subgraph.children);
  }
  std::string out;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool failed() const { return failed_; }
  bool at_end() const { return bytes_.empty(); }

  template <typename T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      uint8_t byte = 0;
      get(byte);
      value = byte != 0;
    } else if constexpr (std::is_arithmetic_v<T>) {
      const std::string_view raw = take(sizeof(T));
      if (!failed_) std::memcpy(&value, raw.data(), sizeof(T));
    } else if constexpr (std::is_same_v<T, std::string>) {
      uint64_t length = 0;
      get(length);
      value = take(length);
    } else if constexpr (std::is_same_v<T, Blob>) {
      get(value.bytes);
    } else if constexpr (IsVector<T>::value) {
      const uint64_t count = get_count();
      for (uint64_t i = 0; i < count && !failed_; ++i) {
        value.emplace_back();
        get(value.back());
      }
    } else {
      const uint64_t count = get_count();
      for (uint64_t i = 0; i < count && !failed_; ++i) {
        std::string key;
        get(key);
        get(value[key]);
      }
    }
  }
  void get(Attribute& attribute) {
    uint8_t tag = 0;
    get(tag);
    if (!get_alternative(attribute, tag, std::make_index_sequence<std::variant_size_v<Attribute>>()))
      failed_ = true;
  }
  void get(XArgument& argument) {
    get(argument.name);
    get(argument.ops);
  }
  void get(XTensor& tensor) {
    get(tensor.name);
    get(tensor.shape);
    get(tensor.dtype);
    get(tensor.attributes);
  }
  void get(XOp& op) {
    get(op.name);
    get(op.type);
    get(op.arguments);
    get(op.attributes);
    get(op.tensor);
  }
  void get(XSubgraph& subgraph) {
    if (++depth_ > kDepthMax) failed_ = true;
    if (failed_) return;
    get(subgraph.name);
    get(subgraph.attributes);
    get(subgraph.ops);
    get(subgraph.children);
    --depth_;
  }

 private:
  std::string_view take(uint64_t count) {
    if (failed_ || count > bytes_.size()) {
      failed_ = true;
      return {};
    }
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  // Every element takes at least one byte, so a larger count is a lie.
  uint64_t get_count() {
    uint64_t count = 0;
    get(count);
    if (count > bytes_.size()) failed_ = true;
    return failed_ ? 0 : count;
  }
  template <size_t... I>
  bool get_alternative(Attribute& attribute, size_t tag, std::index_sequence<I...>) {
    const auto one = [&](auto index) {
      if (tag != decltype(index)::value) return false;
      std::variant_alternative_t<decltype(index)::value, Attribute> value{};
      get(value);
      attribute = std::move(value);
      return true;
    };
    return (one(std::integral_constant<size_t, I>()) || ...);
  }

  std::string_view bytes_;
  int depth_ = 0;
  bool failed_ = false;
};

bool indices_fit(const XSubgraph& subgraph, size_t ops) {
  for (const uint32_t index : subgraph.ops) {
    if (index >= ops) return false;
  }
  for (const XSubgraph& child : subgraph.children) {
    if (!indices_fit(child, ops)) return false;
  }
  return true;
}

// Every argument is an earlier op: whoever walks the ops in order finds all inputs made.
bool indices_fit(const XModel& model) {
  for (uint32_t i = 0; i < model.ops.size(); ++i) {
    for (const XArgument& argument : model.ops[i].arguments) {
      for (const uint32_t index : argument.ops) {
        if (index >= i) return false;
      }
    }
  }
  return indices_fit(model.root, model.ops.size());
}

}  // namespace

const XArgument* XOp::argument(std::string_view wanted) const {
  for (const XArgument& candidate : arguments) {
    if (candidate.name == wanted) return &candidate;
  }
  return nullptr;
}

std::string to_wire(const XModel& model) {
  Writer writer;
  writer.out = kMagic;
  writer.put(model.name);
  writer.put(model.attributes);
  writer.put(model.ops);
  writer.put(model.root);
  writer.put(model.notices);
  return std::move(writer.out);
}

Result<XModel> from_wire(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return bad_input("this is no model in exchange form");
  Reader reader(bytes.substr(kMagic.size()));
  XModel model;
  reader.get(model.name);
  reader.get(model.attributes);
  reader.get(model.ops);
  reader.get(model.root);
  reader.get(model.notices);
  if (reader.failed() || !reader.at_end() || !indices_fit(model)) {
    return bad_input("a model in exchange form is damaged");
  }
  return model;
}

bool looks_like_xmodel(std::string_view bytes) {
  // The outer message: 1 the name, 5 the ops, 6 to 11 and 101 the rest, all of them length-delimited. In ONNX
  // 1 and 5 are numbers.
  bool seen = false;
  size_t at = 0;
  const auto varint = [&](uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 63 && at < bytes.size(); shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(bytes[at++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  };
  while (at < bytes.size()) {
    uint64_t tag = 0, length = 0;
    if (!varint(tag)) return seen;
    const uint64_t field = tag >> 3;
    if ((tag & 7) != 2 || field == 0 || (field > 11 && field != 101)) return false;
    if (!varint(length)) return seen;
    seen = seen || field == 1 || field == 5;
    if (length > bytes.size() - at) return seen;
    at += length;
  }
  return seen;
}

}  // namespace tandem::xir_io
