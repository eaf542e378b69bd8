// SPDX-License-Identifier: Apache-2.0
// Explicit quantization. Pairs that fold are the work of fold_quantization.cpp.
#include <cmath>

#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {
namespace {

void ignore_hints(Import& in) {
  in.attributes.ignore("saturate");   // float8 only
  in.attributes.ignore("precision");  // of the division; ours is f32
}

// Beyond any tensor that is quantized by blocks; it bounds what a hostile file can make the importer
// allocate.
constexpr int64_t kMaxBlockedExtent = int64_t{1} << 24;

// Gives every element along the axis its own scale and zero point by repeating those of its block.
Status repeat_blocks(Import& in, int64_t block) {
  const auto x = in.shape(0), scale = in.shape(1);
  if (!x || !scale) return unsupported("quantization by blocks of an unknown shape");
  if (scale->rank() != x->rank()) {
    return bad_input(fmt::format("the scale of blocks has rank {}, the data {}", scale->rank(), x->rank()));
  }
  const size_t axis = TANDEM_TRY(normalize_axis(in.attributes.integer("axis", 1), x->rank()));
  const int64_t extent = (*x)[axis];
  if (extent == kDynamic || extent > kMaxBlockedExtent)
    return unsupported("quantization by blocks along an axis whose extent is not known");
  if (block < 1) return bad_input(fmt::format("attribute 'block_size' is {}", block));
  std::vector<int64_t> block_of(static_cast<size_t>(extent));
  for (int64_t i = 0; i < extent; ++i) block_of[static_cast<size_t>(i)] = i / block;
  const ir::ValueId indices = in.integers("block_of", block_of);
  const ir::Gather gather{static_cast<int64_t>(axis)};
  in.inputs[1] = in.emit(gather, {in.inputs[1], indices}, "scale");
  if (in.has_input(2)) in.inputs[2] = in.emit(gather, {in.inputs[2], indices}, "zero_point");
  return {};
}

// y = saturate(round(x / scale) + zero_point), in float: exact for 8 and 16 bits.
Result<ir::Op> quantize_blocks(Import& in) {
  const DType to = in.has_input(2) ? in.dtype(2) : DType::kU8;
  if (to != DType::kU8 && to != DType::kI8 && to != DType::kU16 && to != DType::kI16)
    return unsupported(fmt::format("quantization by blocks to {}", to_string(to)));
  if (in.dtype(0) != DType::kF32 || in.dtype(1) != DType::kF32)
    return unsupported("quantization by blocks of other types than float");
  TANDEM_TRY(repeat_blocks(in, in.attributes.integer("block_size", 0)));
  const ir::ValueId ratio =
      in.emit(ir::Binary{.kind = ir::BinaryKind::kDiv}, {in.inputs[0], in.inputs[1]}, "ratio");
  ir::ValueId q = in.emit(ir::Unary{.kind = ir::UnaryKind::kRound}, {ratio}, "rounded");
  if (in.has_input(2)) {
    const ir::ValueId zero = in.emit(ir::Cast{DType::kF32}, {in.inputs[2]}, "zero_point_f32");
    q = in.emit(ir::Binary{.kind = ir::BinaryKind::kAdd}, {q, zero}, "shifted");
  }
  const int bits = static_cast<int>(8 * size_of(to));
  const bool is_signed = to == DType::kI8 || to == DType::kI16;
  const float low = is_signed ? -std::ldexp(1.0f, bits - 1) : 0.0f;
  const float high = std::ldexp(1.0f, is_signed ? bits - 1 : bits) - 1;
  const std::vector<ir::ValueId> clipped = {q, in.scalar("low", low, 0), in.scalar("high", high, 0)};
  in.inputs = {in.emit(ir::Clip{}, clipped, "saturated")};
  return ir::Op(ir::Cast{to});
}

// y = (x - zero_point) * scale.
Result<ir::Op> dequantize_blocks(Import& in) {
  const DType from = in.dtype(0);
  if (from != DType::kU8 && from != DType::kI8 && from != DType::kU16 && from != DType::kI16)
    return unsupported(fmt::format("dequantization by blocks of {}", to_string(from)));
  if (in.dtype(1) != DType::kF32) return unsupported("dequantization by blocks to other types than float");
  TANDEM_TRY(repeat_blocks(in, in.attributes.integer("block_size", 0)));
  ir::ValueId x = in.emit(ir::Cast{DType::kF32}, {in.inputs[0]}, "x_f32");
  if (in.has_input(2)) {
    const ir::ValueId zero = in.emit(ir::Cast{DType::kF32}, {in.inputs[2]}, "zero_point_f32");
    x = in.emit(ir::Binary{.kind = ir::BinaryKind::kSub}, {x, zero}, "shifted");
  }
  const ir::ValueId scale = in.inputs[1];
  in.inputs = {x, scale};
  return ir::Op(ir::Binary{.kind = ir::BinaryKind::kMul});
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
  ignore_hints(in);
  TANDEM_TRY(materialize_zero_point(in));
  if (in.attributes.integer("block_size", 0) != 0) return quantize_blocks(in);
  return ir::Op(ir::QuantizeLinear{in.attributes.integer("axis", 1)});
}
Status export_op(Export& out, const ir::QuantizeLinear& op) {
  const DType q = out.has_input(2) ? out.input_dtype(2) : DType::kU8;
  if (q != DType::kU8 && q != DType::kI8) out.require(21, "QuantizeLinear to 16 bits");
  out.emit("QuantizeLinear", {{"axis", op.axis}});
  return {};
}

Result<ir::Op> import_dequantize_linear(Import& in) {
  ignore_hints(in);
  if (in.attributes.has("output_dtype") && in.attributes.integer("output_dtype", 0) > 1) {
    return unsupported("DequantizeLinear to a type other than float");
  }
  if (in.attributes.integer("block_size", 0) != 0) return dequantize_blocks(in);
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
