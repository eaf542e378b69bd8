// SPDX-License-Identifier: Apache-2.0
// Goal: a graph survives print and parse in every detail, the form stays what the golden text says, and
// mistakes are named with their place.
#include "tandem/ir/text.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tandem/base/rng.hpp"
#include "tandem/ir/verify.hpp"
#include "tandem/testing/graph_builder.hpp"

namespace tandem::ir {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kGolden = R"(graph "tiny"
meta "tandem.labels" = "cat\ndog \"x\" \\ \x01"
input %x : f32[?,3,8,8] q(u8 0.0235 z128)
const %w : f32[4,3,1,1] q(i8 axis0 [0.1, 0.25, 1e-05, 3]) = [1, -2, 3, 4, 5, 6, 7, 8, 9, 10, -128, 127]
const %b : f32[4] = [0.1, -0, nan, inf]
%y : f32[?,4,4,4] q(i8 fix5) = Conv(%x, %w, %b) {window={strides=[2, 2], auto_pad=same_upper}, activation=clip(0, 6)} "conv1"
const %"a b:0" : i64[2] = [0, -1]
%flat : f32[?,64] = Reshape(%y, %"a b:0")
const %half : f16[3] = 0.5
%p : f32[*], _, %q : i64[] = Opaque(%flat, _, %half) {domain="com.acme", op_type="Foo", version=2} "a \"b\""
%r : f32[*] = Opaque(%p) {op_type="Bar", attributes={a=1, b=float 1, c="s", h=encoded "\x00\xff"}}
%s : f32[*] = Opaque(%r) {attributes={d=ints [], e=floats [1, 0.5], f=strings ["x", ""], g=tensor u8[2] = [1, 2]}}
output %p
output %x
)";

TEST(Text, GoldenTextIsAFixedPoint) {
  const Result<Graph> graph = parse(kGolden);
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  EXPECT_EQ(print(*graph), kGolden);
}

TEST(Text, ParsedPartsAreWhatTheTextSays) {
  const Graph graph = parse(kGolden).value();
  EXPECT_EQ(graph.name, "tiny");
  EXPECT_EQ(graph.metadata.at("tandem.labels"), "cat\ndog \"x\" \\ \x01");
  const Value& x = graph.value(graph.find_value("x"));
  EXPECT_EQ(*x.shape, (Shape{kDynamic, 3, 8, 8}));
  EXPECT_EQ(*x.quant, QuantParams::affine(DType::kU8, 0.0235f, 128));
  const Value& w = graph.value(graph.find_value("w"));
  EXPECT_EQ(*w.quant, QuantParams::affine_per_axis(DType::kI8, 0, {0.1f, 0.25f, 1e-5f, 3}));
  EXPECT_EQ(w.constant->as<int8_t>()[10], -128);
  const Node& conv = graph.node(graph.find_node("conv1"));
  const Conv& op = std::get<Conv>(conv.op);
  EXPECT_EQ(op.window.strides, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(op.window.auto_pad, AutoPad::kSameUpper);
  EXPECT_EQ(op.activation, (Activation{ActivationKind::kClip, 0, 6}));
  EXPECT_EQ(graph.value(conv.outputs[0]).quant->fix_point(), 5);
  EXPECT_TRUE(std::signbit(graph.value(graph.find_value("b")).constant->as<float>()[1]));
  EXPECT_EQ(graph.value(graph.find_value("half")).constant->as<uint16_t>()[2], f32_to_f16(0.5f));
  const Node& foo = graph.node(NodeId{2});
  EXPECT_EQ(foo.name, "a \"b\"");
  EXPECT_EQ(foo.inputs[1], kNoValue);
  EXPECT_EQ(foo.outputs[1], kNoValue);
  const Opaque& opaque = std::get<Opaque>(graph.node(NodeId{3}).op);
  EXPECT_EQ(std::get<double>(opaque.attributes.at("b")), 1.0);
  EXPECT_EQ(std::get<EncodedAttribute>(opaque.attributes.at("h")).bytes, std::string("\0\xff", 2));
  EXPECT_FALSE(graph.value(foo.outputs[0]).shape);
  EXPECT_EQ(graph.value(foo.outputs[2]).shape, Shape{});
}

TEST(Text, LargeConstantsPrintAHashThatIsRefused) {
  Graph graph;
  Tensor tensor(DType::kF32, {64, 10});
  tensor.as<float>()[5] = 1;
  graph.outputs = {graph.add_constant("big", std::move(tensor))};
  const std::string text = print(graph);
  EXPECT_THAT(text, HasSubstr("const %big : f32[64,10] = sha256:"));
  const Result<Graph> parsed = parse(text);
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.error().message(), HasSubstr("line 2"));
  EXPECT_THAT(parsed.error().message(), HasSubstr("hash"));
  const std::string whole = print(graph, {.constant_elements_max = 1000});
  EXPECT_EQ(print(parse(whole).value(), {.constant_elements_max = 1000}), whole);
}

