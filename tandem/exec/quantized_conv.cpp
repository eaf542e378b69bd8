// SPDX-License-Identifier: Apache-2.0
// Conv on 8-bit integers by oneDNN, channels last throughout.
#include <algorithm>

#include "tandem/exec/conv.hpp"
#include "tandem/exec/epilogue.hpp"

namespace tandem::exec {

using dnn::Role;

static std::string refuse_conv(Lowering& l) {
  if (std::string why = refuse_integers(l); !why.empty()) return why;
  if (l.in_shape(0).rank() > 5 || l.in_shape(0).rank() < 3) return "rank is not 3, 4 or 5";
  if (l.out_shape().elements() == 0 || l.in_shape(0).elements() == 0) return "empty tensors";
  if (l.has_input(2) && l.constant_real(2) == nullptr) return "bias is not constant";
  if (!l.has_input(3)) return "";
  const ir::Value& r = l.in(3);
  if (l.in_shape(3) != l.out_shape()) return "the residual is broadcast";
  if (!Lowering::is_row_value(r) || size_of(r.storage()) != size_of(l.out().storage()))
    return "the residual has another width";
  return "";
}

LowerResult lower_quantized_conv(Lowering& l, const ir::Conv& op) {
  if (const std::string why = refuse_conv(l); !why.empty()) return Lowered::no(why);
  SignedWeights w = signed_weights(l.in(1), 0);
  if (!w.refusal.empty()) return Lowered::no(w.refusal);
  const QuantParams& xq = *l.in(0).quant;
  const int64_t channels = l.out_shape()[1];
  EpilogueInput in;
  in.src_scale = xq.scale[0];
  in.weight_scale = w.scale;
  in.channels = channels;
  in.bias = l.constant_real(2);
  in.activation = op.activation;
  if (l.has_input(3)) in.residual = 3;
  const double x_max = std::max(std::abs(static_cast<double>(xq.lowest() - xq.zero_point[0])),
                                std::abs(static_cast<double>(xq.highest() - xq.zero_point[0])));
  for (const double sum : w.abs_sum) in.sum_max.push_back(sum * x_max);
  Epilogue e = make_epilogue(l, in);
  if (!e.refusal.empty()) return Lowered::no(e.refusal);

  const Geometry g = TANDEM_TRY(geometry_of(op.window, l.in_shape(0), w.values.shape(), nullptr));
  dnn::ConvSpec spec;
  spec.src = {l.in(0).storage(), l.in_shape(0), Layout::kChannelsLast};
  spec.dst = {e.own ? DType::kI32 : l.out().storage(), l.out_shape(), Layout::kChannelsLast};
  spec.weights_dtype = DType::kI8;
  std::vector<int64_t> strides;
  spec.weights_shape = grouped_shape(w.values.shape(), op.group, false, strides);
  spec.grouped = op.group > 1;
  if (e.bias && !e.own) spec.bias = DType::kF32;
  spec.strides = g.strides;
  spec.dilations = g.dilations;
  spec.pad_begin = g.begin;
  spec.pad_end = g.end;
  spec.attributes = e.attributes;
  spec.attributes.src_zero = xq.zero_point[0];
  Result<dnn::Primitive> made = dnn::Primitive::conv(spec);
  if (!made.ok()) return Lowered::no(made.error().message());
  dnn::Primitive primitive = std::move(made).value();
  std::vector<std::pair<Role, dnn::Packed>> packed;
  packed.emplace_back(Role::kWeights,
                      TANDEM_TRY(primitive.pack_weights(
                          TensorView(DType::kI8, spec.weights_shape, w.values.data()), strides)));
  if (spec.bias) packed.emplace_back(Role::kBias, TANDEM_TRY(primitive.pack_bias(e.bias->view())));
  const BufferId x = l.read(0, Layout::kChannelsLast);
  if (e.own) {
    const BufferId sums = l.temporary(DType::kI32, l.out_shape(), Layout::kChannelsLast);
    l.emit(std::move(primitive), {{Role::kSrc, x}, {Role::kDst, sums}}, std::move(packed));
    emit_own_epilogue(l, sums, l.write(0, Layout::kChannelsLast), e, op.activation, channels);
    return Lowered{};
  }
  const BufferId y = in.residual ? residual_destination(l, 3, Layout::kChannelsLast, false)
                                 : l.write(0, Layout::kChannelsLast);
  l.emit(std::move(primitive), {{Role::kSrc, x}, {Role::kDst, y}}, std::move(packed));
  return Lowered{};
}

}  // namespace tandem::exec
