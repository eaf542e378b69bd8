// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels. Integers wrap; a division or modulus by zero gives 0, as NumPy's does.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tandem/ref/fixed_point.hpp"

namespace tandem::ref {
namespace {

using ir::BinaryKind;
using ir::UnaryKind;
using ir::VariadicKind;

template <typename T>
using UnaryFunction = T (*)(T x, T alpha, T beta);

template <typename T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}
template <typename T>
T softplus(T x) {
  return std::log1p(std::exp(-std::abs(x))) + std::max(x, T{0});
}
template <typename T>
T unit_clamp(T x) {
  return x < 0 ? T{0} : x > 1 ? T{1} : x;  // keeps NaN
}

// nullptr for the kinds that do not map floats to floats.
template <typename T>
UnaryFunction<T> float_function(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kRelu: return [](T x, T, T) { return x < 0 ? T{0} : x; };
    case UnaryKind::kLeakyRelu: return [](T x, T alpha, T) { return x < 0 ? alpha * x : x; };
    case UnaryKind::kElu: return [](T x, T alpha, T) { return x < 0 ? alpha * std::expm1(x) : x; };
    case UnaryKind::kSelu:
      return [](T x, T alpha, T gamma) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); };
    case UnaryKind::kCelu:
      return
          [](T x, T alpha, T) { return std::max(T{0}, x) + std::min(T{0}, alpha * std::expm1(x / alpha)); };
    case UnaryKind::kThresholdedRelu: return [](T x, T alpha, T) { return x > alpha ? x : T{0}; };
    case UnaryKind::kHardSigmoid: return [](T x, T alpha, T beta) { return unit_clamp(alpha * x + beta); };
    case UnaryKind::kHardSwish: return [](T x, T, T) { return x * unit_clamp(x / 6 + T(0.5)); };
    case UnaryKind::kSigmoid: return [](T x, T, T) { return sigmoid(x); };
    case UnaryKind::kTanh: return [](T x, T, T) { return std::tanh(x); };
    case UnaryKind::kSoftplus: return [](T x, T, T) { return softplus(x); };
    case UnaryKind::kSoftsign: return [](T x, T, T) { return x / (1 + std::abs(x)); };
    case UnaryKind::kGelu: return [](T x, T, T) { return T(0.5) * x * (1 + std::erf(x * T(M_SQRT1_2))); };
    case UnaryKind::kGeluTanh:
      return [](T x, T, T) {
        return T(0.5) * x * (1 + std::tanh(T(M_2_SQRTPI * M_SQRT1_2) * (x + T(0.044715) * x * x * x)));
      };
    case UnaryKind::kSilu: return [](T x, T, T) { return x * sigmoid(x); };
    case UnaryKind::kErf: return [](T x, T, T) { return std::erf(x); };
    case UnaryKind::kSqrt: return [](T x, T, T) { return std::sqrt(x); };
    case UnaryKind::kExp: return [](T x, T, T) { return std::exp(x); };
    case UnaryKind::kLog: return [](T x, T, T) { return std::log(x); };
    case UnaryKind::kNeg: return [](T x, T, T) { return -x; };
    case UnaryKind::kAbs: return [](T x, T, T) { return std::abs(x); };
    case UnaryKind::kSign: return [](T x, T, T) { return x > 0 ? T{1} : x < 0 ? T{-1} : x; };
    case UnaryKind::kFloor: return [](T x, T, T) { return std::floor(x); };
    case UnaryKind::kCeil: return [](T x, T, T) { return std::ceil(x); };
    case UnaryKind::kRound: return [](T x, T, T) { return std::nearbyint(x); };
    case UnaryKind::kReciprocal: return [](T x, T, T) { return 1 / x; };
    case UnaryKind::kSin: return [](T x, T, T) { return std::sin(x); };
    case UnaryKind::kCos: return [](T x, T, T) { return std::cos(x); };
    case UnaryKind::kTan: return [](T x, T, T) { return std::tan(x); };
    case UnaryKind::kAsin: return [](T x, T, T) { return std::asin(x); };
    case UnaryKind::kAcos: return [](T x, T, T) { return std::acos(x); };
    case UnaryKind::kAtan: return [](T x, T, T) { return std::atan(x); };
    case UnaryKind::kSinh: return [](T x, T, T) { return std::sinh(x); };
    case UnaryKind::kCosh: return [](T x, T, T) { return std::cosh(x); };
    case UnaryKind::kAsinh: return [](T x, T, T) { return std::asinh(x); };
    case UnaryKind::kAcosh: return [](T x, T, T) { return std::acosh(x); };
    case UnaryKind::kAtanh: return [](T x, T, T) { return std::atanh(x); };
    case UnaryKind::kMish: return [](T x, T, T) { return x * std::tanh(softplus(x)); };
    case UnaryKind::kShrink:
      return [](T x, T lambda, T bias) { return x < -lambda ? x + bias : x > lambda ? x - bias : T{0}; };
    case UnaryKind::kNot:
    case UnaryKind::kIsNan:
    case UnaryKind::kIsInf:
    case UnaryKind::kBitwiseNot: return nullptr;
  }
  return nullptr;
}

