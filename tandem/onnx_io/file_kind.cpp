// SPDX-License-Identifier: Apache-2.0
// Tells files apart by their first bytes, and walks protobuf's wire format to find where a file ends too
// early. Wire format: https://protobuf.dev/programming-guides/encoding/
#include "tandem/onnx_io/file_kind.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tandem::onnx_io {
namespace {

// What the walk found: nothing, or what is wrong and where.
struct Flaw {
  size_t offset = 0;
  bool truncated = false;
  std::string text;
};

std::optional<uint64_t> read_varint(std::string_view bytes, size_t& at) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70 && at < bytes.size(); shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(bytes[at++]);
    if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

// The messages whose fields the walk descends into: only these are certain to be messages.
enum class Message { kModel, kGraph, kNode, kOther };

struct Field {
  Message parent;
  uint64_t number;
  std::string_view name;
  Message message;
};
constexpr std::array kFields = {Field{Message::kModel, 7, "graph", Message::kGraph},
                                Field{Message::kGraph, 1, "node", Message::kNode},
                                Field{Message::kGraph, 5, "initializer", Message::kOther},
                                Field{Message::kGraph, 11, "input", Message::kOther},
                                Field{Message::kGraph, 12, "output", Message::kOther},
                                Field{Message::kNode, 5, "attribute", Message::kOther}};

const Field* find_field(Message parent, uint64_t number) {
  for (const Field& field : kFields) {
    if (field.parent == parent && field.number == number) return &field;
  }
  return nullptr;
}

// ModelProto's fields so far, with room for its growth; keeps random bytes from passing as a truncated model.
bool plausible_model_field(uint64_t number, int wire) {
  if (number == 1 || number == 5) return wire == 0;
  return number <= 40 && (wire == 2 || number > 26);
}

// `bytes` is the message, as far as the file has it; `origin` is its offset in the file.
std::optional<Flaw> walk(std::string_view bytes, size_t origin, Message message, const std::string& path) {
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t start = at;
    const auto tag = read_varint(bytes, at);
    if (!tag)
      return Flaw{origin + bytes.size(), at >= bytes.size(), "a field tag in " + path + " is not complete"};
    const uint64_t number = *tag >> 3;
    const int wire = static_cast<int>(*tag & 7);
    if (number == 0 || number > 536870911 || wire == 3 || wire == 4 || wire > 5) {
      return Flaw{origin + start, false,
                  fmt::format("byte {} does not begin a field of {}", origin + start, path)};
    }
    uint64_t size = wire == 1 ? 8 : wire == 5 ? 4 : 0;
    if (wire == 0 || wire == 2) {
      const auto value = read_varint(bytes, at);
      if (!value)
        return Flaw{origin + bytes.size(), at >= bytes.size(),
                    fmt::format("field {} of {} is not complete", number, path)};
      if (wire == 2) size = *value;
    }
    if (message == Message::kModel && !plausible_model_field(number, wire)) {
      return Flaw{origin + start, false,
                  fmt::format("byte {} begins field {}, which no model has", origin + start, number)};
    }
    const size_t left = bytes.size() - at;
    const Field* field = wire == 2 ? find_field(message, number) : nullptr;
    const std::string name = field != nullptr ? path + "." + std::string(field->name)
                                              : fmt::format("field {} of {}", number, path);
    if (size > left) {
      // The innermost message that is cut says most.
      if (field != nullptr && field->message != Message::kOther) {
        if (auto inner = walk(bytes.substr(at), origin + at, field->message, name); inner && inner->truncated)
          return inner;
      }
      return Flaw{origin + bytes.size(), true,
                  fmt::format("{} begins at byte {} and needs {} bytes, of which {} are there", name,
                              origin + start, size, left)};
    }
    if (field != nullptr && field->message != Message::kOther) {
      if (auto inner = walk(bytes.substr(at, size), origin + at, field->message, name)) return inner;
    }
    at += size;
  }
  return std::nullopt;
}

bool begins_with(std::string_view bytes, std::string_view prefix) {
  return bytes.substr(0, prefix.size()) == prefix;
}

std::string lower_start(std::string_view bytes) {
  size_t at = 0;
  if (begins_with(bytes, "\xef\xbb\xbf")) at = 3;
  while (at < bytes.size() && std::isspace(static_cast<unsigned char>(bytes[at])) != 0) ++at;
  std::string start(bytes.substr(at, 64));
  std::transform(start.begin(), start.end(), start.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return start;
}

std::optional<std::string> other_format(std::string_view bytes) {
  struct Magic {
    size_t offset;
    std::string_view bytes;
    std::string_view name;
  };
  static constexpr std::array kMagics = {
      Magic{0, "PK\x03\x04", "a zip archive (a PyTorch or NumPy file, or a packed model)"},
      Magic{0, "\x1f\x8b", "gzip-compressed; unpack it first"},
      Magic{0, "BZh", "bzip2-compressed; unpack it first"},
      Magic{0,
            "\xfd"
            "7zXZ",
            "xz-compressed; unpack it first"},
      Magic{0, "\x28\xb5\x2f\xfd", "zstd-compressed; unpack it first"},
      Magic{4, "TFL3", "a TensorFlow Lite model"},
      Magic{4, "ORTM", "an ONNX Runtime format model (.ort)"},
      Magic{0, "\x89HDF", "an HDF5 file (a Keras model?)"},
      Magic{0, "\x93NUMPY", "a NumPy array"},
      Magic{0, "\x89PNG", "a PNG image"},
      Magic{0, "\xff\xd8\xff", "a JPEG image"},
      Magic{0, "%PDF", "a PDF document"},
      Magic{0,
            "\x7f"
            "ELF",
            "a program or library"}};
  for (const Magic& magic : kMagics) {
    if (bytes.size() > magic.offset && begins_with(bytes.substr(magic.offset), magic.bytes))
      return std::string(magic.name);
  }
  return std::nullopt;
}

}  // namespace

Status check_file_kind(std::string_view bytes) {
  if (bytes.empty()) return bad_input("the file is empty").hint("copy or download it again");
  if (begins_with(bytes, "version https://git-lfs.github.com/spec/")) {
    return bad_input("the file is a Git LFS pointer, not the model it points to")
        .because(fmt::format("its {} bytes are text that names the real file", bytes.size()))
        .hint("run 'git lfs pull' in the repository it came from");
  }
  const std::string start = lower_start(bytes);
  if (begins_with(start, "<!doctype") || begins_with(start, "<html") || begins_with(start, "<?xml") ||
      begins_with(start, "<head")) {
    return bad_input("the file is a web page (HTML), not a model")
        .hint("the download address showed a page instead of the file; use the direct ('raw') address");
  }
  if (const auto other = other_format(bytes))
    return bad_input("the file is " + *other + ", not an ONNX model");
  if (const auto flaw = walk(bytes, 0, Message::kModel, "model")) {
    if (flaw->truncated) {
      return bad_input(fmt::format("the file is truncated: it ends at byte {}", flaw->offset))
          .because(flaw->text)
          .hint("copy or download it again");
    }
    return bad_input("the file is not an ONNX model (no valid protobuf)").because(flaw->text);
  }
  return {};
}

}  // namespace tandem::onnx_io
