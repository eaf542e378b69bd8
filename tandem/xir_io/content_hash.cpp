// SPDX-License-Identifier: Apache-2.0
// The hash of what a file says: ops by name, subgraphs as sets of ops.
#include <algorithm>

#include "tandem/base/hash.hpp"
#include "tandem/xir_io/xmodel.hpp"

namespace tandem::xir_io {
namespace {

// One op or one attribute list, through the exchange form, which is the same for the same content.
std::string canonical(const XModel& model, const XOp& op) {
  Sha256 hash;
  XModel alone;
  alone.ops = {op};
  for (XArgument& argument : alone.ops[0].arguments) argument.ops.clear();
  hash.add(to_wire(alone));
  std::vector<const XArgument*> arguments;
  for (const XArgument& argument : op.arguments) arguments.push_back(&argument);
  std::sort(arguments.begin(), arguments.end(),
            [](const XArgument* a, const XArgument* b) { return a->name < b->name; });
  for (const XArgument* argument : arguments) {
    hash.add(argument->name).add(argument->ops.size());
    for (const uint32_t input : argument->ops) hash.add(model.ops[input].name);
  }
  return hash.hex();
}

std::string canonical(const XModel& model, const XSubgraph& subgraph) {
  std::vector<std::string> ops, children;
  for (const uint32_t index : subgraph.ops) ops.push_back(model.ops[index].name);
  for (const XSubgraph& child : subgraph.children) children.push_back(canonical(model, child));
  std::sort(ops.begin(), ops.end());
  std::sort(children.begin(), children.end());
  XModel attributes;
  attributes.name = subgraph.name;
  attributes.attributes = subgraph.attributes;
  Sha256 hash;
  hash.add(to_wire(attributes)).add(ops.size());
  for (const std::string& op : ops) hash.add(op);
  for (const std::string& child : children) hash.add(child);
  return hash.hex();
}

}  // namespace

std::string content_hash(const XModel& model) {
  std::vector<std::string> parts;
  for (const XOp& op : model.ops) parts.push_back(canonical(model, op));
  std::sort(parts.begin(), parts.end());
  XModel outer;
  outer.name = model.name;
  outer.attributes = model.attributes;
  Sha256 hash;
  hash.add(to_wire(outer)).add(canonical(model, model.root));
  for (const std::string& part : parts) hash.add(part);
  return hash.hex();
}

}  // namespace tandem::xir_io
