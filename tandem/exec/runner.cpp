// SPDX-License-Identifier: Apache-2.0
// Workers over one graph, results in order.
#include "tandem/exec/runner.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

namespace tandem::exec {

Result<MicroBatched> compile_micro_batch(const ir::Graph& graph, int64_t batch,
                                         const CompileOptions& options) {
  if (batch < 1) return usage_error(fmt::format("a batch of {} samples", batch));
  if (graph.inputs.empty()) return unsupported("the graph has no input");
  CompileOptions compile = options;
  const auto& first = graph.value(graph.inputs[0]).shape;
  const int64_t fixed = first && first->rank() > 0 ? (*first)[0] : 1;
  if (fixed != kDynamic) {
    if (batch != fixed) return unsupported(fmt::format("the graph is made for batch {}", fixed));
    return MicroBatched{TANDEM_TRY(Executable::compile(graph, compile)), fixed};
  }
  for (int64_t samples = std::min(batch, kMicroBatchMax); samples > 1; --samples) {
    if (batch % samples != 0) continue;
    compile.batch = samples;
    Executable made = TANDEM_TRY(Executable::compile(graph, compile));
    if (made.arena_bytes() <= kMicroBatchBytesMax) return MicroBatched{std::move(made), samples};
  }
  compile.batch = 1;
  return MicroBatched{TANDEM_TRY(Executable::compile(graph, compile)), 1};
}

struct Runner::State {
  ir::Graph graph;
  RunnerOptions options;
  int workers = 1;
  std::mutex compile_mutex;
  std::map<int64_t, Executable> compiled;                // by batch: the originals, cloned by workers
  std::vector<std::map<int64_t, Executable>> instances;  // per worker

