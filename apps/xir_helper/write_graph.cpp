// SPDX-License-Identifier: Apache-2.0
// From the neutral form to libxir's graph and its bytes. libxir infers shapes itself; a tensor that it makes
// otherwise than the model says is an error here.
#include <algorithm>
#include <memory>
#include <set>
#include <xir/attrs/attrs.hpp>
#include <xir/graph/graph.hpp>
#include <xir/graph/subgraph.hpp>
#include <xir/op/op.hpp>
#include <xir/tensor/tensor.hpp>

#include "apps/xir_helper/helper.hpp"
#include "tandem/base/overload.hpp"

namespace tandem::xir_helper {
namespace {

using xir_io::Attribute;
using xir_io::Attributes;
using xir_io::Blob;
using xir_io::XModel;
using xir_io::XOp;
using xir_io::XSubgraph;

std::vector<char> chars(const Blob& blob) { return {blob.bytes.begin(), blob.bytes.end()}; }

std::unique_ptr<xir::Attrs> make_attributes(const Attributes& attributes) {
  auto made = xir::Attrs::create();
  for (const auto& [key, attribute] : attributes) {
    const std::string& name = key;
    std::visit(Overload{[&](const Blob& blob) { made->set_attr<std::vector<char>>(name, chars(blob)); },
                        [&](const std::map<std::string, Blob>& blobs) {
                          std::map<std::string, std::vector<char>> all;
                          for (const auto& [which, blob] : blobs) all[which] = chars(blob);
                          made->set_attr(name, xir::any{all});
                        },
                        [&](const auto& value) { made->set_attr(name, xir::any{value}); }},
               attribute);
  }
  return made;
}

std::string shape_text(const std::vector<int32_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

class GraphWriter {
 public:
  explicit GraphWriter(const XModel& model) : model_(model), graph_(xir::Graph::create(model.name)) {}

  Result<std::string> write() {
    if (!model_.attributes.empty()) graph_->set_attrs(make_attributes(model_.attributes));
    for (const XOp& op : model_.ops) TANDEM_TRY(add(op));
    TANDEM_TRY(add_children(*graph_->get_root_subgraph(), model_.root));
    std::string bytes;
    graph_->serialize_to_string(&bytes);
    return bytes;
  }

 private:
  Status add(const XOp& op) {
    std::map<std::string, std::vector<xir::Op*>> inputs;
    for (const xir_io::XArgument& argument : op.arguments) {
      for (const uint32_t index : argument.ops) inputs[argument.name].push_back(ops_[index]);
    }
    xir::Op* made = graph_->add_op(op.name, op.type, make_attributes(op.attributes), inputs);
    ops_.push_back(made);
    const xir::Tensor& inferred = *made->get_output_tensor();
    const std::vector<int32_t> shape = inferred.get_shape();
    const std::string dtype = inferred.get_data_type().to_string();
    if (shape != op.tensor.shape) {
      return unsupported(fmt::format("op '{}' ({}) has shape {} by libxir's rule, and {} here", op.name,
                                     op.type, shape_text(shape), shape_text(op.tensor.shape)));
    }
    if (inferred.get_name() == op.tensor.name && dtype == op.tensor.dtype && op.tensor.attributes.empty())
      return {};
    auto tensor = xir::Tensor::create(op.tensor.name, op.tensor.shape, xir::DataType(op.tensor.dtype));
    if (!op.tensor.attributes.empty()) tensor->set_attrs(make_attributes(op.tensor.attributes));
    made->replace_output_tensor(std::move(tensor));
    return {};
  }

  static void collect(const XSubgraph& subgraph, std::vector<uint32_t>& ops) {
    ops.insert(ops.end(), subgraph.ops.begin(), subgraph.ops.end());
    for (const XSubgraph& child : subgraph.children) collect(child, ops);
  }

  Status add_children(xir::Subgraph& made, const XSubgraph& subgraph) {
    if (!subgraph.attributes.empty()) made.set_attrs(make_attributes(subgraph.attributes));
    if (!made.is_root() && !subgraph.name.empty()) made.set_name(subgraph.name);
    if (subgraph.children.empty()) return {};
    made.create_children();
    std::vector<std::pair<xir::Subgraph*, const XSubgraph*>> merged;
    for (const XSubgraph& child : subgraph.children) {
      std::vector<uint32_t> ops;
      collect(child, ops);
      std::set<xir::Subgraph*> leaves;
      for (const uint32_t index : ops) {
        if (index >= ops_.size()) return bad_input("a subgraph names an op that is not there");
        leaves.insert(made.find_op(ops_[index]));
      }
      if (leaves.empty() || leaves.count(nullptr) > 0)
        return unsupported(fmt::format("subgraph '{}' is empty or shares ops with another", child.name));
      merged.emplace_back(leaves.size() == 1 ? *leaves.begin() : made.merge_children(leaves), &child);
    }
    for (const auto& [child, source] : merged) TANDEM_TRY(add_children(*child, *source));
    return {};
  }

  const XModel& model_;
  std::unique_ptr<xir::Graph> graph_;
  std::vector<xir::Op*> ops_;
};

}  // namespace

Result<std::string> write_graph(const XModel& model) { return GraphWriter(model).write(); }

}  // namespace tandem::xir_helper
