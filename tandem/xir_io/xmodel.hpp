// SPDX-License-Identifier: Apache-2.0
// XModel: what an .xmodel file says, in neutral form, free of libxir: ops in topological order, named
// arguments, attributes of tensors, ops, subgraphs and the graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tandem/base/result.hpp"

namespace tandem::xir_io {

// Bytes, where a std::string is text.
struct Blob {
  std::string bytes;
  friend bool operator==(const Blob&, const Blob&) = default;
};

// The attribute types that survive libxir's serialization.
using Attribute = std::variant<bool, int32_t, uint32_t, int64_t, uint64_t, float, double, std::string, Blob,
                               std::vector<int32_t>, std::vector<uint32_t>, std::vector<int64_t>,
                               std::vector<uint64_t>, std::vector<float>, std::vector<double>,
                               std::vector<std::string>, std::map<std::string, int32_t>,
                               std::map<std::string, std::string>, std::map<std::string, Blob>>;
using Attributes = std::map<std::string, Attribute>;

// Null when absent or of another type.
template <typename T>
const T* find(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(std::string(name));
  return found == attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

struct XTensor {
  std::string name;
  std::vector<int32_t> shape;
  std::string dtype;  // "FLOAT32", "XINT8", ...
  Attributes attributes;
};

struct XArgument {
  std::string name;
  std::vector<uint32_t> ops;  // indices of earlier ops
};

struct XOp {
  std::string name;  // unique in its file
  std::string type;  // "conv2d", "fix", ...
  std::vector<XArgument> arguments;
  Attributes attributes;
  XTensor tensor;  // every op has one output

  const XArgument* argument(std::string_view wanted) const;
};

struct XSubgraph {
  std::string name;
  Attributes attributes;      // "device" and what the runtime needs
  std::vector<uint32_t> ops;  // those of no child
  std::vector<XSubgraph> children;
};

struct XModel {
  std::string name;
  Attributes attributes;
  std::vector<XOp> ops;
  XSubgraph root;
  std::vector<std::string> notices;  // what the file said and this form cannot hold
};

// The form in which the helper program and this library exchange models.
std::string to_wire(const XModel& model);
// Nothing in the bytes is trusted: counts are checked against what is left, indices against the ops before
// them.
Result<XModel> from_wire(std::string_view bytes);

// SHA-256 over names, types, attributes and connections, in an order that does not depend on how a file was
// serialized (libxir writes maps in any order).
std::string content_hash(const XModel& model);

// Bytes that are a graph of XIR as far as their outer structure says; also true for a truncated one.
bool looks_like_xmodel(std::string_view bytes);

}  // namespace tandem::xir_io