  // The worker's own executable for this batch.
  Result<Executable*> instance(size_t worker, int64_t batch);
};

Result<Executable*> Runner::State::instance(size_t worker, int64_t batch) {
  auto& own = instances[worker];
  if (const auto it = own.find(batch); it != own.end()) return &it->second;
  const std::lock_guard lock(compile_mutex);
  auto it = compiled.find(batch);
  if (it == compiled.end()) {
    CompileOptions compile = options.compile;
    compile.batch = batch;
    for (Shape& s : compile.input_shapes) {
      if (s.rank() > 0) s[0] = batch;
    }
    it = compiled.emplace(batch, TANDEM_TRY(Executable::compile(graph, compile))).first;
  }
  Executable& made = own.emplace(batch, it->second.clone()).first->second;
  if (options.observer) made.set_observer(options.observer(worker, made.graph()));
  return &made;
}

Runner::Runner(std::unique_ptr<State> state) : state_(std::move(state)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;
Runner::~Runner() = default;

Result<Runner> Runner::create(const ir::Graph& graph, const RunnerOptions& options) {
  if (options.micro_batch < 1)
    return usage_error(fmt::format("micro-batch of {}: at least 1 sample is needed", options.micro_batch));
  if (options.workers < 0) return usage_error(fmt::format("{} workers", options.workers));
  auto state = std::make_unique<State>();
  state->graph = graph;
  state->options = options;
  state->workers = options.workers > 0 ? options.workers
                                       : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  state->instances.resize(static_cast<size_t>(state->workers));
  TANDEM_TRY(state->instance(0, options.micro_batch));
  return Runner(std::move(state));
}

int Runner::workers() const { return state_->workers; }
const Executable& Runner::executable() const { return state_->compiled.at(state_->options.micro_batch); }

namespace {

// What the workers of one run share.
struct Turn {
  std::mutex source_mutex, sink_mutex;
  std::condition_variable turn;
  size_t next_read = 0;   // guarded by source_mutex
  bool ended = false;     // guarded by source_mutex
  size_t next_write = 0;  // guarded by sink_mutex
  bool failed = false;    // guarded by sink_mutex
  Status status;          // guarded by sink_mutex: of the lowest failing index
};

int64_t batch_of(const std::vector<Tensor>& tensors) {
  return tensors.empty() || tensors[0].shape().rank() == 0 ? 1 : tensors[0].shape()[0];
}

}  // namespace

Status Runner::run(const Source& source, const Sink& sink, const CancelToken* cancel) {
  Turn t;
  const auto compute = [&](size_t worker, const std::vector<Tensor>& batch) -> Result<std::vector<Tensor>> {
    const int64_t samples = batch_of(batch);
    if (samples < 1 || samples > state_->options.micro_batch) {
      return bad_input(fmt::format("a batch of {} samples, at most {} were announced", samples,
                                   state_->options.micro_batch));
    }
    Executable* executable = TANDEM_TRY(state_->instance(worker, samples));
    std::vector<TensorView> views(batch.begin(), batch.end());
    return executable->run(views);
  };
  const auto work = [&](size_t worker) {
    while (true) {
      std::vector<Tensor> batch;
      size_t index = 0;
      Status read;
      {
        const std::lock_guard lock(t.source_mutex);
        if (t.ended) return;
        if (cancel != nullptr) read = cancel->check();
        if (read.ok()) {
          Result<std::optional<std::vector<Tensor>>> next = source();
          if (!next.ok())
            read = std::move(next).error();
          else if (next->has_value())
            batch = std::move(**next);
          else
            t.ended = true;
        }
        if (!read.ok()) t.ended = true;
        if (t.ended && read.ok()) return;
        index = t.next_read++;
      }
      Result<std::vector<Tensor>> made =
          read.ok() ? compute(worker, batch) : Result<std::vector<Tensor>>(read.error());
      std::unique_lock lock(t.sink_mutex);
      t.turn.wait(lock, [&] { return t.next_write == index || t.failed; });
      if (!t.failed) {
        Status written = made.ok() ? sink(index, std::move(made).value()) : Status(made.error());
        if (!written.ok()) {
          t.failed = true;
          t.status = std::move(written);
        }
        ++t.next_write;
      }
      const bool stop = t.failed;
      lock.unlock();
      t.turn.notify_all();
      if (stop) {
        const std::lock_guard end(t.source_mutex);
        t.ended = true;
        return;
      }
    }
  };
  std::vector<std::jthread> threads;
  for (size_t w = 1; w < static_cast<size_t>(state_->workers); ++w) threads.emplace_back(work, w);
  work(0);
  threads.clear();  // joins
  return t.status;
}

Result<std::vector<Tensor>> Runner::run_all(std::span<const TensorView> inputs) {
  if (inputs.empty() || inputs[0].shape().rank() == 0) return bad_input("there is no batch dimension to cut");
  const int64_t samples = inputs[0].shape()[0];
  for (const TensorView& v : inputs) {
    if (v.shape().rank() == 0 || v.shape()[0] != samples)
      return bad_input("inputs have different batch sizes");
  }
  int64_t first = 0;
  const Source source = [&]() -> Result<std::optional<std::vector<Tensor>>> {
    if (first == samples) return std::optional<std::vector<Tensor>>();
    const int64_t count = std::min(state_->options.micro_batch, samples - first);
    std::vector<Tensor> batch;
    for (const TensorView& v : inputs) {
      Shape shape = v.shape();
      shape[0] = count;
      const size_t sample_bytes = v.size_bytes() / static_cast<size_t>(samples);
      batch.push_back(
          TensorView(v.dtype(), shape, v.data() + static_cast<size_t>(first) * sample_bytes).to_tensor());
    }
    first += count;
    return std::optional<std::vector<Tensor>>(std::move(batch));
  };
  std::vector<Tensor> joined;
  std::vector<size_t> filled;
  const Sink sink = [&](size_t index, std::vector<Tensor> outputs) -> Status {
    const int64_t count = std::min(state_->options.micro_batch,
                                   samples - static_cast<int64_t>(index) * state_->options.micro_batch);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].shape().rank() == 0 || outputs[i].shape()[0] != count) {
        return unsupported(fmt::format("output {} has no batch dimension to join", i));
      }
      if (index == 0) {
        Shape shape = outputs[i].shape();
        shape[0] = samples;
        joined.push_back(TANDEM_TRY(Tensor::make(outputs[i].dtype(), shape)));
        filled.push_back(0);
      }
      std::memcpy(joined[i].data() + filled[i], outputs[i].data(), outputs[i].size_bytes());
      filled[i] += outputs[i].size_bytes();
    }
    return {};
  };
  TANDEM_TRY(run(source, sink));
  return joined;
}

}  // namespace tandem::exec
