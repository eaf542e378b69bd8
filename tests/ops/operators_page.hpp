// SPDX-License-Identifier: Apache-2.0
// docs/operators.md, generated from verdicts: nothing on that page is typed by hand.
#pragma once

#include "tests/ops/judge.hpp"

namespace tandem::ops {

// One row per ONNX operator that the tests use. `results` has one entry per executor: its name and its
// verdicts over the same tests.
std::string operators_page(const std::vector<std::pair<std::string, std::vector<Verdict>>>& results);

}  // namespace tandem::ops
