// SPDX-License-Identifier: Apache-2.0
// Losses.
#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {
namespace {

template <typename Loss>
Result<ir::Op> import_loss(Import& in) {
  Loss op;
  const std::string name = in.attributes.text("reduction", "mean");
  const auto reduction = ir::enum_from_name<ir::LossReduction>(name);
  if (!reduction) return bad_input("attribute 'reduction' is '" + name + "'");
  op.reduction = *reduction;
  op.has_ignore_index = in.attributes.has("ignore_index");
  op.ignore_index = in.attributes.integer("ignore_index", 0);
  return ir::Op(op);
}

template <typename Loss>
ir::AttributeMap loss_attributes(const Loss& op) {
  ir::AttributeMap attributes{{"reduction", std::string(ir::enum_name(op.reduction))}};
  if (op.has_ignore_index) attributes["ignore_index"] = op.ignore_index;
  return attributes;
}

}  // namespace

Result<ir::Op> import_softmax_cross_entropy_loss(Import& in) {
  return import_loss<ir::SoftmaxCrossEntropyLoss>(in);
}
Status export_op(Export& out, const ir::SoftmaxCrossEntropyLoss& op) {
  out.emit("SoftmaxCrossEntropyLoss", loss_attributes(op));
  return {};
}

Result<ir::Op> import_negative_log_likelihood_loss(Import& in) {
  return import_loss<ir::NegativeLogLikelihoodLoss>(in);
}
Status export_op(Export& out, const ir::NegativeLogLikelihoodLoss& op) {
  out.emit("NegativeLogLikelihoodLoss", loss_attributes(op));
  return {};
}

}  // namespace tandem::onnx_io
