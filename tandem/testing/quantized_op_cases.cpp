// SPDX-License-Identifier: Apache-2.0
// Quantized cases: every op of the fixed-point engines in u8 and s8 affine and in pow2, with scales chosen so
// that outputs use most of their range and some saturate.
#include "tandem/testing/quantized_op_cases.hpp"

#include <cmath>

#include "tandem/testing/graph_builder.hpp"

namespace tandem::testing {
namespace {

using ir::Activation;
using ir::ActivationKind;
using ir::Op;
using ir::ValueId;

ir::Window window(std::vector<int64_t> kernel, std::vector<int64_t> strides = {},
                  std::vector<int64_t> pads = {}, std::vector<int64_t> dilations = {}) {
  ir::Window w;
  w.kernel = std::move(kernel);
  w.strides = std::move(strides);
  w.pads = std::move(pads);
  w.dilations = std::move(dilations);
  return w;
}

ir::Conv conv(ir::Window w, int64_t group = 1, Activation activation = {}) {
  ir::Conv op;
  op.window = std::move(w);
  op.group = group;
  op.activation = activation;
  return op;
}

ir::Pool pool(ir::PoolKind kind, ir::Window w, bool ceil_mode = false, bool count_include_pad = false) {
  ir::Pool op;
  op.kind = kind;
  op.window = std::move(w);
  op.ceil_mode = ceil_mode;
  op.count_include_pad = count_include_pad;
  return op;
}

constexpr Activation kRelu{ActivationKind::kRelu, 0, 0};
constexpr Activation kRelu6{ActivationKind::kClip, 0, 6};
constexpr Activation kLeaky{ActivationKind::kLeakyRelu, 0.1015625f, 0};  // 26/256, the slope the DPU has

}  // namespace

std::vector<ConvCase> conv_case_table() {
  return {
      {"1x1", conv(window({1, 1})), {2, 16, 7, 5}, {24, 16, 1, 1}},
      {"1x1_relu", conv(window({1, 1}), 1, kRelu), {1, 16, 7, 5}, {24, 16, 1, 1}},
      {"1x1_odd_channels", conv(window({1, 1})), {1, 13, 5, 5}, {7, 13, 1, 1}},
      {"1x1_no_bias", conv(window({1, 1})), {1, 16, 7, 5}, {24, 16, 1, 1}, false},
      {"3x3_pad1", conv(window({3, 3}, {}, {1, 1, 1, 1})), {1, 8, 9, 7}, {16, 8, 3, 3}},
      {"3x3_pad1_relu6", conv(window({3, 3}, {}, {1, 1, 1, 1}), 1, kRelu6), {1, 8, 9, 7}, {16, 8, 3, 3}},
      {"3x3_pad1_leaky", conv(window({3, 3}, {}, {1, 1, 1, 1}), 1, kLeaky), {1, 8, 9, 7}, {16, 8, 3, 3}},
      {"3x3_stride2", conv(window({3, 3}, {2, 2}, {1, 1, 1, 1})), {2, 8, 9, 10}, {16, 8, 3, 3}},
      {"3x3_asymmetric_pad_stride2",
       conv(window({3, 3}, {2, 2}, {0, 0, 1, 1}), 1, kRelu6),
       {1, 3, 12, 12},
       {32, 3, 3, 3}},
      {"3x3_one_sided_pad", conv(window({3, 3}, {2, 2}, {1, 0, 1, 0})), {1, 1, 7, 5}, {4, 1, 3, 3}},
      {"3x3_dilation2", conv(window({3, 3}, {}, {2, 2, 2, 2}, {2, 2})), {1, 8, 9, 7}, {8, 8, 3, 3}},
      {"7x7_stride2", conv(window({7, 7}, {2, 2}, {3, 3, 3, 3}), 1, kRelu), {1, 3, 20, 20}, {8, 3, 7, 7}},
      {"1x7", conv(window({1, 7}, {}, {0, 3, 0, 3})), {1, 8, 5, 9}, {8, 8, 1, 7}},
      {"group2", conv(window({3, 3}, {}, {1, 1, 1, 1}), 2), {1, 8, 6, 6}, {12, 4, 3, 3}},
      {"depthwise_3x3", conv(window({3, 3}, {}, {1, 1, 1, 1}), 24, kRelu6), {2, 24, 7, 7}, {24, 1, 3, 3}},
      {"depthwise_5x5_stride2", conv(window({5, 5}, {2, 2}, {2, 2, 2, 2}), 17), {1, 17, 9, 9}, {17, 1, 5, 5}},
      {"residual", conv(window({1, 1})), {1, 16, 6, 6}, {16, 16, 1, 1}, true, true},
      {"residual_relu",
       conv(window({3, 3}, {}, {1, 1, 1, 1}), 1, kRelu),
       {2, 16, 6, 6},
       {16, 16, 3, 3},
       true,
       true},
      {"1x1_input", conv(window({1, 1})), {3, 32, 1, 1}, {10, 32, 1, 1}},
  };
}

Shape conv_output(const ConvCase& c) {
  const ir::ResolvedWindow resolved = ir::resolve(c.op.window, {c.x.begin() + 2, c.x.end()}, false).value();
  Shape y{c.x[0], c.w[0]};
  for (int64_t d : resolved.output) y.push_back(d);
  return y;
}

std::vector<PoolCase> pool_case_table() {
  using ir::PoolKind;
  return {
      {"max_2x2", pool(PoolKind::kMax, window({2, 2}, {2, 2})), {2, 9, 8, 6}},
      {"max_3x3_stride2_pad1", pool(PoolKind::kMax, window({3, 3}, {2, 2}, {1, 1, 1, 1})), {1, 16, 9, 9}},
      {"max_3x3_ceil", pool(PoolKind::kMax, window({3, 3}, {2, 2}), true), {1, 16, 8, 8}},
      {"max_dilation2", pool(PoolKind::kMax, window({2, 2}, {}, {}, {2, 2})), {1, 4, 7, 7}},
      {"average_2x2", pool(PoolKind::kAverage, window({2, 2}, {2, 2})), {2, 9, 8, 6}},
      {"average_3x3_pad1", pool(PoolKind::kAverage, window({3, 3}, {1, 1}, {1, 1, 1, 1})), {1, 16, 6, 5}},
      {"average_3x3_pad1_counted",
       pool(PoolKind::kAverage, window({3, 3}, {2, 2}, {1, 1, 1, 1}), false, true),
       {1, 16, 7, 7}},
      {"average_5x5", pool(PoolKind::kAverage, window({5, 5}, {1, 1})), {1, 8, 9, 9}},
      {"average_7x7", pool(PoolKind::kAverage, window({7, 7}, {1, 1})), {2, 8, 7, 7}},
      {"average_ceil", pool(PoolKind::kAverage, window({3, 3}, {2, 2}), true), {1, 4, 8, 8}},
  };
}

namespace {

enum class Storage : uint8_t { kU8, kS8, kPow2 };

// How real ranges are mapped to integers in one flavour of quantization.
struct Flavour {
  Storage storage;
  const char* suffix;

