// SPDX-License-Identifier: Apache-2.0
// What this CPU can do.
#include "tandem/exec/isa.hpp"

#include "tandem/exec/dnn.hpp"
#include "tandem/exec/kernels.hpp"

namespace tandem::exec {

const Isa& isa() {
  static const Isa found = [] {
    const dnn::Library& l = dnn::library();
    return Isa{"oneDNN " + l.version, l.isa, kernels().isa, l.exact_int8};
  }();
  return found;
}

}  // namespace tandem::exec
