// SPDX-License-Identifier: Apache-2.0
// Reads a scenario from TOML. Every error names file, line, key, and what was expected; docs/simulation.md
// lists the keys.
#pragma once

#include <string>

#include "tandem/base/toml.hpp"
#include "tandem/sim/model.hpp"

namespace tandem::sim {

// `file` names the source in messages and is where relative trace files are looked for.
Result<Scenario> read_scenario(const TomlValue& root, const std::string& file);
// From the file itself.
Result<Scenario> load_scenario(const std::string& file);

// Arrivals from a CSV of "time[,work]" lines, each with a unit ("1.5ms,2ms"); an optional header line, '#'
// comments. Errors name the line: bad numbers, times that go back, missing fields.
Status read_trace(std::string_view text, const std::string& file, plan::ArrivalSpec& arrivals);

}  // namespace tandem::sim
