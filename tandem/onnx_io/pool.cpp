// SPDX-License-Identifier: Apache-2.0
// Pools over windows and over everything.
#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {

Result<ir::Op> import_pool(Import& in) {
  ir::Pool op;
  op.window = TANDEM_TRY(read_window(in));
  if (op.window.kernel.empty()) return bad_input("attribute 'kernel_shape' is missing");
  op.ceil_mode = in.attributes.flag("ceil_mode", false);
  if (in.op_type == "AveragePool") {
    op.kind = ir::PoolKind::kAverage;
    op.count_include_pad = in.attributes.flag("count_include_pad", false);
  } else if (in.op_type == "LpPool") {
    if (in.version < 2) return unsupported("LpPool of opset 1");
    op.kind = ir::PoolKind::kLp;
    op.p = in.attributes.integer("p", 2);
  } else {
    op.storage_order = in.attributes.integer("storage_order", 0);
  }
  return ir::Op(std::move(op));
}

Result<ir::Op> import_global_pool(Import& in) {
  ir::GlobalPool op;
  if (in.op_type == "GlobalMaxPool") op.kind = ir::PoolKind::kMax;
  if (in.op_type == "GlobalLpPool") {
    if (in.version < 2) return unsupported("GlobalLpPool of opset 1");
    op.kind = ir::PoolKind::kLp;
    op.p = in.attributes.integer("p", 2);
  }
  return ir::Op(op);
}

Status export_op(Export& out, const ir::Pool& op) {
  ir::AttributeMap attributes;
  put_window(attributes, op.window);
  const bool dilated = !op.window.dilations.empty();
  if (op.ceil_mode) attributes["ceil_mode"] = int64_t{1};
  switch (op.kind) {
    case ir::PoolKind::kMax:
      if (op.storage_order != 0) attributes["storage_order"] = op.storage_order;
      out.emit("MaxPool", std::move(attributes));
      break;
    case ir::PoolKind::kAverage:
      if (op.count_include_pad) attributes["count_include_pad"] = int64_t{1};
      if (dilated) out.require(19, "AveragePool with dilations");
      out.emit("AveragePool", std::move(attributes));
      break;
    case ir::PoolKind::kLp:
      attributes["p"] = op.p;
      if (dilated || op.ceil_mode) out.require(18, "LpPool with dilations or ceil_mode");
      out.emit("LpPool", std::move(attributes));
      break;
  }
  return {};
}

Status export_op(Export& out, const ir::GlobalPool& op) {
  switch (op.kind) {
    case ir::PoolKind::kMax: out.emit("GlobalMaxPool"); break;
    case ir::PoolKind::kAverage: out.emit("GlobalAveragePool"); break;
    case ir::PoolKind::kLp: out.emit("GlobalLpPool", {{"p", op.p}}); break;
  }
  return {};
}

}  // namespace tandem::onnx_io
