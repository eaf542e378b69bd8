// SPDX-License-Identifier: Apache-2.0
// Lowering: turns the nodes of a graph into the steps of a Program, one lower() per op. Internal to exec/.
//
// A value may exist in several forms: plain or channels last, stored or as reals (f32). read() makes the form
// asked for out of one that exists, once. A value between convolutions only ever exists channels last, so
// nothing is reordered there.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tandem/exec/kernels.hpp"
#include "tandem/exec/program.hpp"
#include "tandem/exec/strided.hpp"

namespace tandem::exec {

// What a lower() answers: it has emitted the node, or it has emitted nothing and says why.
struct Lowered {
  bool done = true;
  std::string reason;
  static Lowered no(std::string why) { return {false, std::move(why)}; }
};
using LowerResult = Result<Lowered>;

class Lowering {
 public:
  Lowering(Program& program, const CompileOptions& options);
  // Everything: nodes, outputs, memory plan, report.
  Status run();

  const ir::Graph& graph() const { return program_.graph; }
  const CompileOptions& options() const { return options_; }
  const ir::Node& node() const { return program_.graph.node(node_); }
  size_t input_count() const { return node().inputs.size(); }
  bool has_input(size_t i) const { return i < input_count() && node().inputs[i] != ir::kNoValue; }
  // The value read or made by the current node.
  const ir::Value& in(size_t i) const { return program_.graph.value(node().inputs[i]); }
  const ir::Value& out(size_t i = 0) const { return program_.graph.value(node().outputs[i]); }
  const Shape& in_shape(size_t i) const { return *in(i).shape; }
  const Shape& out_shape(size_t i = 0) const { return *out(i).shape; }
  // Real (f32 where quantized) constant input, or nullptr.
  const Tensor* constant_real(size_t i);

  // Channels last when the input exists so and not plainly.
  Layout layout_of_input(size_t i) const;
  // The stored form in this layout.
  BufferId read(size_t i, Layout layout);
  // The f32 form; the input is f32, quantized or not.
  BufferId read_real(size_t i, Layout layout);
  // The output's memory, to be written by the next emit().
  BufferId write(size_t i, Layout layout);
  // The same in f32; finish_real() then quantizes it when the value is quantized.
  BufferId write_real(size_t i, Layout layout);
  void finish_real(size_t i, BufferId real);
  // The output starts where `base` starts: no copy.
  void make_view(size_t i, BufferId base, Layout layout);
  // The output takes over the memory of a buffer that nobody reads later: its steps overwrite it.
  BufferId write_over(size_t i, Layout layout, BufferId base);
  // True when the current node is the last reader of input i and its memory may be overwritten.
  bool dies_here(size_t i, BufferId buffer) const;

  BufferId temporary(DType dtype, Shape shape, Layout layout = Layout::kPlain);
  BufferId constant(Tensor tensor, Layout layout = Layout::kPlain);

  // oneDNN or own loop. `implementation` is what the report says.
  void emit(dnn::Primitive primitive, std::vector<std::pair<dnn::Role, BufferId>> arguments,
            std::vector<std::pair<dnn::Role, dnn::Packed>> packed);
  void emit(std::string implementation, std::vector<BufferId> reads, std::vector<BufferId> writes,
            Kernel kernel);
  void emit_copy(std::string implementation, BufferId from, BufferId to, const StridedCopy& copy);
  void note_fallback(std::string reason);  // for the report of the current node

  const Buffer& buffer(BufferId id) const { return program_.buffer(id); }
  // How a value's stored elements are read or written by row kernels; `channel` only for per-axis params.
  static RowType row_type(const ir::Value& value);
  static bool is_real(const ir::Value& value) { return value.dtype == DType::kF32; }
  // f32 or quantized per tensor to at most 16 bits: what the row kernels handle.
  static bool is_row_value(const ir::Value& value);

 private:
  struct Form {
    Layout layout;
    bool real;
    friend auto operator<=>(const Form&, const Form&) = default;
  };
  BufferId add_buffer(Buffer buffer);
  BufferId find(ir::ValueId value, Form form) const;
  BufferId form_of(ir::ValueId value, Form form);
  void define(ir::ValueId value, Form form, BufferId id);
  BufferId constant_form(ir::ValueId value, Form form);
  void dequantize_into(ir::ValueId value, BufferId from, BufferId to);
  Status lower_node(ir::NodeId id);
  Status lower_reference(const std::string& reason);
  Status lower_outputs();
  void find_needed();
  void observe();
  void plan();
  void report_node(size_t first_step);
  // A step of the current node reads an f32 activation that none of them made as a partial result.
  bool reads_floats(size_t first_step) const;

  Program& program_;
  const CompileOptions& options_;
  ir::NodeId node_ = ir::kNoNode;
  std::map<std::pair<ir::ValueId, Form>, BufferId> forms_;
  std::map<size_t, Tensor> real_constants_;
  std::vector<bool> needed_;      // by value
  std::vector<size_t> last_use_;  // by value: index of the last node that reads it
  std::string fallback_reason_;
  bool emitting_for_value_ = false;
};

// Error kUnsupported that names node and op when the op is Opaque.
Status refuse_opaque(const ir::Node& node);

// Which inputs of a node carry data that its execution reads (a Reshape's shape input is known already).
bool reads_data(const ir::Node& node, size_t input);

LowerResult lower(Lowering&, const ir::Conv&);
LowerResult lower(Lowering&, const ir::ConvTranspose&);
LowerResult lower(Lowering&, const ir::Pool&);
LowerResult lower(Lowering&, const ir::GlobalPool&);
LowerResult lower(Lowering&, const ir::Gemm&);
LowerResult lower(Lowering&, const ir::MatMul&);
LowerResult lower(Lowering&, const ir::Unary&);
LowerResult lower(Lowering&, const ir::Clip&);
LowerResult lower(Lowering&, const ir::Binary&);
LowerResult lower(Lowering&, const ir::Variadic&);
LowerResult lower(Lowering&, const ir::BatchNorm&);
LowerResult lower(Lowering&, const ir::LayerNorm&);
LowerResult lower(Lowering&, const ir::Softmax&);
LowerResult lower(Lowering&, const ir::Lrn&);
LowerResult lower(Lowering&, const ir::Reduce&);
LowerResult lower(Lowering&, const ir::Requantize&);
LowerResult lower(Lowering&, const ir::Concat&);
LowerResult lower(Lowering&, const ir::Split&);
LowerResult lower(Lowering&, const ir::Slice&);
LowerResult lower(Lowering&, const ir::Pad&);
LowerResult lower(Lowering&, const ir::Transpose&);
LowerResult lower(Lowering&, const ir::Expand&);
LowerResult lower(Lowering&, const ir::DepthToSpace&);
LowerResult lower(Lowering&, const ir::SpaceToDepth&);
LowerResult lower(Lowering&, const ir::Resize&);
// Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout: same elements in the same order.
LowerResult lower_view(Lowering&);

// The activation as post-ops; nothing when oneDNN has none for it. The last one multiplies by `scale`.
std::optional<std::vector<dnn::PostOp>> post_ops_of(const ir::Activation& activation, float scale);
// The activation on f32 rows, in place.
void apply_to_row(const ir::Activation& activation, float* x, int64_t count);

}  // namespace tandem::exec
