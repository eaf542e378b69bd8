// SPDX-License-Identifier: Apache-2.0
// tandem doctor
#include <memory>

#include "apps/cli/verb.hpp"
#include "tandem/base/table.hpp"
#include "tandem/jobs/doctor.hpp"

namespace tandem::cli {

Verb doctor_verb() {
  const auto directory = std::make_shared<std::string>(".");
  Verb verb{"doctor", "what this machine has: instructions, memory, disk, libraries, devices"};
  verb.description =
      "Also computes a small integer convolution on the fast executor and on the reference: they must agree. "
      "With --strict every warning is a failure.";
  verb.flags = {{"--dir", directory.get(), "Where runs would be written", "DIR", {}, Takes::kFolder}};
  verb.examples = {{"doctor", "on the machine that will run the model"},
                   {"doctor --json -", "for a fleet: one JSON object on stdout"}};
  verb.run = [directory](Session& session) -> Status {
    const std::vector<jobs::Finding> findings = jobs::doctor(*directory);
    TextTable table({{"what"}, {"found"}, {""}});
    std::vector<std::string> warnings;
    bool bad = false;
    for (const jobs::Finding& f : findings) {
      const char* mark = f.health == jobs::Health::kGood      ? "ok"
                         : f.health == jobs::Health::kWarning ? "warning"
                                                              : "BAD";
      table.add_row({f.what, f.value, mark});
      bad = bad || f.health == jobs::Health::kBad;
      if (!f.advice.empty()) warnings.push_back(f.what + ": " + f.advice);
    }
    session.print(table.to_string());
    TANDEM_TRY(session.write_json(jobs::to_json(findings)));
    if (bad) {
      session.notes(warnings);
      return Error(ErrorCode::kDevice, "this machine cannot run everything")
          .hint("the lines marked BAD say why");
    }
    return session.accept_fallbacks(warnings);
  };
  return verb;
}

}  // namespace tandem::cli
