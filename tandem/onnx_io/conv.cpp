// SPDX-License-Identifier: Apache-2.0
// Conv and ConvTranspose, and the window attributes that pools share.
#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {

Result<ir::Window> read_window(Import& in) {
  ir::Window window;
  window.kernel = in.attributes.integers("kernel_shape");
  window.strides = in.attributes.integers("strides");
  window.dilations = in.attributes.integers("dilations");
  window.pads = in.attributes.integers("pads");
  const std::string auto_pad = in.attributes.text("auto_pad", "NOTSET");
  if (auto_pad == "SAME_UPPER") {
    window.auto_pad = ir::AutoPad::kSameUpper;
  } else if (auto_pad == "SAME_LOWER") {
    window.auto_pad = ir::AutoPad::kSameLower;
  } else if (auto_pad == "VALID") {
    window.auto_pad = ir::AutoPad::kValid;
  } else if (auto_pad != "NOTSET" && !auto_pad.empty()) {
    return bad_input("auto_pad '" + auto_pad + "' is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID");
  }
  // ONNX lets a writer state both; the rule wins and the numbers are ignored.
  if (window.auto_pad != ir::AutoPad::kExplicit) window.pads.clear();
  return window;
}

void put_window(ir::AttributeMap& attributes, const ir::Window& window) {
  if (!window.kernel.empty()) attributes["kernel_shape"] = window.kernel;
  if (!window.strides.empty()) attributes["strides"] = window.strides;
  if (!window.dilations.empty()) attributes["dilations"] = window.dilations;
  if (!window.pads.empty()) attributes["pads"] = window.pads;
  switch (window.auto_pad) {
    case ir::AutoPad::kExplicit: break;
    case ir::AutoPad::kSameUpper: attributes["auto_pad"] = std::string("SAME_UPPER"); break;
    case ir::AutoPad::kSameLower: attributes["auto_pad"] = std::string("SAME_LOWER"); break;
    case ir::AutoPad::kValid: attributes["auto_pad"] = std::string("VALID"); break;
  }
}

Result<ir::Op> import_conv(Import& in) {
  ir::Conv op;
  op.window = TANDEM_TRY(read_window(in));
  op.group = in.attributes.integer("group", 1);
  in.keep_inputs(3);  // the fourth input of the IR is its own
  return ir::Op(std::move(op));
}

Result<ir::Op> import_conv_transpose(Import& in) {
  ir::ConvTranspose op;
  op.window = TANDEM_TRY(read_window(in));
  op.group = in.attributes.integer("group", 1);
  op.output_padding = in.attributes.integers("output_padding");
  op.output_shape = in.attributes.integers("output_shape");
  in.keep_inputs(3);
  // Some writers give the whole shape; the IR keeps the spatial part.
  const auto weight = in.shape(1);
  if (weight && weight->rank() >= 2 && op.output_shape.size() == weight->rank()) {
    op.output_shape.erase(op.output_shape.begin(), op.output_shape.begin() + 2);
  }
  return ir::Op(std::move(op));
}

Status export_op(Export& out, const ir::Conv& op) {
  ir::AttributeMap attributes;
  put_window(attributes, op.window);
  if (op.group != 1) attributes["group"] = op.group;
  std::vector<std::string> inputs = out.inputs_from(0, 3);
  if (!out.has_input(3)) {
    const std::string result = out.before_activation(op.activation);
    out.emit("Conv", std::move(inputs), {result}, std::move(attributes));
    out.emit_activation(op.activation, result);
    return {};
  }
  // The residual sum becomes an Add of its own, before the activation.
  const std::string convolved = out.fresh(out.output(0) + "_conv");
  out.emit("Conv", std::move(inputs), {convolved}, std::move(attributes));
  const std::string sum = out.before_activation(op.activation);
  out.emit("Add", {convolved, out.input(3)}, {sum});
  out.emit_activation(op.activation, sum);
  return {};
}

Status export_op(Export& out, const ir::ConvTranspose& op) {
  ir::AttributeMap attributes;
  put_window(attributes, op.window);
  if (op.group != 1) attributes["group"] = op.group;
  if (!op.output_padding.empty()) attributes["output_padding"] = op.output_padding;
  if (!op.output_shape.empty()) attributes["output_shape"] = op.output_shape;
  const std::string result = out.before_activation(op.activation);
  out.emit("ConvTranspose", out.all_inputs(), {result}, std::move(attributes));
  out.emit_activation(op.activation, result);
  return {};
}

}  // namespace tandem::onnx_io
