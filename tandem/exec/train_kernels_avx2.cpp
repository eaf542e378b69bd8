// SPDX-License-Identifier: Apache-2.0
// The training kernels for avx2; the flags are in CMakeLists.txt.
#include "tandem/exec/train_kernels.hpp"

#define TANDEM_KERNELS kAvx2TrainKernels
#include "tandem/exec/train_kernels.inc"