TEST(Text, ParsedGraphVerifies) {
  const Graph graph = parse(R"(
input %x : f32[?,2]   # a comment
const %w : f32[2,3] = [
   1, 2, 3,          # lines go on inside brackets
   4, 5, 6]
)"
                            "const %z : f32[3] = 0\n"
                            "%y : f32[?,3] = Gemm(%x, %w, %z) {alpha=0.5,\n  activation=relu}\n"
                            "output %y")
                          .value();
  EXPECT_TRUE(verify(graph).ok());
  EXPECT_FLOAT_EQ(std::get<Gemm>(graph.node(NodeId{0}).op).alpha, 0.5f);
}

TEST(Text, MistakesAreNamedWithTheirPlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"grph \"x\"", "line 1, column 5: unknown statement 'grph'"},
      {"graph x", "line 1, column 7: expected '\"'"},
      {"graph \"x", "a string has no end"},
      {"graph \"\\q\"", "unknown escape"},
      {"graph \"\" 3", "expected the end of the line"},
      {"\ninput %x : f31[1]", "line 2, column 12: expected an element type"},
      {"input %x : f32[-1]", "a dimension is negative"},
      {"input %x : f32[1,", "expected an integer"},
      {"input %x : f32[99999999999999999999]", "out of range"},
      {"input %x : f32[9999999999,9999999999]", "too large"},
      {"input %x : f32[1]\ninput %x : f32[1]", "value 'x' is declared twice"},
      {"input %x : f32[1] q(f32 1)", "cannot be stored as f32"},
      {"input %x : f32[1] q(i8 -1)", "not positive"},
      {"input %x : f32[1] q(i8 fix101)", "outside [-100, 100]"},
      {"input %x : f32[1] q(i8 1 z200)", "zero point 200"},
      {"const %c : f32[2] = [1]", "1 elements, expected 2"},
      {"const %c : f32[2] = [1, 2, 3]", "more than 2 elements"},
      {"const %c : u8[1] = [256]", "out of range"},
      {"const %c : f32[?] = 1", "a constant needs a static shape"},
      {"const %c : f32[65536,65536] = 1", "too large"},
      {"const %c : f32[65536,65536] = [1]", "fewer than"},
      {"%y : f32[1] = Cnv()", "did you mean 'Conv'?"},
      {"%y : f32[1] = Conv(%x)", "value 'x' is not declared before this"},
      {"%y : f32[1] = Conv(%y)", "value 'y' is not declared before this"},
      {"%y : f32[1] = Conv(_) {grup=1}", "Conv has no attribute 'grup'"},
      {"%y : f32[1] = Unary(_) {kind=rellu}", "did you mean 'relu'?"},
      {"output %y", "value 'y' is not declared"},
  };
  for (const auto& [text, message] : cases) {
    const Result<Graph> graph = parse(text);
    ASSERT_FALSE(graph.ok()) << text;
    EXPECT_EQ(graph.error().code(), ErrorCode::kBadInput);
    EXPECT_THAT(graph.error().message(), HasSubstr(message)) << text;
    EXPECT_THAT(graph.error().message(), HasSubstr("line ")) << text;
  }
}

