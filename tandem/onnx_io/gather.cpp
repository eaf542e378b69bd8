// SPDX-License-Identifier: Apache-2.0
// Ops that pick or place elements by index.
#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {
namespace {

Result<ir::ScatterReduction> read_reduction(Import& in) {
  const std::string name = in.attributes.text("reduction", "none");
  const auto reduction = ir::enum_from_name<ir::ScatterReduction>(name);
  if (!reduction) return bad_input("attribute 'reduction' is '" + name + "'");
  return *reduction;
}

void put_reduction(Export& out, ir::AttributeMap& attributes, ir::ScatterReduction reduction) {
  if (reduction == ir::ScatterReduction::kNone) return;
  attributes["reduction"] = std::string(ir::enum_name(reduction));
  const bool arithmetic = reduction == ir::ScatterReduction::kAdd || reduction == ir::ScatterReduction::kMul;
  out.require(arithmetic ? 16 : 18, "scatter with a reduction");
}

}  // namespace

Result<ir::Op> import_gather(Import& in) { return ir::Op(ir::Gather{in.attributes.integer("axis", 0)}); }
Status export_op(Export& out, const ir::Gather& op) {
  out.emit("Gather", {{"axis", op.axis}});
  return {};
}

Result<ir::Op> import_gather_elements(Import& in) {
  return ir::Op(ir::GatherElements{in.attributes.integer("axis", 0)});
}
Status export_op(Export& out, const ir::GatherElements& op) {
  out.emit("GatherElements", {{"axis", op.axis}});
  return {};
}

Result<ir::Op> import_gather_nd(Import& in) {
  return ir::Op(ir::GatherNd{in.attributes.integer("batch_dims", 0)});
}
Status export_op(Export& out, const ir::GatherNd& op) {
  ir::AttributeMap attributes;
  if (op.batch_dims != 0) attributes["batch_dims"] = op.batch_dims;
  out.emit("GatherND", std::move(attributes));
  return {};
}

Result<ir::Op> import_scatter_elements(Import& in) {
  ir::ScatterElements op{.axis = in.attributes.integer("axis", 0)};
  op.reduction = TANDEM_TRY(read_reduction(in));
  return ir::Op(op);
}
Status export_op(Export& out, const ir::ScatterElements& op) {
  ir::AttributeMap attributes{{"axis", op.axis}};
  put_reduction(out, attributes, op.reduction);
  out.emit("ScatterElements", std::move(attributes));
  return {};
}

Result<ir::Op> import_scatter_nd(Import& in) { return ir::Op(ir::ScatterNd{TANDEM_TRY(read_reduction(in))}); }
Status export_op(Export& out, const ir::ScatterNd& op) {
  ir::AttributeMap attributes;
  put_reduction(out, attributes, op.reduction);
  out.emit("ScatterND", std::move(attributes));
  return {};
}

Result<ir::Op> import_one_hot(Import& in) { return ir::Op(ir::OneHot{in.attributes.integer("axis", -1)}); }
Status export_op(Export& out, const ir::OneHot& op) {
  out.emit("OneHot", {{"axis", op.axis}});
  return {};
}

}  // namespace tandem::onnx_io
