// SPDX-License-Identifier: Apache-2.0
// Starting the helper: its input and outputs are files in memory, so nothing can block and nobody has to
// poll.
#include "tandem/xir_io/helper.hpp"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "tandem/base/text.hpp"

namespace tandem::xir_io {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Status fill(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return io_error(fmt::format("no memory for a model of {} bytes", bytes.size()));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (lseek(fd, 0, SEEK_SET) != 0) return io_error("a file in memory cannot be read back");
  return {};
}

Result<std::string> content(int fd, size_t limit) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return io_error("the answer of the helper cannot be read");
  std::string bytes(std::min(static_cast<size_t>(info.st_size), limit), '\0');
  size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t got = pread(fd, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return io_error("the answer of the helper cannot be read");
    at += static_cast<size_t>(got);
  }
  return bytes;
}

// glog's lines look like "F1201 18:20:01.123456 4711 file.cpp:12] text"; the text of the fatal one is the
// reason, else the last line. Paths of the library's build are left out.
std::string reason_of(std::string_view log) {
  std::string reason, last;
  for (std::string_view line : split(log, '\n')) {
    line = trim(line);
    if (line.empty() || line.starts_with("***") || line.starts_with("@")) continue;
    const size_t bracket = line.find("] ");
    const bool fatal = line[0] == 'F' && bracket != std::string_view::npos;
    if (fatal && reason.empty()) reason = line.substr(bracket + 2);
    last = line;
  }
  if (reason.empty()) reason = last;
  constexpr size_t kReasonMax = 400;
  if (reason.size() > kReasonMax) reason = reason.substr(0, kReasonMax) + "...";
  return reason;
}

struct Answer {
  int status = 0;  // as waitpid() gives it
  std::string output, log;
  bool ok() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
};

constexpr size_t kLogMax = 64 << 10;
constexpr size_t kOutputMax = size_t{8} << 30;

Result<Answer> run_helper(const std::vector<std::string>& arguments, std::string_view input) {
  const std::string path = TANDEM_TRY(find_helper());
  const Descriptor in(memfd_create("xir-input", MFD_CLOEXEC));
  const Descriptor out(memfd_create("xir-output", MFD_CLOEXEC));
  const Descriptor log(memfd_create("xir-log", MFD_CLOEXEC));
  if (in.get() < 0 || out.get() < 0 || log.get() < 0) return io_error("no file in memory can be made");
  TANDEM_TRY(fill(in.get(), input));

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, out.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, log.get(), 2);
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  // libxir asks for its plug-in by this variable.
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const std::string plug_in = "OPS_LIBRARY=" + folder + "/libtandem-xir-ops.so";
  std::vector<char*> environment{const_cast<char*>(plug_in.c_str())};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("OPS_LIBRARY=")) environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, path.c_str(), &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return io_error(fmt::format("'{}' cannot be started", path)).because(strerror(error));

  Answer answer;
  while (waitpid(child, &answer.status, 0) < 0) {
    if (errno != EINTR) return internal_error("the XIR helper was waited for by someone else");
  }
  answer.output = TANDEM_TRY(content(out.get(), kOutputMax));
  answer.log = TANDEM_TRY(content(log.get(), kLogMax));
  return answer;
}

// What a failed helper means, in words.
std::string failure(const Answer& answer) {
  if (WIFEXITED(answer.status)) {
    if (WEXITSTATUS(answer.status) == 127) return "the XIR helper does not start: " + reason_of(answer.log);
    return reason_of(answer.log);
  }
  const int signal = WIFSIGNALED(answer.status) ? WTERMSIG(answer.status) : 0;
  if (signal == SIGXCPU || signal == SIGKILL || signal == SIGALRM)
    return "libxir took too long or too much memory";
  const std::string reason = reason_of(answer.log);
  return reason.empty() ? fmt::format("libxir crashed on it (signal {})", signal) : "libxir: " + reason;
}

}  // namespace

Result<std::string> find_helper() {
  std::error_code code;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", code);
  std::vector<std::filesystem::path> candidates;
  if (!code) {
    candidates.push_back(program.parent_path() / kHelperName);
    candidates.push_back(program.parent_path().parent_path() / "libexec" / "tandem" / kHelperName);
  }
  candidates.push_back(std::filesystem::path(TANDEM_HELPER_DIR) /
                       kHelperName);  // where this build installs it
  for (const std::filesystem::path& candidate : candidates) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return internal_error(fmt::format("the program '{}' is missing", kHelperName))
      .because("XIR models are read and written by a process of their own")
      .hint("install Tandem with 'make install', or put the program next to this one");
}

Result<XModel> read_xmodel(std::string_view bytes) {
  if (bytes.empty()) return bad_input("the file is empty");
  const Answer answer = TANDEM_TRY(run_helper({"read"}, bytes));
  if (!answer.ok()) return bad_input("the file is no readable XIR model").because(failure(answer));
  return from_wire(answer.output);
}

Result<std::string> write_xmodel(const XModel& model) {
  Answer answer = TANDEM_TRY(run_helper({"write"}, to_wire(model)));
  if (!answer.ok()) return unsupported("libxir does not take this model").because(failure(answer));
  return std::move(answer.output);
}

Result<std::string> describe_target(const std::string& name_or_fingerprint) {
  Answer answer = TANDEM_TRY(run_helper({"target", name_or_fingerprint}, ""));
  if (!answer.ok()) return usage_error(fmt::format("no DPU target is called '{}'", name_or_fingerprint));
  return std::move(answer.output);
}

}  // namespace tandem::xir_io
