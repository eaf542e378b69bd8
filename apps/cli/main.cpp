// SPDX-License-Identifier: Apache-2.0
// tandem: finds the verb, runs it, and turns errors and signals into exit codes.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>

#include "apps/cli/verb.hpp"
#include "tandem/base/text.hpp"

namespace tandem::cli {
namespace {

CancelToken& stop_token() {
  static CancelToken token;
  return token;
}

// The first signal asks politely, a second one ends the program at once.
extern "C" void on_signal(int signal_number) {
  stop_token().request(signal_number);
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  sigaction(SIGINT, &by_default, nullptr);
  sigaction(SIGTERM, &by_default, nullptr);
}

void catch_signals() {
  stop_token();  // Made before a handler may want it.
  for (const int signal_number : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    // What the caller ignores (nohup, a background job) stays ignored.
    if (sigaction(signal_number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, nullptr);
  }
}

int exit_code(const Error& error) {
  const int signal_number = stop_token().signal_number();
  if (error.code() == ErrorCode::kInterrupted && signal_number != 0) return 128 + signal_number;
  return static_cast<int>(error.code());
}

std::string command_line(const std::vector<std::string>& arguments) {
  std::string line = "tandem";
  for (const std::string& argument : arguments) {
    const bool plain =
        !argument.empty() && argument.find_first_of(" \t\n'\"\\$*?;&|<>()`!#~") == std::string::npos;
    line += plain ? " " + argument : " '" + argument + "'";
  }
  return line;
}

Status run(const std::vector<std::string>& arguments) {
  const std::vector<Verb> verbs = all_verbs();
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
    const std::string text = overview(verbs);
    std::fwrite(text.data(), 1, text.size(), arguments.empty() ? stderr : stdout);
    if (arguments.empty()) return usage_error("a verb is missing").hint("for example: tandem doctor");
    return {};
  }
  if (arguments[0] == "--version") {
    std::puts("tandem " TANDEM_VERSION);
    return {};
  }
  std::vector<std::string> names;
  for (const Verb& verb : verbs) {
    names.push_back(verb.name);
    if (verb.name != arguments[0]) continue;
    Session session;
    session.cancel = &stop_token();
    session.command = command_line(arguments);
    bool help = false;
    TANDEM_TRY(parse_arguments(verb, session, {arguments.begin() + 1, arguments.end()}, help));
    if (help) {
      session.print(help_text(verb));
      return {};
    }
    return verb.run(session);
  }
  return usage_error(fmt::format("there is no verb '{}'", arguments[0]))
      .hint(did_you_mean(arguments[0], names));
}

int guarded(const std::vector<std::string>& arguments) {
  Status status;
  try {
    status = run(arguments);
  } catch (const std::bad_alloc&) {
    status = internal_error("out of memory").hint("smaller batches, fewer threads, or a smaller model");
  } catch (const std::exception& exception) {
    status = internal_error("something went wrong that should not").because(exception.what());
  }
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (status.ok() && !written) status = io_error("cannot write to stdout");
  if (status.ok()) return 0;
  print_error(status.error());
  return exit_code(status.error());
}

}  // namespace
}  // namespace tandem::cli

int main(int argc, char** argv) {
  tandem::cli::catch_signals();
  return tandem::cli::guarded(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
