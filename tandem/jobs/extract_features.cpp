// SPDX-License-Identifier: Apache-2.0
// Loader -> runner -> cache.
#include "tandem/jobs/extract_features.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <deque>
#include <mutex>
#include <thread>

#include "tandem/exec/runner.hpp"

namespace tandem::jobs {
namespace {

// A quiet NaN with a payload that no arithmetic makes.
constexpr uint32_t kSkippedBits = 0x7fd0dead;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Puts rows in their places: samples that were passed over in between get marks.
class CacheWriter {
 public:
  CacheWriter(train::FeatureCache& cache, int64_t first_row, Progress& progress)
      : cache_(cache),
        first_row_(static_cast<size_t>(first_row)),
        progress_(progress),
        mark_(static_cast<size_t>(cache.columns()), std::bit_cast<float>(kSkippedBits)) {}

  // Rows become done together: a kill in between leaves the cache at the end of a batch.
  Status put(const std::vector<size_t>& samples, std::span<const float> features) {
    const auto columns = static_cast<size_t>(cache_.columns());
    if (features.size() != samples.size() * columns) {
      return internal_error(fmt::format("the backbone gave {} values for {} images of {}", features.size(),
                                        samples.size(), columns));
    }
    rows_.clear();
    auto at = static_cast<size_t>(cache_.rows_done());
    const size_t first = at;
    for (size_t i = 0; i < samples.size(); ++i, ++at) {
      for (; at < first_row_ + samples[i]; ++at) rows_.insert(rows_.end(), mark_.begin(), mark_.end());
      const auto row = features.subspan(i * columns, columns);
      rows_.insert(rows_.end(), row.begin(), row.end());
    }
    cache_.append(rows_);
    progress_.advance(at - first);
    return {};
  }

  void mark_rest() {
    while (!cache_.complete()) cache_.append(mark_);
  }

 private:
  train::FeatureCache& cache_;
  const size_t first_row_;
  Progress& progress_;
  const std::vector<float> mark_;
  std::vector<float> rows_;
};

class Tracer {
 public:
  explicit Tracer(const ExtractOptions& options) : options_(options) {}
  void span(int32_t thread, const char* name, int64_t start_ns, int64_t images) const {
    if (options_.trace == nullptr || !options_.trace->enabled()) return;
    options_.trace->span({options_.trace_process, thread}, name, start_ns - options_.trace_origin_ns,
                         now_ns() - start_ns, Json::object({{"images", images}, {"of", options_.label}}));
  }

