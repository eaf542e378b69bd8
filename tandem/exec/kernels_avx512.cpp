// SPDX-License-Identifier: Apache-2.0
// The row kernels for avx512; the flags are in CMakeLists.txt.
#include "tandem/exec/kernels.hpp"

#define TANDEM_KERNELS kAvx512Kernels
#define TANDEM_KERNELS_ISA "avx512"
#include "tandem/exec/kernels.inc"
