// SPDX-License-Identifier: Apache-2.0
// The executor against the reference: the whole case table, random networks node by node, and what an
// Executable promises about memory, views, clones and refusals.
#include "tandem/exec/executable.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tandem/exec/check_nodes.hpp"
#include "tandem/exec/isa.hpp"
#include "tandem/ref/ref.hpp"
#include "tandem/testing/graph_builder.hpp"
#include "tandem/testing/op_cases.hpp"

namespace tandem::exec {
namespace {

using tandem::testing::CaseKind;
using tandem::testing::GraphBuilder;
using tandem::testing::OpCase;
using tandem::testing::random_tensor;

std::vector<TensorView> views(const std::vector<Tensor>& tensors) { return {tensors.begin(), tensors.end()}; }

class Table : public ::testing::TestWithParam<OpCase> {};

TEST_P(Table, MatchesTheReference) {
  const OpCase& c = GetParam();
  const tandem::testing::BuiltCase built = tandem::testing::build(c, 1);
  ref::RunOptions options;
  options.stored_outputs = true;
  const std::vector<Tensor> expected = ref::run(built.graph, built.inputs, options).value();
  CompileOptions compile;
  for (const Tensor& t : built.inputs) compile.input_shapes.push_back(t.shape());
  Executable executable = Executable::compile(built.graph, compile).value();
  for (int round = 0; round < 2; ++round) {  // the second run finds used memory
    const std::vector<Tensor> got = executable.run(views(built.inputs)).value();
    ASSERT_EQ(got.size(), expected.size());
    std::string how;
    for (const NodeReport& r : executable.report())
      how += r.op + ": " + r.implementation + " " + r.fallback_reason + "\n";
    for (size_t i = 0; i < got.size(); ++i) {
      const ir::Value& value = built.graph.value(built.graph.outputs[i]);
      ASSERT_EQ(got[i].dtype(), expected[i].dtype()) << how;
      if (c.kind == CaseKind::kFloat || !value.quant) {
        // oneDNN sums in f32 where the reference sums in double.
        const Status close =
            all_close(expected[i].view(), got[i].view(), std::max(c.rtol, 1e-5), std::max(c.atol, 2e-5));
        EXPECT_TRUE(close.ok()) << (close.ok() ? "" : close.error().message()) << "\n" << how;
      } else {
        const Difference d = compare(expected[i].view(), got[i].view()).value();
        EXPECT_LE(d.max_abs, c.kind == CaseKind::kPow2 ? 0 : 1) << d.to_string() << "\n" << how;
      }
    }
  }
}

std::string case_name(const ::testing::TestParamInfo<OpCase>& info) {
  std::string name = info.param.name;
  for (char& ch : name) {
    if (std::isalnum(static_cast<unsigned char>(ch)) == 0) ch = '_';
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(Ops, Table, ::testing::ValuesIn(tandem::testing::op_cases()), case_name);

// Random networks: a value is grown by random ops; every later op may also read any earlier value of the
// right shape.
struct Net {
  GraphBuilder b;
  Rng rng;
  std::vector<ir::ValueId> pool;
  explicit Net(uint64_t seed) : rng(seed) {}
  const Shape& shape(ir::ValueId v) { return *b.graph().value(v).shape; }
  int64_t channels(ir::ValueId v) { return shape(v)[1]; }
};

ir::Conv random_conv(Net& net, int64_t channels, int64_t& out, Shape& w, bool keep_shape) {
  ir::Conv op;
  const int64_t k = net.rng.below(2) == 0 ? 1 : 3;
  const bool depthwise = net.rng.below(3) == 0;
  out = depthwise || keep_shape ? channels : static_cast<int64_t>(1 + net.rng.below(24));
  op.group = depthwise ? channels : 1;
  op.window.kernel = {k, k};
  op.window.pads = k == 3 ? std::vector<int64_t>{1, 1, 1, 1} : std::vector<int64_t>{};
  if (!keep_shape && net.rng.below(4) == 0) {
    op.window.strides = {2, 2};
    if (k == 3 && net.rng.below(2) == 0) op.window.pads = {0, 0, 1, 1};
  }
  const ir::ActivationKind kinds[] = {ir::ActivationKind::kNone,    ir::ActivationKind::kRelu,
                                      ir::ActivationKind::kClip,    ir::ActivationKind::kHardSwish,
                                      ir::ActivationKind::kSigmoid, ir::ActivationKind::kLeakyRelu};
  op.activation.kind = kinds[net.rng.below(6)];
  if (op.activation.kind == ir::ActivationKind::kClip) op.activation.beta = 6;
  if (op.activation.kind == ir::ActivationKind::kLeakyRelu) op.activation.alpha = 0.1f;
  w = Shape{out, channels / op.group, k, k};
  return op;
}

ir::ValueId grow(Net& net, ir::ValueId x) {
  const int64_t c = net.channels(x);
  ir::ValueId y = x;
  switch (net.rng.below(8)) {
    case 0:
    case 1:
    case 2: {
      int64_t out = 0;
      Shape w;
      const ir::Conv op = random_conv(net, c, out, w, false);
      std::vector<ir::ValueId> in{x, net.b.constant(random_tensor(net.rng, DType::kF32, w))};
      if (net.rng.below(2) == 0) in.push_back(net.b.constant(random_tensor(net.rng, DType::kF32, {out})));
      y = net.b.add(op, in);
      break;
    }
    case 3: {
      int64_t out = 0;
      Shape w;
      const ir::Conv op = random_conv(net, c, out, w, true);
      ir::ValueId residual = x;
      for (const ir::ValueId v : net.pool) {
        if (net.shape(v) == net.shape(x) && net.rng.below(2) == 0) residual = v;
      }
      y = net.b.add(op, {x, net.b.constant(random_tensor(net.rng, DType::kF32, w)),
                         net.b.constant(random_tensor(net.rng, DType::kF32, {out})), residual});
      break;
    }
    case 4: {
      ir::Pool op;
      op.kind = net.rng.below(2) == 0 ? ir::PoolKind::kMax : ir::PoolKind::kAverage;
      op.window.kernel = {3, 3};
      op.window.pads = {1, 1, 1, 1};
      op.count_include_pad = net.rng.below(2) == 0;
      y = net.b.add(op, {x});
      break;
    }
    case 5: {
      ir::Unary op;
      op.kind = net.rng.below(2) == 0 ? ir::UnaryKind::kRelu : ir::UnaryKind::kSigmoid;
      y = net.b.add(op, {x});
      break;
    }
    case 6: {
      ir::Binary op;
      op.kind = net.rng.below(2) == 0 ? ir::BinaryKind::kAdd : ir::BinaryKind::kMul;
      const ir::ValueId scale = net.b.add(ir::GlobalPool{}, {x});
      y = net.b.add(op, {x, scale});
      break;
    }
    default: {
      ir::Concat op;
      op.axis = 1;
      ir::ValueId other = x;
      for (const ir::ValueId v : net.pool) {
        if (net.shape(v)[2] == net.shape(x)[2] && net.shape(v)[3] == net.shape(x)[3]) other = v;
      }
      if (net.channels(other) + c < 80) y = net.b.add(op, {x, other});
    }
  }
  return y;
}

ir::Graph random_net(uint64_t seed, std::vector<Tensor>& inputs) {
  Net net(seed);
  const Shape shape{static_cast<int64_t>(1 + net.rng.below(2)), static_cast<int64_t>(1 + net.rng.below(8)), 9,
                    8};
  ir::ValueId x = net.b.input("x", shape);
  net.pool.push_back(x);
  inputs.clear();
  inputs.push_back(random_tensor(net.rng, DType::kF32, shape, -2, 2));
  for (int i = 0; i < 8; ++i) {
    x = grow(net, x);
    // Shapes are needed while growing.
    TANDEM_CHECK(ir::infer_shapes(net.b.graph()).ok());
    net.pool.push_back(x);
  }
  ir::Flatten flatten;
  net.b.output(net.b.add(flatten, {net.b.add(ir::GlobalPool{}, {x})}));
  net.b.output(x);
  return net.b.finish();
}

// Puts scales on every activation by the range that the reference sees, and on every constant.
ir::Graph quantized(const ir::Graph& real, const std::vector<Tensor>& inputs, Scheme scheme, Rng& rng) {
  ir::Graph g = real;
  std::map<ir::ValueId, std::pair<float, float>> range;
  ref::RunOptions options;
  const auto observe = [&](ir::ValueId id, const Tensor& t) {
    float low = 0, high = 1e-3f;
    for (const float v : t.as<float>()) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
    range[id] = {low, high};
  };
  options.on_value = observe;
  TANDEM_CHECK(ref::run(real, inputs, options).ok());
  for (size_t i = 0; i < inputs.size(); ++i) observe(g.inputs[i], inputs[i]);
  for (const auto& [id, r] : range) {
    if (scheme == Scheme::kPow2) {
      const float most = std::max(-r.first, r.second);
      g.value(id).quant = QuantParams::pow2(static_cast<int>(std::floor(std::log2(127 / most))));
    } else if (r.first == 0) {
      g.value(id).quant = QuantParams::affine(DType::kU8, r.second / 255, 0);
    } else if (rng.below(3) == 0) {  // asymmetric
      const float scale = (r.second - r.first) / 255;
      g.value(id).quant =
          QuantParams::affine(DType::kU8, scale, static_cast<int32_t>(std::lround(-r.first / scale)));
    } else {
      g.value(id).quant = QuantParams::affine(DType::kI8, std::max(-r.first, r.second) / 127, 0);
    }
  }
  for (const ir::NodeId n : g.live_nodes()) {
    if (!std::holds_alternative<ir::Conv>(g.node(n).op)) continue;
    const ir::ValueId w = g.node(n).inputs[1];
    const Tensor& t = *g.value(w).constant;
    QuantParams q;
    if (scheme == Scheme::kPow2) {
      q = QuantParams::pow2(6);
      if (g.node(n).inputs.size() > 3)
        g.node(n).inputs[3] = ir::kNoValue;  // the pow2 scheme fuses no addition
    } else {
      std::vector<float> scale(static_cast<size_t>(t.shape()[0]));
      for (float& s : scale) s = static_cast<float>(rng.uniform(0.5, 1) / 127);
      q = QuantParams::affine_per_axis(DType::kI8, 0, scale);
    }
    g.value(w).constant = std::make_shared<const Tensor>(quantize(t.view(), q));
    g.value(w).quant = q;
    if (g.node(n).inputs.size() > 2 && g.node(n).inputs[2] != ir::kNoValue && scheme == Scheme::kPow2) {
      const ir::ValueId bias = g.node(n).inputs[2];
      const QuantParams bq = QuantParams::pow2(5);
      g.value(bias).constant = std::make_shared<const Tensor>(quantize(g.value(bias).constant->view(), bq));
      g.value(bias).quant = bq;
    }
  }
  return g;
}

std::vector<Tensor> stored_inputs(const ir::Graph& g, const std::vector<Tensor>& real) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < real.size(); ++i) {
    const auto& q = g.value(g.inputs[i]).quant;
    out.push_back(q ? quantize(real[i].view(), *q) : real[i].clone());
  }
  return out;
}

void expect_all_nodes_right(const ir::Graph& g, const std::vector<Tensor>& inputs, uint64_t seed) {
  CompileOptions options;
  for (const Tensor& t : inputs) options.input_shapes.push_back(t.shape());
  for (const NodeDifference& d : differences_by_node(g, options, inputs)) {
    EXPECT_LE(d.max_abs, d.tolerance)
        << "seed " << seed << ", node " << d.node << " " << d.op << " by " << d.implementation;
  }
  // Without observers buffers are reused and sums written in place: the same bits.
  CompileOptions plain;
  plain.input_shapes = options.input_shapes;
  CompileOptions keep = plain;
  keep.keep_all_values = true;
  Executable a = Executable::compile(g, plain).value(), b = Executable::compile(g, keep).value();
  const std::vector<Tensor> x = a.run(views(inputs)).value(), y = b.run(views(inputs)).value();
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(compare(y[i].view(), x[i].view()).value().max_abs, 0) << "seed " << seed;
  EXPECT_LE(a.arena_bytes(), b.arena_bytes());
}

// Value name -> its elements, sorted: what a layout does not change.
std::map<std::string, std::vector<float>> sorted_values(const ir::Graph& g, const CompileOptions& options,
                                                        const std::vector<Tensor>& inputs) {
  std::map<std::string, std::vector<float>> seen;
  Executable e = Executable::compile(g, options).value();
  e.set_observer([&](ir::ValueId id, const TensorView& t) {
    if (t.dtype() != DType::kF32) return;
    std::vector<float>& values = seen[e.graph().value(id).name];
    values.assign(t.as<float>().begin(), t.as<float>().end());
    std::sort(values.begin(), values.end());
  });
  EXPECT_TRUE(e.run(views(inputs)).ok());
  return seen;
}

TEST(RandomNets, AnObserverInPlaceSeesTheSameNumbersWithoutMoreMemory) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    std::vector<Tensor> inputs;
    const ir::Graph g = random_net(seed, inputs);
    CompileOptions plain, keep, in_place;
    for (const Tensor& t : inputs) plain.input_shapes.push_back(t.shape());
    keep.input_shapes = in_place.input_shapes = plain.input_shapes;
    keep.keep_all_values = in_place.observe_in_place = true;
    const auto all = sorted_values(g, keep, inputs), here = sorted_values(g, in_place, inputs);
    EXPECT_FALSE(here.empty());
    for (const auto& [name, values] : here) EXPECT_EQ(values, all.at(name)) << "seed " << seed << " " << name;
    EXPECT_EQ(Executable::compile(g, in_place).value().arena_bytes(),
              Executable::compile(g, plain).value().arena_bytes());
  }
}

