// SPDX-License-Identifier: Apache-2.0
// Opaque: an op that Tandem does not know. It keeps its attributes, so it can be inspected, cut around and
// written back.
#pragma once

#include <map>
#include <variant>

#include "tandem/ir/fields.hpp"
#include "tandem/ir/infer.hpp"

namespace tandem::ir {

// An attribute in the owner's own encoding (sub-graphs, sparse tensors), opaque to everyone but the room that
// read it.
struct EncodedAttribute {
  std::string bytes;
  friend bool operator==(const EncodedAttribute&, const EncodedAttribute&) = default;
};

using AttributeValue = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                                    std::vector<std::string>, ConstTensor, EncodedAttribute>;
using AttributeMap = std::map<std::string, AttributeValue>;

struct Opaque {
  static constexpr std::string_view kName = "Opaque";
  std::string domain;  // "" is the default ONNX domain; "xir" for XIR ops
  std::string op_type;
  int64_t version = 0;  // opset version of the domain it was read under
  AttributeMap attributes;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("domain", s.domain);
    f("op_type", s.op_type);
    f("version", s.version);
    f("attributes", s.attributes);
  }
};

// Nothing is known of the outputs.
Inferred infer(const Opaque& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
