// SPDX-License-Identifier: Apache-2.0
// Explicit quantization. Pairs that fold are the work of fold_quantization.cpp.
#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {
namespace {

Status check_linear(Import& in) {
  in.attributes.ignore("saturate");   // float8 only
  in.attributes.ignore("precision");  // of the division; ours is f32
  if (in.attributes.integer("block_size", 0) != 0) return unsupported("quantization by blocks");
  return {};
}

// Integer zero of the type that attribute `output_dtype` names, shaped like the scale.
Status materialize_zero_point(Import& in) {
  const int64_t number = in.attributes.integer("output_dtype", 0);
  if (number == 0) return {};
  const auto dtype = dtype_from_onnx(number);
  if (!dtype || is_float(*dtype) || *dtype == DType::kBool) {
    return unsupported("quantization to " + onnx_type_name(number));
  }
  if (in.has_input(2)) return {};
  const auto shape = in.shape(1);
  if (!shape || !shape->is_static() || shape->rank() > 1)
    return unsupported("output_dtype with a scale of unknown shape");
  in.set_input(2, in.constant("zero_point", TANDEM_TRY(Tensor::make(*dtype, *shape))));
  return {};
}

}  // namespace

Result<ir::Op> import_quantize_linear(Import& in) {
  TANDEM_TRY(check_linear(in));
  TANDEM_TRY(materialize_zero_point(in));
  return ir::Op(ir::QuantizeLinear{in.attributes.integer("axis", 1)});
}
Status export_op(Export& out, const ir::QuantizeLinear& op) {
  const DType q = out.has_input(2) ? out.input_dtype(2) : DType::kU8;
  if (q != DType::kU8 && q != DType::kI8) out.require(21, "QuantizeLinear to 16 bits");
  out.emit("QuantizeLinear", {{"axis", op.axis}});
  return {};
}

Result<ir::Op> import_dequantize_linear(Import& in) {
  TANDEM_TRY(check_linear(in));
  if (in.attributes.has("output_dtype") && in.attributes.integer("output_dtype", 0) > 1) {
    return unsupported("DequantizeLinear to a type other than float");
  }
  return ir::Op(ir::DequantizeLinear{in.attributes.integer("axis", 1)});
}
Status export_op(Export& out, const ir::DequantizeLinear& op) {
  const DType q = out.input_dtype(0);
  if (q == DType::kI16 || q == DType::kU16) out.require(21, "DequantizeLinear of 16 bits");
  out.emit("DequantizeLinear", {{"axis", op.axis}});
  return {};
}

Result<ir::Op> import_dynamic_quantize_linear(Import&) { return ir::Op(ir::DynamicQuantizeLinear{}); }
Status export_op(Export& out, const ir::DynamicQuantizeLinear&) {
  out.emit("DynamicQuantizeLinear");
  return {};
}

Result<ir::Op> import_qlinear_conv(Import& in) {
  ir::QLinearConv op;
  op.window = TANDEM_TRY(read_window(in));
  op.group = in.attributes.integer("group", 1);
  return ir::Op(std::move(op));
}
Status export_op(Export& out, const ir::QLinearConv& op) {
  ir::AttributeMap attributes;
  put_window(attributes, op.window);
  if (op.group != 1) attributes["group"] = op.group;
  out.emit("QLinearConv", std::move(attributes));
  return {};
}

Result<ir::Op> import_qlinear_matmul(Import&) { return ir::Op(ir::QLinearMatMul{}); }
Status export_op(Export& out, const ir::QLinearMatMul&) {
  out.emit("QLinearMatMul");
  return {};
}

Result<ir::Op> import_conv_integer(Import& in) {
  ir::ConvInteger op;
  op.window = TANDEM_TRY(read_window(in));
  op.group = in.attributes.integer("group", 1);
  return ir::Op(std::move(op));
}
Status export_op(Export& out, const ir::ConvInteger& op) {
  ir::AttributeMap attributes;
  put_window(attributes, op.window);
  if (op.group != 1) attributes["group"] = op.group;
  out.emit("ConvInteger", std::move(attributes));
  return {};
}

Result<ir::Op> import_matmul_integer(Import&) { return ir::Op(ir::MatMulInteger{}); }
Status export_op(Export& out, const ir::MatMulInteger&) {
  out.emit("MatMulInteger");
  return {};
}

}  // namespace tandem::onnx_io
