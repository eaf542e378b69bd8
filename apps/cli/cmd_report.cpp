// SPDX-License-Identifier: Apache-2.0
// tandem report
#include <memory>

#include "apps/cli/verb.hpp"
#include "tandem/jobs/run_report.hpp"

namespace tandem::cli {

Verb report_verb() {
  struct Options {
    std::string run, output;
  };
  const auto o = std::make_shared<Options>();
  Verb verb{"report", "make the report of a run again"};
  verb.description = "From what the run directory holds; neither the model nor the images are needed.";
  Flag run{"RUN", &o->run, "A run directory"};
  run.required = true;
  verb.flags = {
      run,
      {"-o,--output", &o->output, "The page, in place of RUN/report.html", "FILE.html", {}, Takes::kFile}};
  verb.examples = {{"report run", "writes run/report.html"}, {"report run -o page.html", "elsewhere"}};
  verb.run = [o](Session& session) -> Status {
    const std::string page = TANDEM_TRY(jobs::remake_report(o->run, o->output));
    session.print(page + "\n");
    return session.write_json(Json::object({{"report", page}}));
  };
  return verb;
}

}  // namespace tandem::cli
