// SPDX-License-Identifier: Apache-2.0
// The executors behind one call, and batches on their way through the parts of a plan.
#include "tandem/jobs/forward.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
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

namespace {

// What the host computes with is real.
Tensor from_contract(Tensor stored, const plan::Contract& contract, Engine engine) {
  return contract.quant && engine == Engine::kHost ? dequantize(stored, *contract.quant) : std::move(stored);
}

Tensor to_contract(Tensor made, const plan::Contract& contract) {
  return contract.quant && made.dtype() != contract.dtype ? quantize(made, *contract.quant) : std::move(made);
}

std::vector<std::string> names_of(const ir::Graph& graph, const std::vector<ir::ValueId>& ids) {
  std::vector<std::string> names;
  for (const ir::ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}

}  // namespace

Result<ir::Graph> graph_for(Engine engine, ir::Graph graph, const std::string& dump_dir) {
  if (engine == Engine::kHost) graph = TANDEM_TRY(without_quantization(std::move(graph)));
  // The reference runs the same graph, so that a difference is one of arithmetic.
  return simplified(std::move(graph), {.fuse_residual = true, .dump_dir = dump_dir});
}

Status Forward::add(Part part) {
  const std::string dump_dir = options_.dump_dir.empty() || part.name.empty()
                                   ? options_.dump_dir
                                   : options_.dump_dir + "/" + part.name;
  part.graph = TANDEM_TRY(graph_for(part.engine, std::move(part.graph), dump_dir));
  std::vector<std::string> sentences;
  if (part.engine == Engine::kInt8 && !is_quantized(part.graph))
    sentences.push_back("the model carries no quantization: all of it runs in floating point");
  if (part.engine != Engine::kRef) {
    const exec::Executable* executable = nullptr;
    if (parts_.empty()) {
      exec::RunnerOptions runner;
      runner.workers = options_.threads;
      runner.micro_batch = options_.micro_batch;
      part.runner = std::make_unique<exec::Runner>(TANDEM_TRY(exec::Runner::create(part.graph, runner)));
      executable = &part.runner->executable();
    } else {
      exec::CompileOptions compile;
      compile.batch = options_.micro_batch;
      exec::Executable made = TANDEM_TRY(exec::Executable::compile(part.graph, compile));
      executable = &part.later.emplace(compile.batch, std::move(made)).first->second;
    }
    const std::vector<std::string> more = fallbacks_of(executable->report());
    sentences.insert(sentences.end(), more.begin(), more.end());
  }
  for (const std::string& sentence : sentences)
    fallbacks_.push_back(part.name.empty() ? sentence : fmt::format("part '{}': {}", part.name, sentence));
  parts_.push_back(std::move(part));
  return {};
}

Result<Forward> Forward::create(const ir::Graph& graph, const ForwardOptions& options) {
  Forward forward(options);
  Part whole;
  whole.engine = options.engine;
  whole.graph = graph;
  TANDEM_TRY(forward.add(std::move(whole)));
  return forward;
}

Result<Forward> Forward::create(const ir::Graph& model, const plan::Plan& plan,
                                const ForwardOptions& options) {
  Forward forward(options);
  forward.model_inputs_ = names_of(model, model.inputs);
  forward.model_outputs_ = names_of(model, model.outputs);
  std::vector<PartGraph> cuts = TANDEM_TRY(cut_parts(model, plan));
  for (PartGraph& cut : cuts) {
    Part part;
    part.name = cut.name;
    part.engine =
        options.engine == Engine::kInt8 ? TANDEM_TRY(engine_from_string(cut.device)) : options.engine;
    part.inputs = std::move(cut.inputs);
    part.outputs = std::move(cut.outputs);
    part.graph = std::move(cut.graph);
    TANDEM_TRY(forward.add(std::move(part)).context(fmt::format("part '{}'", cut.name)));
  }
  return forward;
}

Status Forward::run(const exec::Runner::Source& source, const exec::Runner::Sink& sink,
                    const CancelToken* cancel) {
  return model_outputs_.empty() ? run_first(source, sink, cancel) : run_plan(source, sink, cancel);
}

Status Forward::run_first(const exec::Runner::Source& source, const exec::Runner::Sink& sink,
                          const CancelToken* cancel) {
  Part& part = parts_.front();
  if (part.runner != nullptr) return part.runner->run(source, sink, cancel);
  ref::RunOptions options;
  options.cancel = cancel;
  options.stored_outputs = !part.outputs.empty();
  for (size_t index = 0;; ++index) {
    if (cancel != nullptr) TANDEM_TRY(cancel->check());
    std::optional<std::vector<Tensor>> batch = TANDEM_TRY(source());
    if (!batch) return {};
    std::vector<Tensor> outputs = TANDEM_TRY(ref::run(part.graph, *batch, options));
    TANDEM_TRY(sink(index, std::move(outputs)));
  }
}

Status Forward::run_plan(const exec::Runner::Source& source, const exec::Runner::Sink& sink,
                         const CancelToken* cancel) {
  Part& first = parts_.front();
  const auto wanted_later = [this](const std::string& name) {
    return std::any_of(parts_.begin() + 1, parts_.end(), [&](const Part& part) {
      return std::any_of(part.inputs.begin(), part.inputs.end(),
                         [&](const plan::Contract& c) { return c.value == name; });
    });
  };
  std::mutex mutex;
  std::deque<Values>
      under_way;  // model inputs of the batches between source and sink, where a part wants them
  const auto feed = [&]() -> Result<std::optional<std::vector<Tensor>>> {
    std::optional<std::vector<Tensor>> batch = TANDEM_TRY(source());
    if (!batch) return batch;
    Values given;
    for (size_t i = 0; i < batch->size(); ++i) given.emplace(model_inputs_.at(i), std::move((*batch)[i]));
    std::vector<Tensor> inputs;
    for (const plan::Contract& c : first.inputs)
      inputs.push_back(from_contract(given.at(c.value).clone(), c, first.engine));
    for (auto it = given.begin(); it != given.end();)
      it = wanted_later(it->first) ? std::next(it) : given.erase(it);
    const std::lock_guard lock(mutex);
    under_way.push_back(std::move(given));
    return std::optional<std::vector<Tensor>>(std::move(inputs));
  };
  const auto take = [&](size_t index, std::vector<Tensor> made) -> Status {
    Values values;
    {
      const std::lock_guard lock(mutex);
      values = std::move(under_way.front());
      under_way.pop_front();
    }
    for (size_t i = 0; i < made.size(); ++i) {
      const plan::Contract& c = first.outputs[i];
      values.insert_or_assign(c.value, to_contract(std::move(made[i]), c));
    }
    return sink(index, TANDEM_TRY(finish(std::move(values))));
  };
  return run_first(feed, take, cancel);
}

Result<std::vector<Tensor>> Forward::finish(Values values) {
  for (size_t p = 1; p < parts_.size(); ++p)
    TANDEM_TRY(run_later(parts_[p], values).context(fmt::format("part '{}'", parts_[p].name)));
  std::vector<Tensor> outputs;
  for (const std::string& name : model_outputs_) outputs.push_back(std::move(values.at(name)));
  return outputs;
}

Status Forward::run_later(Part& part, Values& values) {
  std::vector<Tensor> inputs;
  for (const plan::Contract& c : part.inputs)
    inputs.push_back(from_contract(values.at(c.value).clone(), c, part.engine));
  std::vector<Tensor> made;
  if (part.engine == Engine::kRef) {
    ref::RunOptions options;
    options.stored_outputs = true;
    made = TANDEM_TRY(ref::run(part.graph, inputs, options));
  } else {
    const int64_t batch = inputs.empty() || inputs[0].shape().rank() == 0 ? 1 : inputs[0].shape()[0];
    auto found = part.later.find(batch);
    if (found == part.later.end()) {
      exec::CompileOptions compile;
      compile.batch = batch;
      found = part.later.emplace(batch, TANDEM_TRY(exec::Executable::compile(part.graph, compile))).first;
    }
    const std::vector<TensorView> views(inputs.begin(), inputs.end());
    made = TANDEM_TRY(found->second.run(views));
  }
  for (size_t i = 0; i < made.size(); ++i)
    values.insert_or_assign(part.outputs[i].value, to_contract(std::move(made[i]), part.outputs[i]));
  return {};
}

int Forward::workers() const {
  const Part& first = parts_.front();
  return first.runner != nullptr ? first.runner->workers() : 1;
}

Result<Forward> make_forward(const ir::Graph& model, const ModelPath& source, const ForwardOptions& options) {
  return source.plan ? Forward::create(model, *source.plan, options) : Forward::create(model, options);
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

}  // namespace tandem::jobs
