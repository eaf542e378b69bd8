// SPDX-License-Identifier: Apache-2.0
// Shape and type rules: what an op's outputs are, given what is known of its inputs. Every op has an overload of infer().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::ir {

struct InputInfo {
  bool present = false;  // optional inputs may be absent
  DType dtype = DType::kF32;
  std::optional<Shape> shape;         // absent: nothing is known, not even the rank
  const Tensor* constant = nullptr;   // the value, when it is constant
  // For small integer tensors that compute shapes: each element, kDynamic where it is not known.
  std::optional<std::vector<int64_t>> ints;
};

struct OutputInfo {
  DType dtype = DType::kF32;
  std::optional<Shape> shape;
};

using Inferred = Result<std::vector<OutputInfo>>;
using InputInfos = std::span<const InputInfo>;

// What an op costs on given static shapes. One MAC is one multiply and one add.
struct OpCost {
  int64_t macs = 0;
  int64_t other_ops = 0;     // element operations that are no MACs
  int64_t weight_bytes = 0;  // constant inputs, as stored
  int64_t input_bytes = 0;   // non-constant inputs, as stored
  int64_t output_bytes = 0;
};

}  // namespace tandem::ir
