// SPDX-License-Identifier: Apache-2.0
// The frame of lowering: forms of values, emission of steps, liveness and the report. One lower() per op is
// elsewhere.
#include "tandem/exec/lower.hpp"

#include <algorithm>
#include <set>

#include "tandem/base/overload.hpp"
#include "tandem/exec/memory_plan.hpp"
#include "tandem/ir/cost.hpp"
#include "tandem/ref/ref.hpp"

namespace tandem::exec {

using ir::ValueId;

namespace {

constexpr const char* kDequantize = "own dequantize";

}  // namespace

BufferId Program::root(BufferId id) const {
  while (buffer(id).home == Buffer::Home::kAlias) id = buffer(id).base;
  return id;
}

std::vector<int64_t> strides_of(const Shape& shape, Layout layout) {
  if (layout == Layout::kPlain || shape.rank() < 3) return shape.strides();
  std::vector<int64_t> strides(shape.rank(), 1);
  int64_t step = std::max<int64_t>(shape[1], 1);
  for (size_t d = shape.rank(); d-- > 2;) {
    strides[d] = step;
    step *= std::max<int64_t>(shape[d], 1);
  }
  strides[0] = step;
  return strides;
}

bool layouts_agree(const Shape& shape) {
  if (shape.rank() < 3) return true;
  int64_t pixels = 1;
  for (size_t d = 2; d < shape.rank(); ++d) pixels *= shape[d];
  return shape[1] <= 1 || pixels <= 1;
}

Lowering::Lowering(Program& program, const CompileOptions& options) : program_(program), options_(options) {}

BufferId Lowering::add_buffer(Buffer b) {
  if (b.bytes == 0) b.bytes = static_cast<size_t>(b.shape.elements()) * size_of(b.dtype);
  program_.buffers.push_back(std::move(b));
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

BufferId Lowering::find(ValueId value, Form form) const {
  const auto it = forms_.find({value, form});
  return it == forms_.end() ? kNoBuffer : it->second;
}

void Lowering::define(ValueId value, Form form, BufferId id) { forms_[{value, form}] = id; }

RowType Lowering::row_type(const ir::Value& value) {
  RowType type;
  type.dtype = value.storage();
  if (value.quant) {
    type.scale = value.quant->scale_at(0);
    type.zero = value.quant->zero_at(0);
    type.low = static_cast<int32_t>(value.quant->lowest());
    type.high = static_cast<int32_t>(value.quant->highest());
    type.pow2 = value.quant->scheme == Scheme::kPow2;
  }
  return type;
}

bool Lowering::is_row_value(const ir::Value& value) {
  if (value.dtype != DType::kF32) return false;
  return !value.quant || (value.quant->per_tensor() && value.quant->dtype != DType::kI32);
}

BufferId Lowering::constant(Tensor tensor, Layout layout) {
  Buffer b;
  b.dtype = tensor.dtype();
  b.shape = tensor.shape();
  b.layout = layout;
  b.bytes = tensor.size_bytes();
  b.home = Buffer::Home::kConstant;
  program_.constant_bytes += b.bytes;
  if (layout == Layout::kChannelsLast && !layouts_agree(tensor.shape())) {
    Tensor moved(tensor.dtype(), tensor.shape());
    exec::run(simplified({tensor.shape().dims(), strides_of(b.shape, layout), tensor.shape().strides(),
                          size_of(tensor.dtype())}),
              tensor.data(), moved.data());
    tensor = std::move(moved);
  }
  b.constant = std::make_shared<const Tensor>(std::move(tensor));
  return add_buffer(std::move(b));
}

BufferId Lowering::constant_form(ValueId id, Form form) {
  const ir::Value& value = program_.graph.value(id);
  if (form.real) {
    return constant(dequantize(*value.constant, *value.quant), form.layout);
  }
  return constant(value.constant->clone(), form.layout);
}

const Tensor* Lowering::constant_real(size_t i) {
  if (!has_input(i) || !in(i).is_constant()) return nullptr;
  if (!in(i).quant) return in(i).constant.get();
  const size_t key = index_of(node().inputs[i]);
  auto it = real_constants_.find(key);
  if (it == real_constants_.end())
    it = real_constants_.emplace(key, dequantize(*in(i).constant, *in(i).quant)).first;
  return &it->second;
}

void Lowering::dequantize_into(ValueId id, BufferId from, BufferId to) {
  const ir::Value& value = program_.graph.value(id);
  const int64_t count = value.shape->elements();
  if (value.quant->per_tensor()) {
    emit(kDequantize, {from}, {to}, [=, type = row_type(value)](Pointers p) -> Status {
      kernels().load(p[index_of(from)], type, 1, count, reinterpret_cast<float*>(p[index_of(to)]));
      return {};
    });
    return;
  }
  // One scale per index of an axis: the elements of an index lie in runs of the layout's stride.
  const size_t axis = static_cast<size_t>(value.quant->axis);
  const int64_t run = strides_of(*value.shape, buffer(from).layout)[axis];
  const int64_t extent = (*value.shape)[axis];
  emit(kDequantize, {from}, {to},
       [=, type = row_type(value), quant = *value.quant](Pointers p) -> Status {
         RowType t = type;
         const size_t width = size_of(t.dtype);
         for (int64_t first = 0, k = 0; first < count; first += run, ++k) {
           t.scale = quant.scale_at(k % extent);
           t.zero = quant.zero_at(k % extent);
           kernels().load(p[index_of(from)] + static_cast<size_t>(first) * width, t, 1, run,
                          reinterpret_cast<float*>(p[index_of(to)]) + first);
         }
         return {};
       });
}

BufferId Lowering::form_of(ValueId id, Form form) {
  const ir::Value& value = program_.graph.value(id);
  if (!value.quant) form.real = false;
  if (value.shape->rank() < 3) form.layout = Layout::kPlain;
  if (const BufferId found = find(id, form); found != kNoBuffer) return found;
  if (value.is_constant()) {
    const BufferId made = constant_form(id, form);
    define(id, form, made);
    return made;
  }
  const Form other{form.layout == Layout::kPlain ? Layout::kChannelsLast : Layout::kPlain, form.real};
  const BufferId elsewhere = find(id, other);
  Buffer b;
  b.dtype = form.real ? DType::kF32 : value.storage();
  b.shape = *value.shape;
  b.layout = form.layout;
  if (elsewhere != kNoBuffer && layouts_agree(*value.shape)) {
    b.home = Buffer::Home::kAlias;
    b.base = elsewhere;
    const BufferId made = add_buffer(std::move(b));
    define(id, form, made);
    return made;
  }
  const BufferId made = add_buffer(std::move(b));
  if (elsewhere != kNoBuffer) {
    emit_copy("own layout change", elsewhere, made,
              {value.shape->dims(), strides_of(*value.shape, form.layout),
               strides_of(*value.shape, other.layout), size_of(buffer(made).dtype)});
  } else {
    TANDEM_CHECK(form.real, "a value is read before it is written");
    dequantize_into(id, form_of(id, {form.layout, false}), made);
  }
  define(id, form, made);
  return made;
}

Layout Lowering::layout_of_input(size_t i) const {
  const ValueId id = node().inputs[i];
  const bool plain = find(id, {Layout::kPlain, false}) != kNoBuffer;
  return !plain && find(id, {Layout::kChannelsLast, false}) != kNoBuffer ? Layout::kChannelsLast
                                                                         : Layout::kPlain;
}

BufferId Lowering::read(size_t i, Layout layout) { return form_of(node().inputs[i], {layout, false}); }
BufferId Lowering::read_real(size_t i, Layout layout) { return form_of(node().inputs[i], {layout, true}); }

BufferId Lowering::temporary(DType dtype, Shape shape, Layout layout) {
  Buffer b;
  b.dtype = dtype;
  b.shape = std::move(shape);
  b.layout = layout;
  return add_buffer(std::move(b));
}

BufferId Lowering::write(size_t i, Layout layout) {
  const ir::Value& value = out(i);
  if (value.shape->rank() < 3) layout = Layout::kPlain;
  const BufferId made = temporary(value.storage(), *value.shape, layout);
  define(node().outputs[i], {layout, false}, made);
  return made;
}

BufferId Lowering::write_real(size_t i, Layout layout) {
  if (!out(i).quant) return write(i, layout);
  return temporary(DType::kF32, out_shape(i), out_shape(i).rank() < 3 ? Layout::kPlain : layout);
}

void Lowering::finish_real(size_t i, BufferId real) {
  if (!out(i).quant) return;
  const BufferId to = write(i, buffer(real).layout);
  const int64_t count = out_shape(i).elements();
  emit("own quantize", {real}, {to}, [=, type = row_type(out(i))](Pointers p) -> Status {
    kernels().store(reinterpret_cast<const float*>(p[index_of(real)]), type, count, p[index_of(to)]);
    return {};
  });
}

void Lowering::make_view(size_t i, BufferId base, Layout layout) {
  Buffer b;
  b.dtype = out(i).storage();
  b.shape = out_shape(i);
  b.layout = b.shape.rank() < 3 ? Layout::kPlain : layout;
  b.home = Buffer::Home::kAlias;
  b.base = base;
  const Layout at = b.layout;
  define(node().outputs[i], {at, false}, add_buffer(std::move(b)));
}

BufferId Lowering::write_over(size_t i, Layout layout, BufferId base) {
  make_view(i, base, layout);
  return find(node().outputs[i], {out_shape(i).rank() < 3 ? Layout::kPlain : layout, false});
}

bool Lowering::dies_here(size_t i, BufferId id) const {
  if (options_.keep_all_values) return false;
  const BufferId root = program_.root(id);
  if (program_.buffer(root).home != Buffer::Home::kArena) return false;
  for (size_t k = 0; k < input_count(); ++k) {
    if (k == i || !has_input(k)) continue;
    for (const auto& [key, form] : forms_) {
      if (key.first == node().inputs[k] && program_.root(form) == root) return false;
    }
  }
  for (const auto& [key, form] : forms_) {
    if (program_.root(form) == root && last_use_[index_of(key.first)] > index_of(node_)) return false;
  }
  return true;
}

void Lowering::emit(dnn::Primitive primitive, std::vector<std::pair<dnn::Role, BufferId>> arguments,
                    std::vector<std::pair<dnn::Role, dnn::Packed>> packed) {
  Step step;
  step.node = node_;
  step.implementation = primitive.info();
  for (const auto& [role, id] : arguments) {
    (role == dnn::Role::kDst ? step.writes : step.reads).push_back(id);
  }
  program_.scratchpad_bytes = std::max(program_.scratchpad_bytes, primitive.scratchpad_bytes());
  for (const auto& [role, data] : packed) program_.constant_bytes += data.size_bytes();
  step.primitive = std::move(primitive);
  step.arguments = std::move(arguments);
  step.packed = std::move(packed);
  program_.steps.push_back(std::move(step));
}

void Lowering::emit(std::string implementation, std::vector<BufferId> reads, std::vector<BufferId> writes,
                    Kernel kernel) {
  Step step;
  step.node = node_;
  step.implementation = std::move(implementation);
  step.reads = std::move(reads);
  step.writes = std::move(writes);
  step.kernel = std::move(kernel);
  program_.steps.push_back(std::move(step));
}

void Lowering::emit_copy(std::string implementation, BufferId from, BufferId to, const StridedCopy& copy) {
  emit(std::move(implementation), {from}, {to}, [from, to, plan = simplified(copy)](Pointers p) -> Status {
    exec::run(plan, p[index_of(from)], p[index_of(to)]);
    return {};
  });
}

void Lowering::note_fallback(std::string reason) { fallback_reason_ = std::move(reason); }

namespace {

template <typename T, typename... Ts>
inline constexpr bool kOneOf = (std::is_same_v<T, Ts> || ...);

}  // namespace

bool reads_data(const ir::Node& node, size_t input) {
  return std::visit(
      [&](const auto& op) {
        using T = std::decay_t<decltype(op)>;
        if constexpr (kOneOf<T, ir::ShapeOf, ir::Size, ir::ConstantOfShape>) return false;
        if constexpr (kOneOf<T, ir::Reshape, ir::Squeeze, ir::Unsqueeze, ir::Expand, ir::Dropout>)
          return input == 0;
        return true;
      },
      node.op);
}

// Known from the shapes alone.
static Tensor shape_constant(const ir::Op& op, const Shape& input, const Shape& output) {
  if (const auto* shape_of = std::get_if<ir::ShapeOf>(&op)) {
    const int64_t rank = static_cast<int64_t>(input.rank());
    const auto clamped = [&](int64_t v) { return std::clamp(v < 0 ? v + rank : v, int64_t{0}, rank); };
    std::vector<int64_t> dims;
    for (int64_t d = clamped(shape_of->start); d < clamped(shape_of->end); ++d)
      dims.push_back(input[static_cast<size_t>(d)]);
    const Shape shape{static_cast<int64_t>(dims.size())};
    return Tensor::of<int64_t>(shape, dims);
  }
  if (std::holds_alternative<ir::Size>(op)) return Tensor::scalar<int64_t>(input.elements());
  const auto& filled = std::get<ir::ConstantOfShape>(op);
  if (!filled.value) return Tensor(DType::kF32, output);
  Tensor t(filled.value->dtype(), output);
  const size_t width = size_of(t.dtype());
  for (int64_t i = 0; i < t.elements(); ++i) {
    std::copy_n(filled.value->data(), width, t.data() + static_cast<size_t>(i) * width);
  }
  return t;
}

static LowerResult lower_op(Lowering& l, const ir::Op& op) {
  return std::visit(
      [&](const auto& o) -> LowerResult {
        using T = std::decay_t<decltype(o)>;
        if constexpr (kOneOf<T, ir::Reshape, ir::Flatten, ir::Squeeze, ir::Unsqueeze, ir::Identity,
                             ir::Dropout>) {
          return lower_view(l);
        } else if constexpr (kOneOf<T, ir::Conv, ir::ConvTranspose, ir::Pool, ir::GlobalPool, ir::Gemm,
                                    ir::MatMul, ir::Unary, ir::Clip, ir::Binary, ir::Variadic, ir::BatchNorm,
                                    ir::LayerNorm, ir::Softmax, ir::Lrn, ir::Reduce, ir::Requantize,
                                    ir::Concat, ir::Split, ir::Slice, ir::Pad, ir::Transpose, ir::Expand,
                                    ir::DepthToSpace, ir::SpaceToDepth, ir::Resize>) {
          return lower(l, o);
        } else {
          static_assert(kOneOf<T, ir::Where, ir::Cast, ir::CastLike, ir::ArgReduce, ir::CumSum, ir::TopK,
                               ir::InstanceNorm, ir::GroupNorm, ir::LpNorm, ir::MeanVarianceNorm, ir::Tile,
                               ir::Trilu, ir::Gather, ir::GatherElements, ir::GatherNd, ir::ScatterElements,
                               ir::ScatterNd, ir::OneHot, ir::ShapeOf, ir::Size, ir::ConstantOfShape,
                               ir::Range, ir::EyeLike, ir::NonZero, ir::QuantizeLinear, ir::DequantizeLinear,
                               ir::DynamicQuantizeLinear, ir::QLinearConv, ir::QLinearMatMul, ir::ConvInteger,
                               ir::MatMulInteger, ir::SoftmaxCrossEntropyLoss, ir::NegativeLogLikelihoodLoss,
                               ir::Adam, ir::Momentum, ir::Adagrad, ir::Opaque>,
                        "a new op: give it a lower() or list it here as the reference's");
          return Lowered::no("no fast kernel for this op");
        }
      },
      op);
}

Status refuse_opaque(const ir::Node& node) {
  const auto* opaque = std::get_if<ir::Opaque>(&node.op);
  if (opaque == nullptr) return {};
  return unsupported(fmt::format("node '{}' is {}:{}, which Tandem cannot execute", node.name,
                                 opaque->domain.empty() ? "ai.onnx" : opaque->domain, opaque->op_type));
}

Status Lowering::lower_reference(const std::string& reason) {
  const ir::Node& n = node();
  TANDEM_TRY(refuse_opaque(n));
  if (!options_.allow_reference) {
    return unsupported(fmt::format("node '{}' ({}) has no fast kernel", n.name, ir::describe(n.op)))
        .because(reason)
        .hint("Leave --strict off to run it by the reference loop.");
  }
  note_fallback(reason);
  struct Argument {
    BufferId buffer = kNoBuffer;
    ConstTensor constant;
    std::optional<QuantParams> quant;
  };
  std::vector<Argument> inputs, outputs;
  std::vector<BufferId> reads, writes;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    Argument a;
    if (has_input(i)) {
      a.quant = in(i).quant;
      if (in(i).is_constant()) {
        a.constant = in(i).constant;
      } else {
        a.buffer = read(i, Layout::kPlain);
        reads.push_back(a.buffer);
      }
    }
    inputs.push_back(std::move(a));
  }
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    Argument a;
    if (n.outputs[i] != ir::kNoValue) {
      a.quant = out(i).quant;
      a.buffer = write(i, Layout::kPlain);
      writes.push_back(a.buffer);
    }
    outputs.push_back(std::move(a));
  }
  std::vector<Buffer> descriptions;
  for (const Argument& a : inputs)
    descriptions.push_back(a.buffer == kNoBuffer ? Buffer{} : buffer(a.buffer));
  std::vector<size_t> sizes;
  for (const Argument& a : outputs) sizes.push_back(a.buffer == kNoBuffer ? 0 : buffer(a.buffer).bytes);
  emit("ref", reads, writes, [=, op = n.op, name = n.name](Pointers p) -> Status {
    std::vector<Tensor> owned(inputs.size());
    std::vector<const Tensor*> tensors(inputs.size(), nullptr);
    std::vector<const QuantParams*> in_quant(inputs.size(), nullptr), out_quant(outputs.size(), nullptr);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].quant) in_quant[i] = &*inputs[i].quant;
      if (inputs[i].constant) {
        tensors[i] = inputs[i].constant.get();
      } else if (inputs[i].buffer != kNoBuffer) {
        owned[i] = TensorView(descriptions[i].dtype, descriptions[i].shape, p[index_of(inputs[i].buffer)])
                       .to_tensor();
        tensors[i] = &owned[i];
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].quant) out_quant[i] = &*outputs[i].quant;
    }
    std::vector<Tensor> made =
        TANDEM_TRY(ref::run_stored(op, tensors, in_quant, out_quant).context("node '" + name + "'"));
    for (size_t i = 0; i < outputs.size() && i < made.size(); ++i) {
      if (outputs[i].buffer == kNoBuffer) continue;
      if (made[i].size_bytes() != sizes[i]) {
        return internal_error(fmt::format("node '{}' made {} bytes where {} were planned", name,
                                          made[i].size_bytes(), sizes[i]));
      }
      std::copy_n(made[i].data(), sizes[i], p[index_of(outputs[i].buffer)]);
    }
    return {};
  });
  return {};
}

