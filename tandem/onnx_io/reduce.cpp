// SPDX-License-Identifier: Apache-2.0
// Reductions and scans.
#include <array>

#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {
namespace {

// In the order of ReduceKind.
constexpr std::array<std::string_view, 10> kReduceNames = {
    "ReduceSum", "ReduceMean", "ReduceMax",    "ReduceMin",       "ReduceProd",
    "ReduceL1",  "ReduceL2",   "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"};

}  // namespace

Result<ir::Op> import_reduce(Import& in) {
  ir::Reduce op;
  for (size_t i = 0; i < kReduceNames.size(); ++i) {
    if (kReduceNames[i] == in.op_type) op.kind = static_cast<ir::ReduceKind>(i);
  }
  op.keepdims = in.attributes.flag("keepdims", true);
  const int64_t axes_are_input_since = op.kind == ir::ReduceKind::kSum ? 13 : 18;
  if (in.version < axes_are_input_since) {
    in.keep_inputs(1);
    if (in.attributes.has("axes")) in.set_input(1, in.integers("axes", in.attributes.integers("axes")));
  } else {
    op.noop_with_empty_axes = in.attributes.flag("noop_with_empty_axes", false);
  }
  return ir::Op(op);
}

Status export_op(Export& out, const ir::Reduce& op) {
  ir::AttributeMap attributes{{"keepdims", int64_t{op.keepdims}}};
  const std::string name(kReduceNames[static_cast<size_t>(op.kind)]);
  if (op.noop_with_empty_axes) {
    attributes["noop_with_empty_axes"] = int64_t{1};
    if (op.kind != ir::ReduceKind::kSum) out.require(18, name + " with noop_with_empty_axes");
  }
  if (op.kind == ir::ReduceKind::kSum || out.at_least(18) || !out.has_input(1)) {
    out.emit(name, std::move(attributes));
    return {};
  }
  const auto axes = out.constant_integers(1);
  if (!axes) {
    out.require(18, name + " with axes that are not constant");
    out.emit(name, std::move(attributes));
    return {};
  }
  // An empty list as an input means all axes; as an attribute of older opsets as well.
  if (!axes->empty()) attributes["axes"] = *axes;
  out.emit(name, out.inputs_from(0, 1), out.all_outputs(), std::move(attributes));
  return {};
}

Result<ir::Op> import_arg_reduce(Import& in) {
  return ir::Op(
      ir::ArgReduce{.kind = in.op_type == "ArgMin" ? ir::ArgReduceKind::kMin : ir::ArgReduceKind::kMax,
                    .axis = in.attributes.integer("axis", 0),
                    .keepdims = in.attributes.flag("keepdims", true),
                    .select_last_index = in.attributes.flag("select_last_index", false)});
}
Status export_op(Export& out, const ir::ArgReduce& op) {
  ir::AttributeMap attributes{{"axis", op.axis}, {"keepdims", int64_t{op.keepdims}}};
  if (op.select_last_index) attributes["select_last_index"] = int64_t{1};
  out.emit(op.kind == ir::ArgReduceKind::kMin ? "ArgMin" : "ArgMax", std::move(attributes));
  return {};
}

Result<ir::Op> import_cum_sum(Import& in) {
  return ir::Op(ir::CumSum{.exclusive = in.attributes.flag("exclusive", false),
                           .reverse = in.attributes.flag("reverse", false)});
}
Status export_op(Export& out, const ir::CumSum& op) {
  ir::AttributeMap attributes;
  if (op.exclusive) attributes["exclusive"] = int64_t{1};
  if (op.reverse) attributes["reverse"] = int64_t{1};
  out.emit("CumSum", std::move(attributes));
  return {};
}

Result<ir::Op> import_top_k(Import& in) {
  ir::TopK op{.axis = in.attributes.integer("axis", -1)};
  if (in.version < 10) {
    in.keep_inputs(1);
    in.set_input(1, in.integers("k", {in.attributes.required_integer("k")}));
  } else {
    op.largest = in.attributes.flag("largest", true);
    op.sorted = in.attributes.flag("sorted", true);
  }
  return ir::Op(op);
}
Status export_op(Export& out, const ir::TopK& op) {
  out.emit("TopK", {{"axis", op.axis}, {"largest", int64_t{op.largest}}, {"sorted", int64_t{op.sorted}}});
  return {};
}

}  // namespace tandem::onnx_io
