// SPDX-License-Identifier: Apache-2.0
// Graph: values and nodes addressed by ids. QuantParams belong to values, so a cut cannot lose them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tandem/base/ids.hpp"
#include "tandem/ir/op.hpp"
#include "tandem/tensor/quant_params.hpp"

namespace tandem::ir {

enum class NodeId : uint32_t {};
enum class ValueId : uint32_t {};
inline constexpr NodeId kNoNode = kNone<NodeId>;
inline constexpr ValueId kNoValue = kNone<ValueId>;  // an optional input or output that is absent

struct Value {
  std::string name;            // unique in its graph, not empty
  DType dtype = DType::kF32;   // of the real value: f32 also when it is stored quantized
  std::optional<Shape> shape;  // absent: unknown rank
  std::optional<QuantParams> quant;
  ConstTensor constant;       // stored form (integers when quant is set); null unless constant
  NodeId producer = kNoNode;  // kNoNode for inputs and constants
  bool is_constant() const { return constant != nullptr; }
  // How elements are stored: quant's dtype when quantized.
  DType storage() const { return quant ? quant->dtype : dtype; }
};

struct Node {
  std::string name;  // may be empty in a file; importers make it unique
  Op op;
  std::vector<ValueId> inputs;   // kNoValue where an optional input is absent
  std::vector<ValueId> outputs;  // kNoValue where an optional output is absent
  bool dead = false;             // deleted; gone after compact()
};

class Graph {
 public:
  std::string name;
  std::map<std::string, std::string>
      metadata;  // travels with the model file ("tandem.preprocess", "tandem.labels")
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;

  // The name is made unique by a suffix when it is taken, and invented from `stem` when empty.
  ValueId add_value(Value value);
  // Sets the producer of the outputs. Precondition: ids exist; an output has no producer yet.
  NodeId add_node(Node node);
  ValueId add_input(Value value);
  ValueId add_constant(std::string name, Tensor tensor);
  ValueId add_constant(std::string name, ConstTensor tensor, std::optional<QuantParams> quant = std::nullopt);

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  Value& value(ValueId id) { return values_[index_of(id)]; }
  const Value& value(ValueId id) const { return values_[index_of(id)]; }
  Node& node(NodeId id) { return nodes_[index_of(id)]; }
  const Node& node(NodeId id) const { return nodes_[index_of(id)]; }

  // Live nodes in index order (ids are stable until compact()).
  std::vector<NodeId> live_nodes() const;
  // By name; kNoValue / kNoNode when there is none.
  ValueId find_value(std::string_view name) const;
  NodeId find_node(std::string_view name) const;
  bool is_output(ValueId id) const;

  // Every use of `from` (node inputs and graph outputs) becomes `to`.
  void replace_uses(ValueId from, ValueId to);
  // Marks the node dead and frees its outputs of their producer.
  void remove_node(NodeId id);
  // Renames a value, freeing its old name. Precondition: the new name is not taken.
  void rename(ValueId id, std::string new_name);
  // Drops dead nodes and values that nothing uses (graph inputs stay), sorts nodes topologically (ties by old
  // index) and renumbers. Error kBadInput when the nodes form a cycle (the message names a node on it).
  Status compact();

 private:
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::map<std::string, ValueId, std::less<>> names_;
};

// For each value the live nodes that read it, once per node, in index order.
std::vector<std::vector<NodeId>> consumers_of(const Graph& graph);

// Kahn's order of the live nodes, ties by index; error when there is a cycle.
Result<std::vector<NodeId>> topological_order(const Graph& graph);

// What is known of the node's inputs, for infer().
std::vector<InputInfo> input_infos(const Graph& graph, const Node& node);

// Fills in dtype and shape of every value, in topological order, and evaluates shape computations as far as
// they are known. Existing shapes are checked and refined, never widened; what is declared of the outputs of
// Opaque ops is believed. Error names the node.
Status infer_shapes(Graph& graph);

// A copy whose inputs have these static shapes, one per graph input, and everything inferred from them.
Result<Graph> bind_shapes(const Graph& graph, const std::vector<Shape>& input_shapes);
// The same with only the batch set: dimension 0 of the inputs where it is dynamic; in a graph where it is
// static in all inputs, of those where it is the same as in the first one that is not a scalar. Other
// dimensions stay as they are. Error kUnsupported names a Reshape whose constant shape only works for another
// batch ([1,-1] with a batch of 4).
Result<Graph> bind_batch(const Graph& graph, int64_t batch);

}  // namespace tandem::ir
