// SPDX-License-Identifier: Apache-2.0
// What the importer of one operator sees: a node of the file in neutral form, free of protobuf, and the graph
// being made. An importer returns the op in its newest form; it may add constants, rewrite its inputs and
// emit helper nodes before.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tandem/ir/graph.hpp"
#include "tandem/onnx_io/attributes.hpp"
#include "tandem/onnx_io/onnx_io.hpp"

namespace tandem::onnx_io {

struct Import {
  ir::Graph& graph;
  LoadReport& report;
  std::string name;    // of the node, unique, not empty
  std::string domain;  // "" is ONNX's own
  std::string op_type;
  int64_t version = 0;  // opset version of the domain
  Attributes attributes;
  std::vector<ir::ValueId> inputs;
  std::vector<ir::ValueId> outputs;
  std::vector<bool> output_used;  // some node or the graph's outputs read it
  bool too_many_inputs = false;   // set by keep_inputs

  bool has_input(size_t i) const { return i < inputs.size() && inputs[i] != ir::kNoValue; }
  bool uses_output(size_t i) const {
    return i < outputs.size() && outputs[i] != ir::kNoValue && output_used[i];
  }
  // Null when absent or not constant.
  const Tensor* constant(size_t i) const;
  // What is known so far; kF32 and nothing when the input is absent.
  DType dtype(size_t i) const;
  std::optional<Shape> shape(size_t i) const;
  // Grows the list of inputs as needed.
  void set_input(size_t i, ir::ValueId id);
  // This version of the operator has no inputs from `count` on: they are dropped, and the node is refused when
  // the file gives any.
  void keep_inputs(size_t count);
  void keep_outputs(size_t count);
  // New constants named after the first output: "<output>.<stem>".
  ir::ValueId constant(std::string_view stem, Tensor tensor);
  ir::ValueId integers(std::string_view stem, const std::vector<int64_t>& values);
  // A scalar of the dtype of input `like`.
  ir::ValueId scalar(std::string_view stem, float value, size_t like);
  // A helper node with one output, named after this node; its shape is inferred at once.
  ir::ValueId emit(ir::Op op, std::vector<ir::ValueId> op_inputs, std::string_view stem);
  void notice(const std::string& text);
};

// kUnsupported makes the node Opaque with the error's text as the reason; any other error refuses the model.
using ImportFunction = Result<ir::Op> (*)(Import&);

// Null for an operator that is not known.
ImportFunction find_importer(std::string_view domain, std::string_view op_type);

// ONNX's numbers of element types; nothing for strings, complex, float8 and 4-bit types.
std::optional<DType> dtype_from_onnx(int64_t data_type);
int64_t dtype_to_onnx(DType dtype);
// "FLOAT8E4M3FN", for messages.
std::string onnx_type_name(int64_t data_type);

// One importer per file of ir/ops; several operators share one where they differ by name only.
Result<ir::Op> import_conv(Import& in);
Result<ir::Op> import_conv_transpose(Import& in);
Result<ir::Op> import_pool(Import& in);
Result<ir::Op> import_global_pool(Import& in);
Result<ir::Op> import_gemm(Import& in);
Result<ir::Op> import_matmul(Import& in);
Result<ir::Op> import_unary(Import& in);
Result<ir::Op> import_clip(Import& in);
Result<ir::Op> import_binary(Import& in);
Result<ir::Op> import_variadic(Import& in);
Result<ir::Op> import_where(Import& in);
Result<ir::Op> import_cast(Import& in);
Result<ir::Op> import_cast_like(Import& in);
Result<ir::Op> import_identity(Import& in);
Result<ir::Op> import_dropout(Import& in);
Result<ir::Op> import_reduce(Import& in);
Result<ir::Op> import_arg_reduce(Import& in);
Result<ir::Op> import_cum_sum(Import& in);
Result<ir::Op> import_top_k(Import& in);
Result<ir::Op> import_softmax(Import& in);
Result<ir::Op> import_batch_norm(Import& in);
Result<ir::Op> import_layer_norm(Import& in);
Result<ir::Op> import_instance_norm(Import& in);
Result<ir::Op> import_group_norm(Import& in);
Result<ir::Op> import_lrn(Import& in);
Result<ir::Op> import_lp_norm(Import& in);
Result<ir::Op> import_mean_variance_norm(Import& in);
Result<ir::Op> import_reshape(Import& in);
Result<ir::Op> import_flatten(Import& in);
Result<ir::Op> import_squeeze(Import& in);
Result<ir::Op> import_unsqueeze(Import& in);
Result<ir::Op> import_transpose(Import& in);
Result<ir::Op> import_concat(Import& in);
Result<ir::Op> import_split(Import& in);
Result<ir::Op> import_slice(Import& in);
Result<ir::Op> import_pad(Import& in);
Result<ir::Op> import_expand(Import& in);
Result<ir::Op> import_tile(Import& in);
Result<ir::Op> import_depth_to_space(Import& in);
Result<ir::Op> import_space_to_depth(Import& in);
Result<ir::Op> import_trilu(Import& in);
Result<ir::Op> import_gather(Import& in);
Result<ir::Op> import_gather_elements(Import& in);
Result<ir::Op> import_gather_nd(Import& in);
Result<ir::Op> import_scatter_elements(Import& in);
Result<ir::Op> import_scatter_nd(Import& in);
Result<ir::Op> import_one_hot(Import& in);
Result<ir::Op> import_resize(Import& in);
Result<ir::Op> import_upsample(Import& in);
Result<ir::Op> import_shape_of(Import& in);
Result<ir::Op> import_size(Import& in);
Result<ir::Op> import_constant_of_shape(Import& in);
Result<ir::Op> import_range(Import& in);
Result<ir::Op> import_eye_like(Import& in);
Result<ir::Op> import_non_zero(Import& in);
Result<ir::Op> import_quantize_linear(Import& in);
Result<ir::Op> import_dequantize_linear(Import& in);
Result<ir::Op> import_dynamic_quantize_linear(Import& in);
Result<ir::Op> import_qlinear_conv(Import& in);
Result<ir::Op> import_qlinear_matmul(Import& in);
Result<ir::Op> import_conv_integer(Import& in);
Result<ir::Op> import_matmul_integer(Import& in);
Result<ir::Op> import_softmax_cross_entropy_loss(Import& in);
Result<ir::Op> import_negative_log_likelihood_loss(Import& in);
Result<ir::Op> import_adam(Import& in);
Result<ir::Op> import_momentum(Import& in);
Result<ir::Op> import_adagrad(Import& in);

// Shared by convolutions and pools: kernel_shape, strides, dilations, pads, auto_pad.
Result<ir::Window> read_window(Import& in);

}  // namespace tandem::onnx_io
