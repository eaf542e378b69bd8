// SPDX-License-Identifier: Apache-2.0
// The row kernels for avx2; the flags are in CMakeLists.txt.
#include "tandem/exec/kernels.hpp"

#define TANDEM_KERNELS kAvx2Kernels
#define TANDEM_KERNELS_ISA "avx2"
#include "tandem/exec/kernels.inc"
