// SPDX-License-Identifier: Apache-2.0
// Strong ids: `enum class XId : uint32_t` indexes a vector and nothing else.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tandem {

template <typename Id>
constexpr uint32_t index_of(Id id) {
  static_assert(std::is_enum_v<Id>);
  return static_cast<uint32_t>(id);
}

// The id that names nothing.
template <typename Id>
inline constexpr Id kNone = static_cast<Id>(UINT32_MAX);

}  // namespace tandem
