// SPDX-License-Identifier: Apache-2.0
// Ops that work element by element.
#include <array>
#include <limits>

#include "tandem/onnx_io/export.hpp"
#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {
namespace {

using ir::BinaryKind;
using ir::UnaryKind;

struct UnaryName {
  UnaryKind kind;
  std::string_view op_type;
};
// Those that carry no attribute.
constexpr std::array kPlainUnaries = {
    UnaryName{UnaryKind::kRelu, "Relu"},         UnaryName{UnaryKind::kHardSwish, "HardSwish"},
    UnaryName{UnaryKind::kSigmoid, "Sigmoid"},   UnaryName{UnaryKind::kTanh, "Tanh"},
    UnaryName{UnaryKind::kSoftplus, "Softplus"}, UnaryName{UnaryKind::kSoftsign, "Softsign"},
    UnaryName{UnaryKind::kErf, "Erf"},           UnaryName{UnaryKind::kSqrt, "Sqrt"},
    UnaryName{UnaryKind::kExp, "Exp"},           UnaryName{UnaryKind::kLog, "Log"},
    UnaryName{UnaryKind::kNeg, "Neg"},           UnaryName{UnaryKind::kAbs, "Abs"},
    UnaryName{UnaryKind::kSign, "Sign"},         UnaryName{UnaryKind::kFloor, "Floor"},
    UnaryName{UnaryKind::kCeil, "Ceil"},         UnaryName{UnaryKind::kRound, "Round"},
    UnaryName{UnaryKind::kNot, "Not"},           UnaryName{UnaryKind::kReciprocal, "Reciprocal"},
    UnaryName{UnaryKind::kSin, "Sin"},           UnaryName{UnaryKind::kCos, "Cos"},
    UnaryName{UnaryKind::kTan, "Tan"},           UnaryName{UnaryKind::kAsin, "Asin"},
    UnaryName{UnaryKind::kAcos, "Acos"},         UnaryName{UnaryKind::kAtan, "Atan"},
    UnaryName{UnaryKind::kSinh, "Sinh"},         UnaryName{UnaryKind::kCosh, "Cosh"},
    UnaryName{UnaryKind::kAsinh, "Asinh"},       UnaryName{UnaryKind::kAcosh, "Acosh"},
    UnaryName{UnaryKind::kAtanh, "Atanh"},       UnaryName{UnaryKind::kIsNan, "IsNaN"},
    UnaryName{UnaryKind::kMish, "Mish"},         UnaryName{UnaryKind::kBitwiseNot, "BitwiseNot"}};

struct ParameterUnary {
  UnaryKind kind;
  std::string_view op_type;
  std::string_view alpha;
  float alpha_default;
  std::string_view beta;  // empty: no second parameter
  float beta_default;
};
constexpr std::array kParameterUnaries = {
    ParameterUnary{UnaryKind::kLeakyRelu, "LeakyRelu", "alpha", 0.01f, "", 0},
    ParameterUnary{UnaryKind::kElu, "Elu", "alpha", 1, "", 0},
    ParameterUnary{UnaryKind::kSelu, "Selu", "alpha", 1.67326319217681884765625f, "gamma",
                   1.05070102214813232421875f},
    ParameterUnary{UnaryKind::kCelu, "Celu", "alpha", 1, "", 0},
    ParameterUnary{UnaryKind::kThresholdedRelu, "ThresholdedRelu", "alpha", 1, "", 0},
    ParameterUnary{UnaryKind::kHardSigmoid, "HardSigmoid", "alpha", 0.2f, "beta", 0.5f},
    ParameterUnary{UnaryKind::kShrink, "Shrink", "lambd", 0.5f, "bias", 0}};

struct BinaryName {
  BinaryKind kind;
  std::string_view op_type;
};
constexpr std::array kBinaries = {BinaryName{BinaryKind::kAdd, "Add"},
                                  BinaryName{BinaryKind::kSub, "Sub"},
                                  BinaryName{BinaryKind::kMul, "Mul"},
                                  BinaryName{BinaryKind::kDiv, "Div"},
                                  BinaryName{BinaryKind::kPow, "Pow"},
                                  BinaryName{BinaryKind::kMod, "Mod"},
                                  BinaryName{BinaryKind::kPRelu, "PRelu"},
                                  BinaryName{BinaryKind::kAnd, "And"},
                                  BinaryName{BinaryKind::kOr, "Or"},
                                  BinaryName{BinaryKind::kXor, "Xor"},
                                  BinaryName{BinaryKind::kEqual, "Equal"},
                                  BinaryName{BinaryKind::kGreater, "Greater"},
                                  BinaryName{BinaryKind::kLess, "Less"},
                                  BinaryName{BinaryKind::kGreaterOrEqual, "GreaterOrEqual"},
                                  BinaryName{BinaryKind::kLessOrEqual, "LessOrEqual"},
                                  BinaryName{BinaryKind::kShiftLeft, "BitShift"},
                                  BinaryName{BinaryKind::kShiftRight, "BitShift"},
                                  BinaryName{BinaryKind::kBitwiseAnd, "BitwiseAnd"},
                                  BinaryName{BinaryKind::kBitwiseOr, "BitwiseOr"},
                                  BinaryName{BinaryKind::kBitwiseXor, "BitwiseXor"}};

// Before opset 7, B lined up with A's dimensions from `axis` on, and only when `broadcast` said so. Today's
// rule lines up the last dimensions, so B gets ones behind.
Status upgrade_broadcast(Import& in) {
  const bool wanted = in.attributes.flag("broadcast", false);
  const bool has_axis = in.attributes.has("axis");
  const int64_t axis = in.attributes.integer("axis", 0);
  if (!wanted || !has_axis) return {};
  const auto a = in.shape(0);
  const auto b = in.shape(1);
  if (!a || !b)
    return unsupported("broadcast along an axis of opset 6, and the ranks of the inputs are not known");
  const int64_t rank = static_cast<int64_t>(a->rank());
  const int64_t start = axis < 0 ? axis + rank : axis;
  const int64_t behind = rank - start - static_cast<int64_t>(b->rank());
  if (start < 0 || behind < 0)
    return bad_input(
        fmt::format("axis {} does not fit inputs of {} and {}", axis, a->to_string(), b->to_string()));
  if (behind == 0 || b->rank() == 0) return {};
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < behind; ++i) axes.push_back(static_cast<int64_t>(b->rank()) + i);
  in.inputs[1] = in.emit(ir::Unsqueeze{}, {in.inputs[1], in.integers("broadcast_axes", axes)}, "broadcast");
  return {};
}

