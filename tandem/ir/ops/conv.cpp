// SPDX-License-Identifier: Apache-2.0
// Shape rules of convolutions, and the padding arithmetic of the transposed one.
#include "tandem/ir/ops/conv.hpp"

#include <algorithm>

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {
namespace {

struct Operands {
  size_t rank = 0;
  std::vector<int64_t> spatial;  // of x
  Window window;                 // with the kernel filled in; empty kernel when nothing is known of it
};

// Checks that x, w and the window fit in rank and kernel. Precondition: one of the shapes is known.
Result<Operands> operands_of(const Window& window, const InputInfo& x, const InputInfo& w) {
  Operands o;
  o.window = window;
  o.rank = x.shape ? x.shape->rank() : w.shape->rank();
  if (o.rank < 3)
    return bad_input(fmt::format("a convolution needs a spatial dimension, x or w has rank {}", o.rank));
  TANDEM_TRY(rules::expect_rank(w, o.rank, "w"));
  const size_t n = o.rank - 2;
  o.spatial.assign(n, kDynamic);
  if (x.shape) o.spatial.assign(x.shape->begin() + 2, x.shape->end());
  if (w.shape) {
    std::vector<int64_t> kernel(w.shape->begin() + 2, w.shape->end());
    if (!window.kernel.empty()) {
      kernel =
          TANDEM_TRY(rules::merge(Shape(window.kernel), Shape(std::move(kernel)), "the kernel of w")).dims();
    }
    o.window.kernel = std::move(kernel);
    if (!Shape(o.window.kernel).is_static()) o.window.kernel.clear();
  }
  return o;
}

Status check_group(int64_t group) {
  if (group >= 1 && group <= rules::kMaxAttribute) return {};
  return bad_input(fmt::format("group is {}", group));
}

}  // namespace

Result<std::optional<Shape>> rules::convolve(const Window& window, int64_t group, const InputInfo& x,
                                             const InputInfo& w) {
  TANDEM_TRY(check_group(group));
  if (!x.shape && !w.shape) return std::optional<Shape>();
  const Operands o = TANDEM_TRY(operands_of(window, x, w));
  const int64_t batch = x.shape ? (*x.shape)[0] : kDynamic;
  const int64_t channels = w.shape ? (*w.shape)[0] : kDynamic;
  if (channels > 0 && channels % group != 0) {
    return bad_input(fmt::format("{} output channels do not divide into {} groups", channels, group));
  }
  if (x.shape && w.shape && (*x.shape)[1] >= 0 && (*w.shape)[1] >= 0 &&
      (*x.shape)[1] != (*w.shape)[1] * group) {
    return bad_input(
        fmt::format("x has {} channels, w takes {} in {} groups", (*x.shape)[1], (*w.shape)[1], group));
  }
  Shape y{batch, channels};
  if (o.window.kernel.empty()) {
    for (size_t i = 0; i < o.spatial.size(); ++i) y.push_back(kDynamic);
    return std::optional<Shape>(std::move(y));
  }
  const ResolvedWindow resolved = TANDEM_TRY(resolve(o.window, o.spatial, false));
  for (int64_t d : resolved.output) y.push_back(d);
  return std::optional<Shape>(std::move(y));
}

Inferred infer(const Conv& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 4, 1}));
  const DType dtype = TANDEM_TRY(rules::common_dtype(in));
  std::optional<Shape> y = TANDEM_TRY(rules::convolve(op.window, op.group, in[0], in[1]));
  TANDEM_TRY(rules::expect_channels(rules::optional_input(in, 2), y ? (*y)[1] : kDynamic, "bias"));
  const InputInfo* residual = rules::optional_input(in, 3);
  if (residual && residual->shape)
    y = y ? TANDEM_TRY(rules::merge(*y, *residual->shape, "residual")) : *residual->shape;
  return rules::output(dtype, std::move(y));
}

