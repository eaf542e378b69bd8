// SPDX-License-Identifier: Apache-2.0
// The one place through which tests read material that lies beside the checkout and does not ship with the project.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tandem::testing {

// The path of `relative` in the folder "shared" beside the checkout (the test's working directory is the checkout), or
// nothing when it is not there: then the test skips and says so. Use TANDEM_SHARED_OR_SKIP.
std::optional<std::string> shared_path(std::string_view relative);

}  // namespace tandem::testing

#define TANDEM_SHARED_OR_SKIP(variable, relative)                                                   \
  const auto variable##_found = ::tandem::testing::shared_path(relative);                           \
  if (!variable##_found) GTEST_SKIP() << "needs shared/" << (relative) << ", which is not beside this checkout"; \
  const std::string& variable = *variable##_found
