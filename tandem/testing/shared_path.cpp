// SPDX-License-Identifier: Apache-2.0
// Looks beside the checkout.
#include "tandem/testing/shared_path.hpp"

#include <filesystem>

namespace tandem::testing {

std::optional<std::string> shared_path(std::string_view relative) {
  std::error_code ignored;
  for (const char* up : {"../shared", "../../shared"}) {
    const std::filesystem::path path = std::filesystem::path(up) / relative;
    if (std::filesystem::exists(path, ignored)) return path.string();
  }
  return std::nullopt;
}

}  // namespace tandem::testing