  CaseKind kind() const { return storage == Storage::kPow2 ? CaseKind::kPow2 : CaseKind::kAffine; }
  // Params that cover about [-limit, limit], or [0, limit] for u8 when there are no negative numbers.
  QuantParams activation(double limit, bool negative = true) const {
    if (storage == Storage::kPow2)
      return QuantParams::pow2(static_cast<int>(std::floor(std::log2(127 / limit))));
    if (storage == Storage::kS8)
      return QuantParams::affine(DType::kI8, static_cast<float>(limit / 127), negative ? 3 : -128);
    return QuantParams::affine(DType::kU8, static_cast<float>(limit / (negative ? 127 : 255)),
                               negative ? 121 : 0);
  }
  QuantParams weights(Rng& rng, int64_t channels, int64_t axis) const {
    if (storage == Storage::kPow2) return QuantParams::pow2(7);
    std::vector<float> scales;
    for (int64_t c = 0; c < channels; ++c) scales.push_back(static_cast<float>(rng.uniform(0.5, 1.0) / 127));
    return QuantParams::affine_per_axis(DType::kI8, axis, std::move(scales));
  }
};

const std::vector<Flavour>& flavours() {
  static const std::vector<Flavour> all = {
      {Storage::kU8, "_affine_u8"}, {Storage::kS8, "_affine_s8"}, {Storage::kPow2, "_pow2"}};
  return all;
}

Tensor random_stored(Rng& rng, const QuantParams& params, const Shape& shape) {
  return random_tensor(rng, params.dtype, shape, static_cast<double>(params.lowest()),
                       static_cast<double>(params.highest()));
}

// GraphBuilder with quantized values.
class QuantizedBuilder {
 public:
  explicit QuantizedBuilder(Rng& rng) : rng_(rng) {}
  ValueId input(const Shape& shape, const QuantParams& params) {
    const ValueId id = b_.input("x" + std::to_string(built_.inputs.size()), shape);
    b_.graph().value(id).quant = params;
    built_.inputs.push_back(random_stored(rng_, params, shape));
    return id;
  }
  ValueId constant(Tensor stored, const QuantParams& params) {
    return b_.graph().add_constant("w", std::make_shared<const Tensor>(std::move(stored)), params);
  }
  ValueId weights(const Shape& shape, const QuantParams& params) {
    return constant(random_stored(rng_, params, shape), params);
  }
  // Affine: i32 in units of the accumulator. Pow2: s8 with a fix point of its own.
  ValueId bias(const Flavour& f, int64_t channels, const QuantParams& x, const QuantParams& w, double limit) {
    if (f.storage == Storage::kPow2)
      return weights({channels}, QuantParams::pow2(static_cast<int>(std::floor(std::log2(127 / limit)))));
    std::vector<float> scales;
    for (int64_t c = 0; c < channels; ++c) scales.push_back(x.scale[0] * w.scale_at(c));
    Tensor stored(DType::kI32, {channels});
    for (int64_t c = 0; c < channels; ++c) {
      stored.as<int32_t>()[static_cast<size_t>(c)] = static_cast<int32_t>(
          rng_.uniform(-limit, limit) / static_cast<double>(scales[static_cast<size_t>(c)]));
    }
    return constant(std::move(stored), QuantParams::affine_per_axis(DType::kI32, 0, std::move(scales)));
  }
  BuiltCase finish(Op op, std::vector<ValueId> inputs, const QuantParams& out) {
    const ValueId y = b_.add(std::move(op), std::move(inputs));
    b_.graph().value(y).quant = out;
    b_.output(y);
    built_.graph = b_.finish();
    return std::move(built_);
  }
  GraphBuilder& graph_builder() { return b_; }

