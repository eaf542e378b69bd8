// SPDX-License-Identifier: Apache-2.0
// The report of a run, kept as data in the run directory so that the page can be made again.
#pragma once

#include <string>

#include "tandem/base/result.hpp"
#include "tandem/report/document.hpp"

namespace tandem::jobs {

inline constexpr const char* kReportData = "work/report.json";  // in a run directory

// Writes RUN/report.html and what it says as data.
Status write_run_report(const report::Document& document, const std::string& run_directory);

// Makes RUN/report.html again (or the page `output`) from the data in the run directory. Returns the page's
// path.
Result<std::string> remake_report(const std::string& run_directory, const std::string& output = "");

}  // namespace tandem::jobs
