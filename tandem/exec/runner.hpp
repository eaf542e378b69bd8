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

struct RunnerOptions {
  int workers = 0;          // 0: one per core
  int64_t micro_batch = 4;  // samples per execution at most
  CompileOptions compile;   // its batch is ignored; threads are per worker
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
