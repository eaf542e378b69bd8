// SPDX-License-Identifier: Apache-2.0
// The case table: small graphs with random inputs, float and quantized, that every executor runs against ref.
// Building a case twice from one seed gives the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tandem/base/rng.hpp"
#include "tandem/ir/graph.hpp"

namespace tandem::testing {

enum class CaseKind : uint8_t { kFloat, kAffine, kPow2 };

struct BuiltCase {
  ir::Graph graph;
  std::vector<Tensor> inputs;  // stored integers where the input value is quantized
};

struct OpCase {
  std::string name;  // "conv/3x3_stride2_relu"; quantized ones end in "_affine_u8", "_affine_s8" or "_pow2"
  CaseKind kind = CaseKind::kFloat;
  // Float cases: |difference| <= atol + rtol * |expected|, against a reference that sums in double. Affine: 1
  // LSB of the output. Pow2: equal.
  double rtol = 1e-5, atol = 1e-5;
  std::function<BuiltCase(Rng&)> build;
};

// All cases, in a fixed order.
std::vector<OpCase> op_cases();

// One case built from `seed` and its name, so that filtering changes no other case.
BuiltCase build(const OpCase& op_case, uint64_t seed);

}  // namespace tandem::testing
