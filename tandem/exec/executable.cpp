// SPDX-License-Identifier: Apache-2.0
// Compiling (bind shapes, lower) and running (execute the steps in order).
#include "tandem/exec/executable.hpp"

#include <chrono>
#include <cstring>

#include "tandem/exec/lower.hpp"
#include "tandem/exec/program.hpp"
#include "tandem/ir/verify.hpp"
#include "tandem/ref/ref.hpp"

namespace tandem::exec {

// What one thread needs to run a program.
struct Instance {
  Tensor arena;                  // activations, then scratchpad
  std::vector<std::byte*> data;  // by BufferId
  std::vector<dnn::Call> calls;
  std::vector<size_t> call_of;  // by step; SIZE_MAX for own loops
  dnn::Stream stream;
  ValueObserver observer;
  std::vector<NodeReport> report;
  std::vector<size_t> report_of;  // by step
};

namespace {

std::unique_ptr<Instance> make_instance(const Program& program) {
  auto made = std::make_unique<Instance>();
  made->report = program.report;
  if (program.interpreted) return made;
  made->arena =
      Tensor(DType::kU8, Shape{static_cast<int64_t>(program.arena_bytes + program.scratchpad_bytes)});
  made->data.assign(program.buffers.size(), nullptr);
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& root = program.buffer(program.root(static_cast<BufferId>(i)));
    if (root.home == Buffer::Home::kArena) made->data[i] = made->arena.data() + root.offset;
    // Constants are only ever read.
    if (root.home == Buffer::Home::kConstant) made->data[i] = const_cast<std::byte*>(root.constant->data());
  }
  made->call_of.assign(program.steps.size(), SIZE_MAX);
  made->report_of.assign(program.steps.size(), SIZE_MAX);
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    for (size_t r = 0; r < made->report.size(); ++r) {
      if (step.node != ir::kNoNode && made->report[r].node == step.node) made->report_of[s] = r;
    }
    if (!step.primitive) continue;
    made->call_of[s] = made->calls.size();
    dnn::Call& call = made->calls.emplace_back(*step.primitive);
    for (const auto& [role, packed] : step.packed) call.bind(role, packed);
    call.bind_scratchpad(made->arena.data() + program.arena_bytes);
  }
  return made;
}

Status check_tensor(const char* what, size_t i, const ir::Value& value, DType dtype, const Shape& shape) {
  if (dtype == value.storage() && shape == *value.shape) return {};
  return bad_input(fmt::format("{} {} '{}' is {} {}, compiled for {} {}", what, i, value.name,
                               to_string(dtype), shape.to_string(), to_string(value.storage()),
                               value.shape->to_string()));
}

bool all_static(const ir::Graph& graph) {
  for (const ir::NodeId id : graph.live_nodes()) {
    for (const ir::ValueId v : graph.node(id).outputs) {
      if (v != ir::kNoValue && !(graph.value(v).shape && graph.value(v).shape->is_static())) return false;
    }
  }
  return true;
}

Status interpret(Program& program, const CompileOptions& options) {
  if (!options.allow_reference) {
    return unsupported("a shape in the graph depends on data, which only the reference executes")
        .hint("Leave --strict off to run it by the reference loops.");
  }
  program.interpreted = true;
  for (const ir::NodeId id : program.graph.live_nodes()) {
    const ir::Node& n = program.graph.node(id);
    TANDEM_TRY(refuse_opaque(n));
    NodeReport r;
    r.node = id;
    r.name = n.name;
    r.op = ir::describe(n.op);
    r.implementation = "ref";
    r.reference = true;
    r.fallback_reason = "a shape in the graph depends on data";
    program.report.push_back(std::move(r));
  }
  return {};
}

}  // namespace

Executable::Executable(std::shared_ptr<const Program> program)
    : program_(std::move(program)), instance_(make_instance(*program_)) {}
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;
Executable::~Executable() = default;

