// SPDX-License-Identifier: Apache-2.0
// The training kernels for avx512; the flags are in CMakeLists.txt.
#include <immintrin.h>

#include "tandem/exec/train_kernels.hpp"

#define TANDEM_KERNELS kAvx512TrainKernels
#include "tandem/exec/train_kernels.inc"
