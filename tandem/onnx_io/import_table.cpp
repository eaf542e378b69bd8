// SPDX-License-Identifier: Apache-2.0
// The table of operators that are known, and what the importers share.
#include <algorithm>
#include <array>
#include <map>

#include "tandem/onnx_io/import.hpp"

namespace tandem::onnx_io {
namespace {

struct Entry {
  std::string_view op_type;
  ImportFunction import;
};

constexpr Entry kOperators[] = {
    {"Conv", import_conv},
    {"ConvTranspose", import_conv_transpose},
    {"MaxPool", import_pool},
    {"AveragePool", import_pool},
    {"LpPool", import_pool},
    {"GlobalMaxPool", import_global_pool},
    {"GlobalAveragePool", import_global_pool},
    {"GlobalLpPool", import_global_pool},
    {"Gemm", import_gemm},
    {"MatMul", import_matmul},
    {"Relu", import_unary},
    {"LeakyRelu", import_unary},
    {"Elu", import_unary},
    {"Selu", import_unary},
    {"Celu", import_unary},
    {"ThresholdedRelu", import_unary},
    {"HardSigmoid", import_unary},
    {"HardSwish", import_unary},
    {"Sigmoid", import_unary},
    {"Tanh", import_unary},
    {"Softplus", import_unary},
    {"Softsign", import_unary},
    {"Gelu", import_unary},
    {"Swish", import_unary},
    {"Mish", import_unary},
    {"Erf", import_unary},
    {"Sqrt", import_unary},
    {"Exp", import_unary},
    {"Log", import_unary},
    {"Neg", import_unary},
    {"Abs", import_unary},
    {"Sign", import_unary},
    {"Floor", import_unary},
    {"Ceil", import_unary},
    {"Round", import_unary},
    {"Reciprocal", import_unary},
    {"Not", import_unary},
    {"Sin", import_unary},
    {"Cos", import_unary},
    {"Tan", import_unary},
    {"Asin", import_unary},
    {"Acos", import_unary},
    {"Atan", import_unary},
    {"Sinh", import_unary},
    {"Cosh", import_unary},
    {"Asinh", import_unary},
    {"Acosh", import_unary},
    {"Atanh", import_unary},
    {"IsNaN", import_unary},
    {"IsInf", import_unary},
    {"BitwiseNot", import_unary},
    {"Shrink", import_unary},
    {"Clip", import_clip},
    {"Add", import_binary},
    {"Sub", import_binary},
    {"Mul", import_binary},
    {"Div", import_binary},
    {"Pow", import_binary},
    {"Mod", import_binary},
    {"PRelu", import_binary},
    {"And", import_binary},
    {"Or", import_binary},
    {"Xor", import_binary},
    {"Equal", import_binary},
    {"Greater", import_binary},
    {"Less", import_binary},
    {"GreaterOrEqual", import_binary},
    {"LessOrEqual", import_binary},
    {"BitShift", import_binary},
    {"BitwiseAnd", import_binary},
    {"BitwiseOr", import_binary},
    {"BitwiseXor", import_binary},
    {"Sum", import_variadic},
    {"Mean", import_variadic},
    {"Max", import_variadic},
    {"Min", import_variadic},
    {"Where", import_where},
    {"Cast", import_cast},
    {"CastLike", import_cast_like},
    {"Identity", import_identity},
    {"Dropout", import_dropout},
    {"ReduceSum", import_reduce},
    {"ReduceMean", import_reduce},
    {"ReduceMax", import_reduce},
    {"ReduceMin", import_reduce},
    {"ReduceProd", import_reduce},
    {"ReduceL1", import_reduce},
    {"ReduceL2", import_reduce},
    {"ReduceLogSum", import_reduce},
    {"ReduceLogSumExp", import_reduce},
    {"ReduceSumSquare", import_reduce},
    {"ArgMax", import_arg_reduce},
    {"ArgMin", import_arg_reduce},
    {"CumSum", import_cum_sum},
    {"TopK", import_top_k},
    {"Softmax", import_softmax},
    {"LogSoftmax", import_softmax},
    {"BatchNormalization", import_batch_norm},
    {"LayerNormalization", import_layer_norm},
    {"InstanceNormalization", import_instance_norm},
    {"GroupNormalization", import_group_norm},
    {"LRN", import_lrn},
    {"LpNormalization", import_lp_norm},
    {"MeanVarianceNormalization", import_mean_variance_norm},
    {"Reshape", import_reshape},
    {"Flatten", import_flatten},
    {"Squeeze", import_squeeze},
    {"Unsqueeze", import_unsqueeze},
    {"Transpose", import_transpose},
    {"Concat", import_concat},
    {"Split", import_split},
    {"Slice", import_slice},
    {"Pad", import_pad},
    {"Expand", import_expand},
    {"Tile", import_tile},
    {"DepthToSpace", import_depth_to_space},
    {"SpaceToDepth", import_space_to_depth},
    {"Trilu", import_trilu},
    {"Gather", import_gather},
    {"GatherElements", import_gather_elements},
    {"GatherND", import_gather_nd},
    {"Scatter", import_scatter_elements},  // the name until opset 11
    {"ScatterElements", import_scatter_elements},
    {"ScatterND", import_scatter_nd},
    {"OneHot", import_one_hot},
    {"Resize", import_resize},
    {"Upsample", import_upsample},
    {"Shape", import_shape_of},
    {"Size", import_size},
    {"ConstantOfShape", import_constant_of_shape},
    {"Range", import_range},
    {"EyeLike", import_eye_like},
    {"NonZero", import_non_zero},
    {"QuantizeLinear", import_quantize_linear},
    {"DequantizeLinear", import_dequantize_linear},
    {"DynamicQuantizeLinear", import_dynamic_quantize_linear},
    {"QLinearConv", import_qlinear_conv},
    {"QLinearMatMul", import_qlinear_matmul},
    {"ConvInteger", import_conv_integer},
    {"MatMulInteger", import_matmul_integer},
    {"SoftmaxCrossEntropyLoss", import_softmax_cross_entropy_loss},
    {"NegativeLogLikelihoodLoss", import_negative_log_likelihood_loss},
};

constexpr Entry kTrainingOperators[] = {
    {"Adam", import_adam},
    {"Momentum", import_momentum},
    {"Adagrad", import_adagrad},
};

// Operators that a runtime's own domain defines as ONNX's domain does.
constexpr Entry kMicrosoftOperators[] = {
    {"QuantizeLinear", import_quantize_linear},
    {"DequantizeLinear", import_dequantize_linear},
    {"Gelu", import_unary},
};

ImportFunction look_up(std::span<const Entry> table, std::string_view op_type) {
  for (const Entry& entry : table) {
    if (entry.op_type == op_type) return entry.import;
  }
  return nullptr;
}

constexpr std::array<std::pair<DType, int64_t>, kDTypeCount> kTypes = {{{DType::kF32, 1},
                                                                        {DType::kU8, 2},
                                                                        {DType::kI8, 3},
                                                                        {DType::kU16, 4},
                                                                        {DType::kI16, 5},
                                                                        {DType::kI32, 6},
                                                                        {DType::kI64, 7},
                                                                        {DType::kBool, 9},
                                                                        {DType::kF16, 10},
                                                                        {DType::kF64, 11},
                                                                        {DType::kU32, 12},
                                                                        {DType::kU64, 13},
                                                                        {DType::kBF16, 16}}};

}  // namespace

ImportFunction find_importer(std::string_view domain, std::string_view op_type) {
  if (domain.empty()) return look_up(kOperators, op_type);
  if (domain == "ai.onnx.preview.training" || domain == "ai.onnx.training")
    return look_up(kTrainingOperators, op_type);
  if (domain == "com.microsoft") return look_up(kMicrosoftOperators, op_type);
  return nullptr;
}

std::optional<DType> dtype_from_onnx(int64_t data_type) {
  for (const auto& [dtype, number] : kTypes) {
    if (number == data_type) return dtype;
  }
  return std::nullopt;
}

int64_t dtype_to_onnx(DType dtype) {
  for (const auto& [known, number] : kTypes) {
    if (known == dtype) return number;
  }
  return 0;
}

std::string onnx_type_name(int64_t data_type) {
  static constexpr std::array<std::string_view, 25> kNames = {
      "UNDEFINED",      "FLOAT",    "UINT8",        "INT8",           "UINT16",
      "INT16",          "INT32",    "INT64",        "STRING",         "BOOL",
      "FLOAT16",        "DOUBLE",   "UINT32",       "UINT64",         "COMPLEX64",
      "COMPLEX128",     "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2",
      "FLOAT8E5M2FNUZ", "UINT4",    "INT4",         "FLOAT4E2M1",     "FLOAT8E8M0"};
  if (data_type >= 0 && data_type < static_cast<int64_t>(kNames.size()))
    return std::string(kNames[static_cast<size_t>(data_type)]);
  return fmt::format("number {}", data_type);
}

const Tensor* Import::constant(size_t i) const {
  return has_input(i) ? graph.value(inputs[i]).constant.get() : nullptr;
}

DType Import::dtype(size_t i) const { return has_input(i) ? graph.value(inputs[i]).dtype : DType::kF32; }

std::optional<Shape> Import::shape(size_t i) const {
  if (!has_input(i)) return std::nullopt;
  return graph.value(inputs[i]).shape;
}

void Import::set_input(size_t i, ir::ValueId id) {
  if (i >= inputs.size()) inputs.resize(i + 1, ir::kNoValue);
  inputs[i] = id;
}

void Import::keep_inputs(size_t count) {
  if (inputs.size() <= count) return;
  too_many_inputs = true;  // trailing empty names are not in the list
  inputs.resize(count);
}

void Import::keep_outputs(size_t count) {
  if (outputs.size() > count) outputs.resize(count);
}

ir::ValueId Import::constant(std::string_view stem, Tensor tensor) {
  std::string base = name;
  for (ir::ValueId id : outputs) {
    if (id == ir::kNoValue) continue;
    base = graph.value(id).name;
    break;
  }
  return graph.add_constant(fmt::format("{}.{}", base, stem), std::move(tensor));
}

ir::ValueId Import::integers(std::string_view stem, const std::vector<int64_t>& values) {
  return constant(stem, Tensor::of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values));
}

ir::ValueId Import::scalar(std::string_view stem, float value, size_t like) {
  return constant(stem, cast(Tensor::scalar<float>(value), dtype(like)));
}

ir::ValueId Import::emit(ir::Op op, std::vector<ir::ValueId> op_inputs, std::string_view stem) {
  ir::Value value;
  value.name = fmt::format("{}.{}", name, stem);
  const std::string node_name = value.name;
  const ir::ValueId id = graph.add_value(std::move(value));
  const ir::NodeId node = graph.add_node(
      {.name = node_name, .op = std::move(op), .inputs = std::move(op_inputs), .outputs = {id}});
  const auto inferred = ir::infer(graph.node(node).op, ir::input_infos(graph, graph.node(node)), 1);
  if (inferred.ok() && !inferred->empty()) {
    graph.value(id).dtype = (*inferred)[0].dtype;
    graph.value(id).shape = (*inferred)[0].shape;
  }
  return id;
}

void Import::notice(const std::string& text) {
  report.notices.push_back(fmt::format("node '{}': {}", name, text));
}

}  // namespace tandem::onnx_io
