// SPDX-License-Identifier: Apache-2.0
// The float half of the case table and what both halves share; quantized cases are in quantized_op_cases.cpp.
#include "tandem/testing/op_cases.hpp"

#include "tandem/testing/graph_builder.hpp"
#include "tandem/testing/quantized_op_cases.hpp"

namespace tandem::testing {
namespace {

using ir::Activation;
using ir::ActivationKind;
using ir::Op;
using ir::ValueId;

using Cases = std::vector<OpCase>;

Tensor ints(std::vector<int64_t> values) {
  const int64_t count = static_cast<int64_t>(values.size());
  return Tensor::of<int64_t>({count}, values);
}

// A graph of one op: the first `fed` operands are graph inputs, the others constants.
struct Operand {
  Tensor tensor;
  bool fed = false;
};

BuiltCase single_op(Op op, std::vector<Operand> operands, size_t outputs = 1) {
  BuiltCase built;
  GraphBuilder b;
  std::vector<ValueId> ids;
  for (Operand& operand : operands) {
    if (operand.fed) {
      ids.push_back(
          b.input("x" + std::to_string(ids.size()), operand.tensor.shape(), operand.tensor.dtype()));
      built.inputs.push_back(std::move(operand.tensor));
    } else {
      ids.push_back(b.constant(std::move(operand.tensor)));
    }
  }
  for (ValueId id : b.add_multi(std::move(op), ids, outputs)) b.output(id);
  built.graph = b.finish();
  return built;
}

template <typename... Rest>
std::vector<Operand> operands(Operand first, Rest... rest) {
  std::vector<Operand> all;
  all.push_back(std::move(first));
  (all.push_back(std::move(rest)), ...);
  return all;
}

Operand fed(Tensor t) { return {std::move(t), true}; }
Operand constant(Tensor t) { return {std::move(t), false}; }

// One op on random f32 inputs of these shapes, all fed.
void add_plain(Cases& cases, std::string name, Op op, std::vector<Shape> shapes, double low = -2,
               double high = 2) {
  OpCase c;
  c.name = std::move(name);
  c.build = [op = std::move(op), shapes = std::move(shapes), low, high](Rng& rng) {
    std::vector<Operand> all;
    for (const Shape& shape : shapes) all.push_back(fed(random_tensor(rng, DType::kF32, shape, low, high)));
    return single_op(op, std::move(all));
  };
  cases.push_back(std::move(c));
}

void add_case(Cases& cases, std::string name, std::function<BuiltCase(Rng&)> make) {
  OpCase c;
  c.name = std::move(name);
  c.build = std::move(make);
  cases.push_back(std::move(c));
}

void float_convolutions(Cases& cases) {
  for (const ConvCase& c : conv_case_table()) {
    add_case(cases, std::string("conv/") + c.name, [c](Rng& rng) {
      std::vector<Operand> all =
          operands(fed(random_tensor(rng, DType::kF32, c.x)), constant(random_tensor(rng, DType::kF32, c.w)));
      const Shape bias{c.w[0]};
      if (c.bias || c.residual) all.push_back(constant(random_tensor(rng, DType::kF32, bias)));
      if (c.residual) all.push_back(fed(random_tensor(rng, DType::kF32, conv_output(c))));
      return single_op(c.op, std::move(all));
    });
  }
  for (ActivationKind kind :
       {ActivationKind::kHardSigmoid, ActivationKind::kHardSwish, ActivationKind::kSigmoid,
        ActivationKind::kSilu, ActivationKind::kTanh, ActivationKind::kGelu, ActivationKind::kGeluTanh}) {
    ir::Conv op;
    op.activation = {kind, 1.0f / 6, 0.5f};
    add_case(cases, "conv/1x1_" + std::string(enum_name(kind)), [op](Rng& rng) {
      return single_op(op, operands(fed(random_tensor(rng, DType::kF32, {1, 8, 5, 5}, -2, 2)),
                                    constant(random_tensor(rng, DType::kF32, {16, 8, 1, 1}))));
    });
  }
  const auto transposed = [&](std::string name, ir::ConvTranspose op, Shape x, Shape w) {
    add_case(cases, "conv_transpose/" + name, [op, x, w](Rng& rng) {
      const int64_t channels = w[1] * op.group;
      return single_op(
          op, operands(fed(random_tensor(rng, DType::kF32, x)), constant(random_tensor(rng, DType::kF32, w)),
                       constant(random_tensor(rng, DType::kF32, {channels}))));
    });
  };
  ir::ConvTranspose op;
  op.window.strides = {2, 2};
  transposed("2x2_stride2", op, {1, 6, 5, 4}, {6, 4, 2, 2});
  op.window.pads = {1, 1, 1, 1};
  op.output_padding = {1, 1};
  transposed("3x3_stride2_pad1", op, {2, 4, 5, 6}, {4, 6, 3, 3});
  op.group = 2;
  op.window.pads = {0, 1, 1, 0};
  transposed("3x3_group2_asymmetric", op, {1, 4, 5, 6}, {4, 3, 3, 3});
}

void float_pools(Cases& cases) {
  for (const PoolCase& c : pool_case_table()) add_plain(cases, std::string("pool/") + c.name, c.op, {c.x});
  for (ir::PoolKind kind : {ir::PoolKind::kMax, ir::PoolKind::kAverage}) {
    ir::GlobalPool op;
    op.kind = kind;
    add_plain(cases, "global_pool/" + std::string(enum_name(kind)), op, {{2, 19, 7, 5}});
  }
}

void float_products(Cases& cases) {
  ir::Gemm gemm;
  add_plain(cases, "gemm/plain", gemm, {{3, 20}, {20, 17}});
  gemm.trans_b = true;
  add_plain(cases, "gemm/linear", gemm, {{4, 33}, {10, 33}, {10}});
  gemm.activation = {ActivationKind::kRelu, 0, 0};
  add_plain(cases, "gemm/linear_relu", gemm, {{4, 33}, {10, 33}, {10}});
  gemm.trans_a = true;
  gemm.alpha = 0.5f;
  gemm.beta = -2;
  add_plain(cases, "gemm/transposed_scaled", gemm, {{33, 4}, {10, 33}, {4, 1}});
  const ir::MatMul matmul;
  add_plain(cases, "matmul/2d", matmul, {{7, 12}, {12, 9}});
  add_plain(cases, "matmul/batched", matmul, {{2, 3, 7, 12}, {2, 3, 12, 9}});
  add_plain(cases, "matmul/broadcast", matmul, {{2, 1, 7, 12}, {3, 12, 9}});
  add_plain(cases, "matmul/vector", matmul, {{5, 12}, {12}});
}

void float_elementwise(Cases& cases) {
  using ir::UnaryKind;
  struct UnaryCase {
    UnaryKind kind;
    float alpha, beta;
    double low, high;
  };
  for (const UnaryCase& u : std::vector<UnaryCase>{
           {UnaryKind::kRelu, 0, 0, -2, 2},        {UnaryKind::kLeakyRelu, 0.1f, 0, -2, 2},
           {UnaryKind::kElu, 1.5f, 0, -2, 2},      {UnaryKind::kSelu, 1.67326f, 1.0507f, -2, 2},
           {UnaryKind::kCelu, 2, 0, -2, 2},        {UnaryKind::kHardSigmoid, 0.2f, 0.5f, -4, 4},
           {UnaryKind::kHardSwish, 0, 0, -4, 4},   {UnaryKind::kSigmoid, 0, 0, -6, 6},
           {UnaryKind::kTanh, 0, 0, -3, 3},        {UnaryKind::kSoftplus, 0, 0, -20, 20},
           {UnaryKind::kSoftsign, 0, 0, -3, 3},    {UnaryKind::kGelu, 0, 0, -4, 4},
           {UnaryKind::kGeluTanh, 0, 0, -4, 4},    {UnaryKind::kSilu, 0, 0, -6, 6},
           {UnaryKind::kErf, 0, 0, -3, 3},         {UnaryKind::kSqrt, 0, 0, 0, 9},
           {UnaryKind::kExp, 0, 0, -3, 3},         {UnaryKind::kLog, 0, 0, 0.1, 9},
           {UnaryKind::kNeg, 0, 0, -2, 2},         {UnaryKind::kAbs, 0, 0, -2, 2},
           {UnaryKind::kSign, 0, 0, -2, 2},        {UnaryKind::kFloor, 0, 0, -5, 5},
           {UnaryKind::kCeil, 0, 0, -5, 5},        {UnaryKind::kRound, 0, 0, -5, 5},
           {UnaryKind::kReciprocal, 0, 0, 0.5, 4}, {UnaryKind::kMish, 0, 0, -4, 4}}) {
    add_plain(cases, "unary/" + std::string(enum_name(u.kind)), ir::Unary{u.kind, u.alpha, u.beta},
              {{2, 5, 7, 3}}, u.low, u.high);
  }
  using ir::BinaryKind;
  for (BinaryKind kind : {BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul, BinaryKind::kDiv,
                          BinaryKind::kPow, BinaryKind::kPRelu}) {
    ir::Binary op;
    op.kind = kind;
    const std::string name = "binary/" + std::string(enum_name(kind));
    const double low = kind == BinaryKind::kPRelu ? -2 : 0.5;
    add_plain(cases, name + "_same", op, {{2, 6, 5, 4}, {2, 6, 5, 4}}, low);
    add_plain(cases, name + "_channel", op, {{2, 6, 5, 4}, {6, 1, 1}}, low);
    add_plain(cases, name + "_scalar", op, {{2, 6, 5, 4}, Shape{}}, low);
    if (kind != BinaryKind::kPRelu) add_plain(cases, name + "_both", op, {{2, 1, 5, 1}, {6, 1, 4}}, low);
  }
  ir::Binary add_relu;
  add_relu.activation = {ActivationKind::kRelu, 0, 0};
  add_plain(cases, "binary/add_relu", add_relu, {{2, 6, 5, 4}, {2, 6, 5, 4}});
  for (ir::VariadicKind kind :
       {ir::VariadicKind::kSum, ir::VariadicKind::kMean, ir::VariadicKind::kMax, ir::VariadicKind::kMin}) {
    add_plain(cases, "variadic/" + std::string(enum_name(kind)), ir::Variadic{kind},
              {{2, 3, 4}, {3, 4}, {2, 1, 4}});
  }
  add_case(cases, "clip/relu6", [](Rng& rng) {
    return single_op(ir::Clip{},
                     operands(fed(random_tensor(rng, DType::kF32, {2, 5, 6}, -3, 9)),
                              constant(Tensor::scalar<float>(0)), constant(Tensor::scalar<float>(6))));
  });
}

void float_normalizations(Cases& cases) {
  add_plain(cases, "softmax/last", ir::Softmax{}, {{4, 10}});
  ir::Softmax softmax;
  softmax.axis = 1;
  add_plain(cases, "softmax/channels", softmax, {{2, 5, 3, 4}});
  softmax.log = true;
  add_plain(cases, "softmax/log", softmax, {{2, 5, 3, 4}});
  add_plain(cases, "batch_norm/4d", ir::BatchNorm{}, {{2, 5, 3, 4}, {5}, {5}, {5}, {5}}, 0.1, 2);
  add_plain(cases, "layer_norm/last", ir::LayerNorm{}, {{2, 7, 24}, {24}, {24}});
  ir::LayerNorm layer_norm;
  layer_norm.axis = 1;
  add_plain(cases, "layer_norm/two_axes", layer_norm, {{2, 7, 24}, {7, 24}, {7, 24}});
  add_plain(cases, "instance_norm/4d", ir::InstanceNorm{}, {{2, 5, 6, 4}, {5}, {5}});
  ir::GroupNorm group_norm;
  group_norm.num_groups = 2;
  add_plain(cases, "group_norm/4d", group_norm, {{2, 6, 3, 4}, {6}, {6}});
  ir::Lrn lrn;
  lrn.size = 3;
  add_plain(cases, "lrn/size3", lrn, {{2, 6, 3, 4}});
}

void float_reductions(Cases& cases) {
  using ir::ReduceKind;
  for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kMax, ReduceKind::kMin,
                          ReduceKind::kL1, ReduceKind::kL2, ReduceKind::kLogSumExp, ReduceKind::kSumSquare}) {
    for (bool keepdims : {true, false}) {
      ir::Reduce op;
      op.kind = kind;
      op.keepdims = keepdims;
      const std::string name =
          "reduce/" + std::string(enum_name(kind)) + (keepdims ? "_spatial_keep" : "_spatial");
      add_case(cases, name, [op](Rng& rng) {
        return single_op(
            op, operands(fed(random_tensor(rng, DType::kF32, {2, 5, 4, 6})), constant(ints({2, 3}))));
      });
    }
  }
  ir::Reduce last;
  last.kind = ReduceKind::kMean;
  add_case(cases, "reduce/mean_last", [last](Rng& rng) {
    return single_op(last, operands(fed(random_tensor(rng, DType::kF32, {2, 5, 24})), constant(ints({-1}))));
  });
  ir::ArgReduce arg;
  arg.axis = 1;
  add_plain(cases, "arg_reduce/max", arg, {{3, 10}});
}

