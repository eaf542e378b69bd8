// SPDX-License-Identifier: Apache-2.0
// CancelToken: how a long job learns that its user wants to stop. Safe to set from a signal handler.
#pragma once

#include <atomic>

#include "tandem/base/result.hpp"

namespace tandem {

class CancelToken {
 public:
  // The value is the signal number, 0 while nobody asked to stop.
  void request(int signal_number) { signal_.store(signal_number, std::memory_order_relaxed); }
  bool requested() const { return signal_.load(std::memory_order_relaxed) != 0; }
  int signal_number() const { return signal_.load(std::memory_order_relaxed); }
  // Error kInterrupted once requested; long loops TANDEM_TRY this between units of work.
  Status check() const {
    if (requested()) return Error(ErrorCode::kInterrupted, "interrupted");
    return {};
  }

 private:
  std::atomic<int> signal_{0};
};

}  // namespace tandem