void Lowering::find_needed() {
  const ir::Graph& g = program_.graph;
  needed_.assign(g.values().size(), false);
  last_use_.assign(g.values().size(), 0);
  for (const ValueId id : g.outputs) {
    needed_[index_of(id)] = true;
    last_use_[index_of(id)] = SIZE_MAX;
  }
  const std::vector<ir::NodeId> order = g.live_nodes();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const ir::Node& n = g.node(*it);
    const bool used = options_.keep_all_values ||
                      std::any_of(n.outputs.begin(), n.outputs.end(),
                                  [&](ValueId v) { return v != ir::kNoValue && needed_[index_of(v)]; });
    if (!used) continue;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == ir::kNoValue || !reads_data(n, i)) continue;
      needed_[index_of(n.inputs[i])] = true;
      size_t& last = last_use_[index_of(n.inputs[i])];
      last = std::max(last, static_cast<size_t>(index_of(*it)));
    }
  }
}

Status Lowering::lower_node(ir::NodeId id) {
  node_ = id;
  fallback_reason_.clear();
  const ir::Node& n = node();
  const size_t first = program_.steps.size();
  const bool used = options_.keep_all_values ||
                    std::any_of(n.outputs.begin(), n.outputs.end(),
                                [&](ValueId v) { return v != ir::kNoValue && needed_[index_of(v)]; });
  bool fixed = false;
  if (used) {
    if (!reads_data(n, 0) && !n.inputs.empty()) {
      define(n.outputs[0], {Layout::kPlain, false},
             constant(shape_constant(n.op, in_shape(0), out_shape(0))));
      fixed = true;
    } else {
      const Lowered lowered = TANDEM_TRY(lower_op(*this, n.op));
      if (!lowered.done) TANDEM_TRY(lower_reference(lowered.reason));
    }
    if (options_.keep_all_values || options_.observe_in_place) observe();
  }
  report_node(first);
  NodeReport& r = program_.report.back();
  if (!used) r.implementation = "unused";
  if (fixed) r.implementation = "constant";
  if (r.reference && !options_.allow_reference) {
    return unsupported(fmt::format("node '{}' ({}) would run by {}", n.name, r.op, r.implementation))
        .because(r.fallback_reason);
  }
  return {};
}

