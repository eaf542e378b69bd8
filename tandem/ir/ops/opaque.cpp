// SPDX-License-Identifier: Apache-2.0
// Opaque ops take and give anything.
#include "tandem/ir/ops/opaque.hpp"

namespace tandem::ir {

Inferred infer(const Opaque&, InputInfos, size_t output_count) {
  return std::vector<OutputInfo>(output_count);
}

}  // namespace tandem::ir
