// SPDX-License-Identifier: Apache-2.0
// The end of a program whose own promise was broken.
#include "tandem/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace tandem::detail {

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  std::fprintf(stderr, "fatal: check '%s' failed at %s:%d%s%s\n", condition, file, line,
               message.empty() ? "" : ": ", message.c_str());
  std::abort();
}

}  // namespace tandem::detail
