// SPDX-License-Identifier: Apache-2.0
// The exporter: nodes in topological order, each to one or a few ops of XIR. A value of rank 4 exists in
// NHWC, plain (as the IR has it), or both; a `transpose` is written when an op asks for the form that is
// missing.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "tandem/base/json.hpp"
#include "tandem/xir_io/xir_io.hpp"

namespace tandem::xir_io {

class Exporter {
 public:
  explicit Exporter(ir::Graph graph) : graph_(std::move(graph)) {}
  Result<XModel> run();

  enum class Layout { kPlain, kNhwc };
  // One op of a chain that ends in a value; `inputs` besides the op before it.
  struct Link {
    std::string type;
    std::vector<XArgument> arguments;  // of the first link all, of later ones those besides "input"
    Attributes attributes;
    std::vector<int32_t> shape;
  };

  const ir::Graph& graph() const { return graph_; }
  const ir::Node& node() const { return *node_; }
  const ir::Value& value(ir::ValueId id) const { return graph_.value(id); }
  bool has_input(size_t i) const { return i < node_->inputs.size() && node_->inputs[i] != ir::kNoValue; }
  const ir::Value& input(size_t i) const { return graph_.value(node_->inputs[i]); }
  // Null unless the input is a constant that is not quantized.
  const Tensor* constant(size_t i) const;
  size_t rank(ir::ValueId id) const { return graph_.value(id).shape->rank(); }

  uint32_t plain(ir::ValueId id);
  uint32_t nhwc(ir::ValueId id);  // precondition: rank 4
  uint32_t form(ir::ValueId id, Layout layout) { return layout == Layout::kNhwc ? nhwc(id) : plain(id); }
  bool has_plain(ir::ValueId id) const { return forms_[index_of(id)].plain.has_value(); }
  bool has_nhwc(ir::ValueId id) const { return forms_[index_of(id)].nhwc.has_value(); }
  // A constant in an order of its own, quantized as `like` is.
  uint32_t add_constant(const std::string& stem, const Tensor& stored, const ir::Value& like);
  uint32_t add_number(const std::string& stem, float number);

  // Writes the chain, then a fix when the node's first output is quantized. The last op has the value's name.
  Status finish(std::vector<Link> chain, Layout layout);
  // A node that is nothing but a fix: the value of its input, stored otherwise.
  Status finish_fix(Layout layout);
  void add_activation(std::vector<Link>& chain, const ir::Activation& activation) const;
  // The value is what another one is already, in that form.
  Status alias(std::optional<uint32_t> plain_form, std::optional<uint32_t> nhwc_form);
  // The node in its text form, for what XIR has no op for.
  Status write_own();
  std::vector<int32_t> shape(ir::ValueId id, Layout layout) const;
  Status write_opaque(const ir::Opaque& opaque);

 private:
  struct Forms {
    std::optional<uint32_t> plain, nhwc;
  };
  std::string fresh(const std::string& stem);
  uint32_t add(XOp op);
  uint32_t add_const_op(const std::string& name, const Tensor& real, const std::vector<int32_t>& dims);
  uint32_t constant_form(ir::ValueId id, Layout layout);
  uint32_t add_transpose(uint32_t from, const std::string& stem, const std::vector<int32_t>& order);
  Status add_inputs();
  Status check_values() const;
  void finish_model();
  Attributes kept_attributes() const;
  static Attributes fix_attributes(const QuantParams& params);

  ir::Graph graph_;
  XModel model_;
  const ir::Node* node_ = nullptr;
  std::vector<Forms> forms_;
  std::set<std::string> names_;  // of values and of ops
  std::set<std::string> taken_;  // names of constants that an op has already
  Json kept_;
};

// Writes the exporter's current node; kUnsupported means that XIR has no op for it.
Status export_node(Exporter& out);

}  // namespace tandem::xir_io
