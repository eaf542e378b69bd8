// SPDX-License-Identifier: Apache-2.0
// The loops that convolutions and pools share. One and two spatial dimensions are treated as three, the outer
// ones of extent 1; the innermost loop runs along a row of the output and touches memory in order.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "tandem/ir/ops/conv.hpp"
#include "tandem/ref/kernel.hpp"

namespace tandem::ref {

struct Spatial {
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  std::array<int64_t, 3> pad_begin{0, 0, 0}, pad_end{0, 0, 0};
  int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// Spatial dimensions of x [N,C,spatial...]; error unless there are one to three.
Result<std::vector<int64_t>> spatial_dims(const Shape& x);
// Precondition: window.kernel is filled in, and resolved belongs to it and `in`.
Spatial make_spatial(const ir::Window& window, const std::vector<int64_t>& in,
                     const ir::ResolvedWindow& resolved);

// Output columns [first, last) whose input column, column * stride + offset, lies in [0, width).
struct Columns {
  int64_t first, last;
};
inline Columns columns_inside(int64_t offset, int64_t stride, int64_t width, int64_t count) {
  const int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int64_t last = offset >= width ? 0 : std::min(count, (width - 1 - offset) / stride + 1);
  return {first, last};
}

// For every kernel tap and output row that reads inside the input: fn(tap, input_row, output_row, offset,
// columns), where the rows are offsets of their first element in their planes and element `column` of the
// output reads input_row + column * stride[2] + offset.
template <typename F>
void for_each_row(const Spatial& s, F&& fn) {
  int64_t tap = 0;
  for (int64_t kd = 0; kd < s.kernel[0]; ++kd) {
    for (int64_t kh = 0; kh < s.kernel[1]; ++kh) {
      for (int64_t kw = 0; kw < s.kernel[2]; ++kw, ++tap) {
        const int64_t offset = kw * s.dilation[2] - s.pad_begin[2];
        const Columns columns = columns_inside(offset, s.stride[2], s.in[2], s.out[2]);
        if (columns.first >= columns.last) continue;
        for (int64_t od = 0; od < s.out[0]; ++od) {
          const int64_t id = od * s.stride[0] + kd * s.dilation[0] - s.pad_begin[0];
          if (id < 0 || id >= s.in[0]) continue;
          for (int64_t oh = 0; oh < s.out[1]; ++oh) {
            const int64_t ih = oh * s.stride[1] + kh * s.dilation[1] - s.pad_begin[1];
            if (ih < 0 || ih >= s.in[1]) continue;
            fn(tap, (id * s.in[1] + ih) * s.in[2], (od * s.out[1] + oh) * s.out[2], offset, columns);
          }
        }
      }
    }
  }
}

struct ConvShape {
  int64_t batch = 0, group = 1;
  int64_t in_channels = 0, out_channels = 0;  // of one group
  Spatial spatial;  // of the forward direction; in a transposed convolution `out` is x
};
Result<ConvShape> conv_shape(ir::Window window, int64_t group, const Shape& x, const Shape& w);
Result<ConvShape> conv_transpose_shape(ir::ConvTranspose op, const Shape& x, const Shape& w);

// x [N,C,spatial] | w [O,C/group,kernel]. finish(n, o, sums) gets every output plane.
template <typename Acc, typename X, typename W, typename Finish>
void convolve(const ConvShape& shape, const X* x, const W* w, Finish&& finish) {
  const Spatial& s = shape.spatial;
  std::vector<Acc> sums(static_cast<size_t>(s.out_plane()));
  const int64_t stride = s.stride[2];
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t o = 0; o < shape.group * shape.out_channels; ++o) {
      std::fill(sums.begin(), sums.end(), Acc{});
      const int64_t first_channel = (n * shape.group + o / shape.out_channels) * shape.in_channels;
      for (int64_t c = 0; c < shape.in_channels; ++c) {
        const X* plane = x + (first_channel + c) * s.in_plane();
        const W* kernel = w + (o * shape.in_channels + c) * s.taps();
        for_each_row(s, [&](int64_t tap, int64_t in_row, int64_t out_row, int64_t offset, Columns columns) {
          const Acc weight = static_cast<Acc>(kernel[tap]);
          const X* from = plane + in_row + offset;
          Acc* to = sums.data() + out_row;
          if (stride == 1) {
            for (int64_t i = columns.first; i < columns.last; ++i)
              to[i] += weight * static_cast<Acc>(from[i]);
          } else {
            for (int64_t i = columns.first; i < columns.last; ++i)
              to[i] += weight * static_cast<Acc>(from[i * stride]);
          }
        });
      }
      finish(n, o, sums.data());
    }
  }
}

// The adjoint: x [N,C,spatial] | w [C,O/group,kernel]. Every element of x is spread over the outputs under
// the kernel.
template <typename Acc, typename X, typename W, typename Finish>
void convolve_transposed(const ConvShape& shape, const X* x, const W* w, Finish&& finish) {
  const Spatial& s = shape.spatial;
  std::vector<Acc> sums(static_cast<size_t>(s.in_plane()));
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t o = 0; o < shape.group * shape.out_channels; ++o) {
      std::fill(sums.begin(), sums.end(), Acc{});
      const int64_t group = o / shape.out_channels;
      for (int64_t c = 0; c < shape.in_channels; ++c) {
        const int64_t channel = group * shape.in_channels + c;
        const X* plane = x + (n * shape.group * shape.in_channels + channel) * s.out_plane();
        const W* kernel = w + (channel * shape.out_channels + o % shape.out_channels) * s.taps();
        for_each_row(s, [&](int64_t tap, int64_t in_row, int64_t out_row, int64_t offset, Columns columns) {
          const Acc weight = static_cast<Acc>(kernel[tap]);
          for (int64_t i = columns.first; i < columns.last; ++i) {
            sums[static_cast<size_t>(in_row + i * s.stride[2] + offset)] +=
                weight * static_cast<Acc>(plane[out_row + i]);
          }
        });
      }
      finish(n, o, sums.data());
    }
  }
}

}  // namespace tandem::ref
