// SPDX-License-Identifier: Apache-2.0
// The two executors behind one call.
#include "tandem/jobs/forward.hpp"

#include <algorithm>
#include <thread>

#include "tandem/base/text.hpp"
#include "tandem/jobs/prepare_graph.hpp"
#include "tandem/ref/ref.hpp"

namespace tandem::jobs {

std::string_view to_string(Engine engine) {
  switch (engine) {
    case Engine::kInt8: return "int8";
    case Engine::kHost: return "host";
    case Engine::kRef: return "ref";
  }
  return "?";
}

Result<Engine> engine_from_string(std::string_view name) {
  for (const Engine engine : {Engine::kInt8, Engine::kHost, Engine::kRef}) {
    if (name == to_string(engine)) return engine;
  }
  return usage_error(fmt::format("'{}' is no device of this machine", name))
      .hint(did_you_mean(name, {"int8", "host", "ref"}));
}

Result<Forward> Forward::create(const ir::Graph& graph, const ForwardOptions& options) {
  ir::Graph prepared = graph;
  if (options.engine == Engine::kHost) prepared = TANDEM_TRY(without_quantization(std::move(prepared)));
  // The reference runs the same graph, so that a difference is one of arithmetic.
  prepared =
      TANDEM_TRY(simplified(std::move(prepared), {.fuse_residual = true, .dump_dir = options.dump_dir}));
  Forward forward(std::move(prepared), options);
  if (options.engine == Engine::kRef) return forward;
  exec::RunnerOptions runner;
  runner.workers = options.threads;
  runner.micro_batch = options.micro_batch;
  forward.runner_ = std::make_unique<exec::Runner>(TANDEM_TRY(exec::Runner::create(forward.graph_, runner)));
  return forward;
}

Status Forward::run(const exec::Runner::Source& source, const exec::Runner::Sink& sink,
                    const CancelToken* cancel) {
  if (runner_ != nullptr) return runner_->run(source, sink, cancel);
  ref::RunOptions options;
  options.cancel = cancel;
  for (size_t index = 0;; ++index) {
    if (cancel != nullptr) TANDEM_TRY(cancel->check());
    std::optional<std::vector<Tensor>> batch = TANDEM_TRY(source());
    if (!batch) return {};
    std::vector<Tensor> outputs = TANDEM_TRY(ref::run(graph_, *batch, options));
    TANDEM_TRY(sink(index, std::move(outputs)));
  }
}

int Forward::workers() const { return runner_ != nullptr ? runner_->workers() : 1; }

const std::vector<exec::NodeReport>& Forward::report() const {
  static const std::vector<exec::NodeReport> kNone;
  return runner_ != nullptr ? runner_->executable().report() : kNone;
}

std::vector<std::string> fallbacks_of(const std::vector<exec::NodeReport>& report) {
  std::vector<std::string> sentences;
  for (const exec::NodeReport& node : report) {
    if (!node.reference && node.fallback_reason.empty()) continue;
    sentences.push_back(fmt::format("node '{}' ({}) runs by {}{}", node.name, node.op,
                                    node.reference ? "a plain loop" : node.implementation,
                                    node.fallback_reason.empty() ? "" : ": " + node.fallback_reason));
  }
  return sentences;
}

std::vector<std::string> Forward::fallbacks() const {
  std::vector<std::string> sentences = fallbacks_of(report());
  if (options_.engine == Engine::kInt8 && !is_quantized(graph_)) {
    sentences.insert(sentences.begin(),
                     "the model carries no quantization: all of it runs in floating point");
  }
  return sentences;
}

}  // namespace tandem::jobs
