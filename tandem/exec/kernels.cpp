// SPDX-License-Identifier: Apache-2.0
// Chooses the row kernels for this CPU.
#include "tandem/exec/kernels.hpp"

namespace tandem::exec {

extern const Kernels kPortableKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

const Kernels& portable_kernels() { return kPortableKernels; }

const Kernels& kernels() {
#if defined(__x86_64__)
  static const Kernels& chosen = []() -> const Kernels& {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
      return kAvx512Kernels;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kAvx2Kernels;
    return kPortableKernels;
  }();
  return chosen;
#else
  return kPortableKernels;
#endif
}

}  // namespace tandem::exec
