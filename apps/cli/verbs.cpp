// SPDX-License-Identifier: Apache-2.0
// The table of verbs, in the order a newcomer meets them.
#include <algorithm>
#include <memory>

#include "apps/cli/verb.hpp"
#include "tandem/base/text.hpp"

namespace tandem::cli {
namespace {

Verb help_verb() {
  struct Options {
    std::string verb;
    bool markdown = false;
  };
  const auto options = std::make_shared<Options>();
  Verb verb{"help", "help of a verb, or the list of verbs"};
  verb.flags = {{"VERB", &options->verb, "Which one"},
                {"--markdown", &options->markdown, "The whole reference as one Markdown page"}};
  verb.run = [options](Session& session) -> Status {
    const std::vector<Verb> verbs = all_verbs();
    if (options->markdown) return session.print(reference_page(verbs)), Status();
    if (options->verb.empty()) return session.print(overview(verbs)), Status();
    std::vector<std::string> names;
    for (const Verb& v : verbs) {
      names.push_back(v.name);
      if (v.name == options->verb) return session.print(help_text(v)), Status();
    }
    return usage_error(fmt::format("there is no verb '{}'", options->verb))
        .hint(did_you_mean(options->verb, names));
  };
  verb.examples = {{"help run", "the same as tandem run --help"}};
  return verb;
}

Verb completion_verb() {
  const auto shell = std::make_shared<std::string>();
  Verb verb{"completion", "a completion script for a shell"};
  Flag flag{"SHELL", shell.get(), "bash, zsh or fish", "", {"bash", "zsh", "fish"}};
  flag.required = true;
  verb.flags = {flag};
  verb.examples = {{"completion bash > /etc/bash_completion.d/tandem", "for every user of bash"},
                   {"completion fish > ~/.config/fish/completions/tandem.fish", "for one user of fish"}};
  verb.run = [shell](Session& session) -> Status {
    session.print(completion_script(all_verbs(), *shell));
    return {};
  };
  return verb;
}

}  // namespace

std::vector<Verb> all_verbs() {
  return {doctor_verb(), inspect_verb(), quantize_verb(),  run_verb(),    eval_verb(),
          verify_verb(), bench_verb(),   adapt_verb(),     report_verb(), simulate_verb(),
          sweep_verb(),  help_verb(),    completion_verb()};
}

}  // namespace tandem::cli
