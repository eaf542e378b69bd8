// SPDX-License-Identifier: Apache-2.0
// Printing of errors, and the end of a program that used a Result wrongly.
#include "tandem/base/result.hpp"

#include <cstdio>
#include <cstdlib>

namespace tandem {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kGateFailed: return "gate failed";
    case ErrorCode::kUsage: return "usage";
    case ErrorCode::kBadInput: return "bad input";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kDevice: return "device";
    case ErrorCode::kInternal: return "internal";
    case ErrorCode::kIo: return "cannot read or write";
    case ErrorCode::kInterrupted: return "interrupted";
  }
  return "unknown";
}

std::string Error::message() const {
  std::string text = what_;
  if (!because_.empty()) text += "\n  because: " + because_;
  if (!hint_.empty()) text += "\n  hint: " + hint_;
  return text;
}

namespace detail {

void die_on_value_of(const Error& error) {
  std::fprintf(stderr, "fatal: value() of a failed Result made at %s:%d: %s\n", error.file(), error.line(),
               error.message().c_str());
  std::abort();
}

void die_on_error_of_success() {
  std::fprintf(stderr, "fatal: error() of a successful Result\n");
  std::abort();
}

}  // namespace detail
}  // namespace tandem
