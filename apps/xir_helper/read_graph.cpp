// SPDX-License-Identifier: Apache-2.0
// From libxir's graph to the neutral form.
#include <algorithm>
#include <memory>
#include <xir/attrs/attrs.hpp>
#include <xir/graph/graph.hpp>
#include <xir/graph/subgraph.hpp>
#include <xir/op/op.hpp>
#include <xir/tensor/tensor.hpp>

#include "apps/xir_helper/helper.hpp"

namespace tandem::xir_helper {
namespace {

using xir_io::Attribute;
using xir_io::Attributes;
using xir_io::Blob;
using xir_io::XModel;

class GraphReader {
 public:
  explicit GraphReader(const xir::Graph& graph) : graph_(graph) {}

  XModel read() {
    model_.name = graph_.get_name();
    if (graph_.has_attrs()) model_.attributes = attributes(*graph_.get_attrs(), "the graph");
    const std::vector<const xir::Op*> order = graph_.topological_sort();
    for (const xir::Op* op : order) indices_.emplace(op, static_cast<uint32_t>(indices_.size()));
    for (const xir::Op* op : order) read_op(*op);
    model_.root = read_subgraph(*graph_.get_root_subgraph());
    return std::move(model_);
  }

 private:
  template <typename T>
  static bool take(const xir::any& value, Attribute& attribute) {
    if (value.type() != typeid(T)) return false;
    attribute = xir::stdx::any_cast<T>(value);
    return true;
  }
  // A type that is wider here than there.
  template <typename From, typename To>
  static bool widen(const xir::any& value, Attribute& attribute) {
    if (value.type() != typeid(From)) return false;
    attribute = static_cast<To>(xir::stdx::any_cast<From>(value));
    return true;
  }
  static bool take_bytes(const xir::any& value, Attribute& attribute) {
    if (value.type() == typeid(std::vector<char>)) {
      const auto bytes = xir::stdx::any_cast<std::vector<char>>(value);
      attribute = Blob{std::string(bytes.begin(), bytes.end())};
      return true;
    }
    if (value.type() != typeid(std::map<std::string, std::vector<char>>)) return false;
    std::map<std::string, Blob> blobs;
    for (const auto& [key, bytes] : xir::stdx::any_cast<std::map<std::string, std::vector<char>>>(value)) {
      blobs[key] = Blob{std::string(bytes.begin(), bytes.end())};
    }
    attribute = std::move(blobs);
    return true;
  }

  static bool convert(const xir::any& value, Attribute& attribute) {
    using std::string;
    using std::vector;
    return take<bool>(value, attribute) || take<int32_t>(value, attribute) ||
           take<uint32_t>(value, attribute) || take<int64_t>(value, attribute) ||
           take<uint64_t>(value, attribute) || widen<int8_t, int32_t>(value, attribute) ||
           widen<uint8_t, uint32_t>(value, attribute) || widen<int16_t, int32_t>(value, attribute) ||
           widen<uint16_t, uint32_t>(value, attribute) || take<float>(value, attribute) ||
           take<double>(value, attribute) || take<string>(value, attribute) ||
           take<vector<int32_t>>(value, attribute) || take<vector<uint32_t>>(value, attribute) ||
           take<vector<int64_t>>(value, attribute) || take<vector<uint64_t>>(value, attribute) ||
           take<vector<float>>(value, attribute) || take<vector<double>>(value, attribute) ||
           take<vector<string>>(value, attribute) || take<std::map<string, int32_t>>(value, attribute) ||
           take<std::map<string, string>>(value, attribute) || take_bytes(value, attribute);
  }

  Attributes attributes(const xir::Attrs& attrs, const std::string& owner) {
    Attributes made;
    for (const std::string& key : attrs.get_keys()) {
      const xir::any& value = attrs.get_attr(key);
      Attribute attribute;
      if (convert(value, attribute))
        made[key] = std::move(attribute);
      else
        model_.notices.push_back("attribute '" + key + "' of " + owner + " has a type that is not kept");
    }
    return made;
  }

  void read_op(const xir::Op& op) {
    xir_io::XOp made;
    made.name = op.get_name();
    made.type = op.get_type();
    for (const auto& [name, inputs] : op.get_input_ops()) {
      xir_io::XArgument argument{name, {}};
      for (const xir::Op* input : inputs) argument.ops.push_back(indices_.at(input));
      made.arguments.push_back(std::move(argument));
    }
    made.attributes = attributes(*op.get_attrs(), "op '" + op.get_name() + "'");
    const xir::Tensor& tensor = *op.get_output_tensor();
    made.tensor.name = tensor.get_name();
    made.tensor.shape = tensor.get_shape();
    made.tensor.dtype = tensor.get_data_type().to_string();
    made.tensor.attributes = attributes(*tensor.get_attrs(), "tensor '" + tensor.get_name() + "'");
    model_.ops.push_back(std::move(made));
  }

  xir_io::XSubgraph read_subgraph(const xir::Subgraph& subgraph) {
    xir_io::XSubgraph made;
    made.name = subgraph.get_name();
    if (subgraph.has_attrs())
      made.attributes = attributes(*subgraph.get_attrs(), "subgraph '" + made.name + "'");
    if (subgraph.get_children_num() == 0) {
      for (const xir::Op* op : subgraph.get_ops()) made.ops.push_back(indices_.at(op));
      std::sort(made.ops.begin(), made.ops.end());
    }
    std::vector<const xir::Subgraph*> children;
    if (subgraph.get_children_num() > 0) children = subgraph.children_topological_sort();
    for (const xir::Subgraph* child : children) made.children.push_back(read_subgraph(*child));
    return made;
  }

  const xir::Graph& graph_;
  std::map<const xir::Op*, uint32_t> indices_;
  XModel model_;
};

}  // namespace

XModel read_graph(const std::string& bytes) {
  const std::unique_ptr<xir::Graph> graph = xir::Graph::deserialize_from_string(bytes);
  return GraphReader(*graph).read();
}

}  // namespace tandem::xir_helper
