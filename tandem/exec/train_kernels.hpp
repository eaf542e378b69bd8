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

struct TrainKernels {
  // sums[k] = sum_i w[i] * x[k * stride + i] for `rows` (1, 2, 3, 4 or 8) rows of x.
  void (*dot)(const float* w, const float* x, int64_t stride, int64_t rows, int64_t count, float* sums);
  // g[i] = sum_b dy[b * dy_stride] * x[b * stride + i] in [0, count).
  void (*gradient)(const float* dy, int64_t dy_stride, const float* x, int64_t stride, int64_t batch,
                   int64_t count, float* g);
  // to[i] += a * x[i].
  void (*add_scaled)(float a, const float* x, int64_t count, float* to);
  void (*adam)(const AdamStep& s, const float* g, int64_t count, float* w, float* m, float* v);
  void (*sgd)(const SgdStep& s, const float* g, int64_t count, float* w, float* v);
};

const TrainKernels& train_kernels();

}  // namespace tandem::exec