// Property: print(parse(print(g))) == print(g), and ops and constants are equal, for random values of every
// field.
class Randomizer {
 public:
  explicit Randomizer(uint64_t seed) : rng_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(rng_.below(static_cast<uint64_t>(n))); }

  void fill(int64_t& v) { v = static_cast<int64_t>(rng_.next()) >> below(64); }
  void fill(float& v) {
    const uint32_t bits = static_cast<uint32_t>(rng_.next());
    std::memcpy(&v, &bits, sizeof(v));
    if (std::isnan(v)) v = std::numeric_limits<float>::quiet_NaN();
  }
  void fill(double& v) {
    const uint64_t bits = rng_.next();
    std::memcpy(&v, &bits, sizeof(v));
    if (std::isnan(v)) v = std::numeric_limits<double>::quiet_NaN();
  }
  void fill(bool& v) { v = below(2) == 1; }
  void fill(std::string& v) {
    v.clear();
    for (int64_t n = below(6); n > 0; --n)
      v += static_cast<char>(below(4) == 0 ? below(256) : 'a' + below(26));
  }
  void fill(DType& v) { v = static_cast<DType>(below(kDTypeCount)); }
  template <typename T>
  void fill(std::vector<T>& v) {
    v.resize(static_cast<size_t>(below(4)));
    for (T& item : v) fill(item);
  }
  void fill(ConstTensor& v) {
    v = nullptr;
    if (below(4) == 0) return;
    DType dtype;
    fill(dtype);
    Shape shape;
    for (int64_t rank = below(3); rank > 0; --rank) shape.push_back(below(4));
    v = std::make_shared<const Tensor>(tandem::testing::random_tensor(rng_, dtype, shape, 0, 100));
  }
  void fill(Window& v) {
    fill(v.kernel);
    fill(v.strides);
    fill(v.dilations);
    fill(v.pads);
    fill(v.auto_pad);
  }
  void fill(Activation& v) {
    fill(v.kind);
    fill(v.alpha);
    fill(v.beta);
  }
  template <typename E, std::enable_if_t<std::is_enum_v<E>, int> = 0>
  void fill(E& v) {
    v = static_cast<E>(below(static_cast<int64_t>(EnumNames<E>::names.size())));
  }
  void fill(EncodedAttribute& v) { fill(v.bytes); }
  template <size_t I = 0>
  void fill_alternative(AttributeValue& v, size_t wanted) {
    if constexpr (I < std::variant_size_v<AttributeValue>) {
      if (I == wanted)
        fill(v.emplace<I>());
      else
        fill_alternative<I + 1>(v, wanted);
    }
  }
  void fill(AttributeMap& v) {
    for (size_t i = 0; i < 2 * std::variant_size_v<AttributeValue>; ++i) {
      std::string key;
      fill(key);
      fill_alternative(v[key], i % std::variant_size_v<AttributeValue>);
    }
  }
  template <typename T>
  T op() {
    T made;
    T::fields(made, [this](std::string_view, auto& member) { this->fill(member); });
    return made;
  }
  std::optional<QuantParams> quant() {
    switch (below(4)) {
      case 0:
        return QuantParams::pow2(static_cast<int>(below(60)) - 30, DType::kI8,
                                 static_cast<int>(2 + below(7)));
      case 1:
        return QuantParams::affine(DType::kU8, static_cast<float>(rng_.uniform(1e-6, 10)),
                                   static_cast<int32_t>(below(256)));
      case 2: {
        QuantParams q = QuantParams::affine_per_axis(DType::kI16, below(3),
                                                     {0.1f, 7, static_cast<float>(rng_.uniform(1e-9, 1))});
        q.zero_point[static_cast<size_t>(below(3))] = static_cast<int32_t>(below(100)) - 50;
        return q;
      }
      default: return std::nullopt;
    }
  }
  Graph graph(const std::vector<Op>& ops) {
    Graph g;
    fill(g.name);
    fill(g.metadata["k"]);
    std::vector<ValueId> known = {kNoValue};
    for (const Op& op : ops) {
      Value value;
      fill(value.name);
      fill(value.dtype);
      if (below(4) > 0) {
        value.shape = Shape{};
        for (int64_t rank = below(4); rank > 0; --rank) value.shape->push_back(below(5) - 1);
      }
      value.quant = quant();
      if (below(3) == 0) known.push_back(g.add_input(value));
      ConstTensor tensor;
      fill(tensor);
      if (tensor) known.push_back(g.add_constant("", std::move(tensor)));
      Node node;
      fill(node.name);
      node.op = op;
      for (int64_t n = below(4); n > 0; --n)
        node.inputs.push_back(known[static_cast<size_t>(below(static_cast<int64_t>(known.size())))]);
      for (int64_t n = 1 + below(3); n > 0; --n)
        node.outputs.push_back(below(5) == 0 ? kNoValue : g.add_value(value));
      for (ValueId id : node.outputs) known.push_back(id);
      g.add_node(std::move(node));
    }
    if (known.back() != kNoValue) g.outputs.push_back(known.back());
    return g;
  }

 private:
  Rng rng_;
};

