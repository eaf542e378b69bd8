// SPDX-License-Identifier: Apache-2.0
// JobHooks: what a job asks of its caller while it runs: shall I stop, show how far I am, tell the user this.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tandem/base/cancel.hpp"
#include "tandem/base/progress.hpp"

namespace tandem::jobs {

// Every member may stay empty. The callbacks are called on the thread that called the job, except that the
// Progress they return may be advanced from others (it is thread-safe).
struct JobHooks {
  const CancelToken* cancel = nullptr;  // must outlive the job
  // A bar for one stage; total 0 when it is unknown.
  std::function<Progress(std::string_view label, uint64_t total, std::string_view unit)> progress;
  // One sentence that the user should read: a decision taken for them, a fallback, a skipped file.
  std::function<void(const std::string& sentence)> note;

  Status check() const { return cancel != nullptr ? cancel->check() : Status{}; }
  Progress start(std::string_view label, uint64_t total, std::string_view unit) const {
    return progress ? progress(label, total, unit) : Progress{};
  }
  void say(const std::string& sentence) const {
    if (note) note(sentence);
  }
};

}  // namespace tandem::jobs
