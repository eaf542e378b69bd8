// SPDX-License-Identifier: Apache-2.0
// The importer: ops of XIR in order, each to one node. Every op's result exists in the file's layout, in
// NCHW, or in both; a Transpose is made when an op asks for the form that is missing.
#pragma once

#include <map>
#include <set>

#include "tandem/base/json.hpp"
#include "tandem/xir_io/xir_io.hpp"

namespace tandem::xir_io {

class Importer {
 public:
  explicit Importer(const XModel& model) : model_(model) {}
  Result<LoadedModel> run();

  // For the handlers in import_ops.cpp. kUnsupported makes the op Opaque, any other error refuses the model.
  const XOp& op(uint32_t index) const { return model_.ops[index]; }
  // The ops that feed an argument; empty when it is absent.
  const std::vector<uint32_t>& argument(const XOp& op, std::string_view name) const;
  Result<uint32_t> only(const XOp& op, std::string_view name) const;  // error unless it is exactly one

  ir::ValueId file_form(uint32_t index);
  // Precondition: rank 4.
  ir::ValueId nchw_form(uint32_t index);
  bool has_nchw(uint32_t index) const { return forms_[index].nchw != ir::kNoValue; }
  bool rank4(uint32_t index) const { return op(index).tensor.shape.size() == 4; }

  // A constant as the file has it: stored form and params; error when the op is no constant.
  struct Constant {
    ConstTensor tensor;
    std::optional<QuantParams> quant;
    std::string name = {};
  };
  Result<Constant> constant(uint32_t index) const;
  bool is_constant(uint32_t index) const { return constants_.count(index) > 0; }
  ir::ValueId add_constant(const std::string& name, Tensor tensor, std::optional<QuantParams> quant = {});
  ir::ValueId integers(const XOp& op, const char* stem, const std::vector<int64_t>& values);

  enum class Layout { kFile, kNchw };
  // One node whose output is the op's result in that layout, with the params its tensor states (compiled
  // files). Error kUnsupported when the IR's shape rule and the file disagree.
  Status emit(uint32_t index, ir::Op op, std::vector<ir::ValueId> inputs, Layout layout);
  // The op's result is another op's result: the file's `index` has no node of its own.
  void alias(uint32_t index, uint32_t source, bool rename);
  void alias_forms(uint32_t index, uint32_t source, ir::ValueId file, ir::ValueId nchw);
  // True when nobody but its one reader sees the op's result, so that the reader may change it.
  bool unseen(uint32_t index) const;
  ir::Node* producer_of(uint32_t index);
  ir::Graph& graph() { return graph_; }
  void notice(std::string text) { report_.notices.push_back(std::move(text)); }

  Status import_fix(uint32_t index);
  Status import_data(uint32_t index);
  Status import_const(uint32_t index);
  Status import_own(uint32_t index);

 private:
  struct Forms {
    ir::ValueId file = ir::kNoValue, nchw = ir::kNoValue;
  };
  Status import_op(uint32_t index);
  Status make_opaque(uint32_t index, const std::string& reason);
  Status check_shapes() const;
  void collect_outputs();
  Status choose_outputs();
  void keep_placement();
  void keep_attributes(uint32_t index);
  void read_parameters(const XSubgraph& subgraph);
  std::optional<QuantParams> params_of(const XOp& op) const;  // of a compiled tensor
  Shape shape_of(uint32_t index, Layout layout) const;
  ir::ValueId transposed(ir::ValueId from, const std::string& name, std::vector<int64_t> perm);

  const XModel& model_;
  ir::Graph graph_;
  LoadReport report_;
  std::vector<Forms> forms_;
  std::vector<uint32_t> readers_;  // how many ops read each
  std::vector<uint32_t> outputs_;  // ops whose results the graph gives
  std::map<uint32_t, uint32_t> alias_of_;
  std::map<uint32_t, Constant> constants_;
  std::map<uint32_t, std::string_view> parameters_;  // per op: the bytes of its subgraph's REG_0
  std::map<uint32_t, std::string> node_of_;
  std::map<std::string, ir::NodeId> own_nodes_;            // "tandem.*" ops by the name of their node
  std::set<std::pair<std::string, int32_t>> forms_taken_;  // outputs of them that an op stands for
  std::map<std::string, Json> kept_;
  bool told_rounding_ = false;
};

using ImportFunction = Status (*)(Importer&, uint32_t index);
// Null for a type that is not known.
ImportFunction find_importer(std::string_view type);

// fix_point, bit_width and if_signed as params; error kUnsupported for those that have no such form.
// round_mode is that of a simulation: the DPU rounds half up.
Result<QuantParams> params_from(const Attributes& attributes);
// {width, height} of the file as {height, width}; error unless there are two.
Result<std::vector<int64_t>> pair_of(const XOp& op, std::string_view name,
                                     std::optional<int32_t> fallback = {});

}  // namespace tandem::xir_io
