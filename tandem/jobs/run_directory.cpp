// SPDX-License-Identifier: Apache-2.0
// The files of a run.
#include "tandem/jobs/run_directory.hpp"

#include <chrono>
#include <filesystem>

#include "tandem/base/file.hpp"
#include "tandem/base/hash.hpp"

namespace tandem::jobs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kResults[] = {"adapted.onnx", "head.safetensors", "plan.json",  "metrics.jsonl",
                                    "trace.json",   "summary.json",     "report.html"};

Status remove_file(const std::string& path) {
  std::error_code code;
  fs::remove(path, code);
  if (code) return io_error(fmt::format("cannot remove '{}'", path)).because(code.message());
  return {};
}

void add_file(Sha256& hash, const std::string& path) {
  std::error_code code;
  const auto size = fs::file_size(path, code);
  hash.add(code ? uint64_t{0} : static_cast<uint64_t>(size));
  const auto time = fs::last_write_time(path, code);
  hash.add(code ? uint64_t{0} : static_cast<uint64_t>(time.time_since_epoch().count()));
}

}  // namespace

Result<RunDirectory> RunDirectory::open(const std::string& path) {
  if (path.empty())
    return usage_error("no run directory was given").hint("give one with -o, for example -o run1");
  RunDirectory run(path);
  TANDEM_TRY(make_directories(run.work("")).context(fmt::format("run directory '{}'", path)));
  const std::string probe = run.work("probe");
  TANDEM_TRY(write_file(probe, "x").context(fmt::format("run directory '{}'", path)));
  TANDEM_TRY(remove_file(probe));
  return run;
}

Status RunDirectory::remove_results() const {
  for (const char* name : kResults) TANDEM_TRY(remove_file(file(name)));
  return {};
}

Status RunDirectory::publish(std::string_view name) const {
  std::error_code code;
  fs::rename(work(name), file(name), code);
  if (code) return io_error(fmt::format("cannot write '{}'", file(name))).because(code.message());
  return {};
}

Status RunDirectory::remove_checkpoints() const {
  std::error_code code;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(work(""), code)) {
    if (entry.path().filename().string().rfind("checkpoint-", 0) == 0) found.push_back(entry.path().string());
  }
  if (code) return io_error(fmt::format("cannot list '{}'", work(""))).because(code.message());
  for (const std::string& path : found) TANDEM_TRY(remove_file(path));
  return {};
}

Result<Json> RunDirectory::read_record() const {
  const std::string path = work("run.json");
  std::error_code code;
  if (!fs::exists(path, code)) return Json();
  const std::string text = TANDEM_TRY(read_file(path));
  return Json::parse(text).context(fmt::format("'{}'", path));
}

Status RunDirectory::write_record(const Json& record) const {
  return write_file(work("run.json"), record.dump(1) + "\n");
}

std::string listing_hash(const data::Dataset& dataset, const std::string& data_path) {
  Sha256 hash;
  for (const std::string& name : dataset.class_names) hash.add(name);
  hash.add(static_cast<uint64_t>(dataset.samples.size()));
  if (dataset.idx) {
    std::error_code code;
    const std::string file =
        fs::is_directory(data_path, code) ? data_path + "/" + dataset.idx->name() : data_path;
    hash.add(file);
    add_file(hash, file);
  }
  for (const data::Sample& sample : dataset.samples) {
    hash.add(sample.path);
    hash.add(static_cast<uint64_t>(sample.index));
    hash.add(static_cast<uint64_t>(static_cast<int64_t>(sample.label)));
    if (!sample.path.empty()) add_file(hash, sample.path);
  }
  return hash.hex();
}

}  // namespace tandem::jobs
