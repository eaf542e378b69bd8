// SPDX-License-Identifier: Apache-2.0
// Reads NumPy's .npz files whose members are stored uncompressed: the reference pairs of the test models.
#pragma once

#include <map>
#include <string>

#include "tandem/base/result.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::testing {

// By member name without ".npy". Error kBadInput for compressed members and for dtypes other than f32, i32,
// i64 and u8, i8 in row-major order.
Result<std::map<std::string, Tensor>> read_npz(const std::string& path);

}  // namespace tandem::testing