template <typename T>
UnaryFunction<T> integer_function(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kRelu: return [](T x, T, T) { return x < T{0} ? T{0} : x; };
    case UnaryKind::kNeg: return [](T x, T, T) { return subtract(T{0}, x); };
    case UnaryKind::kAbs: return [](T x, T, T) { return x < T{0} ? subtract(T{0}, x) : x; };
    case UnaryKind::kSign: return [](T x, T, T) { return static_cast<T>((x > T{0}) - (x < T{0})); };
    case UnaryKind::kBitwiseNot: return [](T x, T, T) { return static_cast<T>(~x); };
    default: return nullptr;
  }
}

// is_nan, is_inf: float to bool.
template <typename T>
bool classify(const ir::Unary& op, T x) {
  if (op.kind == UnaryKind::kIsNan) return std::isnan(x);
  return std::isinf(x) && (x < 0 ? op.alpha != 0 : op.beta != 0);
}

template <typename T>
T integer_divide(T a, T b) {
  if (b == T{0}) return T{0};
  if constexpr (std::is_signed_v<T>) {
    if (b == T{-1}) return subtract(T{0}, a);  // the quotient of the lowest number would not fit
  }
  return static_cast<T>(a / b);
}

// Remainder with the sign of the divisor (Python) or, with fmod, of the dividend (C).
template <typename T>
T modulo(T a, T b, bool c_style) {
  if constexpr (std::is_floating_point_v<T>) {
    const T r = std::fmod(a, b);
    return !c_style && r != 0 && (r < 0) != (b < 0) ? r + b : r;
  } else {
    if (b == T{0}) return T{0};
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1}) return T{0};
    }
    const T r = static_cast<T>(a % b);
    return !c_style && r != T{0} && (r < T{0}) != (b < T{0}) ? static_cast<T>(r + b) : r;
  }
}

template <typename T>
using BinaryFunction = T (*)(T a, T b);

// Arithmetic of one type; nullptr where the kind has no such function.
template <typename T>
BinaryFunction<T> arithmetic(const ir::Binary& op) {
  switch (op.kind) {
    case BinaryKind::kAdd: return [](T a, T b) { return add(a, b); };
    case BinaryKind::kSub: return [](T a, T b) { return subtract(a, b); };
    case BinaryKind::kMul: return [](T a, T b) { return multiply(a, b); };
    case BinaryKind::kPRelu: return [](T a, T b) { return a < T{0} ? multiply(a, b) : a; };
    case BinaryKind::kMod:
      if (op.fmod) return [](T a, T b) { return modulo(a, b, true); };
      return [](T a, T b) { return modulo(a, b, false); };
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (op.kind == BinaryKind::kDiv) return [](T a, T b) { return a / b; };
    if (op.kind == BinaryKind::kPow) return [](T a, T b) { return std::pow(a, b); };
  } else {
    constexpr T kBits = static_cast<T>(sizeof(T) * 8);
    switch (op.kind) {
      case BinaryKind::kDiv: return [](T a, T b) { return integer_divide(a, b); };
      case BinaryKind::kShiftLeft:
        return [](T a, T b) {
          return b >= kBits || b < T{0} ? T{0} : static_cast<T>(static_cast<uint64_t>(a) << b);
        };
      case BinaryKind::kShiftRight:
        // By the width or more (a negative count is taken as huge) only the sign is left.
        return [](T a, T b) {
          return b >= kBits || b < T{0} ? (a < T{0} ? static_cast<T>(-1) : T{0}) : static_cast<T>(a >> b);
        };
      case BinaryKind::kBitwiseAnd: return [](T a, T b) { return static_cast<T>(a & b); };
      case BinaryKind::kBitwiseOr: return [](T a, T b) { return static_cast<T>(a | b); };
      case BinaryKind::kBitwiseXor: return [](T a, T b) { return static_cast<T>(a ^ b); };
      default: break;
    }
  }
  return nullptr;
}

template <typename T>
using Predicate = bool (*)(T a, T b);

template <typename T>
Predicate<T> comparison(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAnd: return [](T a, T b) { return a != T{0} && b != T{0}; };
    case BinaryKind::kOr: return [](T a, T b) { return a != T{0} || b != T{0}; };
    case BinaryKind::kXor: return [](T a, T b) { return (a != T{0}) != (b != T{0}); };
    case BinaryKind::kEqual: return [](T a, T b) { return a == b; };
    case BinaryKind::kGreater: return [](T a, T b) { return a > b; };
    case BinaryKind::kLess: return [](T a, T b) { return a < b; };
    case BinaryKind::kGreaterOrEqual: return [](T a, T b) { return a >= b; };
    case BinaryKind::kLessOrEqual: return [](T a, T b) { return a <= b; };
    default: return nullptr;
  }
}

