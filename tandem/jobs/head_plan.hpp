// SPDX-License-Identifier: Apache-2.0
// The plan of an adapted model: the backbone on the accelerator, what follows its last quantized value on the
// host.
#pragma once

#include <string>

#include "tandem/base/result.hpp"
#include "tandem/plan/plan.hpp"

namespace tandem::jobs {

// `graph` is the model as read from its file. The parts are called "backbone" and "head".
Result<plan::Plan> head_plan(const ir::Graph& graph, const std::string& file, const std::string& file_hash,
                             const std::string& device);

}  // namespace tandem::jobs