int64_t unary_opset(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kHardSwish: return 14;
    case UnaryKind::kMish:
    case UnaryKind::kBitwiseNot: return 18;
    case UnaryKind::kGelu:
    case UnaryKind::kGeluTanh: return 20;
    default: return 13;
  }
}

}  // namespace

Result<ir::Op> import_unary(Import& in) {
  for (const auto& plain : kPlainUnaries) {
    if (plain.op_type == in.op_type) return ir::Op(ir::Unary{.kind = plain.kind});
  }
  for (const auto& u : kParameterUnaries) {
    if (u.op_type != in.op_type) continue;
    ir::Unary op{.kind = u.kind, .alpha = in.attributes.real(u.alpha, u.alpha_default)};
    if (!u.beta.empty()) op.beta = in.attributes.real(u.beta, u.beta_default);
    return ir::Op(op);
  }
  if (in.op_type == "IsInf") {
    return ir::Op(ir::Unary{.kind = UnaryKind::kIsInf,
                            .alpha = in.attributes.flag("detect_negative", true) ? 1.0f : 0.0f,
                            .beta = in.attributes.flag("detect_positive", true) ? 1.0f : 0.0f});
  }
  if (in.op_type == "Gelu") {
    const std::string approximate = in.attributes.text("approximate", "none");
    if (approximate != "none" && approximate != "tanh") {
      return bad_input("attribute 'approximate' is '" + approximate + "', not none or tanh");
    }
    return ir::Op(ir::Unary{.kind = approximate == "tanh" ? UnaryKind::kGeluTanh : UnaryKind::kGelu});
  }
  if (in.op_type == "Swish") {
    const float alpha = in.attributes.real("alpha", 1);
    if (alpha == 1) return ir::Op(ir::Unary{.kind = UnaryKind::kSilu});
    if (!in.has_input(0)) return bad_input("it has no input");
    const ir::ValueId scaled =
        in.emit(ir::Binary{.kind = BinaryKind::kMul}, {in.inputs[0], in.scalar("alpha", alpha, 0)}, "scaled");
    in.set_input(1, in.emit(ir::Unary{.kind = UnaryKind::kSigmoid}, {scaled}, "gate"));
    return ir::Op(ir::Binary{.kind = BinaryKind::kMul});
  }
  return internal_error("no unary operator '" + in.op_type + "'");
}

