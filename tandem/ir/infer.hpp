// SPDX-License-Identifier: Apache-2.0
// Shape and type rules: what an op's outputs are, given what is known of its inputs. Every op has an overload
// of infer().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::ir {

// Unknown extents have identities, so that "the batch of x" can be followed through a shape computation: a
// dimension of kDynamic is an unknown without an identity, and dimensions below it are symbols; equal symbols
// are equal extents. infer() treats every negative dimension as dynamic and passes symbols on; graphs store
// kDynamic only. In integer elements, where -1 is an ordinary number, unknowns are the lowest numbers
// instead.
inline constexpr int64_t kUnknownInt = INT64_MIN;                // an unknown without an identity
inline constexpr int64_t kLowestKnownInt = -(int64_t{1} << 62);  // constants below are clamped to it
inline bool is_known_int(int64_t element) { return element >= kLowestKnownInt; }
inline int64_t int_of_dim(int64_t dim) { return dim >= 0 ? dim : kUnknownInt - (dim - kDynamic); }
inline int64_t dim_of_int(int64_t element) {  // Precondition: unknown or not negative.
  return is_known_int(element) ? element : kDynamic - (element - kUnknownInt);
}

struct InputInfo {
  bool present = false;     // optional inputs may be absent
  bool dtype_known = true;  // false for outputs of Opaque ops of which nothing was declared
  DType dtype = DType::kF32;
  std::optional<Shape> shape;        // absent: nothing is known, not even the rank
  const Tensor* constant = nullptr;  // the value as stored, when it is constant
  // For small integer tensors of rank 0 or 1 that compute shapes: each element, unknown ones as above.
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
