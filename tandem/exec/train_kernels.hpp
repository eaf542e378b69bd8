// SPDX-License-Identifier: Apache-2.0
// Inner loops of head training, compiled for several instruction sets with fused multiply-add. Internal to
// exec/.
#pragma once

#include <cstdint>

namespace tandem::exec {

struct AdamStep {  // constants of one step
  float beta1, beta2, rate_over_correction1, inverse_sqrt_correction2, epsilon,
      keep;  // keep: 1 - rate * decay
};
struct SgdStep {
  float rate, momentum, decay;
  bool nesterov;
};

// At most so many outputs share one pass over x in gradient().
inline constexpr int64_t kGradientOutputsMax = 2;

struct TrainKernels {
  // y[r * outputs + o] = sum_i w[o * inputs + i] * x[r * inputs + i]. Every sum has one order, whatever rows
  // and outputs it is computed with.
  void (*products)(const float* w, const float* x, int64_t inputs, int64_t rows, int64_t outputs, float* y);
  // g[o * g_stride + i] = sum_b dy[b * dy_stride + o] * x[b * stride + i] in [0, count), for `outputs` of o.
  void (*gradient)(const float* dy, int64_t dy_stride, int64_t outputs, const float* x, int64_t stride,
                   int64_t batch, int64_t count, float* g, int64_t g_stride);
  // to[i] += a * x[i].
  void (*add_scaled)(float a, const float* x, int64_t count, float* to);
  void (*adam)(const AdamStep& s, const float* g, int64_t count, float* w, float* m, float* v);
  void (*sgd)(const SgdStep& s, const float* g, int64_t count, float* w, float* v);
};

const TrainKernels& train_kernels();
// The plain C++ build of the same loops, for comparison in tests.
const TrainKernels& portable_train_kernels();

}  // namespace tandem::exec
