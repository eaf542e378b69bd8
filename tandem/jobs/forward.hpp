// SPDX-License-Identifier: Apache-2.0
// Forward: one model on one engine, or the parts of a plan on theirs. Batches go in and come out in order, on
// as many workers as asked.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/cancel.hpp"
#include "tandem/base/result.hpp"
#include "tandem/exec/runner.hpp"
#include "tandem/ir/graph.hpp"
#include "tandem/jobs/plan_parts.hpp"

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
  std::string dump_dir;     // numbered IR text after each pass; of a plan in a folder per part
};

class Forward {
 public:
  // Simplifies and compiles. The graph's inputs must have static shapes but for the batch.
  static Result<Forward> create(const ir::Graph& graph, const ForwardOptions& options);
  // The parts of a plan of this model, each on its device (see cut_parts()). What crosses a cut is in the
  // form of its contract: a part on the host gets it dequantized and hands it over quantized. With engine
  // kHost or kRef all parts run there instead. The first part runs on all workers, the others behind it one
  // batch at a time.
  static Result<Forward> create(const ir::Graph& model, const plan::Plan& plan,
                                const ForwardOptions& options);

  // As exec::Runner::run.
  Status run(const exec::Runner::Source& source, const exec::Runner::Sink& sink,
             const CancelToken* cancel = nullptr);

  int64_t micro_batch() const { return options_.micro_batch; }
  int workers() const;
  // One sentence per thing that does not run as the engine promises: a model without quantization on int8, a
  // node that runs by a plain loop.
  const std::vector<std::string>& fallbacks() const { return fallbacks_; }

 private:
  struct Part {
    std::string name;  // empty for a whole model
    Engine engine = Engine::kInt8;
    std::vector<plan::Contract> inputs, outputs;
    ir::Graph graph;                            // as executed
    std::unique_ptr<exec::Runner> runner;       // of the first part, unless the reference runs it
    std::map<int64_t, exec::Executable> later;  // of another part, by batch
  };
  using Values = std::map<std::string, Tensor>;  // of one batch, in the form of their contracts

  explicit Forward(ForwardOptions options) : options_(std::move(options)) {}
  Status add(Part part);
  Status run_first(const exec::Runner::Source& source, const exec::Runner::Sink& sink,
                   const CancelToken* cancel);
  Status run_plan(const exec::Runner::Source& source, const exec::Runner::Sink& sink,
                  const CancelToken* cancel);
  Result<std::vector<Tensor>> finish(Values values);
  Status run_later(Part& part, Values& values);

  ForwardOptions options_;
  std::vector<Part> parts_;
  std::vector<std::string> model_inputs_, model_outputs_;
  std::vector<std::string> fallbacks_;
};

// What was opened: the parts of its plan, or the whole model.
Result<Forward> make_forward(const ir::Graph& model, const ModelPath& source, const ForwardOptions& options);

// The graph that an engine executes for this one: in floating point for the host, simplified, fused.
Result<ir::Graph> graph_for(Engine engine, ir::Graph graph, const std::string& dump_dir = "");

// Sentences for fallbacks(), from what the executor reports.
std::vector<std::string> fallbacks_of(const std::vector<exec::NodeReport>& report);

}  // namespace tandem::jobs
