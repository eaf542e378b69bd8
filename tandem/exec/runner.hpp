// SPDX-License-Identifier: Apache-2.0
// Runner: throughput by N workers of one thread each over one graph. Micro-batches of 1 to 4 keep the
// activations in the cache (measured on two cores: 2 workers x 1 thread beat 1 x 2 threads for every network
// at small batches).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tandem/base/cancel.hpp"
#include "tandem/exec/executable.hpp"

namespace tandem::exec {

// A graph compiled for micro-batches of a batch: of its largest divisor up to 4 whose activations (and
// scratchpad) are no more than kMicroBatchBytesMax, at least of one sample. For graphs whose samples do not
// influence each other; dimension 0 of their inputs is the batch.
struct MicroBatched {
  Executable executable;
  int64_t samples = 1;  // per execution
};
inline constexpr int64_t kMicroBatchMax = 4;
// Measured in f32: EfficientNet-Lite0 gains with 23 MiB at batch 4, EfficientNet-Lite4 loses a sixth with 62.
inline constexpr size_t kMicroBatchBytesMax = size_t{24} << 20;
Result<MicroBatched> compile_micro_batch(const ir::Graph& graph, int64_t batch,
                                         const CompileOptions& options = {});

struct RunnerOptions {
  int workers = 0;          // 0: one per core
  int64_t micro_batch = 4;  // samples per execution at most
  CompileOptions compile;   // its batch is ignored; threads are per worker
  // What watches one worker's executables, whose graph has ids of its own; asked for once per worker and batch
  // size, on that worker's thread. Needs compile.keep_all_values or observe_in_place.
  std::function<ValueObserver(size_t worker, const ir::Graph& compiled)> observer;
};

class Runner {
 public:
  // The next batch (tensors in graph order, dimension 0 of all alike and <= micro_batch), or nothing at the
  // end. Called by one thread at a time, in order.
  using Source = std::function<Result<std::optional<std::vector<Tensor>>>()>;
  // What the index-th batch gave. Called by one thread at a time, in order.
  using Sink = std::function<Status(size_t index, std::vector<Tensor> outputs)>;

  static Result<Runner> create(const ir::Graph& graph, const RunnerOptions& options = {});
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;
  ~Runner();

  // Until the source ends. The first error in order stops everything and is returned.
  Status run(const Source& source, const Sink& sink, const CancelToken* cancel = nullptr);
  // All samples of large tensors: dimension 0 is cut into micro-batches and the outputs are joined along
  // theirs.
  Result<std::vector<Tensor>> run_all(std::span<const TensorView> inputs);

  int workers() const;
  const Executable& executable() const;  // for micro_batch samples

 private:
  struct State;
  explicit Runner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tandem::exec
