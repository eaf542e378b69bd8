// SPDX-License-Identifier: Apache-2.0
// What the exporter of one op sees: names instead of ids, and nodes in neutral form, free of protobuf.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/ir/graph.hpp"

namespace tandem::onnx_io {

struct FileNode {
  std::string name;
  std::string domain;
  std::string op_type;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  ir::AttributeMap attributes;
};

class Export {
 public:
  Export(const ir::Graph& graph, int64_t opset);

  const ir::Graph& graph() const { return graph_; }
  int64_t opset() const { return opset_; }
  // The op needs at least this opset: when the target is older, writing starts again with a newer one.
  void require(int64_t opset, std::string_view why);
  int64_t required() const { return required_; }
  const std::string& required_why() const { return required_why_; }
  bool at_least(int64_t opset) const { return opset_ >= opset; }

  // The node being written.
  const ir::Node& node() const { return *node_; }
  size_t input_count() const { return node_->inputs.size(); }
  bool has_input(size_t i) const { return i < node_->inputs.size() && node_->inputs[i] != ir::kNoValue; }
  // The name a consumer reads input i by; "" when absent. Writes initializers and their DequantizeLinear on
  // first use.
  std::string input(size_t i);
  std::vector<std::string> inputs_from(size_t first, size_t end);
  std::vector<std::string> all_inputs() { return inputs_from(0, node_->inputs.size()); }
  // Null unless input i is a constant that is not quantized.
  const Tensor* constant(size_t i) const;
  // The name output i is written to; "" when absent.
  std::string output(size_t i) const;
  std::vector<std::string> all_outputs() const;
  std::optional<Shape> input_shape(size_t i) const;
  DType input_dtype(size_t i) const;

  // Writes one file node. The first call of an op carries the node's own name, later ones get a suffix.
  void emit(std::string op_type, std::vector<std::string> inputs, std::vector<std::string> outputs,
            ir::AttributeMap attributes = {}, std::string domain = "");
  // The common case: all inputs, all outputs.
  void emit(std::string op_type, ir::AttributeMap attributes = {});
  // A fresh name that begins with the stem.
  std::string fresh(const std::string& stem);
  // An initializer that the graph does not have.
  std::string add_initializer(const std::string& stem, Tensor tensor);
  // Input `i` is constant and small: as an attribute list. Error when it is not (the op then needs a newer
  // opset).
  std::optional<std::vector<int64_t>> constant_integers(size_t i) const;
  // Activation after the op: writes `from` -> activation -> the node's output 0.
  void emit_activation(const ir::Activation& activation, const std::string& from);
  void emit_silu(const std::string& from, const std::string& to);
  // Where the op itself writes when an activation follows.
  std::string before_activation(const ir::Activation& activation);

  // For the driver in save.cpp.
  Status write_node(ir::NodeId id);
  std::string value_read(ir::ValueId id);
  // The pair behind a value that carries QuantParams; nothing for others.
  Status write_quantization(ir::ValueId id);
  Status write_requantize();
  std::string produced_name(ir::ValueId id) const;
  std::vector<FileNode>& nodes() { return nodes_; }
  std::vector<std::pair<std::string, ConstTensor>>& initializers() { return initializers_; }

 private:
  struct Parameters {
    std::string scale;
    std::string zero_point;  // empty: none
    ir::AttributeMap attributes;
  };
  Parameters write_parameters(const ir::Value& value);
  std::string constant_read(ir::ValueId id);
  // `node_name`: the reserved name of the Requantize that the pair stands for.
  void write_pair(const std::string& from, ir::ValueId id, const std::string& to,
                  const std::optional<std::string>& node_name);
  Status check_quantization(ir::ValueId id) const;
  void write(FileNode node);

