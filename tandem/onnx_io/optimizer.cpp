// SPDX-License-Identifier: Apache-2.0
// Optimizer steps, of ONNX's training domains.
#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {
namespace {
constexpr const char* kTraining = "ai.onnx.preview.training";
}

Result<ir::Op> import_adam(Import& in) {
  ir::Adam op;
  op.alpha = in.attributes.real("alpha", 0.9f);
  op.beta = in.attributes.real("beta", 0.999f);
  op.epsilon = in.attributes.real("epsilon", 1e-6f);
  op.norm_coefficient = in.attributes.real("norm_coefficient", 0);
  op.norm_coefficient_post = in.attributes.real("norm_coefficient_post", 0);
  return ir::Op(op);
}
Status export_op(Export& out, const ir::Adam& op) {
  out.emit("Adam", out.all_inputs(), out.all_outputs(),
           {{"alpha", double{op.alpha}},
            {"beta", double{op.beta}},
            {"epsilon", double{op.epsilon}},
            {"norm_coefficient", double{op.norm_coefficient}},
            {"norm_coefficient_post", double{op.norm_coefficient_post}}},
           kTraining);
  return {};
}

Result<ir::Op> import_momentum(Import& in) {
  ir::Momentum op;
  op.alpha = in.attributes.real("alpha", 0);
  op.beta = in.attributes.real("beta", 0);
  op.norm_coefficient = in.attributes.real("norm_coefficient", 0);
  const std::string name = in.attributes.text("mode", "standard");
  const auto mode = ir::enum_from_name<ir::MomentumMode>(name);
  if (!mode) return bad_input("attribute 'mode' is '" + name + "', not standard or nesterov");
  op.mode = *mode;
  return ir::Op(op);
}
Status export_op(Export& out, const ir::Momentum& op) {
  out.emit("Momentum", out.all_inputs(), out.all_outputs(),
           {{"alpha", double{op.alpha}},
            {"beta", double{op.beta}},
            {"norm_coefficient", double{op.norm_coefficient}},
            {"mode", std::string(ir::enum_name(op.mode))}},
           kTraining);
  return {};
}

Result<ir::Op> import_adagrad(Import& in) {
  ir::Adagrad op;
  op.norm_coefficient = in.attributes.real("norm_coefficient", 0);
  op.epsilon = in.attributes.real("epsilon", 1e-6f);
  op.decay_factor = in.attributes.real("decay_factor", 0);
  return ir::Op(op);
}
Status export_op(Export& out, const ir::Adagrad& op) {
  out.emit("Adagrad", out.all_inputs(), out.all_outputs(),
           {{"norm_coefficient", double{op.norm_coefficient}},
            {"epsilon", double{op.epsilon}},
            {"decay_factor", double{op.decay_factor}}},
           kTraining);
  return {};
}

}  // namespace tandem::onnx_io
