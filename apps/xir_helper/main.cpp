// SPDX-License-Identifier: Apache-2.0
// tandem-xir read | write | target NAME: one file from standard input to standard output, in a process that
// may abort and that has limits. Not meant to be called by people; tandem does.
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <google/protobuf/text_format.h>
#include <signal.h>
#include <exception>
#include <vitis/ai/target_factory.hpp>

#include "apps/xir_helper/helper.hpp"

namespace tandem::xir_helper {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kLimitMemory = false;  // the shadow memory takes terabytes of address space
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kLimitMemory = false;
#else
constexpr bool kLimitMemory = true;
#endif
#else
constexpr bool kLimitMemory = true;
#endif

constexpr rlim_t kCpuSeconds = 120;
constexpr unsigned kWallSeconds = 300;

void limit(int resource, rlim_t value) {
  rlimit both{value, value};
  setrlimit(static_cast<__rlimit_resource_t>(resource), &both);
}

// libxir holds a file several times over: parsed, as attributes, and here.
void set_limits(uint64_t input_bytes) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, kCpuSeconds);
  alarm(kWallSeconds);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (kLimitMemory) limit(RLIMIT_AS, (rlim_t{1} << 30) + 16 * input_bytes);
}

Result<std::string> read_all() {
  struct stat info {};
  if (fstat(0, &info) != 0 || !S_ISREG(info.st_mode)) return bad_input("the input is no file");
  set_limits(static_cast<uint64_t>(info.st_size));
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t got = read(0, bytes.data() + at, bytes.size() - at);
    if (got <= 0) return io_error("the input cannot be read");
    at += static_cast<size_t>(got);
  }
  return bytes;
}

Status write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(1, bytes.data(), bytes.size());
    if (written <= 0) return io_error("the output cannot be written");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<std::string> target(const std::string& name) {
  vitis::ai::Target found;
  if (name.rfind("0x", 0) == 0) {
    found = vitis::ai::target_factory()->create(static_cast<uint64_t>(strtoull(name.c_str(), nullptr, 16)));
  } else {
    if (!vitis::ai::target_factory()->is_registered_target(name))
      return usage_error("no such target: " + name);
    found = vitis::ai::target_factory()->create(name);
  }
  std::string text;
  google::protobuf::TextFormat::PrintToString(found, &text);
  return text;
}

Status run(const std::vector<std::string>& arguments) {
  const std::string input = TANDEM_TRY(read_all());
  if (arguments.size() == 1 && arguments[0] == "read") return write_all(to_wire(read_graph(input)));
  if (arguments.size() == 1 && arguments[0] == "write") {
    const xir_io::XModel model = TANDEM_TRY(xir_io::from_wire(input));
    return write_all(TANDEM_TRY(write_graph(model)));
  }
  if (arguments.size() == 2 && arguments[0] == "target") return write_all(TANDEM_TRY(target(arguments[1])));
  return usage_error("tandem-xir read | write | target NAME, with a file as standard input");
}

}  // namespace
}  // namespace tandem::xir_helper

// Ends without destructors: what libxir leaves behind at its end is nobody's business, a leak checker's
// neither.
int main(int argc, char** argv) {
  int code = 3;
  try {
    const tandem::Status status = tandem::xir_helper::run(std::vector<std::string>(argv + 1, argv + argc));
    code = status.ok() ? 0 : static_cast<int>(status.error().code());
    if (!status.ok()) fprintf(stderr, "%s\n", status.error().message().c_str());
  } catch (const std::exception& error) {
    fprintf(stderr, "%s\n", error.what());
  } catch (...) {
    fprintf(stderr, "an exception of an unknown type\n");
  }
  fflush(stderr);
  _exit(code);
}
