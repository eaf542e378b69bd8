// SPDX-License-Identifier: Apache-2.0
// The training kernels for portable; the flags are in CMakeLists.txt.
#include "tandem/exec/train_kernels.hpp"

#define TANDEM_KERNELS kPortableTrainKernels
#include "tandem/exec/train_kernels.inc"