TEST(RandomNets, FloatNodesMatchTheReference) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    std::vector<Tensor> inputs;
    const ir::Graph g = random_net(seed, inputs);
    expect_all_nodes_right(g, inputs, seed);
  }
}
TEST(RandomNets, AffineNodesAreWithinOneStep) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    std::vector<Tensor> inputs;
    const ir::Graph g = random_net(seed, inputs);
    Rng rng(seed);
    const ir::Graph q = quantized(g, inputs, Scheme::kAffine, rng);
    expect_all_nodes_right(q, stored_inputs(q, inputs), seed);
  }
}
TEST(RandomNets, Pow2NodesAreEqual) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    std::vector<Tensor> inputs;
    const ir::Graph g = random_net(seed, inputs);
    Rng rng(seed);
    const ir::Graph q = quantized(g, inputs, Scheme::kPow2, rng);
    expect_all_nodes_right(q, stored_inputs(q, inputs), seed);
  }
}

TEST(CheckNodes, SeesAPlantedDifference) {
  // Two steps of u8 are planted in one element of one value: its node is called out.
  std::vector<Tensor> inputs;
  const ir::Graph real = random_net(1, inputs);
  Rng rng(1);
  const ir::Graph g = quantized(real, inputs, Scheme::kAffine, rng);
  CompileOptions options;
  options.input_shapes = {inputs[0].shape()};
  const std::string victim = g.value(g.outputs[1]).name;
  const std::vector<NodeDifference> found =
      differences_by_node(g, options, stored_inputs(g, inputs), [&](const std::string& value, Tensor& t) {
        if (value == victim) t.data()[0] = static_cast<std::byte>(static_cast<uint8_t>(t.data()[0]) ^ 2);
      });
  int called_out = 0;
  for (const NodeDifference& d : found) called_out += d.max_abs > d.tolerance ? 1 : 0;
  EXPECT_EQ(called_out, 1);
}

