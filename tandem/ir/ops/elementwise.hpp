// SPDX-License-Identifier: Apache-2.0
// Ops that work element by element, with NumPy broadcasting where they have several inputs.
#pragma once

#include "tandem/ir/infer.hpp"
#include "tandem/ir/ops/activation.hpp"

namespace tandem::ir {

enum class UnaryKind : uint8_t {
  kRelu,
  kLeakyRelu,
  kElu,
  kSelu,
  kCelu,
  kThresholdedRelu,
  kHardSigmoid,
  kHardSwish,
  kSigmoid,
  kTanh,
  kSoftplus,
  kSoftsign,
  kGelu,
  kGeluTanh,
  kSilu,
  kErf,
  kSqrt,
  kExp,
  kLog,
  kNeg,
  kAbs,
  kSign,
  kFloor,
  kCeil,
  kRound,
  kReciprocal,
  kNot,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kIsNan,
  kIsInf,
  kMish,
  kBitwiseNot,
  kShrink
};
template <>
struct EnumNames<UnaryKind> {
  static constexpr std::array<std::string_view, 43> names = {
      "relu",         "leaky_relu", "elu",     "selu",   "celu",     "thresholded_relu",
      "hard_sigmoid", "hard_swish", "sigmoid", "tanh",   "softplus", "softsign",
      "gelu",         "gelu_tanh",  "silu",    "erf",    "sqrt",     "exp",
      "log",          "neg",        "abs",     "sign",   "floor",    "ceil",
      "round",        "reciprocal", "not",     "sin",    "cos",      "tan",
      "asin",         "acos",       "atan",    "sinh",   "cosh",     "asinh",
      "acosh",        "atanh",      "is_nan",  "is_inf", "mish",     "bitwise_not",
      "shrink"};
};

struct Unary {
  static constexpr std::string_view kName = "Unary";
  UnaryKind kind = UnaryKind::kRelu;
  float alpha = 0;  // as ONNX names them; shrink: lambd; is_inf: detect_negative
  float beta = 0;   // selu: gamma; shrink: bias; is_inf: detect_positive
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind);
    f("alpha", s.alpha);
    f("beta", s.beta);
  }
};

// Inputs: x, min (scalar, optional), max (scalar, optional).
struct Clip {
  static constexpr std::string_view kName = "Clip";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

enum class BinaryKind : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kMod,
  kPRelu,
  kAnd,
  kOr,
  kXor,
  kEqual,
  kGreater,
  kLess,
  kGreaterOrEqual,
  kLessOrEqual,
  kShiftLeft,
  kShiftRight,
  kBitwiseAnd,
  kBitwiseOr,
  kBitwiseXor
};
template <>
struct EnumNames<BinaryKind> {
  static constexpr std::array<std::string_view, 20> names = {"add",
                                                             "sub",
                                                             "mul",
                                                             "div",
                                                             "pow",
                                                             "mod",
                                                             "prelu",
                                                             "and",
                                                             "or",
                                                             "xor",
                                                             "equal",
                                                             "greater",
                                                             "less",
                                                             "greater_or_equal",
                                                             "less_or_equal",
                                                             "shift_left",
                                                             "shift_right",
                                                             "bitwise_and",
                                                             "bitwise_or",
                                                             "bitwise_xor"};
};

struct Binary {
  static constexpr std::string_view kName = "Binary";
  BinaryKind kind = BinaryKind::kAdd;
  bool fmod = false;  // mod only: sign of the dividend (C) instead of the divisor (Python)
  Activation activation;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind);
    f("fmod", s.fmod);
    f("activation", s.activation);
  }
};

enum class VariadicKind : uint8_t { kSum, kMean, kMax, kMin };
template <>
struct EnumNames<VariadicKind> {
  static constexpr std::array<std::string_view, 4> names = {"sum", "mean", "max", "min"};
};

struct Variadic {
  static constexpr std::string_view kName = "Variadic";
  VariadicKind kind = VariadicKind::kSum;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind);
  }
};

// Inputs: condition (bool), x, y.
struct Where {
  static constexpr std::string_view kName = "Where";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

struct Cast {
  static constexpr std::string_view kName = "Cast";
  DType to = DType::kF32;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("to", s.to);
  }
};

// Casts x to the dtype of its second input.
struct CastLike {
  static constexpr std::string_view kName = "CastLike";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

struct Identity {
  static constexpr std::string_view kName = "Identity";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

// Inputs: x, ratio (optional), training_mode (optional). Outputs: y, mask (optional). Only inference mode and
// ratio 0 execute; training with a ratio needs the random stream of another library and is refused.
struct Dropout {
  static constexpr std::string_view kName = "Dropout";
  int64_t seed = 0;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("seed", s.seed);
  }
};

Inferred infer(const Unary& op, InputInfos in, size_t output_count);
Inferred infer(const Clip& op, InputInfos in, size_t output_count);
Inferred infer(const Binary& op, InputInfos in, size_t output_count);
Inferred infer(const Variadic& op, InputInfos in, size_t output_count);
Inferred infer(const Where& op, InputInfos in, size_t output_count);
Inferred infer(const Cast& op, InputInfos in, size_t output_count);
Inferred infer(const CastLike& op, InputInfos in, size_t output_count);
Inferred infer(const Identity& op, InputInfos in, size_t output_count);
Inferred infer(const Dropout& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
