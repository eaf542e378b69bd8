// SPDX-License-Identifier: Apache-2.0
// docs/operators.md, generated from verdicts: nothing on that page is typed by hand.
#pragma once

#include "tests/ops/judge.hpp"

namespace tandem::ops {

// One row per ONNX operator that the tests use. `results` has one entry per executor: its name and its
// verdicts over the same tests.
std::string operators_page(const std::vector<std::pair<std::string, std::vector<Verdict>>>& results);

// Ok when `page` is what operators_page() gives; else kGateFailed with the first line that differs.
Status check_operators_page(std::string_view page,
                            const std::vector<std::pair<std::string, std::vector<Verdict>>>& results);

}  // namespace tandem::ops