ir::Graph small_conv(int64_t batch = kDynamic) {
  GraphBuilder b;
  Rng rng(2);
  const auto x = b.input("x", {batch, 3, 8, 8});
  ir::Conv conv;
  conv.window.kernel = {3, 3};
  conv.window.pads = {1, 1, 1, 1};
  conv.activation.kind = ir::ActivationKind::kRelu;
  b.output(b.add(conv, {x, b.constant(random_tensor(rng, DType::kF32, {16, 3, 3, 3}))}, "conv"));
  return b.finish();
}

TEST(Executable, BindsTheBatchAndRunsClones) {
  Rng rng(1);
  CompileOptions options;
  options.batch = 2;
  Executable e = Executable::compile(small_conv(), options).value();
  Executable copy = e.clone();
  const Tensor x = random_tensor(rng, DType::kF32, {2, 3, 8, 8});
  const std::vector<TensorView> in{x.view()};
  const Tensor a = std::move(e.run(in).value()[0]), b = std::move(copy.run(in).value()[0]);
  EXPECT_EQ(a.shape(), (Shape{2, 16, 8, 8}));
  EXPECT_EQ(compare(a.view(), b.view()).value().max_abs, 0);
  EXPECT_FALSE(e.report()[0].reference) << e.report()[0].implementation;
  EXPECT_GT(e.report()[0].macs, 0);
}

