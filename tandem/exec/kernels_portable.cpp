// SPDX-License-Identifier: Apache-2.0
// The row kernels for portable; the flags are in CMakeLists.txt.
#include "tandem/exec/kernels.hpp"

#define TANDEM_KERNELS kPortableKernels
#define TANDEM_KERNELS_ISA "portable"
#include "tandem/exec/kernels.inc"