bool Lowering::reads_floats(size_t first_step) const {
  std::set<BufferId> own;  // partial sums and the like
  for (size_t i = first_step; i < program_.steps.size(); ++i) {
    const Step& step = program_.steps[i];
    if (step.implementation == kDequantize) return true;
    for (const BufferId id : step.reads) {
      const Buffer& b = program_.buffer(program_.root(id));
      if (own.count(id) == 0 && b.home != Buffer::Home::kConstant && is_float(b.dtype)) return true;
    }
    own.insert(step.writes.begin(), step.writes.end());
  }
  return false;
}

void Lowering::report_node(size_t first_step) {
  const ir::Node& n = node();
  NodeReport r;
  r.node = node_;
  r.name = n.name;
  r.op = ir::describe(n.op);
  r.fallback_reason = fallback_reason_;
  r.macs = ir::cost_of(program_.graph, node_).macs;
  r.in_floats = reads_floats(first_step);
  for (size_t i = first_step; i < program_.steps.size(); ++i) {
    const Step& step = program_.steps[i];
    if (!r.implementation.empty()) r.implementation += " + ";
    r.implementation += step.implementation;
    if (step.implementation == "ref") r.reference = true;
    if (step.primitive && step.primitive->is_reference()) {
      r.reference = true;
      if (r.fallback_reason.empty())
        r.fallback_reason = "oneDNN has only its reference loop for these shapes";
    }
  }
  if (r.implementation.empty()) r.implementation = "view";
  program_.report.push_back(std::move(r));
}