  const ir::Graph& graph_;
  int64_t opset_;
  int64_t required_ = 0;
  std::string required_why_;
  const ir::Node* node_ = nullptr;
  int emitted_ = 0;  // file nodes of the current node
  std::set<std::string> names_;
  std::set<std::string> node_names_;
  std::vector<std::string> read_as_;   // per value; empty: a constant that nothing has read yet
  std::vector<std::string> write_as_;  // per value
  std::vector<FileNode> nodes_;
  std::vector<std::pair<std::string, ConstTensor>> initializers_;
};

// One per op, in the file of its family; a new op that nobody writes fails to compile in save.cpp.
Status export_op(Export& out, const ir::Conv& op);
Status export_op(Export& out, const ir::ConvTranspose& op);
Status export_op(Export& out, const ir::Pool& op);
Status export_op(Export& out, const ir::GlobalPool& op);
Status export_op(Export& out, const ir::Gemm& op);
Status export_op(Export& out, const ir::MatMul& op);
Status export_op(Export& out, const ir::Unary& op);
Status export_op(Export& out, const ir::Clip& op);
Status export_op(Export& out, const ir::Binary& op);
Status export_op(Export& out, const ir::Variadic& op);
Status export_op(Export& out, const ir::Where& op);
Status export_op(Export& out, const ir::Cast& op);
Status export_op(Export& out, const ir::CastLike& op);
Status export_op(Export& out, const ir::Identity& op);
Status export_op(Export& out, const ir::Dropout& op);
Status export_op(Export& out, const ir::Reduce& op);
Status export_op(Export& out, const ir::ArgReduce& op);
Status export_op(Export& out, const ir::CumSum& op);
Status export_op(Export& out, const ir::TopK& op);
Status export_op(Export& out, const ir::Softmax& op);
Status export_op(Export& out, const ir::BatchNorm& op);
Status export_op(Export& out, const ir::LayerNorm& op);
Status export_op(Export& out, const ir::InstanceNorm& op);
Status export_op(Export& out, const ir::GroupNorm& op);
Status export_op(Export& out, const ir::Lrn& op);
Status export_op(Export& out, const ir::LpNorm& op);
Status export_op(Export& out, const ir::MeanVarianceNorm& op);
Status export_op(Export& out, const ir::Reshape& op);
Status export_op(Export& out, const ir::Flatten& op);
Status export_op(Export& out, const ir::Squeeze& op);
Status export_op(Export& out, const ir::Unsqueeze& op);
Status export_op(Export& out, const ir::Transpose& op);
Status export_op(Export& out, const ir::Concat& op);
Status export_op(Export& out, const ir::Split& op);
Status export_op(Export& out, const ir::Slice& op);
Status export_op(Export& out, const ir::Pad& op);
Status export_op(Export& out, const ir::Expand& op);
Status export_op(Export& out, const ir::Tile& op);
Status export_op(Export& out, const ir::DepthToSpace& op);
Status export_op(Export& out, const ir::SpaceToDepth& op);
Status export_op(Export& out, const ir::Trilu& op);
Status export_op(Export& out, const ir::Gather& op);
Status export_op(Export& out, const ir::GatherElements& op);
Status export_op(Export& out, const ir::GatherNd& op);
Status export_op(Export& out, const ir::ScatterElements& op);
Status export_op(Export& out, const ir::ScatterNd& op);
Status export_op(Export& out, const ir::OneHot& op);
Status export_op(Export& out, const ir::Resize& op);
Status export_op(Export& out, const ir::ShapeOf& op);
Status export_op(Export& out, const ir::Size& op);
Status export_op(Export& out, const ir::ConstantOfShape& op);
Status export_op(Export& out, const ir::Range& op);
Status export_op(Export& out, const ir::EyeLike& op);
Status export_op(Export& out, const ir::NonZero& op);
Status export_op(Export& out, const ir::QuantizeLinear& op);
Status export_op(Export& out, const ir::DequantizeLinear& op);
Status export_op(Export& out, const ir::DynamicQuantizeLinear& op);
Status export_op(Export& out, const ir::Requantize& op);
Status export_op(Export& out, const ir::QLinearConv& op);
Status export_op(Export& out, const ir::QLinearMatMul& op);
Status export_op(Export& out, const ir::ConvInteger& op);
Status export_op(Export& out, const ir::MatMulInteger& op);
Status export_op(Export& out, const ir::SoftmaxCrossEntropyLoss& op);
Status export_op(Export& out, const ir::NegativeLogLikelihoodLoss& op);
Status export_op(Export& out, const ir::Adam& op);
Status export_op(Export& out, const ir::Momentum& op);
Status export_op(Export& out, const ir::Adagrad& op);
Status export_op(Export& out, const ir::Opaque& op);

// kernel_shape, strides, dilations, pads, auto_pad; only what is not the default.
void put_window(ir::AttributeMap& attributes, const ir::Window& window);

}  // namespace tandem::onnx_io
