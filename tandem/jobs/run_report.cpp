// SPDX-License-Identifier: Apache-2.0
// One file with the report's data, one with the page.
#include "tandem/jobs/run_report.hpp"

#include <filesystem>

#include "tandem/base/file.hpp"
#include "tandem/report/document_json.hpp"
#include "tandem/report/html.hpp"

namespace tandem::jobs {
namespace {

constexpr uint64_t kDataLimitBytes = uint64_t{256} << 20;

std::string in(const std::string& directory, const char* name) {
  return (std::filesystem::path(directory) / name).string();
}

}  // namespace

Result<std::string> remake_report(const std::string& run_directory, const std::string& output) {
  std::error_code code;
  if (!std::filesystem::is_directory(run_directory, code)) {
    return Error(ErrorCode::kIo, fmt::format("'{}' is no run directory", run_directory))
        .because(code ? code.message() : "it is no folder");
  }
  const std::string data = in(run_directory, kReportData);
  if (!std::filesystem::exists(data, code)) {
    return bad_input(fmt::format("the run '{}' has no report yet", run_directory))
        .because(fmt::format("{} is not there", kReportData))
        .hint("a run writes it when it ends: let it end, with --resume if it was interrupted");
  }
  const std::string text = TANDEM_TRY(read_file(data, kDataLimitBytes));
  const Json json = TANDEM_TRY(Json::parse(text).context(fmt::format("'{}'", data)));
  const report::Document document =
      TANDEM_TRY(report::document_from_json(json).context(fmt::format("'{}'", data)));
  std::string page = output.empty() ? in(run_directory, "report.html") : output;
  TANDEM_TRY(report::write_report(document, page));
  return page;
}

}  // namespace tandem::jobs
