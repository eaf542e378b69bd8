// SPDX-License-Identifier: Apache-2.0
// Explicit quantization on integer tensors. Folded models carry QuantParams on values instead.
#pragma once

#include "tandem/ir/fields.hpp"
#include "tandem/ir/infer.hpp"
#include "tandem/ir/ops/window.hpp"

namespace tandem::ir {

// Inputs: x (real), scale, zero point (optional: u8 0). The output is a plain integer tensor.
struct QuantizeLinear {
  static constexpr std::string_view kName = "QuantizeLinear";
  int64_t axis = 1;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
};

// Inputs: x (integer), scale, zero point (optional).
struct DequantizeLinear {
  static constexpr std::string_view kName = "DequantizeLinear";
  int64_t axis = 1;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
};

// Outputs: y (u8), scale, zero point, from the range of x.
struct DynamicQuantizeLinear {
  static constexpr std::string_view kName = "DynamicQuantizeLinear";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

// The identity on reals; the QuantParams of the output value say how it is stored.
struct Requantize {
  static constexpr std::string_view kName = "Requantize";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

// Inputs: x, sx, zx, w, sw, zw, sy, zy, bias (i32, optional).
struct QLinearConv {
  static constexpr std::string_view kName = "QLinearConv";
  Window window;
  int64_t group = 1;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("window", s.window);
    f("group", s.group);
  }
};

// Inputs: a, sa, za, b, sb, zb, sy, zy.
struct QLinearMatMul {
  static constexpr std::string_view kName = "QLinearMatMul";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

// Inputs: x, w, zx (optional), zw (optional). Output i32.
struct ConvInteger {
  static constexpr std::string_view kName = "ConvInteger";
  Window window;
  int64_t group = 1;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("window", s.window);
    f("group", s.group);
  }
};

// Inputs: a, b, za (optional), zb (optional). Output i32.
struct MatMulInteger {
  static constexpr std::string_view kName = "MatMulInteger";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

Inferred infer(const QuantizeLinear& op, InputInfos in, size_t output_count);
Inferred infer(const DequantizeLinear& op, InputInfos in, size_t output_count);
Inferred infer(const DynamicQuantizeLinear& op, InputInfos in, size_t output_count);
Inferred infer(const Requantize& op, InputInfos in, size_t output_count);
Inferred infer(const QLinearConv& op, InputInfos in, size_t output_count);
Inferred infer(const QLinearMatMul& op, InputInfos in, size_t output_count);
Inferred infer(const ConvInteger& op, InputInfos in, size_t output_count);
Inferred infer(const MatMulInteger& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
