// SPDX-License-Identifier: Apache-2.0
// The executors that the judge knows.
#pragma once

#include "tests/ops/judge.hpp"

namespace tandem::ops {

const std::vector<Executor>& executors();

}  // namespace tandem::ops
