// SPDX-License-Identifier: Apache-2.0
// Pools by oneDNN, global average pools by own sums. x [N,C,...], channels last.
#include <algorithm>

#include "tandem/exec/lower.hpp"

namespace tandem::exec {
namespace {

using dnn::Role;

struct PoolWindow {
  std::vector<int64_t> kernel, strides, dilations, begin, end;
};

// A pool over stored integers gives the same as over reals when input and output mean the same by them:
// maxima always, averages when they are rounded alike (ties to even) and padding, if it counts, is 0.
bool runs_on_integers(Lowering& l, dnn::PoolAlgorithm algorithm) {
  const auto &a = l.in(0).quant, &b = l.out().quant;
  if (!a || !b || !(*a == *b) || !a->per_tensor() || a->bits != 8 || size_of(a->dtype) != 1) return false;
  if (algorithm == dnn::PoolAlgorithm::kMax) return true;
  if (a->scheme == Scheme::kPow2) return false;
  return algorithm == dnn::PoolAlgorithm::kAverageExcludePad || a->symmetric();
}

LowerResult lower_window(Lowering& l, dnn::PoolAlgorithm algorithm, const PoolWindow& w) {
  if (!Lowering::is_real(l.in(0)) || !Lowering::is_real(l.out()))
    return Lowered::no("only f32 pools have kernels");
  if (l.node().outputs.size() > 1 && l.node().outputs[1] != ir::kNoValue)
    return Lowered::no("winner indices");
  if (l.out_shape().elements() == 0 || l.in_shape(0).elements() == 0) return Lowered::no("empty tensors");
  const bool average = algorithm != dnn::PoolAlgorithm::kMax;
  if (average && l.out().quant && l.out().quant->scheme == Scheme::kPow2) {
    return Lowered::no("average pools of the pow2 scheme have their own factors");
  }
  const bool integers = runs_on_integers(l, algorithm);
  dnn::PoolSpec spec;
  spec.algorithm = algorithm;
  spec.kernel = w.kernel;
  spec.strides = w.strides;
  spec.dilations = w.dilations;
  spec.pad_begin = w.begin;
  spec.pad_end = w.end;
  for (size_t d = 0; d < w.kernel.size(); ++d) {
    // A window that lies in the padding alone has no maximum and no average.
    const int64_t extent = (w.kernel[d] - 1) * w.dilations[d] + 1;
    if (w.begin[d] >= extent || w.end[d] >= extent || w.end[d] < 0)
      return Lowered::no("a window lies outside the input");
  }
  const DType dtype = integers ? l.in(0).storage() : DType::kF32;
  std::string why;
  for (const Layout layout : {Layout::kChannelsLast, Layout::kPlain}) {
    spec.src = {dtype, l.in_shape(0), layout};
    spec.dst = {dtype, l.out_shape(), layout};
    Result<dnn::Primitive> made = dnn::Primitive::pool(spec);
    if (!made.ok() || made->is_reference()) {
      why = made.ok() ? "oneDNN has only its reference loop" : made.error().message();
      continue;
    }
    const BufferId x = integers ? l.read(0, layout) : l.read_real(0, layout);
    const BufferId y = integers ? l.write(0, layout) : l.write_real(0, layout);
    l.emit(std::move(made).value(), {{Role::kSrc, x}, {Role::kDst, y}}, {});
    if (!integers) l.finish_real(0, y);
    return Lowered{};
  }
  return Lowered::no(why);
}

}  // namespace

LowerResult lower(Lowering& l, const ir::Pool& op) {
  if (op.kind == ir::PoolKind::kLp) return Lowered::no("oneDNN has no Lp pool");
  const Shape& x = l.in_shape(0);
  if (x.rank() < 3 || x.rank() > 5) return Lowered::no("rank is not 3, 4 or 5");
  const std::vector<int64_t> spatial(x.begin() + 2, x.end());
  const ir::ResolvedWindow r = TANDEM_TRY(ir::resolve(op.window, spatial, op.ceil_mode));
  PoolWindow w;
  bool clipped = false;
  for (size_t d = 0; d < spatial.size(); ++d) {
    w.kernel.push_back(op.window.kernel[d]);
    w.strides.push_back(op.window.stride(d));
    w.dilations.push_back(op.window.dilation(d));
    w.begin.push_back(r.pad_begin[d]);
    w.end.push_back((r.output[d] - 1) * op.window.stride(d) + op.window.extent(d) - spatial[d] -
                    r.pad_begin[d]);
    if (w.end[d] > r.pad_end[d]) clipped = true;
    // Rows that no window reaches: oneDNN wants an exact fit, which a negative pad states only for
    // convolutions.
    w.end[d] = std::max<int64_t>(w.end[d], 0);
  }
  const bool average = op.kind == ir::PoolKind::kAverage;
  if (average && op.count_include_pad && clipped)
    return Lowered::no("ceil_mode does not count its own padding");
  return lower_window(l,
                      !average               ? dnn::PoolAlgorithm::kMax
                      : op.count_include_pad ? dnn::PoolAlgorithm::kAverageIncludePad
                                             : dnn::PoolAlgorithm::kAverageExcludePad,
                      w);
}

// y[n][c] = factor * sum over pixels of x[n][pixel][c], stored by `to`. x is channels last.
void emit_spatial_mean(Lowering& l, BufferId x, BufferId y, double factor) {
  const Shape& shape = l.in_shape(0);
  const int64_t batch = shape[0], channels = shape[1];
  const int64_t pixels = batch * channels == 0 ? 0 : shape.elements() / (batch * channels);
  const RowType from = Lowering::row_type(l.in(0)), to = Lowering::row_type(l.out());
  const BufferId sums = l.temporary(DType::kI32, Shape{channels});
  const BufferId reals = l.temporary(DType::kF32, Shape{channels});
  l.emit("own global average", {x}, {sums, reals, y}, [=](Pointers p) -> Status {
    const Kernels& k = kernels();
    int32_t* isum = reinterpret_cast<int32_t*>(p[index_of(sums)]);
    float* fsum = reinterpret_cast<float*>(p[index_of(reals)]);
    const size_t row = static_cast<size_t>(channels) * size_of(from.dtype);
    for (int64_t n = 0; n < batch; ++n) {
      const std::byte* at = p[index_of(x)] + static_cast<size_t>(n * pixels) * row;
      if (from.dtype == DType::kF32) {
        std::fill_n(fsum, channels, 0.0f);
        for (int64_t i = 0; i < pixels; ++i) {
          k.sum_f32(reinterpret_cast<const float*>(at + static_cast<size_t>(i) * row), channels, fsum);
        }
        for (int64_t c = 0; c < channels; ++c) fsum[c] = static_cast<float>(fsum[c] * factor);
      } else {
        std::fill_n(isum, channels, 0);
        for (int64_t i = 0; i < pixels; ++i) {
          const std::byte* q = at + static_cast<size_t>(i) * row;
          if (from.dtype == DType::kU8) {
            k.sum_u8(reinterpret_cast<const uint8_t*>(q), channels, isum);
          } else {
            k.sum_i8(reinterpret_cast<const int8_t*>(q), channels, isum);
          }
        }
        for (int64_t c = 0; c < channels; ++c) {
          fsum[c] =
              static_cast<float>(static_cast<double>(isum[c] - pixels * from.zero) * from.scale * factor);
        }
      }
      k.store(fsum, to, channels, p[index_of(y)] + static_cast<size_t>(n * channels) * size_of(to.dtype));
    }
    return {};
  });
}

LowerResult lower(Lowering& l, const ir::GlobalPool& op) {
  const Shape& x = l.in_shape(0);
  if (op.kind == ir::PoolKind::kLp) return Lowered::no("oneDNN has no Lp pool");
  if (op.kind == ir::PoolKind::kAverage) {
    const ir::Value& in = l.in(0);
    if (!Lowering::is_row_value(in) || !Lowering::is_row_value(l.out()) || size_of(in.storage()) == 2) {
      return Lowered::no("dtype has no kernel");
    }
    if (l.out().quant && l.out().quant->scheme == Scheme::kPow2) {
      return Lowered::no("average pools of the pow2 scheme have their own factors");
    }
    const int64_t planes = x[0] * x[1];
    if (planes == 0 || x.elements() == 0) return Lowered::no("empty tensors");
    const BufferId from = l.read(0, Layout::kChannelsLast);
    emit_spatial_mean(l, from, l.write(0, Layout::kChannelsLast),
                      static_cast<double>(planes) / static_cast<double>(x.elements()));
    return Lowered{};
  }
  if (x.rank() < 3 || x.rank() > 5) return Lowered::no("rank is not 3, 4 or 5");
  PoolWindow w;
  for (size_t d = 2; d < x.rank(); ++d) {
    w.kernel.push_back(x[d]);
    w.strides.push_back(1);
    w.dilations.push_back(1);
    w.begin.push_back(0);
    w.end.push_back(0);
  }
  return lower_window(l, dnn::PoolAlgorithm::kMax, w);
}

}  // namespace tandem::exec
