// SPDX-License-Identifier: Apache-2.0
// The quantized half of the case table, and the tables of windows that both halves use.
#pragma once

#include <vector>

#include "tandem/testing/op_cases.hpp"

namespace tandem::testing {

struct ConvCase {
  const char* name;
  ir::Conv op;
  Shape x, w;
  bool bias = true, residual = false;
};
std::vector<ConvCase> conv_case_table();
// The output shape of a case.
Shape conv_output(const ConvCase& c);

struct PoolCase {
  const char* name;
  ir::Pool op;
  Shape x;
};
std::vector<PoolCase> pool_case_table();

std::vector<OpCase> quantized_op_cases();

}  // namespace tandem::testing
