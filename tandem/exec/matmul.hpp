// SPDX-License-Identifier: Apache-2.0
// What the two files that lower matrix products share. Internal to exec/.
#pragma once

#include "tandem/exec/lower.hpp"

namespace tandem::exec {

// y = act(alpha A' B' + beta C) on integers (quantized_matmul.cpp); says why when it does not apply.
LowerResult lower_quantized_product(Lowering& l, bool trans_a, bool trans_b, float alpha, float beta,
                                    const ir::Activation& activation);

}  // namespace tandem::exec