TEST(Executable, TellsWhatIsComputedInFloats) {
  // Weights of 0 are -zero point as seen by the sum: 8 bits hold -128, not -200.
  const auto in_floats = [](int32_t weight_zero) {
    GraphBuilder b;
    const ir::ValueId x = b.input("x", {1, 8, 8, 8});
    b.graph().value(x).quant = QuantParams::affine(DType::kU8, 0.1f, 0);
    const ir::ValueId w = b.constant(Tensor(DType::kU8, {8, 8, 1, 1}), "w");
    b.graph().value(w).dtype = DType::kF32;
    b.graph().value(w).quant = QuantParams::affine(DType::kU8, 0.1f, weight_zero);
    ir::Conv conv;
    conv.window.kernel = {1, 1};
    const ir::ValueId y = b.add(conv, {x, w}, "conv");
    b.graph().value(y).quant = QuantParams::affine(DType::kU8, 0.1f, 0);
    b.output(y);
    const Executable e = Executable::compile(b.finish()).value();
    return e.report()[0].in_floats;
  };
  EXPECT_FALSE(in_floats(128));
  EXPECT_TRUE(in_floats(200));
  EXPECT_TRUE(Executable::compile(small_conv()).value().report()[0].in_floats);
}

TEST(Executable, RefusesOtherShapesByName) {
  Executable e = Executable::compile(small_conv()).value();
  const Tensor x(DType::kF32, {1, 3, 9, 8});
  const std::vector<TensorView> in{x.view()};
  const Result<std::vector<Tensor>> r = e.run(in);
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.error().message(),
              ::testing::AllOf(::testing::HasSubstr("'x'"), ::testing::HasSubstr("[1,3,9,8]")));
}

