// SPDX-License-Identifier: Apache-2.0
// Shorthand of this room's tests: one op on plain tensors, results as vectors.
#pragma once

#include <initializer_list>
#include <vector>

#include "tandem/ref/ref.hpp"

namespace tandem::ref {

inline Result<std::vector<Tensor>> try_op(const ir::Op& op, std::initializer_list<const Tensor*> inputs,
                                          size_t outputs = 1) {
  const std::vector<const Tensor*> all(inputs);
  return run_node(op, all, outputs);
}

inline std::vector<Tensor> run_op(const ir::Op& op, std::initializer_list<const Tensor*> inputs,
                                  size_t outputs = 1) {
  return try_op(op, inputs, outputs).value();
}

template <typename T>
std::vector<T> values(const Tensor& t) {
  return {t.as<T>().begin(), t.as<T>().end()};
}

inline Tensor f32(Shape shape, std::vector<float> v) { return Tensor::of<float>(std::move(shape), v); }
inline Tensor i64(std::vector<int64_t> v) { return Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, v); }

// 0, 1, 2, ... in f32.
inline Tensor count_up(Shape shape) {
  Tensor t(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < t.elements(); ++i) t.as<float>()[static_cast<size_t>(i)] = static_cast<float>(i);
  return t;
}

// One node on stored tensors; an output without params is f32.
struct StoredOperand {
  Tensor tensor;
  const QuantParams* quant;
};
inline Tensor run_fixed(const ir::Op& op, const std::vector<StoredOperand>& operands,
                        const QuantParams* out) {
  std::vector<const Tensor*> tensors;
  std::vector<const QuantParams*> quant;
  for (const StoredOperand& o : operands) {
    tensors.push_back(&o.tensor);
    quant.push_back(o.quant);
  }
  const QuantParams* outs[] = {out};
  return std::move(run_stored(op, tensors, quant, outs).value()[0]);
}

}  // namespace tandem::ref
