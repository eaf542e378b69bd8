// SPDX-License-Identifier: Apache-2.0
// Numbers with units, both ways: "3.5ms", "1GiB", "1.2GB/s", "10k". What is printed can be parsed again.
// Parsing is exact decimal arithmetic, rounded to the nearest whole result; errors name the text and the
// allowed units.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/base/result.hpp"

namespace tandem {

// Units: ns us (or the micro sign) ms s min h; no unit is refused. Not negative. Sums such as "1h30min" too.
Result<int64_t> parse_duration_ns(std::string_view text);
// Three significant digits: "850ns", "3.5ms", "12.3s"; from a minute on "2min05s", "1h02min".
std::string format_duration_ns(int64_t duration_ns);

// Units: B, powers of 1000 (kB MB GB TB) and of 1024 (KiB MiB GiB TiB); a bare number is bytes. The case of
// letters is free.
Result<uint64_t> parse_bytes(std::string_view text);
// Powers of 1024, three significant digits: "512B", "1.5GiB".
std::string format_bytes(uint64_t bytes);

// A byte unit with "/s"; the result is bytes per second.
Result<uint64_t> parse_bandwidth_bytes_per_s(std::string_view text);
// Powers of 1000, as bandwidth is sold: "1.2GB/s".
std::string format_bandwidth(double bytes_per_s);

// Units: k M G T (powers of 1000) or none.
Result<uint64_t> parse_count(std::string_view text);
// Three significant digits: "999", "1.2M".
std::string format_count(double count);

}  // namespace tandem