template <size_t... I>
std::vector<Op> random_ops(Randomizer& random, std::index_sequence<I...>) {
  return {Op(std::in_place_index<I>, random.op<std::variant_alternative_t<I, AnyOp>>())...};
}

TEST(Text, RandomGraphsSurviveTheRoundTrip) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Randomizer random(seed);
    const std::vector<Op> ops = random_ops(random, std::make_index_sequence<std::variant_size_v<AnyOp>>());
    const Graph graph = random.graph(ops);
    const std::string text = print(graph);
    const Result<Graph> parsed = parse(text);
    ASSERT_TRUE(parsed.ok()) << "seed " << seed << ": " << parsed.error().message() << "\n" << text;
    ASSERT_EQ(print(*parsed), text) << "seed " << seed;
    for (size_t i = 0; i < ops.size(); ++i) {
      EXPECT_TRUE(equal(parsed->nodes()[i].op, ops[i])) << "seed " << seed << ", " << op_name(ops[i]);
    }
    for (const Value& value : graph.values()) {
      const ValueId id = parsed->find_value(value.name);
      if (id == kNoValue) continue;  // nothing used it
      EXPECT_EQ(parsed->value(id).quant, value.quant);
      EXPECT_EQ(parsed->value(id).shape, value.shape);
    }
  }
}

TEST(Text, EqualSeesEveryField) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Randomizer first(seed), again(seed), other(seed + 1000);
    constexpr auto kAll = std::make_index_sequence<std::variant_size_v<AnyOp>>();
    const std::vector<Op> a = random_ops(first, kAll), b = random_ops(again, kAll),
                          c = random_ops(other, kAll);
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_TRUE(equal(a[i], b[i]));
      EXPECT_FALSE(equal(a[i], a[(i + 1) % a.size()]));
      // Equal to another op of its kind only if that prints the same.
      Graph ga, gc;
      ga.add_node(Node{"", a[i], {}, {}});
      gc.add_node(Node{"", c[i], {}, {}});
      EXPECT_EQ(equal(a[i], c[i]), print(ga) == print(gc)) << op_name(a[i]);
    }
  }
  EXPECT_FALSE(equal(Conv{{}, 1}, Conv{{}, 2}));
  EXPECT_FALSE(equal(Unary{UnaryKind::kRelu, 0.0f}, Unary{UnaryKind::kRelu, -0.0f}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(equal(Unary{UnaryKind::kRelu, nan}, Unary{UnaryKind::kRelu, nan}));
}

}  // namespace
}  // namespace tandem::ir