Result<ResolvedWindow> resolve_transpose(const ConvTranspose& op, const std::vector<int64_t>& spatial) {
  const size_t n = spatial.size();
  // The same checks of ranks and values; extents do not matter for them.
  TANDEM_TRY(resolve(op.window, std::vector<int64_t>(n, kDynamic), false));
  if (!op.output_padding.empty() && op.output_padding.size() != n) {
    return bad_input(
        fmt::format("output_padding has {} entries for {} spatial dimensions", op.output_padding.size(), n));
  }
  if (!op.output_shape.empty() && op.output_shape.size() != n) {
    return bad_input(
        fmt::format("output_shape has {} entries for {} spatial dimensions", op.output_shape.size(), n));
  }
  TANDEM_TRY(rules::check_range(op.output_padding, 0, rules::kMaxAttribute, "output_padding"));
  TANDEM_TRY(rules::check_range(op.output_shape, 1, rules::kMaxAttribute, "output_shape"));
  ResolvedWindow resolved;
  const Window& window = op.window;
  const bool same = window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower;
  for (size_t i = 0; i < n; ++i) {
    const int64_t in = spatial[i], stride = window.stride(i);
    const int64_t extra = op.output_padding.empty() ? 0 : op.output_padding[i];
    int64_t full = 0;  // before any padding is cut off
    if (in >= 0 &&
        (__builtin_mul_overflow(std::max<int64_t>(in - 1, 0), stride, &full) || full > rules::kMaxElements)) {
      return bad_input(fmt::format("spatial extent {} with stride {} is too large", in, stride));
    }
    full += extra + window.extent(i);
    int64_t begin = 0, end = 0, out = kDynamic;
    if (!op.output_shape.empty() || same) {
      if (!op.output_shape.empty())
        out = op.output_shape[i];
      else if (in >= 0)
        out = in * stride;
      else if (stride == 1)
        out = in;
      if (in < 0) {
        begin = end = kDynamic;
      } else {
        const int64_t total = std::max<int64_t>(0, full - out);
        begin = window.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
        end = total - begin;
      }
    } else {
      if (!window.pads.empty()) {
        begin = window.pads[i];
        end = window.pads[n + i];
      }
      if (in >= 0)
        out = full - begin - end;
      else if (stride == 1 && extra + window.extent(i) - 1 == begin + end)
        out = in;
    }
    if (in >= 0 && (in == 0 || out <= 0)) {
      return bad_input(fmt::format("the output of spatial dimension {} would be empty", i))
          .because(fmt::format("extent {} gives {} before pads {} and {}", in, full, begin, end));
    }
    resolved.pad_begin.push_back(begin);
    resolved.pad_end.push_back(end);
    resolved.output.push_back(out);
  }
  return resolved;
}

Inferred infer(const ConvTranspose& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 3, 1}));
  const DType dtype = TANDEM_TRY(rules::common_dtype(in));
  TANDEM_TRY(check_group(op.group));
  const InputInfo &x = in[0], &w = in[1];
  if (!x.shape && !w.shape) return rules::output(dtype, std::nullopt);
  const Operands o = TANDEM_TRY(operands_of(op.window, x, w));
  if (x.shape && w.shape && !rules::merge((*x.shape)[1], (*w.shape)[0])) {
    return bad_input(fmt::format("x has {} channels, w takes {}", (*x.shape)[1], (*w.shape)[0]));
  }
  const int64_t c = w.shape && (*w.shape)[0] >= 0 ? (*w.shape)[0] : x.shape ? (*x.shape)[1] : kDynamic;
  if (c > 0 && c % op.group != 0)
    return bad_input(fmt::format("{} channels do not divide into {} groups", c, op.group));
  int64_t channels = kDynamic;
  if (w.shape && (*w.shape)[1] >= 0 && __builtin_mul_overflow((*w.shape)[1], op.group, &channels)) {
    return bad_input("too many output channels");
  }
  TANDEM_TRY(rules::expect_channels(rules::optional_input(in, 2), channels, "bias"));
  Shape y{x.shape ? (*x.shape)[0] : kDynamic, channels};
  if (o.window.kernel.empty()) {
    for (size_t i = 0; i < o.spatial.size(); ++i)
      y.push_back(op.output_shape.size() > i ? op.output_shape[i] : kDynamic);
    return rules::output(dtype, std::move(y));
  }
  ConvTranspose filled = op;
  filled.window = o.window;
  const ResolvedWindow resolved = TANDEM_TRY(resolve_transpose(filled, o.spatial));
  for (int64_t d : resolved.output) y.push_back(d);
  return rules::output(dtype, std::move(y));
}

}  // namespace tandem::ir
