// SPDX-License-Identifier: Apache-2.0
// operator_tests: the ONNX backend tests as one program. Exit 0 when the gate holds, 1 when not, 2 on usage,
// 77 when the test data is not installed.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "tandem/base/file.hpp"
#include "tests/ops/executors.hpp"
#include "tests/ops/operators_page.hpp"

namespace tandem::ops {
namespace {

constexpr int kSkipped = 77;

// Of each set of Debian's data: how many tests it has, and how many passed when this was last changed; they
// only go up. Other data come with their own floors on the command line.
struct KnownSet {
  std::string_view name;
  int tests, floor;
};
constexpr KnownSet kDebianSets[] = {
    {"node", 932, 798}, {"pytorch-converted", 82, 82}, {"pytorch-operator", 35, 35}, {"simple", 23, 7}};

struct Options {
  std::string data_dir = "/usr/share/libonnx-testdata/data";
  std::vector<std::string> sets;
  std::map<std::string, int> floors;
  std::string executor, filter, json, docs, docs_to_check;
  bool list = false, verbose = false;
};

constexpr const char* kUsage =
    "usage: operator_tests [--data DIR] [--set NAME]... [--executor NAME] [--filter TEXT] [--list] "
    "[--verbose]\n"
    "                      [--floor SET=PASSES]... [--json FILE] [--write-docs FILE] [--check-docs FILE]\n"
    "--floor judges SET, and only the sets given so, when --set names none.\n";

// "node=798".
bool parse_floor(const std::string& text, std::map<std::string, int>& floors) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  int passes = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + equals + 1, end, passes);
  floors[text.substr(0, equals)] = passes;
  return parsed.ec == std::errc() && parsed.ptr == end;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--list")
      options.list = true;
    else if (flag == "--verbose")
      options.verbose = true;
    else if (i + 1 == argc)
      return false;
    else if (flag == "--data")
      options.data_dir = argv[++i];
    else if (flag == "--set")
      options.sets.push_back(argv[++i]);
    else if (flag == "--executor")
      options.executor = argv[++i];
    else if (flag == "--filter")
      options.filter = argv[++i];
    else if (flag == "--floor") {
      if (!parse_floor(argv[++i], options.floors)) return false;
    } else if (flag == "--check-docs")
      options.docs_to_check = argv[++i];
    else if (flag == "--json")
      options.json = argv[++i];
    else if (flag == "--write-docs")
      options.docs = argv[++i];
    else
      return false;
  }
  if (options.floors.empty()) {
    for (const KnownSet& known : kDebianSets) options.floors[std::string(known.name)] = known.floor;
  }
  if (options.sets.empty()) {
    for (const auto& entry : options.floors) options.sets.push_back(entry.first);
  }
  return true;
}

std::vector<Verdict> run_sets(const Options& options, const Executor& executor) {
  std::vector<Verdict> verdicts;
  for (const std::string& set : options.sets) {
    for (const std::string& test : list_tests(options.data_dir, set, options.filter)) {
      verdicts.push_back(judge(options.data_dir, set, test, executor));
      const Verdict& v = verdicts.back();
      if (options.verbose || v.outcome == Outcome::kFail) {
        std::printf("%-7s %s/%s %s\n", std::string(to_string(v.outcome)).c_str(), set.c_str(), test.c_str(),
                    v.reason.c_str());
      }
    }
  }
  return verdicts;
}

using Results = std::vector<std::pair<std::string, std::vector<Verdict>>>;

// The page is made from Debian's data; another release of them has other tests, and then there is nothing to
// compare.
bool made_from_debian_sets(const Results& results) {
  for (const auto& result : results) {
    std::map<std::string, Counts> counts = count(result.second);
    for (const KnownSet& known : kDebianSets) {
      if (counts[std::string(known.name)].total() != known.tests) return false;
    }
  }
  return true;
}

Status check_docs(const std::string& path, const Results& results) {
  if (!made_from_debian_sets(results)) {
    std::printf("%s is not compared: it was made from other tests\n", path.c_str());
    return {};
  }
  const std::string page = TANDEM_TRY(read_file(path));
  return check_operators_page(page, results).context(path);
}

int run(const Options& options) {
  const bool whole = options.filter.empty();
  bool ok = true;
  Results results;
  Json json = Json::object();
  for (const Executor& executor : executors()) {
    if (!options.executor.empty() && options.executor != executor.name) continue;
    const auto begin = std::chrono::steady_clock::now();
    std::vector<Verdict> verdicts = run_sets(options, executor);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    for (const auto& entry : count(verdicts)) {
      std::printf("%s, %s: %d pass, %d fail, %d refused of %d\n", executor.name.c_str(), entry.first.c_str(),
                  entry.second.pass, entry.second.fail, entry.second.refused, entry.second.total());
    }
    std::printf("%s: %.1f s\n", executor.name.c_str(), seconds.count());
    std::map<std::string, int> wanted;
    for (const std::string& set : options.sets) {
      if (whole && options.floors.count(set) > 0) wanted[set] = options.floors.at(set);
    }
    if (const Status status = gate(verdicts, wanted); !status.ok()) {
      std::fprintf(stderr, "%s: %s\n", executor.name.c_str(), status.error().message().c_str());
      ok = false;
    }
    json.set(executor.name, to_json(verdicts));
    results.emplace_back(executor.name, std::move(verdicts));
  }
  if (results.empty()) {
    std::fprintf(stderr, "no executor is called '%s'\n", options.executor.c_str());
    return 2;
  }
  Status written;
  if (!options.json.empty()) written = write_file(options.json, json.dump(1) + "\n");
  if (written.ok() && !options.docs.empty()) written = write_file(options.docs, operators_page(results));
  if (written.ok() && !options.docs_to_check.empty()) written = check_docs(options.docs_to_check, results);
  if (!written.ok()) {
    std::fprintf(stderr, "%s\n", written.error().message().c_str());
    return static_cast<int>(written.error().code());
  }
  return ok ? 0 : 1;
}

int run_program(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (!std::filesystem::exists(options.data_dir)) {
    std::printf("skipped: %s is not there (Debian package libonnx-testdata)\n", options.data_dir.c_str());
    return kSkipped;
  }
  if (!options.list) return run(options);
  for (const std::string& set : options.sets) {
    for (const std::string& test : list_tests(options.data_dir, set, options.filter)) {
      std::printf("%s/%s\n", set.c_str(), test.c_str());
    }
  }
  return 0;
}

}  // namespace
}  // namespace tandem::ops

int main(int argc, char** argv) { return tandem::ops::run_program(argc, argv); }
