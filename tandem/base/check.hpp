// SPDX-License-Identifier: Apache-2.0
// Checks of what the programmer promised. Never reachable from user input; on in every build.
#pragma once

#include <string>

namespace tandem::detail {
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);
}  // namespace tandem::detail

#define TANDEM_CHECK(condition, ...)                                                                 \
  do {                                                                                               \
    if (!(condition)) [[unlikely]]                                                                   \
      ::tandem::detail::check_failed(#condition, __FILE__, __LINE__, ::std::string{__VA_ARGS__});    \
  } while (false)

// For hot loops only: gone in release builds.
#ifdef NDEBUG
#define TANDEM_DCHECK(condition) static_cast<void>(0)
#else
#define TANDEM_DCHECK(condition) TANDEM_CHECK(condition)
#endif
