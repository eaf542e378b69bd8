// SPDX-License-Identifier: Apache-2.0
// Numbers to text and back, for tables and axes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tandem::report {

// Whole numbers with thousands separators ("12,345"), others with up to five significant digits; "–" for NaN,
// "∞" and "-∞" for infinities.
std::string format_number(double value);

// The number that a cell stands for: "1,234", "-0.5", "87.4 %", "87.4%", "2.5 ms", "3.1x". None when the text
// is something else or only starts with a number ("3x3 conv", "2024-01-05").
std::optional<double> read_number(std::string_view text);

}  // namespace tandem::report
