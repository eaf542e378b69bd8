// SPDX-License-Identifier: Apache-2.0
// Progress: how far a long job is. One line refreshed in place on a terminal, a plain line every few seconds
// otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tandem {

enum class ProgressMode {
  kAuto,      // kTerminal when stderr is one, else kPlain.
  kTerminal,  // Refreshes in place, at most ten times a second.
  kPlain,     // A new line at most every five seconds, and one at the end.
  kQuiet,     // Counts, prints nothing.
};

struct ProgressOptions {
  std::string label;
  uint64_t total = 0;  // 0: unknown; then no percentage and no time left.
  std::string unit;    // Plural noun: "images".
  ProgressMode mode = ProgressMode::kAuto;
  std::function<void(std::string_view)> write;  // Empty: stderr. Called under the lock of the Progress.
  std::function<int64_t()> now_ns;              // Empty: the steady clock.
};

struct ProgressState {
  uint64_t done = 0;
  uint64_t total = 0;
  int64_t elapsed_ns = 0;
  double rate_per_s = 0;  // Over the whole job; 0 when unknown.
  int64_t left_ns = -1;   // -1 when unknown.
};

// Thread-safe. A default Progress is disabled: every call does nothing.
class Progress {
 public:
  Progress();
  explicit Progress(ProgressOptions options);
  Progress(Progress&&) noexcept;
  Progress& operator=(Progress&&) noexcept;
  ~Progress();  // finish()

  void advance(uint64_t count = 1);
  // Sets what is done so far.
  void update(uint64_t done);
  void set_total(uint64_t total);
  // The last line; calls after it only count.
  void finish();
  ProgressState state() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One line without its end: "calibrate  45% 450/1000 images  312/s  1.8s left".
std::string progress_line(const ProgressOptions& options, const ProgressState& state, bool finished);

}  // namespace tandem
