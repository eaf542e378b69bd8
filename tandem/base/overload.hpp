// SPDX-License-Identifier: Apache-2.0
// Overload{lambdas...} for std::visit.
#pragma once

namespace tandem {

template <typename... F>
struct Overload : F... {
  using F::operator()...;
};
template <typename... F>
Overload(F...) -> Overload<F...>;

}  // namespace tandem
