// SPDX-License-Identifier: Apache-2.0
// Goal: the shape rule of every op family against values worked out by hand, and refusals that name what is
// wrong. Method: one op on inputs of given shapes; expectations are the shapes as text.
#include <gmock/gmock.h>

#include <cmath>

#include "tandem/ir/op.hpp"

namespace tandem::ir {
namespace {

using ::testing::HasSubstr;

// Keeps the constants of inputs alive.
struct In {
  InputInfo info;
  ConstTensor tensor;
};

In of(Shape shape, DType dtype = DType::kF32) { return {{true, true, dtype, std::move(shape)}, nullptr}; }
In unknown(DType dtype = DType::kF32) { return {{true, true, dtype, std::nullopt}, nullptr}; }
In absent() { return {}; }
In ints(std::vector<int64_t> values) {
  In in = of(Shape{static_cast<int64_t>(values.size())}, DType::kI64);
  in.info.ints = std::move(values);
  return in;
}
In scalar(int64_t value) {
  In in = of(Shape{}, DType::kI64);
  in.info.ints = std::vector<int64_t>{value};
  return in;
}
In floats(std::vector<float> values) {
  const int64_t n = static_cast<int64_t>(values.size());
  In in = of(Shape{n});
  in.tensor = std::make_shared<const Tensor>(Tensor::of<float>(Shape{n}, values));
  in.info.constant = in.tensor.get();
  return in;
}

// "f32[1,2] i64[?]", or "error: ..." of the rule.
std::string rule(const Op& op, std::vector<In> inputs, size_t outputs = 1) {
  std::vector<InputInfo> in;
  for (const In& input : inputs) in.push_back(input.info);
  const Inferred out = infer(op, in, outputs);
  if (!out.ok()) return "error: " + out.error().message();
  std::string text;
  for (const OutputInfo& info : *out) {
    if (!text.empty()) text += ' ';
    text += std::string(to_string(info.dtype)) + (info.shape ? info.shape->to_string() : "[*]");
  }
  return text;
}

Window window(std::vector<int64_t> kernel, std::vector<int64_t> strides = {}, std::vector<int64_t> pads = {},
              AutoPad auto_pad = AutoPad::kExplicit, std::vector<int64_t> dilations = {}) {
  return Window{std::move(kernel), std::move(strides), std::move(dilations), std::move(pads), auto_pad};
}

std::string text_of(const Result<ResolvedWindow>& r) {
  if (!r.ok()) return "error: " + r.error().message();
  return fmt::format("begin {} end {} out {}", fmt::join(r->pad_begin, ","), fmt::join(r->pad_end, ","),
                     fmt::join(r->output, ","));
}

TEST(Window, G20SameWithOddTotalPadding) {
  // 4 -> 2 outputs: (2-1)*2 + 3 - 4 = 1 to pad, at the end for upper and at the begin for lower.
  EXPECT_EQ(text_of(resolve(window({3, 3}, {2, 2}, {}, AutoPad::kSameUpper), {4, 4}, false)),
            "begin 0,0 end 1,1 out 2,2");
  EXPECT_EQ(text_of(resolve(window({3, 3}, {2, 2}, {}, AutoPad::kSameLower), {4, 4}, false)),
            "begin 1,1 end 0,0 out 2,2");
  // 7x5: (4-1)*2 + 3 - 7 = 2 and (3-1)*2 + 3 - 5 = 2, so symmetric.
  EXPECT_EQ(text_of(resolve(window({3, 3}, {2, 2}, {}, AutoPad::kSameUpper), {7, 5}, false)),
            "begin 1,1 end 1,1 out 4,3");
}

TEST(Window, G21ExplicitAsymmetricPadsWithStride) {
  Conv conv;
  conv.window = window({}, {2, 2}, {1, 0, 1, 0});
  // h: (7 + 2 - 3) / 2 + 1 = 4; w: (5 - 3) / 2 + 1 = 2.
  EXPECT_EQ(rule(conv, {of({1, 1, 7, 5}), of({1, 1, 3, 3})}), "f32[1,1,4,2]");
  EXPECT_EQ(text_of(resolve(window({3, 3}, {2, 2}, {1, 0, 1, 0}), {7, 5}, false)),
            "begin 1,0 end 1,0 out 4,2");
}

TEST(Window, CeilModeDropsAWindowThatStartsInTheEndPadding) {
  // 6 with kernel 3, stride 2: floor (6-3)/2+1 = 2; ceil 3, the third window starts at 4 < 6.
  EXPECT_EQ(text_of(resolve(window({3}, {2}), {6}, true)), "begin 0 end 0 out 3");
  // 4 with kernel 1, stride 3, end padding 2: ceil (4+2-1)/3 = 2, +1 = 3; the third would start at 6 >= 4.
  EXPECT_EQ(text_of(resolve(window({1}, {3}, {0, 2}), {4}, true)), "begin 0 end 2 out 2");
}

TEST(Window, DynamicExtents) {
  EXPECT_EQ(text_of(resolve(window({3}, {1}, {1, 1}), {-5}, false)),
            "begin 1 end 1 out -5");  // the symbol stays
  EXPECT_EQ(text_of(resolve(window({3}, {2}, {1, 1}), {-5}, false)), "begin 1 end 1 out -1");
  EXPECT_EQ(text_of(resolve(window({4}, {1}, {}, AutoPad::kSameUpper), {-5}, false)), "begin 1 end 2 out -5");
  EXPECT_EQ(text_of(resolve(window({4}, {2}, {}, AutoPad::kSameUpper), {-5}, false)),
            "begin -1 end -1 out -1");
}

TEST(Window, HostileValuesAreRefused) {
  EXPECT_THAT(text_of(resolve(window({0}), {4}, false)), HasSubstr("kernel 0 is outside"));
  EXPECT_THAT(text_of(resolve(window({3}, {0}), {4}, false)), HasSubstr("stride 0 is outside"));
  EXPECT_THAT(text_of(resolve(window({3}, {}, {-1, 0}), {4}, false)), HasSubstr("pad -1 is outside"));
  EXPECT_THAT(text_of(resolve(window({3}, {}, {1}), {4}, false)), HasSubstr("pads has 1 entries"));
  EXPECT_THAT(text_of(resolve(window({3, 3}), {4}, false)), HasSubstr("kernel has 2 entries for 1"));
  EXPECT_THAT(text_of(resolve(window({5}), {4}, false)), HasSubstr("would be empty"));
  EXPECT_THAT(text_of(resolve(window({INT64_MAX}, {INT64_MAX}, {INT64_MAX, INT64_MAX}), {4}, false)),
              HasSubstr("is outside"));
  EXPECT_THAT(text_of(resolve(window({1 << 30}, {}, {}, AutoPad::kExplicit, {1 << 30}), {4}, false)),
              HasSubstr("too large"));
  EXPECT_THAT(text_of(resolve(window({3}, {}, {1, 1}, AutoPad::kSameUpper), {4}, false)),
              HasSubstr("together with auto_pad"));
}

TEST(Rules, Conv) {
  Conv conv;
  EXPECT_EQ(rule(conv, {of({-2, 3, 8, 9}), of({4, 3, 3, 2}), of({4})}), "f32[?,4,6,8]");
  conv.group = 3;
  EXPECT_EQ(rule(conv, {of({1, 3, 8, 8}), of({6, 1, 3, 3})}), "f32[1,6,6,6]");
  EXPECT_THAT(rule(conv, {of({1, 4, 8, 8}), of({6, 1, 3, 3})}),
              HasSubstr("x has 4 channels, w takes 1 in 3 groups"));
  EXPECT_THAT(rule(conv, {of({1, 3, 8, 8}), of({4, 1, 3, 3})}),
              HasSubstr("4 output channels do not divide into 3"));
  conv.group = 1;
  EXPECT_THAT(rule(conv, {of({1, 3, 8, 8}), of({4, 3, 3, 3}), of({5})}),
              HasSubstr("bias has 5 elements for 4"));
  EXPECT_THAT(rule(conv, {of({1, 3, 8, 8}), of({4, 3, 3})}),
              HasSubstr("w has shape [4,3,3], expected rank 4"));
  EXPECT_EQ(rule(conv, {of({-1, 3, 8, 8}), of({4, 3, 1, 1}), absent(), of({2, 4, 8, 8})}), "f32[2,4,8,8]");
  EXPECT_THAT(rule(conv, {of({1, 3, 8, 8}), of({4, 3, 1, 1}), absent(), of({1, 4, 8, 7})}),
              HasSubstr("residual has shape"));
  EXPECT_EQ(rule(conv, {unknown(), of({4, 3, 1, 1})}), "f32[?,4,?,?]");
  EXPECT_EQ(rule(conv, {unknown(), unknown()}), "f32[*]");
  conv.window.kernel = {5, 5};
  EXPECT_THAT(rule(conv, {of({1, 3, 8, 8}), of({4, 3, 3, 3})}),
              HasSubstr("kernel of w has shape [3,3], expected [5,5]"));
}

TEST(Rules, ConvTranspose) {
  ConvTranspose conv;
  conv.window = window({}, {2, 2}, {1, 1, 1, 1});
  conv.output_padding = {1, 0};
  // (4-1)*2 + 1 + 3 - 2 = 8 and (5-1)*2 + 0 + 3 - 2 = 9.
  EXPECT_EQ(rule(conv, {of({1, 6, 4, 5}), of({6, 2, 3, 3})}), "f32[1,2,8,9]");
  conv.group = 3;
  EXPECT_EQ(rule(conv, {of({1, 6, 4, 5}), of({6, 2, 3, 3})}), "f32[1,6,8,9]");
  ConvTranspose shaped;
  shaped.window = window({3}, {2});
  shaped.output_shape = {8};
  // (4-1)*2 + 3 = 9, so 1 to cut: at the begin, unless auto_pad is same_upper.
  EXPECT_EQ(text_of(resolve_transpose(shaped, {4})), "begin 1 end 0 out 8");
  shaped.window.auto_pad = AutoPad::kSameUpper;
  EXPECT_EQ(text_of(resolve_transpose(shaped, {4})), "begin 0 end 1 out 8");
  shaped.output_shape.clear();
  EXPECT_EQ(text_of(resolve_transpose(shaped, {4})), "begin 0 end 1 out 8");  // extent * stride
}

TEST(Rules, Pools) {
  Pool pool;
  pool.window = window({2, 2}, {2, 2});
  EXPECT_EQ(rule(pool, {of({-1, 3, 7, 8})}, 2), "f32[?,3,3,4] i64[?,3,3,4]");
  pool.ceil_mode = true;
  EXPECT_EQ(rule(pool, {of({-1, 3, 7, 8})}), "f32[?,3,4,4]");
  pool.kind = PoolKind::kAverage;
  EXPECT_THAT(rule(pool, {of({1, 3, 7, 8})}, 2), HasSubstr("2 outputs"));
  EXPECT_EQ(rule(GlobalPool{}, {of({-1, 3, 7, 8})}), "f32[?,3,1,1]");
  EXPECT_THAT(rule(GlobalPool{}, {of({1, 3})}), HasSubstr("needs a spatial dimension"));
}

TEST(Rules, MatrixProducts) {
  EXPECT_EQ(rule(Gemm{}, {of({-1, 4}), of({4, 5}), of({5})}), "f32[?,5]");
  Gemm both;
  both.trans_a = both.trans_b = true;
  EXPECT_EQ(rule(both, {of({4, 3}), of({5, 4})}), "f32[3,5]");
  EXPECT_THAT(rule(Gemm{}, {of({3, 4}), of({5, 4})}), HasSubstr("differ in the inner dimension"));
  EXPECT_THAT(rule(Gemm{}, {of({3, 4}), of({4, 5}), of({4})}), HasSubstr("does not broadcast"));
  EXPECT_EQ(rule(MatMul{}, {of({2, 1, 3, 4}), of({7, 4, 5})}), "f32[2,7,3,5]");
  EXPECT_EQ(rule(MatMul{}, {of({4}), of({4})}), "f32[]");
  EXPECT_EQ(rule(MatMul{}, {of({4}), of({2, 4, 5})}), "f32[2,5]");
  EXPECT_EQ(rule(MatMul{}, {of({2, 3, 4}), of({4})}), "f32[2,3]");
  EXPECT_THAT(rule(MatMul{}, {of({}), of({4})}), HasSubstr("scalar"));
}

TEST(Rules, Elementwise) {
  EXPECT_EQ(rule(Binary{}, {of({-1, 3, 1}), of({4})}), "f32[?,3,4]");
  EXPECT_EQ(rule(Binary{}, {of({-5}), of({-6})}), "f32[?]");
  EXPECT_THAT(rule(Binary{}, {of({2}), of({3})}), HasSubstr("[2] and [3] do not broadcast"));
  EXPECT_THAT(rule(Binary{}, {of({2}), of({2}, DType::kI64)}), HasSubstr("f32 and i64"));
  EXPECT_EQ(rule(Binary{BinaryKind::kLess}, {of({2}), of({2})}), "bool[2]");
  EXPECT_EQ(rule(Binary{BinaryKind::kPow}, {of({2}), of({}, DType::kI64)}), "f32[2]");
  EXPECT_THAT(rule(Binary{BinaryKind::kAnd}, {of({2}), of({2})}), HasSubstr("expected bool"));
  EXPECT_EQ(rule(Binary{BinaryKind::kPRelu}, {of({1, 3, 4, 4}), of({3, 1, 1})}), "f32[1,3,4,4]");
  EXPECT_THAT(rule(Binary{BinaryKind::kPRelu}, {of({3}), of({2, 3})}), HasSubstr("slope of shape [2,3]"));
  EXPECT_EQ(rule(Unary{UnaryKind::kIsNan}, {of({2})}), "bool[2]");
  EXPECT_EQ(rule(Clip{}, {of({2}), absent(), of({})}), "f32[2]");
  EXPECT_THAT(rule(Clip{}, {of({2}), of({2})}), HasSubstr("min has shape [2]"));
  EXPECT_EQ(rule(Variadic{}, {of({2, 1}), of({3}), of({1})}), "f32[2,3]");
  EXPECT_THAT(rule(Variadic{}, {}), HasSubstr("input 0 is missing"));
  EXPECT_EQ(rule(Where{}, {of({2, 1}, DType::kBool), of({3}, DType::kI64), of({}, DType::kI64)}), "i64[2,3]");
  EXPECT_EQ(rule(Cast{DType::kI32}, {of({2})}), "i32[2]");
  EXPECT_EQ(rule(Dropout{}, {of({2})}, 2), "f32[2] bool[2]");
}

TEST(Rules, Reductions) {
  EXPECT_EQ(rule(Reduce{}, {of({2, 3, 4}), ints({-1, 0})}), "f32[1,3,1]");
  EXPECT_EQ(rule(Reduce{ReduceKind::kMean, false}, {of({2, 3, 4}), ints({1})}), "f32[2,4]");
  EXPECT_EQ(rule(Reduce{ReduceKind::kMean, false}, {of({2, 3})}), "f32[]");
  EXPECT_EQ(rule(Reduce{ReduceKind::kSum, true, true}, {of({2, 3})}), "f32[2,3]");
  EXPECT_EQ(rule(Reduce{}, {of({2, 3}), of({1}, DType::kI64)}), "f32[?,?]");
  EXPECT_THAT(rule(Reduce{}, {of({2, 3}), ints({2})}), HasSubstr("axis 2 is outside of rank 2"));
  EXPECT_THAT(rule(Reduce{}, {of({2, 3}), ints({1, -1})}), HasSubstr("axis -1 is given twice"));
  EXPECT_EQ(rule(ArgReduce{ArgReduceKind::kMax, 1, false}, {of({2, 3, 4})}), "i64[2,4]");
  EXPECT_EQ(rule(TopK{}, {of({2, 9}), ints({4})}, 2), "f32[2,4] i64[2,4]");
  EXPECT_THAT(rule(TopK{}, {of({2, 3}), ints({4})}, 2), HasSubstr("k is 4 on an axis of 3"));
  EXPECT_EQ(rule(CumSum{}, {of({2, 3}), scalar(1)}), "f32[2,3]");
}

TEST(Rules, Normalizations) {
  const std::vector<In> bn = {of({-1, 3, 4, 4}), of({3}), of({3}), of({3}), of({3})};
  EXPECT_EQ(rule(BatchNorm{}, bn), "f32[?,3,4,4]");
  BatchNorm training;
  training.training = true;
  EXPECT_EQ(rule(training, bn, 3), "f32[?,3,4,4] f32[3] f32[3]");
  EXPECT_THAT(rule(BatchNorm{}, bn, 3), HasSubstr("3 outputs"));
  EXPECT_THAT(rule(BatchNorm{}, {of({1, 3}), of({3}), of({3}), of({4}), of({3})}),
              HasSubstr("mean has 4 elements"));
  EXPECT_EQ(rule(LayerNorm{}, {of({2, 5, 8}), of({8}), of({8})}, 3), "f32[2,5,8] f32[2,5,1] f32[2,5,1]");
  EXPECT_THAT(rule(GroupNorm{4}, {of({1, 6, 2, 2}), of({6}), of({6})}),
              HasSubstr("6 channels do not divide into 4"));
  EXPECT_THAT(rule(Softmax{3}, {of({1, 6})}), HasSubstr("axis 3 is outside"));
}

TEST(Rules, Reshape) {
  EXPECT_EQ(rule(Reshape{}, {of({2, 3, 4}), ints({0, -1})}), "f32[2,12]");
  EXPECT_EQ(rule(Reshape{}, {of({-7, 3, 4}), ints({-1, 12})}), "f32[?,12]");
  EXPECT_EQ(rule(Reshape{}, {of({-7, 3, 4}), ints({0, -1})}), "f32[?,12]");
  EXPECT_EQ(rule(Reshape{}, {of({-7, 3, 4}), ints({1, -1})}), "f32[1,?]");
  EXPECT_EQ(rule(Reshape{}, {unknown(), ints({0, 5})}), "f32[?,5]");
  EXPECT_EQ(rule(Reshape{}, {of({2, 3}), of({3}, DType::kI64)}), "f32[?,?,?]");
  EXPECT_EQ(rule(Reshape{}, {of({2, 3}), of({-1}, DType::kI64)}), "f32[*]");
  EXPECT_EQ(rule(Reshape{true}, {of({0, 3}), ints({3, 0})}), "f32[3,0]");
  EXPECT_THAT(rule(Reshape{}, {of({2, 3}), ints({-1, -1})}), HasSubstr("-1 twice"));
  EXPECT_THAT(rule(Reshape{}, {of({2, 3}), ints({4, -1})}), HasSubstr("6 elements do not divide by the 4"));
  EXPECT_THAT(rule(Reshape{}, {of({2, 3}), ints({7})}), HasSubstr("cannot take shape [7]"));
  EXPECT_THAT(rule(Reshape{}, {of({2, 3}), ints({2, 3, 0})}), HasSubstr("copies dimension 2"));
  EXPECT_THAT(rule(Reshape{}, {of({2, 3}), ints({-2, 3})}), HasSubstr("element -2"));
  EXPECT_THAT(rule(Reshape{}, {of({2, 3}), ints({INT64_MAX, INT64_MAX, -1})}), HasSubstr("too large"));
  EXPECT_EQ(rule(Squeeze{}, {of({1, 3, 1})}), "f32[3]");
  EXPECT_EQ(rule(Squeeze{}, {of({1, 3, 1}), ints({-1})}), "f32[1,3]");
  EXPECT_THAT(rule(Squeeze{}, {of({1, 3, 1}), ints({1})}), HasSubstr("axis 1 of x [1,3,1] is not 1"));
  EXPECT_EQ(rule(Unsqueeze{}, {of({3}), ints({0, -1})}), "f32[1,3,1]");
}

TEST(Rules, Movement) {
  EXPECT_EQ(rule(Transpose{}, {of({2, 3, 4})}), "f32[4,3,2]");
  EXPECT_EQ(rule(Transpose{{1, 2, 0}}, {of({2, 3, 4})}), "f32[3,4,2]");
  EXPECT_THAT(rule(Transpose{{0, 0}}, {of({2, 3})}), HasSubstr("given twice"));
  EXPECT_EQ(rule(Concat{1}, {of({-1, 3}), of({2, 4})}), "f32[2,7]");
  EXPECT_EQ(rule(Concat{1}, {of({2, 3}), of({2, -1})}), "f32[2,?]");
  EXPECT_THAT(rule(Concat{1}, {of({2, 3}), of({3, 3})}), HasSubstr("input 1 has shape"));
  EXPECT_EQ(rule(Split{1}, {of({2, 7})}, 3), "f32[2,3] f32[2,3] f32[2,1]");
  EXPECT_EQ(rule(Split{0}, {of({5}), ints({1, 4})}, 2), "f32[1] f32[4]");
  EXPECT_THAT(rule(Split{0}, {of({5}), ints({1, 3})}, 2), HasSubstr("add up to 4, the axis has 5"));
  EXPECT_EQ(rule(Expand{}, {of({3, 1}), ints({2, 1, 6})}), "f32[2,3,6]");
  EXPECT_EQ(rule(Tile{}, {of({3, -1}), ints({2, 1})}), "f32[6,?]");
  EXPECT_EQ(rule(DepthToSpace{2}, {of({1, 8, 2, 3})}), "f32[1,2,4,6]");
  EXPECT_EQ(rule(SpaceToDepth{2}, {of({1, 2, 4, 6})}), "f32[1,8,2,3]");
  EXPECT_THAT(rule(DepthToSpace{0}, {of({1, 8, 2, 3})}), HasSubstr("blocksize 0"));
}

TEST(Rules, SliceAsNumPyDoes) {
  const auto slice = [](int64_t n, int64_t start, int64_t end, int64_t step) {
    return rule(Slice{}, {of({n}), ints({start}), ints({end}), ints({0}), ints({step})});
  };
  EXPECT_EQ(slice(10, 2, 8, 3), "f32[2]");           // 2 5
  EXPECT_EQ(slice(10, -3, INT64_MAX, 1), "f32[3]");  // 7 8 9
  EXPECT_EQ(slice(10, 8, 2, -2), "f32[3]");          // 8 6 4
  EXPECT_EQ(slice(10, -1, INT64_MIN / 2, -1), "f32[10]");
  EXPECT_EQ(slice(10, 20, 30, 1), "f32[0]");
  EXPECT_EQ(slice(10, 5, 5, 1), "f32[0]");
  EXPECT_EQ(slice(-4, 0, INT64_MAX, 1), "f32[?]");
  EXPECT_EQ(slice(0, 0, 1, 1), "f32[0]");
  EXPECT_THAT(slice(10, 0, 1, 0), HasSubstr("step of axis 0 is 0"));
  EXPECT_EQ(rule(Slice{}, {of({5, 6}), ints({1, 2}), ints({3, 4})}), "f32[2,2]");
}

TEST(Rules, Pad) {
  EXPECT_EQ(rule(Pad{}, {of({2, 3}), ints({1, 0, 0, -1})}), "f32[3,2]");
  EXPECT_EQ(rule(Pad{}, {of({2, -1}), ints({1, 0, 0, 0})}), "f32[3,?]");
  EXPECT_EQ(rule(Pad{}, {of({2, 3, 4}), ints({1, 2}), absent(), ints({-1})}), "f32[2,3,7]");
  EXPECT_THAT(rule(Pad{}, {of({2}), ints({-2, -1})}), HasSubstr("crop more"));
  EXPECT_THAT(rule(Pad{PadMode::kReflect}, {of({2}), ints({2, 0})}), HasSubstr("cannot reflect 2"));
  EXPECT_THAT(rule(Pad{}, {of({2}), ints({INT64_MAX, INT64_MAX})}), HasSubstr("is outside"));
}

TEST(Rules, GatherAndScatter) {
  EXPECT_EQ(rule(Gather{1}, {of({2, 9, 4}), of({5, 6}, DType::kI64)}), "f32[2,5,6,4]");
  EXPECT_EQ(rule(Gather{0}, {of({7}), scalar(-7)}), "f32[]");
  EXPECT_THAT(rule(Gather{0}, {of({7}), scalar(7)}), HasSubstr("index 7 is outside [-7, 6]"));
  EXPECT_EQ(rule(GatherNd{}, {of({2, 3, 4}), of({5, 2}, DType::kI64)}), "f32[5,4]");
  EXPECT_EQ(rule(GatherNd{1}, {of({2, 3, 4}), of({2, 1}, DType::kI64)}), "f32[2,4]");
  EXPECT_THAT(rule(GatherNd{}, {of({2}), of({5, 2}, DType::kI64)}), HasSubstr("2 coordinates into x [2]"));
  EXPECT_EQ(rule(GatherElements{}, {of({2, 3}), of({1, 3}, DType::kI64)}), "f32[1,3]");
  EXPECT_EQ(rule(ScatterNd{}, {of({8, 3}), of({4, 1}, DType::kI64), of({4, 3})}), "f32[8,3]");
  EXPECT_THAT(rule(ScatterNd{}, {of({8, 3}), of({4, 1}, DType::kI64), of({4, 2})}),
              HasSubstr("updates has shape [4,2]"));
  EXPECT_EQ(rule(OneHot{}, {of({2, 3}, DType::kI64), scalar(10), of({2})}), "f32[2,3,10]");
}

TEST(Rules, Resize) {
  EXPECT_EQ(rule(Resize{}, {of({-1, 3, 7, 8}), absent(), floats({1, 1, 1.5f, 2})}), "f32[?,3,10,16]");
  EXPECT_EQ(rule(Resize{}, {of({1, 3, 7, 8}), absent(), absent(), ints({1, 3, 20, 30})}), "f32[1,3,20,30]");
  Resize aspect;
  aspect.aspect = AspectPolicy::kNotLarger;
  aspect.axes = {2, 3};
  // 20/5 = 4, 30/10 = 3: 3 for both, 15 x 30.
  EXPECT_EQ(rule(aspect, {of({1, 3, 5, 10}), absent(), absent(), ints({20, 30})}), "f32[1,3,15,30]");
  EXPECT_THAT(rule(Resize{}, {of({1, 3})}), HasSubstr("exactly one"));
  EXPECT_THAT(rule(Resize{}, {of({1, 3}), absent(), floats({1, -1})}), HasSubstr("scale -1 of axis 1"));
  EXPECT_THAT(rule(Resize{}, {of({1, 3}), absent(), floats({1, 1e30f})}), HasSubstr("with scale"));
}

TEST(Rules, Generators) {
  EXPECT_EQ(rule(ShapeOf{1, -1}, {of({2, 3, 4, 5})}), "i64[2]");
  EXPECT_EQ(rule(ShapeOf{INT64_MIN, INT64_MAX}, {of({2, 3})}), "i64[2]");
  EXPECT_EQ(rule(Size{}, {of({2, 3})}), "i64[]");
  EXPECT_EQ(rule(ConstantOfShape{}, {ints({2, 0})}), "f32[2,0]");
  EXPECT_THAT(rule(ConstantOfShape{}, {ints({2, -1})}), HasSubstr("element -1"));
  EXPECT_THAT(rule(ConstantOfShape{}, {ints({1 << 30, 1 << 30})}), HasSubstr("too large"));
  EXPECT_EQ(rule(Range{}, {scalar(10), scalar(1), scalar(-3)}), "i64[3]");  // 10 7 4
  EXPECT_THAT(rule(Range{}, {scalar(0), scalar(1), scalar(0)}), HasSubstr("steps of 0"));
  EXPECT_EQ(rule(EyeLike{}, {of({2, 3})}), "f32[2,3]");
  EXPECT_EQ(rule(NonZero{}, {of({2, 3})}), "i64[2,?]");
}

TEST(Rules, Quantization) {
  EXPECT_EQ(rule(QuantizeLinear{}, {of({1, 3}), of({})}), "u8[1,3]");
  EXPECT_EQ(rule(QuantizeLinear{}, {of({1, 3}), of({3}), of({3}, DType::kI8)}), "i8[1,3]");
  EXPECT_THAT(rule(QuantizeLinear{}, {of({1, 3}), of({4})}), HasSubstr("4 scales for 3 channels"));
  EXPECT_EQ(rule(DequantizeLinear{}, {of({1, 3}, DType::kI8), of({})}), "f32[1,3]");
  EXPECT_EQ(rule(DynamicQuantizeLinear{}, {of({4})}, 3), "u8[4] f32[] u8[]");
  EXPECT_EQ(rule(MatMulInteger{}, {of({2, 3}, DType::kU8), of({3, 4}, DType::kI8)}), "i32[2,4]");
  const In s = of({}), z = of({}, DType::kU8);
  EXPECT_EQ(
      rule(QLinearConv{}, {of({1, 3, 5, 5}, DType::kU8), s, z, of({4, 3, 3, 3}, DType::kI8), s, z, s, z}),
      "u8[1,4,3,3]");
}

TEST(Rules, LossesAndOptimizers) {
  SoftmaxCrossEntropyLoss loss;
  EXPECT_EQ(rule(loss, {of({4, 10}), of({4}, DType::kI64)}, 2), "f32[] f32[4,10]");
  loss.reduction = LossReduction::kNone;
  EXPECT_EQ(rule(loss, {of({4, 10, 2}), of({4, 2}, DType::kI64)}), "f32[4,2]");
  EXPECT_THAT(rule(loss, {of({4, 10}), of({5}, DType::kI64)}),
              HasSubstr("labels has shape [5], expected [4]"));
  const In r = of({}), t = of({}, DType::kI64), a = of({2}), b = of({3});
  EXPECT_EQ(rule(Adam{}, {r, t, a, b, a, b, a, b, a, b}, 6), "f32[2] f32[3] f32[2] f32[3] f32[2] f32[3]");
  EXPECT_EQ(rule(Momentum{}, {r, t, a, a, a}, 2), "f32[2] f32[2]");
  EXPECT_THAT(rule(Momentum{}, {r, t, a, b, a}, 2), HasSubstr("a gradient has shape [3]"));
  EXPECT_THAT(rule(Momentum{}, {r, t, a, a}, 2), HasSubstr("4 inputs"));
}

TEST(Rules, SizesAreBounded) {
  EXPECT_THAT(rule(Unary{}, {of({INT64_MAX, INT64_MAX})}), HasSubstr("input 0: shape"));
  EXPECT_THAT(rule(Unary{}, {of(Shape(std::vector<int64_t>(40, 1)))}), HasSubstr("rank 40"));
  EXPECT_THAT(rule(MatMul{}, {of({1 << 28, 1}), of({1, 1 << 28})}), HasSubstr("output 0: shape"));
}

TEST(Activation, ValuesByTheDefinitions) {
  EXPECT_EQ(apply({ActivationKind::kRelu}, -1), 0);
  EXPECT_EQ(apply({ActivationKind::kClip, -1, 6}, 7), 6);
  EXPECT_EQ(apply({ActivationKind::kClip, 2, 1}, 0), 1);  // crossed bounds: the upper one
  EXPECT_EQ(apply({ActivationKind::kLeakyRelu, 0.5f}, -2), -1);
  EXPECT_FLOAT_EQ(apply({ActivationKind::kHardSigmoid, 0.2f, 0.5f}, 1), 0.7f);
  EXPECT_FLOAT_EQ(apply({ActivationKind::kHardSwish}, 1), 4.0f / 6);  // 1 * (1 + 3) / 6
  EXPECT_FLOAT_EQ(apply({ActivationKind::kSigmoid}, 0), 0.5f);
  EXPECT_FLOAT_EQ(apply({ActivationKind::kSigmoid}, 200), 1);
  EXPECT_FLOAT_EQ(apply({ActivationKind::kSigmoid}, -200), 0);
  EXPECT_FLOAT_EQ(apply({ActivationKind::kSilu}, 1), 0.73105858f);
  EXPECT_FLOAT_EQ(apply({ActivationKind::kTanh}, 1), 0.76159416f);
  EXPECT_FLOAT_EQ(apply({ActivationKind::kGelu}, 1), 0.84134475f);  // the normal distribution function at 1
  EXPECT_NEAR(apply({ActivationKind::kGeluTanh}, 1), 0.84119199f, 1e-6);
  for (int kind = 0; kind < 11; ++kind) {
    EXPECT_TRUE(std::isnan(apply({static_cast<ActivationKind>(kind), 0.1f, 0.9f}, NAN))) << kind;
  }
}

}  // namespace
}  // namespace tandem::ir
