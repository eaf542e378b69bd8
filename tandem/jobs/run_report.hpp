// SPDX-License-Identifier: Apache-2.0
// The report of a run, kept as data in the run directory so that the page can be made again.
#pragma once

#include <string>

#include "tandem/base/result.hpp"

namespace tandem::jobs {

// What the page says, as report::to_json(Document) made it; in a run directory.
inline constexpr const char* kReportData = "work/report.json";

// Makes RUN/report.html again (or the page `output`) from the data in the run directory. Returns the page's
// path.
Result<std::string> remake_report(const std::string& run_directory, const std::string& output = "");

}  // namespace tandem::jobs
