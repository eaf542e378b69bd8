// SPDX-License-Identifier: Apache-2.0
// The values of integer tensors that compute shapes, as far as they follow from shapes and constants.
#pragma once

#include "tandem/ir/op.hpp"

namespace tandem::ir {

// The elements of the op's first output, encoded as InputInfo::ints; nothing when they are not small integers
// of rank 0 or 1 or do not follow from what is known. `y` is what infer() said of that output. Precondition:
// infer() accepted `in`.
std::optional<std::vector<int64_t>> evaluate_ints(const Op& op, InputInfos in, const OutputInfo& y);

}  // namespace tandem::ir