Status export_op(Export& out, const ir::Unary& op) {
  out.require(unary_opset(op.kind), ir::enum_name(op.kind));
  for (const auto& plain : kPlainUnaries) {
    if (plain.kind == op.kind) {
      out.emit(std::string(plain.op_type));
      return {};
    }
  }
  for (const auto& u : kParameterUnaries) {
    if (u.kind != op.kind) continue;
    ir::AttributeMap attributes{{std::string(u.alpha), double{op.alpha}}};
    if (!u.beta.empty()) attributes[std::string(u.beta)] = double{op.beta};
    out.emit(std::string(u.op_type), std::move(attributes));
    return {};
  }
  switch (op.kind) {
    case UnaryKind::kIsInf:
      out.emit("IsInf",
               {{"detect_negative", int64_t{op.alpha != 0}}, {"detect_positive", int64_t{op.beta != 0}}});
      return {};
    case UnaryKind::kGelu: out.emit("Gelu"); return {};
    case UnaryKind::kGeluTanh: out.emit("Gelu", {{"approximate", std::string("tanh")}}); return {};
    case UnaryKind::kSilu: out.emit_silu(out.input(0), out.output(0)); return {};
    default: return internal_error(fmt::format("no ONNX name for {}", ir::enum_name(op.kind)));
  }
}

Result<ir::Op> import_clip(Import& in) {
  if (in.version < 11) {
    in.keep_inputs(1);
    if (in.attributes.has("min")) in.set_input(1, in.scalar("min", in.attributes.real("min", 0), 0));
    if (in.attributes.has("max")) in.set_input(2, in.scalar("max", in.attributes.real("max", 0), 0));
  }
  return ir::Op(ir::Clip{});
}

Status export_op(Export& out, const ir::Clip&) {
  out.emit("Clip");
  return {};
}

Result<ir::Op> import_binary(Import& in) {
  ir::Binary op;
  bool found = false;
  for (const auto& b : kBinaries) {
    if (b.op_type != in.op_type) continue;
    op.kind = b.kind;
    found = true;
    break;
  }
  if (!found) return internal_error("no binary operator '" + in.op_type + "'");
  if (in.op_type == "BitShift") {
    const std::string direction = in.attributes.text("direction", "");
    if (direction != "LEFT" && direction != "RIGHT")
      return bad_input("attribute 'direction' is neither LEFT nor RIGHT");
    op.kind = direction == "LEFT" ? BinaryKind::kShiftLeft : BinaryKind::kShiftRight;
  }
  if (op.kind == BinaryKind::kMod) op.fmod = in.attributes.flag("fmod", false);
  if (in.version < 7 && in.domain.empty() && op.kind != BinaryKind::kPRelu) TANDEM_TRY(upgrade_broadcast(in));
  if (op.kind == BinaryKind::kPRelu && in.version < 7) {
    // Then, a slope of C elements ran along the channels whatever the rank.
    const auto x = in.shape(0);
    const auto slope = in.shape(1);
    if (x && slope && slope->rank() == 1 && (*slope)[0] != 1 && x->rank() > 2) {
      std::vector<int64_t> axes;
      for (size_t i = 1; i + 1 < x->rank(); ++i) axes.push_back(static_cast<int64_t>(i));
      in.inputs[1] = in.emit(ir::Unsqueeze{}, {in.inputs[1], in.integers("slope_axes", axes)}, "slope");
    }
  }
  return ir::Op(op);
}

Status export_op(Export& out, const ir::Binary& op) {
  ir::AttributeMap attributes;
  if (op.kind == BinaryKind::kMod && op.fmod) attributes["fmod"] = int64_t{1};
  if (op.kind == BinaryKind::kShiftLeft) attributes["direction"] = std::string("LEFT");
  if (op.kind == BinaryKind::kShiftRight) attributes["direction"] = std::string("RIGHT");
  if (op.kind >= BinaryKind::kBitwiseAnd) out.require(18, ir::enum_name(op.kind));
  const std::string result = out.before_activation(op.activation);
  out.emit(std::string(kBinaries[static_cast<size_t>(op.kind)].op_type), out.all_inputs(), {result},
           std::move(attributes));
  out.emit_activation(op.activation, result);
  return {};
}