void float_movement(Cases& cases) {
  for (const auto& [perm, name] :
       std::vector<std::pair<std::vector<int64_t>, std::string>>{{{0, 2, 3, 1}, "nchw_to_nhwc"},
                                                                 {{0, 3, 1, 2}, "nhwc_to_nchw"},
                                                                 {{}, "reverse"},
                                                                 {{1, 0, 2, 3}, "outer"}}) {
    ir::Transpose op;
    op.perm = perm;
    add_plain(cases, "transpose/" + name, op, {{2, 3, 4, 5}});
  }
  ir::Concat concat;
  concat.axis = 1;
  add_plain(cases, "concat/channels", concat, {{2, 3, 4, 5}, {2, 7, 4, 5}, {2, 1, 4, 5}});
  concat.axis = -1;
  add_plain(cases, "concat/last", concat, {{2, 3, 4}, {2, 3, 1}});
  ir::Split split;
  split.axis = 1;
  add_case(cases, "split/channels", [split](Rng& rng) {
    return single_op(split,
                     operands(fed(random_tensor(rng, DType::kF32, {2, 7, 3, 3})), constant(ints({3, 4}))), 2);
  });
  add_case(cases, "slice/steps", [](Rng& rng) {
    return single_op(ir::Slice{},
                     operands(fed(random_tensor(rng, DType::kF32, {2, 7, 9})), constant(ints({1, -1})),
                              constant(ints({7, 0})), constant(ints({1, 2})), constant(ints({2, -3}))));
  });
  for (ir::PadMode mode : {ir::PadMode::kConstant, ir::PadMode::kReflect, ir::PadMode::kEdge}) {
    add_case(cases, "pad/" + std::string(enum_name(mode)), [mode](Rng& rng) {
      return single_op(ir::Pad{mode}, operands(fed(random_tensor(rng, DType::kF32, {1, 3, 5, 6})),
                                               constant(ints({0, 0, 1, 2, 0, 0, 2, 1}))));
    });
  }
  add_case(cases, "reshape/flatten_spatial", [](Rng& rng) {
    return single_op(ir::Reshape{}, operands(fed(random_tensor(rng, DType::kF32, {2, 6, 4, 5})),
                                             constant(ints({0, 0, -1}))));
  });
  add_plain(cases, "flatten/axis1", ir::Flatten{}, {{2, 6, 4, 5}});
  ir::DepthToSpace depth_to_space;
  depth_to_space.blocksize = 2;
  add_plain(cases, "depth_to_space/dcr", depth_to_space, {{2, 12, 3, 4}});
  ir::Gather gather;
  gather.axis = 1;
  add_case(cases, "gather/channels", [gather](Rng& rng) {
    return single_op(gather,
                     operands(fed(random_tensor(rng, DType::kF32, {2, 6, 4})), constant(ints({5, 0, -2}))));
  });
  for (ir::ResizeMode mode : {ir::ResizeMode::kNearest, ir::ResizeMode::kLinear}) {
    ir::Resize op;
    op.mode = mode;
    op.coordinates =
        mode == ir::ResizeMode::kNearest ? ir::CoordinateRule::kAsymmetric : ir::CoordinateRule::kHalfPixel;
    op.nearest = ir::NearestRule::kFloor;
    add_case(cases, "resize/" + std::string(enum_name(mode)) + "_x2", [op](Rng& rng) {
      return single_op(
          op, operands(fed(random_tensor(rng, DType::kF32, {1, 3, 4, 5})), constant(Tensor(DType::kF32, {0})),
                       constant(Tensor::of<float>({4}, {1, 1, 2, 2}))));
    });
  }
}

}  // namespace

std::vector<OpCase> op_cases() {
  Cases cases;
  float_convolutions(cases);
  float_pools(cases);
  float_products(cases);
  float_elementwise(cases);
  float_normalizations(cases);
  float_reductions(cases);
  float_movement(cases);
  for (OpCase& c : quantized_op_cases()) cases.push_back(std::move(c));
  return cases;
}

BuiltCase build(const OpCase& op_case, uint64_t seed) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a of the name
  for (char c : op_case.name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  Rng rng = Rng(seed).fork(hash);
  return op_case.build(rng);
}

}  // namespace tandem::testing
