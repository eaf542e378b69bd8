// SPDX-License-Identifier: Apache-2.0
// Ops that keep all elements in their order: views.
#include "tandem/exec/lower.hpp"

namespace tandem::exec {

LowerResult lower_view(Lowering& l) {
  if (l.node().outputs.size() > 1 && l.node().outputs[1] != ir::kNoValue)
    return Lowered::no("Dropout's mask is wanted");
  if (std::holds_alternative<ir::Dropout>(l.node().op) && l.has_input(2)) {
    const Tensor* training = l.constant_real(2);
    if (training == nullptr || element_as_double(*training, 0) != 0)
      return Lowered::no("Dropout in training mode");
  }
  if (!(l.in(0).quant == l.out().quant)) return Lowered::no("input and output are stored differently");
  // The same shape keeps its layout.
  const Layout layout = l.in_shape(0) == l.out_shape() ? l.layout_of_input(0) : Layout::kPlain;
  l.make_view(0, l.read(0, layout), layout);
  return Lowered{};
}

}  // namespace tandem::exec
