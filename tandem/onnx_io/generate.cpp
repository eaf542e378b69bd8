// SPDX-License-Identifier: Apache-2.0
// Ops that make tensors from shapes and scalars.
#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {

Result<ir::Op> import_shape_of(Import& in) {
  return ir::Op(ir::ShapeOf{in.attributes.integer("start", 0), in.attributes.integer("end", INT64_MAX)});
}
Status export_op(Export& out, const ir::ShapeOf& op) {
  ir::AttributeMap attributes;
  if (op.start != 0) attributes["start"] = op.start;
  if (op.end != INT64_MAX) attributes["end"] = op.end;
  if (!attributes.empty()) out.require(15, "Shape with start or end");
  out.emit("Shape", std::move(attributes));
  return {};
}

Result<ir::Op> import_size(Import&) { return ir::Op(ir::Size{}); }
Status export_op(Export& out, const ir::Size&) {
  out.emit("Size");
  return {};
}

Result<ir::Op> import_constant_of_shape(Import& in) {
  ir::ConstantOfShape op{in.attributes.tensor("value")};
  if (op.value == nullptr) op.value = std::make_shared<const Tensor>(Tensor::of<float>(Shape{1}, {0.0f}));
  if (op.value->elements() != 1) {
    return bad_input(fmt::format("attribute 'value' has {} elements instead of one", op.value->elements()));
  }
  return ir::Op(std::move(op));
}
Status export_op(Export& out, const ir::ConstantOfShape& op) {
  out.emit("ConstantOfShape", {{"value", op.value}});
  return {};
}

Result<ir::Op> import_range(Import&) { return ir::Op(ir::Range{}); }
Status export_op(Export& out, const ir::Range&) {
  out.emit("Range");
  return {};
}

Result<ir::Op> import_eye_like(Import& in) {
  ir::EyeLike op{.k = in.attributes.integer("k", 0), .to = in.dtype(0)};
  if (in.attributes.has("dtype")) {
    const int64_t number = in.attributes.integer("dtype", 1);
    const auto dtype = dtype_from_onnx(number);
    if (!dtype) return unsupported("EyeLike of type " + onnx_type_name(number));
    op.to = *dtype;
  }
  return ir::Op(op);
}
Status export_op(Export& out, const ir::EyeLike& op) {
  out.emit("EyeLike", {{"k", op.k}, {"dtype", dtype_to_onnx(op.to)}});
  return {};
}

Result<ir::Op> import_non_zero(Import&) { return ir::Op(ir::NonZero{}); }
Status export_op(Export& out, const ir::NonZero&) {
  out.emit("NonZero");
  return {};
}

}  // namespace tandem::onnx_io