// y = fn(a, b) with broadcasting; fn maps (T, T) to D.
template <typename T, typename D>
void zip(const Tensor& a, const Tensor& b, Tensor& y, D (*fn)(T, T)) {
  const T* pa = data<T>(a);
  const T* pb = data<T>(b);
  D* py = data<D>(y);
  if (a.shape() == b.shape() && a.shape() == y.shape()) {
    for (int64_t i = 0; i < y.elements(); ++i) py[i] = fn(pa[i], pb[i]);
    return;
  }
  walk<2>(y.shape(), {broadcast_strides(a.shape(), y.shape()), broadcast_strides(b.shape(), y.shape())},
          [&](int64_t i, const std::array<int64_t, 2>& at) { py[i] = fn(pa[at[0]], pb[at[1]]); });
}

void activate_all(const ir::Activation& activation, Tensor& y) {
  if (!activation) return;
  with_number(y.dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < y.elements(); ++i) {
      data<T>(y)[i] = static_cast<T>(activate(activation, static_cast<double>(data<T>(y)[i])));
    }
  });
}

template <typename T>
T largest(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  }
  return a < b ? b : a;
}
template <typename T>
T smallest(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  }
  return b < a ? b : a;
}

}  // namespace

Outputs eval(const ir::Unary& op, const Call& call) {
  const Tensor& x = call[0];
  Tensor y = TANDEM_TRY(call.make(0));
  if (op.kind == UnaryKind::kNot) {
    for (int64_t i = 0; i < x.elements(); ++i) data<uint8_t>(y)[i] = data<uint8_t>(x)[i] == 0;
    return single(std::move(y));
  }
  if (op.kind == UnaryKind::kIsNan || op.kind == UnaryKind::kIsInf) {
    return with_float("is_nan or is_inf", x.dtype(), [&](auto tag) -> Outputs {
      using T = decltype(tag);
      for (int64_t i = 0; i < x.elements(); ++i) data<uint8_t>(y)[i] = classify(op, data<T>(x)[i]);
      return single(std::move(y));
    });
  }
  return with_number(x.dtype(), [&](auto tag) -> Outputs {
    using T = decltype(tag);
    UnaryFunction<T> fn = nullptr;
    if constexpr (std::is_floating_point_v<T>)
      fn = float_function<T>(op.kind);
    else
      fn = integer_function<T>(op.kind);
    if (fn == nullptr) return refuse_dtype(enum_name(op.kind), x.dtype());
    const T alpha = static_cast<T>(op.alpha), beta = static_cast<T>(op.beta);
    for (int64_t i = 0; i < x.elements(); ++i) data<T>(y)[i] = fn(data<T>(x)[i], alpha, beta);
    return single(std::move(y));
  });
}

Outputs eval(const ir::Clip&, const Call& call) {
  const Tensor& x = call[0];
  Tensor y = TANDEM_TRY(call.make(0));
  for (size_t i : {1, 2}) {
    if (call.has(i) && (call[i].elements() != 1 || call[i].dtype() != x.dtype())) {
      return bad_input("Clip bounds must be scalars of the input's dtype");
    }
  }
  with_number(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* low = call.has(1) ? data<T>(call[1]) : nullptr;
    const T* high = call.has(2) ? data<T>(call[2]) : nullptr;
    for (int64_t i = 0; i < x.elements(); ++i) {
      T value = data<T>(x)[i];
      if (low != nullptr && value < *low) value = *low;
      if (high != nullptr && value > *high) value = *high;
      data<T>(y)[i] = value;
    }
  });
  return single(std::move(y));
}

Outputs eval(const ir::Binary& op, const Call& call) {
  const Tensor& a = call[0];
  const Tensor& b = call[1];
  Tensor y = TANDEM_TRY(call.make(0));
  if (op.kind == BinaryKind::kPow && (a.dtype() != b.dtype() || !is_float(a.dtype()))) {
    // Bases and exponents may have different types: computed in double, converted to the type of the base.
    Tensor wide(DType::kF64, y.shape());
    zip<double, double>(cast(a, DType::kF64), cast(b, DType::kF64), wide,
                        [](double p, double q) { return std::pow(p, q); });
    return single(cast(wide, y.dtype()));
  }
  if (a.dtype() != b.dtype()) {
    return bad_input(
        fmt::format("operands have different dtypes: {} and {}", to_string(a.dtype()), to_string(b.dtype())));
  }
  Status status = with_number(a.dtype(), [&](auto tag) -> Status {
    using T = decltype(tag);
    if (const Predicate<T> predicate = comparison<T>(op.kind)) {
      zip<T, bool>(a, b, y, predicate);
    } else if (const BinaryFunction<T> fn = arithmetic<T>(op)) {
      zip<T, T>(a, b, y, fn);
    } else {
      return refuse_dtype(enum_name(op.kind), a.dtype());
    }
    return {};
  });
  TANDEM_TRY(std::move(status));
  activate_all(op.activation, y);
  return single(std::move(y));
}

