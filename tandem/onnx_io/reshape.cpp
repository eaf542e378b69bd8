// SPDX-License-Identifier: Apache-2.0
// Ops that change the shape only.
#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {

Result<ir::Op> import_reshape(Import& in) {
  if (in.version < 5) {
    in.keep_inputs(1);
    in.set_input(1, in.integers("shape", in.attributes.required_integers("shape")));
  }
  return ir::Op(ir::Reshape{in.attributes.flag("allowzero", false)});
}
Status export_op(Export& out, const ir::Reshape& op) {
  ir::AttributeMap attributes;
  if (op.allowzero) {
    attributes["allowzero"] = int64_t{1};
    out.require(14, "Reshape with allowzero");
  }
  out.emit("Reshape", std::move(attributes));
  return {};
}

Result<ir::Op> import_flatten(Import& in) { return ir::Op(ir::Flatten{in.attributes.integer("axis", 1)}); }
Status export_op(Export& out, const ir::Flatten& op) {
  out.emit("Flatten", {{"axis", op.axis}});
  return {};
}

Result<ir::Op> import_squeeze(Import& in) {
  if (in.version < 13) {
    in.keep_inputs(1);
    if (in.attributes.has("axes")) in.set_input(1, in.integers("axes", in.attributes.integers("axes")));
  }
  return ir::Op(ir::Squeeze{});
}
Status export_op(Export& out, const ir::Squeeze&) {
  out.emit("Squeeze");
  return {};
}

Result<ir::Op> import_unsqueeze(Import& in) {
  if (in.version < 13) {
    in.keep_inputs(1);
    in.set_input(1, in.integers("axes", in.attributes.required_integers("axes")));
  }
  return ir::Op(ir::Unsqueeze{});
}
Status export_op(Export& out, const ir::Unsqueeze&) {
  out.emit("Unsqueeze");
  return {};
}

}  // namespace tandem::onnx_io