void Lowering::observe() {
  for (size_t i = 0; i < node().outputs.size(); ++i) {
    const ValueId id = node().outputs[i];
    if (id == ir::kNoValue) continue;
    BufferId shown = options_.keep_all_values ? form_of(id, {Layout::kPlain, false})
                                              : find(id, {Layout::kChannelsLast, false});
    if (shown == kNoBuffer) shown = find(id, {Layout::kPlain, false});
    if (shown == kNoBuffer) continue;  // An output that nobody asked for.
    program_.observed.push_back({id, shown, program_.steps.size()});
  }
}

Status Lowering::lower_outputs() {
  node_ = ir::kNoNode;
  const ir::Graph& g = program_.graph;
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    const ir::Value& value = g.value(g.outputs[i]);
    Buffer b;
    b.dtype = value.storage();
    b.shape = *value.shape;
    b.home = Buffer::Home::kOutput;
    b.index = i;
    const Layout layout = value.is_constant() || find(g.outputs[i], {Layout::kPlain, false}) != kNoBuffer
                              ? Layout::kPlain
                              : Layout::kChannelsLast;
    const BufferId from = form_of(g.outputs[i], {layout, false});
    const BufferId to = add_buffer(std::move(b));
    emit_copy("own output", from, to,
              {value.shape->dims(), value.shape->strides(), strides_of(*value.shape, buffer(from).layout),
               size_of(value.storage())});
  }
  return {};
}