 private:
  const ExtractOptions& options_;
};

int workers_of(const ExtractOptions& options) {
  return options.workers > 0 ? options.workers
                             : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

data::LoaderOptions loader_options(const ExtractOptions& options, const data::Preprocess& preprocess,
                                   const JobHooks& hooks, const train::FeatureCache& cache) {
  data::LoaderOptions loader;
  loader.batch = options.micro_batch;
  loader.threads = static_cast<size_t>(workers_of(options));
  loader.ahead = 2 * workers_of(options);
  loader.layout = preprocess.layout;
  loader.augment = options.augment;
  loader.seed = options.seed;
  loader.epoch = options.epoch;
  loader.strict = options.strict;
  loader.cancel = hooks.cancel;
  for (int64_t row = cache.rows_done(); row < cache.rows(); ++row) {
    loader.order.push_back(static_cast<size_t>(row - options.first_row));
  }
  return loader;
}

// Nodes that no fast kernel executes are said, and refused when strict.
Status tell_fallbacks(const exec::Executable& executable, const ExtractOptions& options,
                      const JobHooks& hooks) {
  std::string names;
  int64_t count = 0;
  for (const exec::NodeReport& node : executable.report()) {
    if (!node.reference) continue;
    constexpr int64_t kNamed = 3;
    if (count++ < kNamed)
      names += fmt::format("{}'{}' ({}{})", count > 1 ? ", " : "", node.name, node.op,
                           node.fallback_reason.empty() ? "" : ": " + node.fallback_reason);
  }
  if (count == 0) return {};
  const std::string what = fmt::format("{}: {} node(s) run by slow reference loops: {}{}", options.label,
                                       count, names, count > 3 ? ", ..." : "");
  if (options.strict) return Error(ErrorCode::kGateFailed, what).hint("leave out --strict to accept that");
  hooks.say(what);
  return {};
}

}  // namespace

Status extract_features(const ir::Graph& graph, const data::Dataset& dataset,
                        const data::Preprocess& preprocess, const ExtractOptions& options,
                        const JobHooks& hooks, train::FeatureCache& cache) {
  TANDEM_CHECK(cache.rows() == options.first_row + static_cast<int64_t>(dataset.samples.size()),
               "the cache is of another dataset");
  TANDEM_CHECK(cache.rows_done() >= options.first_row, "rows before the first one are missing");
  if (cache.complete()) return {};
  const bool began_empty = cache.rows_done() == options.first_row;
  Progress progress = hooks.start(options.label, dataset.samples.size(), "images");
  progress.update(static_cast<uint64_t>(cache.rows_done() - options.first_row));
  exec::RunnerOptions runner_options;
  runner_options.workers = workers_of(options);
  runner_options.micro_batch = options.micro_batch;
  exec::Runner runner =
      TANDEM_TRY(exec::Runner::create(graph, runner_options).context("compiling the backbone"));
  TANDEM_TRY(tell_fallbacks(runner.executable(), options, hooks));
  data::BatchLoader loader(dataset, preprocess, loader_options(options, preprocess, hooks, cache));

  // What is under way: the source knows the samples of a batch, the sink needs them.
  struct InFlight {
    std::vector<size_t> samples;
    int64_t start_ns = 0;
  };
  std::mutex mutex;
  std::deque<InFlight> in_flight;
  CacheWriter writer(cache, options.first_row, progress);
  const Tracer tracer(options);
  const auto source = [&]() -> Result<std::optional<std::vector<Tensor>>> {
    const int64_t start = now_ns();
    std::optional<data::Batch> batch = TANDEM_TRY(loader.next());
    if (!batch) return std::optional<std::vector<Tensor>>();
    tracer.span(1, "decode", start, static_cast<int64_t>(batch->samples.size()));
    std::vector<Tensor> inputs;
    inputs.push_back(std::move(batch->images));
    const std::lock_guard lock(mutex);
    in_flight.push_back({std::move(batch->samples), now_ns()});
    return std::optional<std::vector<Tensor>>(std::move(inputs));
  };
  const auto sink = [&](size_t index, std::vector<Tensor> outputs) -> Status {
    InFlight done;
    {
      const std::lock_guard lock(mutex);
      done = std::move(in_flight.front());
      in_flight.pop_front();
    }
    // Batches under way overlap: as many lanes as workers keep the spans of a lane apart.
    const auto lane = static_cast<int32_t>(index % static_cast<size_t>(2 * runner.workers()));
    tracer.span(2 + lane, "backbone", done.start_ns, static_cast<int64_t>(done.samples.size()));
    return writer.put(done.samples, outputs[0].as<float>());
  };
  Status ran = runner.run(source, sink, hooks.cancel);
  // Only broken images were left of an earlier, interrupted run.
  const bool only_broken = !ran.ok() && ran.error().code() == ErrorCode::kBadInput && !began_empty &&
                           !options.strict && in_flight.empty() &&
                           loader.skipped().size() == static_cast<size_t>(cache.rows() - cache.rows_done());
  if (!ran.ok() && !only_broken) return ran;
  writer.mark_rest();
  return {};
}

bool is_skipped(std::span<const float> row) {
  return !row.empty() && std::bit_cast<uint32_t>(row.front()) == kSkippedBits &&
         std::bit_cast<uint32_t>(row.back()) == kSkippedBits;
}

std::vector<int64_t> usable_rows(const train::FeatureCache& cache) {
  std::vector<int64_t> rows;
  for (int64_t r = 0; r < cache.rows_done(); ++r) {
    if (!is_skipped(cache.row(r))) rows.push_back(r);
  }
  return rows;
}

std::vector<data::Skipped> skipped_images(const train::FeatureCache& cache, const data::Dataset& dataset,
                                          const data::Preprocess& preprocess, int64_t first_row) {
  std::vector<data::Skipped> skipped;
  for (int64_t r = first_row; r < cache.rows_done(); ++r) {
    if (!is_skipped(cache.row(r))) continue;
    const auto sample = static_cast<size_t>(r - first_row);
    std::string reason = "it could not be used";
    const auto image = data::load_image(dataset, sample, data::decode_options(preprocess));
    const auto fitted = image.ok() ? data::fit(preprocess, *image) : Result<data::Image>(image.error());
    if (!fitted.ok())
      reason = fitted.error().because_text().empty() ? fitted.error().what() : fitted.error().because_text();
    skipped.push_back({dataset.name(sample), std::move(reason)});
  }
  return skipped;
}

}  // namespace tandem::jobs
