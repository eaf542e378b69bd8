// SPDX-License-Identifier: Apache-2.0
// Attributes of XIR as attributes of an Opaque op, and back without loss: every model format can carry them.
#pragma once

#include "tandem/ir/ops/opaque.hpp"
#include "tandem/xir_io/xmodel.hpp"

namespace tandem::xir_io {

// Types that an Opaque cannot tell apart are named in `types`: "nchannels=u64".
ir::AttributeMap to_opaque(const Attributes& attributes, std::vector<std::string>& types);
// Skips attributes whose names begin with "xir.". Error kBadInput when a type does not fit its attribute.
Result<Attributes> from_opaque(const ir::AttributeMap& attributes, const std::vector<std::string>& types);

}  // namespace tandem::xir_io