void Lowering::plan() {
  const size_t count = program_.buffers.size();
  std::vector<Lifetime> lifetimes;
  std::vector<size_t> slot(count, SIZE_MAX);
  const size_t last_step = program_.steps.empty() ? 0 : program_.steps.size() - 1;
  const auto touch = [&](BufferId id, size_t step) {
    const BufferId root = program_.root(id);
    if (program_.buffer(root).home != Buffer::Home::kArena) return;
    size_t& s = slot[index_of(root)];
    if (s == SIZE_MAX) {
      s = lifetimes.size();
      lifetimes.push_back({0, step, step});
    }
    Lifetime& l = lifetimes[s];
    l.bytes = std::max({l.bytes, program_.buffer(root).bytes, program_.buffer(id).bytes});
    l.first = std::min(l.first, step);
    l.last = options_.keep_all_values ? last_step : std::max(l.last, step);
  };
  for (size_t i = 0; i < program_.steps.size(); ++i) {
    for (const BufferId id : program_.steps[i].reads) touch(id, i);
    for (const BufferId id : program_.steps[i].writes) touch(id, i);
  }
  for (const Observed& o : program_.observed) {
    if (o.after_step > 0) touch(o.buffer, o.after_step - 1);
  }
  const MemoryPlan placed = plan_memory(lifetimes);
  for (size_t i = 0; i < count; ++i) {
    if (slot[i] != SIZE_MAX) program_.buffers[i].offset = placed.offset[slot[i]];
  }
  program_.arena_bytes = placed.bytes;
}

Status Lowering::run() {
  const ir::Graph& g = program_.graph;
  find_needed();
  for (size_t i = 0; i < g.inputs.size(); ++i) {
    const ir::Value& value = g.value(g.inputs[i]);
    Buffer b;
    b.dtype = value.storage();
    b.shape = *value.shape;
    b.home = Buffer::Home::kInput;
    b.index = i;
    define(g.inputs[i], {Layout::kPlain, false}, add_buffer(std::move(b)));
  }
  for (const ir::NodeId id : g.live_nodes()) TANDEM_TRY(lower_node(id));
  TANDEM_TRY(lower_outputs());
  plan();
  return {};
}

}  // namespace tandem::exec
