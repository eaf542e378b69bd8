// SPDX-License-Identifier: Apache-2.0
// Functions of one byte to one byte as tables of 256, filled by the reference: exact in every scheme.
// Internal to exec/.
#pragma once

#include "tandem/exec/lower.hpp"

namespace tandem::exec {

// Emits the current node (input 0 to output 0, elementwise, other inputs constant) as a table when both are
// 8-bit.
bool lower_table(Lowering& l);

// A buffer with the elements of `from` (params `a`, `shape`) as params `b` store them; `from` itself when
// they agree. Precondition: both 8-bit, per tensor.
BufferId requantized(Lowering& l, BufferId from, const QuantParams& a, const QuantParams& b);

}  // namespace tandem::exec
