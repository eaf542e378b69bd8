// SPDX-License-Identifier: Apache-2.0
// Normalizations, softmax among them.
#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {

Result<ir::Op> import_softmax(Import& in) {
  ir::Softmax op;
  op.log = in.op_type == "LogSoftmax";
  op.flatten = in.version < 13;
  op.axis = in.attributes.integer("axis", op.flatten ? 1 : -1);
  // The same thing when only one dimension is behind the axis.
  const auto x = in.shape(0);
  if (op.flatten && x && (op.axis == -1 || op.axis == static_cast<int64_t>(x->rank()) - 1))
    op.flatten = false;
  return ir::Op(op);
}

Status export_op(Export& out, const ir::Softmax& op) {
  const std::string name = op.log ? "LogSoftmax" : "Softmax";
  if (!op.flatten) {
    out.emit(name, {{"axis", op.axis}});
    return {};
  }
  // Newer opsets cannot say it in one node.
  const std::string x = out.input(0);
  const std::string stem = out.output(0);
  const std::string shape = out.fresh(stem + "_shape");
  const std::string flat = out.fresh(stem + "_flat");
  const std::string normal = out.fresh(stem + "_normal");
  out.emit("Shape", {x}, {shape});
  out.emit("Flatten", {x}, {flat}, {{"axis", op.axis}});
  out.emit(name, {flat}, {normal}, {{"axis", int64_t{-1}}});
  out.emit("Reshape", {normal, shape}, {stem});
  return {};
}

Result<ir::Op> import_batch_norm(Import& in) {
  ir::BatchNorm op;
  op.epsilon = in.attributes.real("epsilon", 1e-5f);
  op.momentum = in.attributes.real("momentum", 0.9f);
  if (in.version < 9 && !in.attributes.flag("spatial", true)) {
    return unsupported("BatchNormalization with statistics per position (spatial = 0)");
  }
  bool statistics_used = false;
  for (size_t i = 1; i < in.outputs.size(); ++i) statistics_used = statistics_used || in.uses_output(i);
  if (in.version >= 14) {
    op.training = in.attributes.flag("training_mode", false);
    if (op.training) {
      in.notice(
          "BatchNormalization is in training mode: it normalizes by the batch, not by the running "
          "statistics");
    }
  } else {
    // Then, training was known by the outputs that are asked for.
    if (in.version < 7 && !in.attributes.flag("is_test", false) && !statistics_used) {
      in.notice("BatchNormalization was written for training (is_test = 0); its running statistics are used");
    }
    if (statistics_used) {
      if (in.uses_output(3) || in.uses_output(4)) {
        return unsupported("BatchNormalization whose saved mean or variance is used");
      }
      op.training = true;
      in.notice("BatchNormalization is in training form: its updated statistics are used");
    }
  }
  if (!op.training) in.keep_outputs(1);
  if (op.training) in.keep_outputs(3);
  return ir::Op(op);
}

Status export_op(Export& out, const ir::BatchNorm& op) {
  ir::AttributeMap attributes{{"epsilon", double{op.epsilon}}};
  if (op.momentum != 0.9f) attributes["momentum"] = double{op.momentum};
  if (op.training) {
    attributes["training_mode"] = int64_t{1};
    out.require(14, "BatchNormalization in training mode");
  }
  out.emit("BatchNormalization", std::move(attributes));
  return {};
}

Result<ir::Op> import_layer_norm(Import& in) {
  in.attributes.ignore("stash_type");  // the precision of the statistics; ours is at least f32
  return ir::Op(ir::LayerNorm{.axis = in.attributes.integer("axis", -1),
                              .epsilon = in.attributes.real("epsilon", 1e-5f)});
}
Status export_op(Export& out, const ir::LayerNorm& op) {
  out.require(17, "LayerNormalization");
  out.emit("LayerNormalization", {{"axis", op.axis}, {"epsilon", double{op.epsilon}}});
  return {};
}

