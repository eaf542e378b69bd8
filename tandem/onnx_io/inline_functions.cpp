// SPDX-License-Identifier: Apache-2.0
// Inlining of local functions.
#include "tandem/onnx_io/inline_functions.hpp"

#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {
namespace {

constexpr int kDepthMax = 32;
constexpr size_t kNodesMax = 200000;  // real models have thousands; nested calls can double per level

bool holds_graph(const onnx::FunctionProto& function) {
  for (const auto& node : function.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g() || attribute.graphs_size() > 0) return true;
    }
  }
  return false;
}

template <typename List>
const onnx::AttributeProto* find_attribute(const List& attributes, const std::string& name) {
  for (const auto& attribute : attributes) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

// Defaults of a function's attributes: field 11 of FunctionProto, newer than the schema of Debian's libonnx.
std::vector<onnx::AttributeProto> attribute_defaults(const onnx::FunctionProto& function) {
  std::vector<onnx::AttributeProto> defaults;
  const auto& unknown = function.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& field = unknown.field(i);
    if (field.number() != 11 || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    onnx::AttributeProto attribute;
    if (attribute.ParseFromString(field.length_delimited())) defaults.push_back(std::move(attribute));
  }
  return defaults;
}

// The attributes of a body's node, with those that name one of the function replaced by the caller's or the
// default.
void bind_attributes(const onnx::NodeProto& body, const onnx::NodeProto& caller,
                     const std::vector<onnx::AttributeProto>& defaults, onnx::NodeProto& copy) {
  copy.clear_attribute();
  for (const auto& attribute : body.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      *copy.add_attribute() = attribute;
      continue;
    }
    const onnx::AttributeProto* value = find_attribute(caller.attribute(), attribute.ref_attr_name());
    if (value == nullptr) value = find_attribute(defaults, attribute.ref_attr_name());
    if (value == nullptr) continue;  // not given: the operator's own default
    onnx::AttributeProto& bound = *copy.add_attribute();
    bound = *value;
    bound.set_name(attribute.name());
  }
}

}  // namespace

FunctionInliner::FunctionInliner(const onnx::ModelProto& model) {
  for (const auto& function : model.functions()) {
    functions_.emplace(std::pair(normal_domain(function.domain()), function.name()), &function);
  }
  if (functions_.empty()) return;
  for (const auto& input : model.graph().input()) names_.insert(input.name());
  for (const auto& tensor : model.graph().initializer()) names_.insert(tensor.name());
  for (const auto& node : model.graph().node()) names_.insert(node.output().begin(), node.output().end());
}

FunctionInliner::~FunctionInliner() = default;

std::string FunctionInliner::fresh(const std::string& stem) {
  std::string name = stem;
  for (size_t n = names_.size(); !names_.insert(name).second; ++n) name = fmt::format("{}_{}", stem, n);
  return name;
}

Status FunctionInliner::expand(const Call& call, std::vector<Call>& out, int depth) {
  const onnx::NodeProto& node = *call.node;
  const std::string domain = normal_domain(node.domain());
  const auto found = functions_.find({domain, node.op_type()});
  // An operator that we know by name needs no body.
  if (found == functions_.end() || find_importer(domain, node.op_type()) != nullptr ||
      holds_graph(*found->second)) {
    out.push_back(call);
    if (out.size() > kNodesMax)
      return bad_input(fmt::format("local functions expand to more than {} nodes", kNodesMax));
    return {};
  }
  const onnx::FunctionProto& function = *found->second;
  if (depth >= kDepthMax) {
    return bad_input(fmt::format("local function '{}' calls functions more than {} deep, perhaps itself",
                                 function.name(), kDepthMax));
  }
  opsets_.emplace_back(*call.opsets);
  for (const auto& import : function.opset_import())
    opsets_.back()[normal_domain(import.domain())] = import.version();
  const OpsetMap* opsets = &opsets_.back();

  std::map<std::string, std::string> names{{"", ""}};
  for (int i = 0; i < function.input_size(); ++i)
    names[function.input(i)] = i < node.input_size() ? node.input(i) : "";
  std::string stem = node.name();
  if (stem.empty()) stem = node.output_size() > 0 ? node.output(0) : function.name();
  // A parameter handed through as a result needs a node of its own.
  std::vector<std::pair<std::string, std::string>> handed_through;
  for (int i = 0; i < function.output_size() && i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const auto [entry, is_new] = names.emplace(function.output(i), node.output(i));
    if (!is_new) handed_through.emplace_back(entry->second, node.output(i));
  }
  const auto rename = [&](const std::string& name) {
    const auto known = names.find(name);
    if (known != names.end()) return known->second;
    return names.emplace(name, fresh(stem + "/" + name)).first->second;
  };
  const std::vector<onnx::AttributeProto> defaults = attribute_defaults(function);
  for (const auto& body : function.node()) {
    onnx::NodeProto& copy = nodes_.emplace_back(body);
    copy.set_name(stem + "/" + (body.name().empty() ? body.op_type() : body.name()));
    for (auto& name : *copy.mutable_input()) name = rename(name);
    for (auto& name : *copy.mutable_output()) name = rename(name);
    bind_attributes(body, node, defaults, copy);
    if (nodes_.size() > kNodesMax)
      return bad_input(fmt::format("local functions expand to more than {} nodes", kNodesMax));
    TANDEM_TRY(expand({&copy, opsets}, out, depth + 1));
  }
  for (const auto& [from, to] : handed_through) {
    onnx::NodeProto& identity = nodes_.emplace_back();
    identity.set_op_type("Identity");
    identity.add_input(from);
    identity.add_output(to);
    out.push_back({&identity, opsets});
  }
  return {};
}

}  // namespace tandem::onnx_io
