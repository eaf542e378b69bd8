// SPDX-License-Identifier: Apache-2.0
// doctor(): what this machine has and what that means for the program.
#pragma once

#include <string>
#include <vector>

#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"

namespace tandem::jobs {

enum class Health : uint8_t { kGood, kWarning, kBad };

struct Finding {
  std::string what;   // "processor", "memory", "library oneDNN", ...
  std::string value;  // what was found
  Health health = Health::kGood;
  std::string advice;  // what follows from it; empty when all is well
};

// `directory` is where runs would be written. Also computes one small integer convolution on both executors:
// they must agree.
std::vector<Finding> doctor(const std::string& directory);
Json to_json(const std::vector<Finding>& findings);

}  // namespace tandem::jobs