TEST(Executable, NamesAnOpThatNothingExecutes) {
  GraphBuilder b;
  const auto x = b.input("x", {1});
  ir::Opaque op;
  op.domain = "com.acme";
  op.op_type = "Foo";
  b.graph().outputs.push_back(b.add(op, {x}, "mystery"));
  const Result<Executable> r = Executable::compile(b.graph());
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(r.error().message(),
              ::testing::AllOf(::testing::HasSubstr("mystery"), ::testing::HasSubstr("com.acme:Foo")));
}

TEST(Executable, StrictRefusesTheReferenceLoop) {
  GraphBuilder b;
  const auto x = b.input("x", {4});
  ir::Unary op;
  op.kind = ir::UnaryKind::kAtan;
  b.output(b.add(op, {x}, "angle"));
  const ir::Graph g = b.finish();
  CompileOptions options;
  EXPECT_TRUE(Executable::compile(g, options).ok());
  options.allow_reference = false;
  const Result<Executable> r = Executable::compile(g, options);
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.error().message(), ::testing::HasSubstr("angle"));
}

TEST(Executable, InterpretsGraphsWhoseShapesDependOnData) {
  GraphBuilder b;
  const auto x = b.input("x", {4});
  b.output(b.add(ir::NonZero{}, {x}));
  const ir::Graph g = b.finish();
  Executable e = Executable::compile(g).value();
  EXPECT_TRUE(e.report()[0].reference);
  const Tensor in = Tensor::of<float>({4}, {0, 1, 0, 2});
  const std::vector<TensorView> v{in.view()};
  const std::vector<Tensor> out = e.run(v).value();
  EXPECT_EQ(out[0].shape(), (Shape{1, 2}));
}

TEST(Executable, ResidualInPlaceKeepsAValueThatIsReadAgain) {
  // r is the residual of one convolution and an output: it must not be overwritten.
  GraphBuilder b;
  Rng rng(4);
  const auto x = b.input("x", {1, 8, 4, 4});
  ir::Unary relu;
  const auto r = b.add(relu, {x});
  ir::Conv conv;
  conv.window.kernel = {1, 1};
  const auto y = b.add(conv, {r, b.constant(random_tensor(rng, DType::kF32, {8, 8, 1, 1})), ir::kNoValue, r});
  b.output(y);
  b.output(r);
  const ir::Graph g = b.finish();
  std::vector<Tensor> in;
  in.push_back(random_tensor(rng, DType::kF32, {1, 8, 4, 4}));
  const std::vector<Tensor> want = ref::run(g, in).value();
  const std::vector<Tensor> got = Executable::compile(g).value().run(views(in)).value();
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(all_close(want[i].view(), got[i].view(), 1e-5, 1e-5).ok());
}

TEST(Isa, SaysWhatItRunsOn) {
  EXPECT_THAT(isa().library, ::testing::StartsWith("oneDNN "));
  EXPECT_FALSE(isa().effective.empty());
}

}  // namespace
}  // namespace tandem::exec