Result<Executable> Executable::compile(const ir::Graph& graph, const CompileOptions& options) {
  auto program = std::make_shared<Program>();
  std::vector<Shape> shapes = options.input_shapes;
  if (shapes.empty()) {
    for (const ir::ValueId id : graph.inputs) {
      Shape shape = graph.value(id).shape.value_or(Shape{kDynamic});
      if (shape.rank() > 0 && shape[0] == kDynamic) shape[0] = options.batch;
      shapes.push_back(std::move(shape));
    }
  }
  program->graph = TANDEM_TRY(ir::bind_shapes(graph, shapes));
  TANDEM_TRY(program->graph.compact());
  program->threads = std::max(1, options.threads);
  program->profile = options.profile;
  dnn::set_threads(program->threads);
  for (size_t i = 0; i < program->graph.inputs.size(); ++i) {
    const ir::Value& value = program->graph.value(program->graph.inputs[i]);
    if (!value.shape || !value.shape->is_static()) {
      return bad_input(fmt::format("input '{}' has shape {}, not all of which is known", value.name,
                                   value.shape ? value.shape->to_string() : "?"))
          .hint("Give its exact shape.");
    }
  }
  if (all_static(program->graph)) {
    Lowering lowering(*program, options);
    TANDEM_TRY(lowering.run());
  } else {
    TANDEM_TRY(interpret(*program, options));
  }
  return Executable(std::move(program));
}

Executable Executable::clone() const { return Executable(program_); }

Result<std::vector<Tensor>> Executable::run(std::span<const TensorView> inputs) {
  std::vector<Tensor> outputs;
  if (!program_->interpreted) {
    for (const ir::ValueId id : program_->graph.outputs) {
      const ir::Value& value = program_->graph.value(id);
      outputs.emplace_back(value.storage(), *value.shape);
    }
    TANDEM_TRY(run_into(inputs, outputs));
    return outputs;
  }
  std::vector<Tensor> owned;
  for (const TensorView& v : inputs) owned.push_back(v.to_tensor());
  ref::RunOptions options;
  options.stored_outputs = true;
  if (instance_->observer) {
    options.on_value = [&](ir::ValueId id, const Tensor& t) { instance_->observer(id, t.view()); };
  }
  return ref::run(program_->graph, owned, options);
}

Status Executable::run_into(std::span<const TensorView> inputs, std::span<Tensor> outputs) {
  const ir::Graph& g = program_->graph;
  if (inputs.size() != g.inputs.size() || outputs.size() != g.outputs.size()) {
    return bad_input(fmt::format("{} inputs and {} outputs given, {} and {} expected", inputs.size(),
                                 outputs.size(), g.inputs.size(), g.outputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    TANDEM_TRY(check_tensor("input", i, g.value(g.inputs[i]), inputs[i].dtype(), inputs[i].shape()));
  }
  if (program_->interpreted) {
    std::vector<Tensor> made = TANDEM_TRY(run(inputs));
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = std::move(made[i]);
    return {};
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TANDEM_TRY(check_tensor("output", i, g.value(g.outputs[i]), outputs[i].dtype(), outputs[i].shape()));
  }
  Instance& me = *instance_;
  for (size_t i = 0; i < program_->buffers.size(); ++i) {
    const Buffer& root = program_->buffer(program_->root(static_cast<BufferId>(i)));
    // The caller's inputs are only read.
    if (root.home == Buffer::Home::kInput) me.data[i] = const_cast<std::byte*>(inputs[root.index].data());
    if (root.home == Buffer::Home::kOutput) me.data[i] = outputs[root.index].data();
  }
  dnn::set_threads(program_->threads);
  using Clock = std::chrono::steady_clock;
  size_t next_observed = 0;
  for (size_t s = 0; s < program_->steps.size(); ++s) {
    const Step& step = program_->steps[s];
    const auto start = program_->profile ? Clock::now() : Clock::time_point{};
    if (step.primitive) {
      dnn::Call& call = me.calls[me.call_of[s]];
      for (const auto& [role, id] : step.arguments) call.bind(role, me.data[index_of(id)]);
      TANDEM_TRY(call.execute(me.stream));
    } else {
      TANDEM_TRY(step.kernel(me.data));
    }
    if (program_->profile && me.report_of[s] != SIZE_MAX) {
      me.report[me.report_of[s]].ns +=
          std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
    }
    while (me.observer && next_observed < program_->observed.size() &&
           program_->observed[next_observed].after_step <= s + 1) {
      const Observed& o = program_->observed[next_observed++];
      const Buffer& b = program_->buffer(o.buffer);
      me.observer(o.value, TensorView(b.dtype, b.shape, me.data[index_of(o.buffer)]));
    }
  }
  for (NodeReport& r : me.report) ++r.calls;
  return {};
}

void Executable::set_observer(ValueObserver observer) { instance_->observer = std::move(observer); }
const ir::Graph& Executable::graph() const { return program_->graph; }
const std::vector<NodeReport>& Executable::report() const { return instance_->report; }
size_t Executable::arena_bytes() const { return program_->arena_bytes + program_->scratchpad_bytes; }
size_t Executable::weight_bytes() const { return program_->constant_bytes; }

}  // namespace tandem::exec
