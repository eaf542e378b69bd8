// SPDX-License-Identifier: Apache-2.0
// Who may include what. Our own rooms: DEPENDS says it. Third party: the one list below.
#include <algorithm>
#include <array>

#include "tandem/base/text.hpp"
#include "tests/tidy/tidy.hpp"

namespace tandem::tidy {
namespace {

struct ThirdParty {
  std::string_view where;   // A room, or a file of one; "*" everywhere.
  std::string_view prefix;  // How the include begins.
};

// The only place where it is written which room may see which library. A new line here is a decision; say why
// in its commit.
constexpr std::array<ThirdParty, 35> kThirdParty = {{
    {"*", "fmt/"},
    {"base/log.cpp", "spdlog/"},
    {"base/json.cpp", "nlohmann/"},
    {"base/toml.cpp", "toml++/"},
    {"testing", "gtest/"},
    {"testing", "gmock/"},
    {"onnx_io", "google/protobuf/"},
    {"onnx_io", "onnx/"},
    {"xir_io", "xir/"},
    {"xir_io", "vitis/"},
    {"exec", "oneapi/dnnl/"},
    {"exec", "dnnl"},
    {"data", "jpeglib.h"},
    {"data", "jerror.h"},
    {"data", "turbojpeg.h"},
    {"data", "png.h"},
    {"data", "webp/"},
    {"data", "stb/"},
    {"data", "stb_"},
    {"data", "zimg"},
    {"data", "libexif/"},
    {"data", "zlib.h"},
    {"device", "vart/"},
    {"device", "xir/"},
    {"device", "flatbuffers/"},
    {"serve", "prometheus/"},
    {"serve", "flatbuffers/"},
    {"serve", "systemd/"},
    {"cluster", "mpi.h"},
    {"apps/cli", "CLI/"},
    {"apps/cli", "apps/cli/"},  // its own headers: the program is no room of the library
    {"apps/xir_helper", "xir/"},
    {"apps/xir_helper", "vitis/"},
    {"apps/xir_helper", "google/protobuf/"},
    {"apps/xir_helper", "apps/xir_helper/"},
}};

// Headers of the C library, of POSIX and of Linux. C++ headers have no dot and need no list.
bool is_system_header(std::string_view include) {
  static constexpr std::array<std::string_view, 28> kNames = {
      "cpuid.h", "cxxabi.h",  "dirent.h",    "dlfcn.h",   "errno.h",  "execinfo.h", "fcntl.h",
      "fenv.h",  "glob.h",    "immintrin.h", "link.h",    "malloc.h", "math.h",     "netdb.h",
      "poll.h",  "pthread.h", "pwd.h",       "sched.h",   "signal.h", "spawn.h",    "stdint.h",
      "stdio.h", "stdlib.h",  "string.h",    "termios.h", "time.h",   "ucontext.h", "unistd.h"};
  static constexpr std::array<std::string_view, 5> kFolders = {"sys/", "linux/", "netinet/", "arpa/",
                                                               "sanitizer/"};
  if (include.find('.') == std::string_view::npos && include.find('/') == std::string_view::npos) return true;
  if (std::find(kNames.begin(), kNames.end(), include) != kNames.end()) return true;
  return std::any_of(kFolders.begin(), kFolders.end(),
                     [&](auto folder) { return include.starts_with(folder); });
}

bool allows(std::string_view where, std::string_view path) {
  if (where == "*") return true;
  const std::string under_library = "tandem/" + std::string(where);
  const std::string_view whole = path.starts_with("tandem/") ? std::string_view(under_library) : where;
  return path == whole || (path.starts_with(whole) && path.substr(whole.size()).starts_with("/"));
}

bool third_party_allowed(std::string_view path, std::string_view include) {
  // Every test program is linked with gtest, every benchmark with benchmark.
  const bool test =
      path.ends_with("_test.cpp") || path.starts_with("tests/") || path.starts_with("tandem/testing/");
  if (test && (include.starts_with("gtest/") || include.starts_with("gmock/"))) return true;
  if (path.ends_with("_bench.cpp") && include.starts_with("benchmark/")) return true;
  return std::any_of(kThirdParty.begin(), kThirdParty.end(), [&](const ThirdParty& line) {
    return allows(line.where, path) && include.starts_with(line.prefix);
  });
}

struct Include {
  std::string_view target;
  bool quoted = false;
  size_t line = 0;
};

std::vector<Include> includes_of(std::string_view text_without_comments) {
  std::vector<Include> includes;
  size_t number = 0;
  for (std::string_view line : split(text_without_comments, '\n')) {
    ++number;
    line = trim(line);
    if (!line.starts_with("#")) continue;
    line = trim(line.substr(1));
    if (!line.starts_with("include")) continue;
    line = trim(line.substr(7));
    if (line.size() < 2 || (line[0] != '"' && line[0] != '<')) continue;
    const size_t close = line.find(line[0] == '"' ? '"' : '>', 1);
    if (close == std::string_view::npos) continue;
    includes.push_back({line.substr(1, close - 1), line[0] == '"', number});
  }
  return includes;
}

class IncludeChecker {
 public:
  IncludeChecker(const std::vector<SourceFile>& files, std::vector<Finding>& findings) : findings_(findings) {
    std::vector<Finding> already_reported;
    rooms_ = read_rooms(files, already_reported);
  }