Result<ir::Op> import_instance_norm(Import& in) {
  return ir::Op(ir::InstanceNorm{in.attributes.real("epsilon", 1e-5f)});
}
Status export_op(Export& out, const ir::InstanceNorm& op) {
  out.emit("InstanceNormalization", {{"epsilon", double{op.epsilon}}});
  return {};
}

Result<ir::Op> import_group_norm(Import& in) {
  in.attributes.ignore("stash_type");
  return ir::Op(ir::GroupNorm{.num_groups = in.attributes.required_integer("num_groups"),
                              .epsilon = in.attributes.real("epsilon", 1e-5f)});
}
Status export_op(Export& out, const ir::GroupNorm& op) {
  ir::AttributeMap attributes{{"num_groups", op.num_groups}, {"epsilon", double{op.epsilon}}};
  const auto x = out.input_shape(0);
  const auto scale = out.input_shape(1);
  const bool per_group = x && scale && x->rank() >= 2 && scale->rank() == 1 && (*scale)[0] == op.num_groups &&
                         (*x)[1] != op.num_groups && (*x)[1] != kDynamic;
  if (!per_group) {
    out.require(21, "GroupNormalization with a scale per channel");
    out.emit("GroupNormalization", std::move(attributes));
    return {};
  }
  out.require(18, "GroupNormalization");
  if (!out.at_least(21)) {
    out.emit("GroupNormalization", std::move(attributes));
    return {};
  }
  // From 21 on scale and bias are per channel: each group's entry is repeated.
  std::vector<std::string> inputs = {out.input(0)};
  const int64_t repeats = (*x)[1] / op.num_groups;
  for (size_t i = 1; i <= 2; ++i) {
    const std::string stem = out.output(0) + (i == 1 ? "_scale" : "_bias");
    const std::string column = out.fresh(stem + "_column"), wide = out.fresh(stem + "_wide"),
                      flat = out.fresh(stem);
    out.emit("Unsqueeze",
             {out.input(i), out.add_initializer(stem + "_axes", Tensor::of<int64_t>(Shape{1}, {1}))},
             {column});
    out.emit("Tile",
             {column, out.add_initializer(stem + "_repeats", Tensor::of<int64_t>(Shape{2}, {1, repeats}))},
             {wide});
    out.emit("Reshape", {wide, out.add_initializer(stem + "_shape", Tensor::of<int64_t>(Shape{1}, {-1}))},
             {flat});
    inputs.push_back(flat);
  }
  out.emit("GroupNormalization", std::move(inputs), out.all_outputs(), std::move(attributes));
  return {};
}

Result<ir::Op> import_lrn(Import& in) {
  return ir::Op(ir::Lrn{.size = in.attributes.required_integer("size"),
                        .alpha = in.attributes.real("alpha", 1e-4f),
                        .beta = in.attributes.real("beta", 0.75f),
                        .bias = in.attributes.real("bias", 1)});
}
Status export_op(Export& out, const ir::Lrn& op) {
  out.emit(
      "LRN",
      {{"size", op.size}, {"alpha", double{op.alpha}}, {"beta", double{op.beta}}, {"bias", double{op.bias}}});
  return {};
}

Result<ir::Op> import_lp_norm(Import& in) {
  return ir::Op(ir::LpNorm{.axis = in.attributes.integer("axis", -1), .p = in.attributes.integer("p", 2)});
}
Status export_op(Export& out, const ir::LpNorm& op) {
  out.emit("LpNormalization", {{"axis", op.axis}, {"p", op.p}});
  return {};
}

Result<ir::Op> import_mean_variance_norm(Import& in) {
  return ir::Op(ir::MeanVarianceNorm{in.attributes.integers("axes", {0, 2, 3})});
}
Status export_op(Export& out, const ir::MeanVarianceNorm& op) {
  out.emit("MeanVarianceNormalization", {{"axes", op.axes}});
  return {};
}

}  // namespace tandem::onnx_io
