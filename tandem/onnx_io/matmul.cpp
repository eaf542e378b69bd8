// SPDX-License-Identifier: Apache-2.0
// Gemm and MatMul.
#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {

Result<ir::Op> import_gemm(Import& in) {
  ir::Gemm op;
  op.alpha = in.attributes.real("alpha", 1);
  op.beta = in.attributes.real("beta", 1);
  op.trans_a = in.attributes.flag("transA", false);
  op.trans_b = in.attributes.flag("transB", false);
  in.attributes.ignore("broadcast");  // below opset 7: C broadcasts, as it always does since
  in.keep_inputs(3);
  return ir::Op(op);
}

Result<ir::Op> import_matmul(Import&) { return ir::Op(ir::MatMul{}); }

Status export_op(Export& out, const ir::Gemm& op) {
  ir::AttributeMap attributes;
  if (op.alpha != 1) attributes["alpha"] = double{op.alpha};
  if (op.beta != 1) attributes["beta"] = double{op.beta};
  if (op.trans_a) attributes["transA"] = int64_t{1};
  if (op.trans_b) attributes["transB"] = int64_t{1};
  const std::string result = out.before_activation(op.activation);
  out.emit("Gemm", out.all_inputs(), {result}, std::move(attributes));
  out.emit_activation(op.activation, result);
  return {};
}

Status export_op(Export& out, const ir::MatMul&) {
  out.emit("MatMul");
  return {};
}

}  // namespace tandem::onnx_io