Outputs eval(const ir::Variadic& op, const Call& call) {
  Tensor y = TANDEM_TRY(call.make(0));
  for (size_t k = 0; k < call.in.size(); ++k) {
    if (call[k].dtype() != y.dtype()) return bad_input("operands have different dtypes");
  }
  with_number(y.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const BinaryFunction<T> fn = op.kind == VariadicKind::kMax   ? BinaryFunction<T>(largest<T>)
                                 : op.kind == VariadicKind::kMin ? BinaryFunction<T>(smallest<T>)
                                                                 : BinaryFunction<T>(add<T>);
    T* py = data<T>(y);
    for (size_t k = 0; k < call.in.size(); ++k) {
      const T* px = data<T>(call[k]);
      walk<1>(y.shape(), {broadcast_strides(call[k].shape(), y.shape())},
              [&](int64_t i, const std::array<int64_t, 1>& at) {
                py[i] = k == 0 ? px[at[0]] : fn(py[i], px[at[0]]);
              });
    }
    if (op.kind == VariadicKind::kMean) {
      for (int64_t i = 0; i < y.elements(); ++i)
        py[i] = static_cast<T>(py[i] / static_cast<T>(call.in.size()));
    }
  });
  return single(std::move(y));
}

Outputs eval(const ir::Where&, const Call& call) {
  Tensor y = TANDEM_TRY(call.make(0));
  if (call[1].dtype() != call[2].dtype() || call[0].dtype() != DType::kBool) {
    return bad_input("Where needs a bool condition and two inputs of one dtype");
  }
  with_bytes(y.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const uint8_t* condition = data<uint8_t>(call[0]);
    const T* yes = data<T>(call[1]);
    const T* no = data<T>(call[2]);
    walk<3>(y.shape(),
            {broadcast_strides(call[0].shape(), y.shape()), broadcast_strides(call[1].shape(), y.shape()),
             broadcast_strides(call[2].shape(), y.shape())},
            [&](int64_t i, const std::array<int64_t, 3>& at) {
              data<T>(y)[i] = condition[at[0]] != 0 ? yes[at[1]] : no[at[2]];
            });
  });
  return single(std::move(y));
}

Outputs eval(const ir::Cast& op, const Call& call) { return single(cast(call[0], op.to)); }
Outputs eval(const ir::CastLike&, const Call& call) { return single(cast(call[0], call[1].dtype())); }
Outputs eval(const ir::Identity&, const Call& call) { return single(call[0].clone()); }

Outputs eval(const ir::Dropout&, const Call& call) {
  const double ratio = call.has(1) ? TANDEM_TRY(scalar_double(call[1], "ratio")) : 0.5;
  const bool training = call.has(2) && TANDEM_TRY(scalar_double(call[2], "training_mode")) != 0;
  if (training && ratio != 0) {
    return unsupported("Dropout in training mode needs a random mask")
        .hint("Export the model in inference mode.");
  }
  std::vector<Tensor> outputs = single(call[0].clone());
  if (call.out.size() > 1) {
    Tensor mask(DType::kBool, call[0].shape());
    std::fill_n(data<uint8_t>(mask), mask.elements(), uint8_t{1});
    outputs.push_back(std::move(mask));
  }
  return outputs;
}

FixedOutputs eval_fixed(const ir::Unary& op, const FixedCall& fixed) {
  const bool dpu_form =
      op.kind == UnaryKind::kHardSigmoid && std::abs(op.alpha - 1.0f / 6) < 1e-3f && op.beta == 0.5f;
  if (!dpu_form || !fixed.pow2(0) || !fixed.pow2_output()) return std::nullopt;
  const Tensor& x = fixed.call[0];
  const QuantParams& out = *fixed.out_quant[0];
  const int fix_in = fixed.quant(0)->fix_point();
  Tensor y(out.dtype, x.shape());
  with_number(x.dtype(), [&](auto in_tag) {
    with_number(y.dtype(), [&](auto out_tag) {
      for (int64_t i = 0; i < x.elements(); ++i) {
        const int64_t q = static_cast<int64_t>(data<decltype(in_tag)>(x)[i]);
        data<decltype(out_tag)>(y)[i] = static_cast<decltype(out_tag)>(hard_sigmoid_pow2(q, fix_in, out));
      }
    });
  });
  return single(std::move(y));
}

}  // namespace tandem::ref