 private:
  Rng& rng_;
  GraphBuilder b_;
  BuiltCase built_;
};

void add_case(std::vector<OpCase>& cases, const Flavour& f, const std::string& name,
              std::function<BuiltCase(Rng&)> make) {
  OpCase c;
  c.name = name + f.suffix;
  c.kind = f.kind();
  c.rtol = c.atol = 0;
  c.build = std::move(make);
  cases.push_back(std::move(c));
}

void convolutions(std::vector<OpCase>& cases, const Flavour& f) {
  for (const ConvCase& c : conv_case_table()) {
    add_case(cases, f, std::string("conv/") + c.name, [c, f](Rng& rng) {
      QuantizedBuilder b(rng);
      const QuantParams x = f.activation(2, c.op.activation.kind != ActivationKind::kRelu);
      const QuantParams w = f.weights(rng, c.w[0], 0);
      std::vector<ValueId> in = {b.input(c.x, x), b.weights(c.w, w)};
      if (c.bias || c.residual) in.push_back(b.bias(f, c.w[0], x, w, 1));
      if (c.residual) in.push_back(b.input(conv_output(c), f.activation(1.5)));
      const double taps = static_cast<double>(c.w.elements() / c.w[0]);
      const bool negative =
          c.op.activation.kind == ActivationKind::kNone || c.op.activation.kind == ActivationKind::kLeakyRelu;
      return b.finish(c.op, std::move(in), f.activation(1.5 * std::sqrt(taps), negative));
    });
  }
}

void pools(std::vector<OpCase>& cases, const Flavour& f) {
  for (const PoolCase& c : pool_case_table()) {
    add_case(cases, f, std::string("pool/") + c.name, [c, f](Rng& rng) {
      QuantizedBuilder b(rng);
      const QuantParams x = f.activation(2);
      const ValueId in = b.input(c.x, x);
      return b.finish(c.op, {in}, x);
    });
  }
  add_case(cases, f, "global_pool/average", [f](Rng& rng) {
    QuantizedBuilder b(rng);
    const ValueId in = b.input({2, 19, 7, 7}, f.activation(2));
    return b.finish(ir::GlobalPool{}, {in}, f.activation(0.5));
  });
}

void products(std::vector<OpCase>& cases, const Flavour& f) {
  for (bool relu : {false, true}) {
    add_case(cases, f, relu ? "gemm/linear_relu" : "gemm/linear", [f, relu](Rng& rng) {
      QuantizedBuilder b(rng);
      ir::Gemm op;
      op.trans_b = true;
      if (relu) op.activation = kRelu;
      const QuantParams x = f.activation(2), w = f.weights(rng, 10, 0);
      const std::vector<ValueId> in = {b.input({4, 33}, x), b.weights({10, 33}, w), b.bias(f, 10, x, w, 1)};
      return b.finish(op, in, f.activation(8, !relu));
    });
  }
  add_case(cases, f, "matmul/weights", [f](Rng& rng) {
    QuantizedBuilder b(rng);
    const std::vector<ValueId> in = {b.input({2, 7, 12}, f.activation(2)),
                                     b.weights({12, 9}, f.weights(rng, 9, 1))};
    return b.finish(ir::MatMul{}, in, f.activation(6));
  });
  add_case(cases, f, "matmul/activations", [f](Rng& rng) {
    QuantizedBuilder b(rng);
    const std::vector<ValueId> in = {b.input({2, 3, 7, 12}, f.activation(2)),
                                     b.input({2, 3, 12, 7}, f.activation(1))};
    return b.finish(ir::MatMul{}, in, f.activation(6));
  });
}

void elementwise(std::vector<OpCase>& cases, const Flavour& f) {
  const Shape shape{2, 9, 5, 4};
  const auto binary = [&](const std::string& name, ir::BinaryKind kind, Activation activation, double a,
                          double b_limit, double out) {
    ir::Binary op;
    op.kind = kind;
    op.activation = activation;
    add_case(cases, f, "binary/" + name, [=](Rng& rng) {
      QuantizedBuilder b(rng);
      const std::vector<ValueId> in = {b.input(shape, f.activation(a)),
                                       b.input(shape, f.activation(b_limit))};
      return b.finish(op, in, f.activation(out, !activation));
    });
  };
  binary("add_same_scale", ir::BinaryKind::kAdd, {}, 2, 2, 3);
  binary("add", ir::BinaryKind::kAdd, {}, 2, 0.7, 2);
  binary("add_relu", ir::BinaryKind::kAdd, kRelu, 0.5, 3, 3);
  binary("mul", ir::BinaryKind::kMul, {}, 2, 1, 1.5);
  binary("sub", ir::BinaryKind::kSub, {}, 2, 1, 2);
  add_case(cases, f, "binary/mul_channel", [f, shape](Rng& rng) {  // squeeze and excite
    QuantizedBuilder b(rng);
    ir::Binary op;
    op.kind = ir::BinaryKind::kMul;
    const std::vector<ValueId> in = {b.input(shape, f.activation(2)),
                                     b.input({2, 9, 1, 1}, f.activation(1, false))};
    return b.finish(op, in, f.activation(2));
  });
  add_case(cases, f, "variadic/sum", [f, shape](Rng& rng) {
    QuantizedBuilder b(rng);
    const std::vector<ValueId> in = {b.input(shape, f.activation(2)), b.input(shape, f.activation(1)),
                                     b.input(shape, f.activation(0.5))};
    return b.finish(ir::Variadic{}, in, f.activation(3));
  });
  using ir::UnaryKind;
  struct UnaryCase {
    UnaryKind kind;
    float alpha, beta;
    double in, out;
    bool negative;
  };
  for (const UnaryCase& u : std::vector<UnaryCase>{{UnaryKind::kRelu, 0, 0, 2, 2, false},
                                                   {UnaryKind::kLeakyRelu, 0.1015625f, 0, 2, 2, true},
                                                   {UnaryKind::kHardSigmoid, 1.0f / 6, 0.5f, 4, 0.99, false},
                                                   {UnaryKind::kHardSwish, 0, 0, 4, 4, true},
                                                   {UnaryKind::kSigmoid, 0, 0, 6, 0.99, false},
                                                   {UnaryKind::kTanh, 0, 0, 3, 0.99, true},
                                                   {UnaryKind::kGelu, 0, 0, 4, 4, true}}) {
    add_case(cases, f, "unary/" + std::string(enum_name(u.kind)), [f, u, shape](Rng& rng) {
      QuantizedBuilder b(rng);
      const ValueId in = b.input(shape, f.activation(u.in));
      return b.finish(ir::Unary{u.kind, u.alpha, u.beta}, {in}, f.activation(u.out, u.negative));
    });
  }
  add_case(cases, f, "requantize/narrower", [f, shape](Rng& rng) {
    QuantizedBuilder b(rng);
    const ValueId in = b.input(shape, f.activation(4));
    return b.finish(ir::Requantize{}, {in}, f.activation(1));
  });
}

void movement(std::vector<OpCase>& cases, const Flavour& f) {
  add_case(cases, f, "concat/same_scale", [f](Rng& rng) {
    QuantizedBuilder b(rng);
    ir::Concat op;
    op.axis = 1;
    const std::vector<ValueId> in = {b.input({2, 5, 4, 3}, f.activation(2)),
                                     b.input({2, 8, 4, 3}, f.activation(2))};
    return b.finish(op, in, f.activation(2));
  });
  add_case(cases, f, "concat/rescaled", [f](Rng& rng) {
    QuantizedBuilder b(rng);
    ir::Concat op;
    op.axis = 1;
    const std::vector<ValueId> in = {b.input({2, 5, 4, 3}, f.activation(0.4)),
                                     b.input({2, 8, 4, 3}, f.activation(2))};
    return b.finish(op, in, f.activation(2));
  });
  add_case(cases, f, "transpose/nchw_to_nhwc", [f](Rng& rng) {
    QuantizedBuilder b(rng);
    ir::Transpose op;
    op.perm = {0, 2, 3, 1};
    const ValueId in = b.input({2, 5, 4, 3}, f.activation(2));
    return b.finish(op, {in}, f.activation(2));
  });
  add_case(cases, f, "pad/zero_point", [f](Rng& rng) {
    QuantizedBuilder b(rng);
    const ValueId in = b.input({1, 3, 4, 3}, f.activation(2));
    const ValueId pads = b.graph_builder().constant(Tensor::of<int64_t>({8}, {0, 0, 1, 1, 0, 0, 2, 1}));
    return b.finish(ir::Pad{}, {in, pads}, f.activation(2));
  });
  add_case(cases, f, "resize/nearest_x2", [f](Rng& rng) {
    QuantizedBuilder b(rng);
    ir::Resize op;
    op.coordinates = ir::CoordinateRule::kAsymmetric;
    op.nearest = ir::NearestRule::kFloor;
    const ValueId in = b.input({1, 3, 4, 3}, f.activation(2));
    const ValueId scales = b.graph_builder().constant(Tensor::of<float>({4}, {1, 1, 2, 2}));
    return b.finish(op, {in, ir::kNoValue, scales}, f.activation(2));
  });
  add_case(cases, f, "flatten/axis1", [f](Rng& rng) {
    QuantizedBuilder b(rng);
    const ValueId in = b.input({2, 6, 2, 3}, f.activation(2));
    return b.finish(ir::Flatten{}, {in}, f.activation(2));
  });
}

}  // namespace

std::vector<OpCase> quantized_op_cases() {
  std::vector<OpCase> cases;
  for (const Flavour& f : flavours()) {
    convolutions(cases, f);
    pools(cases, f);
    products(cases, f);
    elementwise(cases, f);
    movement(cases, f);
  }
  return cases;
}

}  // namespace tandem::testing
