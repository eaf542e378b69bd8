// SPDX-License-Identifier: Apache-2.0
// Forward: one model on one engine. Batches go in and come out in order, on as many workers as asked.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/cancel.hpp"
#include "tandem/base/result.hpp"
#include "tandem/exec/runner.hpp"
#include "tandem/ir/graph.hpp"

namespace tandem::jobs {

enum class Engine : uint8_t {
  kInt8,  // the fast executor: what carries quantization in integers, the rest in floating point
  kHost,  // the fast executor, everything in floating point
  kRef,   // the reference interpreter: slow, and the judge of the others
};
std::string_view to_string(Engine engine);
Result<Engine> engine_from_string(std::string_view name);

struct ForwardOptions {
  Engine engine = Engine::kInt8;
  int threads = 0;          // workers; 0: one per core
  int64_t micro_batch = 4;  // 1 where the graph only works for one sample at a time
  std::string dump_dir;     // numbered IR text after each pass
};

class Forward {
 public:
  // Simplifies and compiles. The graph's inputs must have static shapes but for the batch.
  static Result<Forward> create(const ir::Graph& graph, const ForwardOptions& options);

  // As exec::Runner::run.
  Status run(const exec::Runner::Source& source, const exec::Runner::Sink& sink,
             const CancelToken* cancel = nullptr);

  const ir::Graph& graph() const { return graph_; }  // as executed
  int64_t micro_batch() const { return options_.micro_batch; }
  int workers() const;
  // Empty for the reference interpreter.
  const std::vector<exec::NodeReport>& report() const;
  // One sentence per thing that does not run as the engine promises: a model without quantization on int8, a
  // node that runs by a plain loop.
  std::vector<std::string> fallbacks() const;

 private:
  Forward(ir::Graph graph, ForwardOptions options) : graph_(std::move(graph)), options_(std::move(options)) {}
  ir::Graph graph_;
  ForwardOptions options_;
  std::unique_ptr<exec::Runner> runner_;  // null: reference
};

// Sentences for fallbacks(), from what the executor reports.
std::vector<std::string> fallbacks_of(const std::vector<exec::NodeReport>& report);

}  // namespace tandem::jobs