Result<ir::Op> import_variadic(Import& in) {
  if (in.inputs.empty()) return bad_input("it has no input");
  const auto kind = in.op_type == "Sum"    ? ir::VariadicKind::kSum
                    : in.op_type == "Mean" ? ir::VariadicKind::kMean
                    : in.op_type == "Max"  ? ir::VariadicKind::kMax
                                           : ir::VariadicKind::kMin;
  return ir::Op(ir::Variadic{kind});
}

Status export_op(Export& out, const ir::Variadic& op) {
  switch (op.kind) {
    case ir::VariadicKind::kSum: out.emit("Sum"); break;
    case ir::VariadicKind::kMean: out.emit("Mean"); break;
    case ir::VariadicKind::kMax: out.emit("Max"); break;
    case ir::VariadicKind::kMin: out.emit("Min"); break;
  }
  return {};
}

Result<ir::Op> import_where(Import&) { return ir::Op(ir::Where{}); }
Status export_op(Export& out, const ir::Where&) {
  out.emit("Where");
  return {};
}

Result<ir::Op> import_cast(Import& in) {
  // Kept as strings by the oldest writers ("FLOAT").
  static constexpr std::array<std::pair<std::string_view, int64_t>, 13> kNames = {{{"FLOAT", 1},
                                                                                   {"UINT8", 2},
                                                                                   {"INT8", 3},
                                                                                   {"UINT16", 4},
                                                                                   {"INT16", 5},
                                                                                   {"INT32", 6},
                                                                                   {"INT64", 7},
                                                                                   {"BOOL", 9},
                                                                                   {"FLOAT16", 10},
                                                                                   {"DOUBLE", 11},
                                                                                   {"UINT32", 12},
                                                                                   {"UINT64", 13},
                                                                                   {"BFLOAT16", 16}}};
  int64_t to = 0;
  const auto given = in.attributes.map().find("to");
  if (given != in.attributes.map().end() && std::holds_alternative<std::string>(given->second)) {
    const std::string text = in.attributes.text("to", "");
    for (const auto& [name, number] : kNames) {
      if (name == text) to = number;
    }
    if (to == 0) return unsupported("a cast to " + text);
  } else {
    to = in.attributes.required_integer("to");
  }
  in.attributes.ignore("saturate");  // both concern float8 only
  in.attributes.ignore("round_mode");
  const auto dtype = dtype_from_onnx(to);
  if (!dtype) return unsupported("a cast to " + onnx_type_name(to));
  return ir::Op(ir::Cast{*dtype});
}

Status export_op(Export& out, const ir::Cast& op) {
  out.emit("Cast", {{"to", dtype_to_onnx(op.to)}});
  return {};
}

Result<ir::Op> import_cast_like(Import& in) {
  in.attributes.ignore("saturate");
  in.attributes.ignore("round_mode");
  return ir::Op(ir::CastLike{});
}
Status export_op(Export& out, const ir::CastLike&) {
  out.require(15, "CastLike");
  out.emit("CastLike");
  return {};
}

Result<ir::Op> import_identity(Import&) { return ir::Op(ir::Identity{}); }
Status export_op(Export& out, const ir::Identity&) {
  out.emit("Identity");
  return {};
}

Result<ir::Op> import_dropout(Import& in) {
  ir::Dropout op;
  op.seed = in.attributes.integer("seed", 0);
  if (in.version < 12) {
    in.keep_inputs(1);
    if (in.attributes.has("ratio")) in.set_input(1, in.scalar("ratio", in.attributes.real("ratio", 0.5f), 0));
    if (in.version < 7 && !in.attributes.flag("is_test", false)) {
      in.notice("Dropout was written for training (is_test = 0); it is read for inference");
    }
  }
  return ir::Op(op);
}

Status export_op(Export& out, const ir::Dropout& op) {
  ir::AttributeMap attributes;
  if (op.seed != 0) attributes["seed"] = op.seed;
  out.emit("Dropout", std::move(attributes));
  return {};
}

}  // namespace tandem::onnx_io