  void check(const SourceFile& file) {
    const std::string text = without_comments(file.text, false);
    for (const Include& include : includes_of(text)) {
      if (include.target.starts_with("tandem/")) {
        check_ours(file, include);
      } else if (include.quoted && include.target.starts_with("tests/") &&
                 !file.path.starts_with("tandem/")) {
        continue;
      } else if (!is_system_header(include.target)) {
        check_third_party(file, include);
      }
    }
  }

 private:
  void report(const SourceFile& file, const Include& include, std::string message) {
    findings_.push_back({file.path, include.line, "include", std::move(message)});
  }

  void check_ours(const SourceFile& file, const Include& include) {
    if (!include.quoted)
      report(file, include, fmt::format("our headers are included with quotes: \"{}\"", include.target));
    const std::string from = room_of(file.path);
    const std::string to = room_of(include.target);
    if (from.empty()) {
      // Tests, programs and examples sit on top of all rooms.
      return;
    }
    if (from == to) return;
    const auto room = rooms_.find(from);
    if (room == rooms_.end()) {
      report(file, include,
             fmt::format("folder 'tandem/{}' has no CMakeLists.txt with tandem_layer()", from));
      return;
    }
    const auto lists = [&to](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), to) != names.end();
    };
    if (lists(room->second.depends)) return;
    if (is_test_role(file.path) && lists(room->second.test_depends)) return;
    report(
        file, include,
        fmt::format("room '{}' does not list '{}' in DEPENDS of tandem/{}/CMakeLists.txt", from, to, from));
  }

  void check_third_party(const SourceFile& file, const Include& include) {
    if (!third_party_allowed(file.path, include.target)) {
      report(
          file, include,
          fmt::format("'{}' is neither ours (\"tandem/<room>/<file>.hpp\") nor allowed here by the list in "
                      "tests/tidy/check_includes.cpp",
                      include.target));
      return;
    }
    const bool open_header = file.path.starts_with("tandem/testing/") || !file.path.starts_with("tandem/");
    if (is_header(file.path) && !open_header && !include.target.starts_with("fmt/")) {
      report(file, include,
             fmt::format("'{}' is third party: include it in a .cpp file only", include.target));
    }
  }

  std::map<std::string, Room> rooms_;
  std::vector<Finding>& findings_;
};

}  // namespace

std::vector<Finding> check_includes(const std::vector<SourceFile>& files) {
  std::vector<Finding> findings;
  IncludeChecker checker(files, findings);
  for (const SourceFile& file : files) {
    if (is_cpp(file.path)) checker.check(file);
  }
  return findings;
}

}  // namespace tandem::tidy
