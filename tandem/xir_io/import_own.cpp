// SPDX-License-Identifier: Apache-2.0
// The ops "tandem.*": nodes of the IR in their text form, one op per output of a node.
#include "tandem/ir/text.hpp"
#include "tandem/xir_io/import.hpp"

namespace tandem::xir_io {

Status Importer::import_own(uint32_t index) {
  const XOp& source = op(index);
  const auto* text = find<std::string>(source.attributes, "tandem.text");
  const auto* which = find<int32_t>(source.attributes, "tandem.output");
  const auto* name = find<std::string>(source.attributes, "tandem.node");
  if (text == nullptr || which == nullptr || name == nullptr)
    return unsupported("it does not say which node it is");
  auto found = own_nodes_.find(*name);
  if (found == own_nodes_.end()) {
    const ir::Graph alone = TANDEM_TRY(ir::parse(*text));
    if (alone.nodes().size() != 1) return bad_input("its text holds no node, or several");
    const ir::Node& only_node = alone.nodes()[0];
    const std::vector<uint32_t>& given = argument(source, "input");
    ir::Node node;
    node.name = *name;
    node.op = only_node.op;
    size_t next = 0;
    for (const ir::ValueId input : only_node.inputs) {
      if (input == ir::kNoValue) {
        node.inputs.push_back(ir::kNoValue);
        continue;
      }
      if (alone.value(input).is_constant()) {
        node.inputs.push_back(graph_.add_constant(fmt::format("{}.{}", *name, alone.value(input).name),
                                                  alone.value(input).constant));
        continue;
      }
      if (next == given.size()) return bad_input("it has fewer inputs than its text");
      node.inputs.push_back(file_form(given[next++]));
    }
    if (next != given.size()) return bad_input("it has more inputs than its text");
    for (const ir::ValueId output : only_node.outputs) {
      if (output == ir::kNoValue) {
        node.outputs.push_back(ir::kNoValue);
        continue;
      }
      const ir::Value& declared = alone.value(output);
      ir::Value value;
      value.name = fmt::format("{}.output{}", *name, node.outputs.size());
      value.dtype = declared.dtype;
      value.shape = declared.shape;
      node.outputs.push_back(graph_.add_value(std::move(value)));
    }
    found = own_nodes_.emplace(*name, graph_.add_node(std::move(node))).first;
  }
  const std::vector<ir::ValueId>& outputs = graph_.node(found->second).outputs;
  if (*which < 0 || static_cast<size_t>(*which) >= outputs.size() ||
      outputs[static_cast<size_t>(*which)] == ir::kNoValue || forms_taken_.count({*name, *which}) > 0) {
    return bad_input("its output number is not one of its node, or taken");
  }
  forms_taken_.insert({*name, *which});
  const ir::ValueId id = outputs[static_cast<size_t>(*which)];
  if (graph_.find_value(source.tensor.name) == ir::kNoValue) graph_.rename(id, source.tensor.name);
  if (graph_.value(id).shape != shape_of(index, Layout::kFile))
    return bad_input("its shape and its text disagree");
  forms_[index].file = id;
  node_of_[index] = *name;
  return {};
}

}  // namespace tandem::xir_io
