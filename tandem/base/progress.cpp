// SPDX-License-Identifier: Apache-2.0
// When to print a progress line, and what it says.
#include "tandem/base/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>

#include "tandem/base/units.hpp"

namespace tandem {
namespace {

constexpr int64_t kTerminalPeriodNs = 100'000'000;
constexpr int64_t kPlainPeriodNs = 5'000'000'000;
constexpr double kLongestNs = 9e18;  // Just under INT64_MAX.

int64_t steady_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void write_to_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

struct Progress::Impl {
  mutable std::mutex mutex;
  ProgressOptions options;
  uint64_t done = 0;
  int64_t start_ns = 0;
  int64_t printed_ns = 0;
  bool finished = false;

  ProgressState state(int64_t now_ns) const {
    ProgressState state{done, options.total, now_ns - start_ns, 0, -1};
    if (state.elapsed_ns > 0)
      state.rate_per_s = static_cast<double>(done) * 1e9 / static_cast<double>(state.elapsed_ns);
    if (options.total > 0 && done > 0) {
      const double left =
          static_cast<double>(options.total - std::min(done, options.total)) / static_cast<double>(done);
      state.left_ns =
          static_cast<int64_t>(std::min(kLongestNs, left * static_cast<double>(state.elapsed_ns)));
    }
    return state;
  }

  // Precondition: the lock is held.
  void maybe_print() {
    if (options.mode == ProgressMode::kQuiet || finished) return;
    const int64_t now_ns = options.now_ns();
    const bool terminal = options.mode == ProgressMode::kTerminal;
    if (now_ns - printed_ns < (terminal ? kTerminalPeriodNs : kPlainPeriodNs)) return;
    printed_ns = now_ns;
    const std::string line = progress_line(options, state(now_ns), false);
    options.write(terminal ? "\r" + line + "\x1b[K" : line + "\n");
  }
};

Progress::Progress() = default;
Progress::Progress(Progress&&) noexcept = default;

Progress& Progress::operator=(Progress&& other) noexcept {
  finish();
  impl_ = std::move(other.impl_);
  return *this;
}

Progress::~Progress() { finish(); }

Progress::Progress(ProgressOptions options) : impl_(std::make_unique<Impl>()) {
  if (options.mode == ProgressMode::kAuto) {
    options.mode = ::isatty(STDERR_FILENO) == 1 ? ProgressMode::kTerminal : ProgressMode::kPlain;
  }
  if (!options.write) options.write = write_to_stderr;
  if (!options.now_ns) options.now_ns = steady_now_ns;
  impl_->start_ns = options.now_ns();
  impl_->printed_ns = impl_->start_ns;
  impl_->options = std::move(options);
}

void Progress::advance(uint64_t count) {
  if (!impl_) return;
  const std::lock_guard lock(impl_->mutex);
  impl_->done += count;
  impl_->maybe_print();
}

void Progress::update(uint64_t done) {
  if (!impl_) return;
  const std::lock_guard lock(impl_->mutex);
  impl_->done = done;
  impl_->maybe_print();
}

void Progress::set_total(uint64_t total) {
  if (!impl_) return;
  const std::lock_guard lock(impl_->mutex);
  impl_->options.total = total;
}

void Progress::finish() {
  if (!impl_) return;
  const std::lock_guard lock(impl_->mutex);
  if (impl_->finished) return;
  impl_->finished = true;
  if (impl_->options.mode == ProgressMode::kQuiet) return;
  const std::string line = progress_line(impl_->options, impl_->state(impl_->options.now_ns()), true);
  impl_->options.write(impl_->options.mode == ProgressMode::kTerminal ? "\r" + line + "\x1b[K\n"
                                                                      : line + "\n");
}

ProgressState Progress::state() const {
  if (!impl_) return {};
  const std::lock_guard lock(impl_->mutex);
  return impl_->state(impl_->options.now_ns());
}

std::string progress_line(const ProgressOptions& options, const ProgressState& state, bool finished) {
  std::string text = options.label;
  const std::string unit = options.unit.empty() ? "" : " " + options.unit;
  if (state.total > 0) {
    const double share =
        static_cast<double>(std::min(state.done, state.total)) / static_cast<double>(state.total);
    // Rounded down: 100% means all of it.
    text += fmt::format("  {:3}% {}/{}{}", static_cast<int>(share * 100), state.done, state.total, unit);
  } else {
    text += fmt::format("  {}{}", state.done, unit);
  }
  if (state.rate_per_s > 0) text += fmt::format("  {}/s", format_count(state.rate_per_s));
  if (finished) {
    text += "  in " + format_duration_ns(state.elapsed_ns);
  } else if (state.left_ns >= 0) {
    text += fmt::format("  {} left", format_duration_ns(state.left_ns));
  }
  return text;
}

}  // namespace tandem
