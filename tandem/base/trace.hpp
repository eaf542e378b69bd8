// SPDX-License-Identifier: Apache-2.0
// TraceWriter: a timeline file for Perfetto or chrome://tracing (the JSON array form of the Trace Event
// Format, whose closing bracket is optional: a trace cut off by a kill still opens). Times are integer
// nanoseconds, virtual or real.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"

namespace tandem {

// A line of the timeline: a process (device, board, program) and a thread (queue, worker) in it.
struct TraceTrack {
  int32_t process = 0;
  int32_t thread = 0;
};

struct TraceOptions {
  // Events beyond this are dropped and counted; the end of the trace says how many.
  uint64_t limit_bytes = uint64_t{512} << 20;
};

// Thread-safe. Memory is bounded: events go to the file in pieces of 64 KiB, always whole events.
// A default TraceWriter is disabled: every call does nothing.
class TraceWriter {
 public:
  TraceWriter();
  // Replaces the file.
  static Result<TraceWriter> create(const std::string& path, TraceOptions options = {});
  TraceWriter(TraceWriter&&) noexcept;
  TraceWriter& operator=(TraceWriter&&) noexcept;
  ~TraceWriter();  // close(), its error lost.

  bool enabled() const { return impl_ != nullptr; }
  void name_process(int32_t process, std::string_view name);
  void name_thread(TraceTrack track, std::string_view name);
  // `args` is an object, or null for none.
  void span(TraceTrack track, std::string_view name, int64_t start_ns, int64_t duration_ns,
            const Json& args = {});
  void instant(TraceTrack track, std::string_view name, int64_t at_ns, const Json& args = {});
  // Each series of a counter is drawn stacked.
  void counter(int32_t process, std::string_view name, int64_t at_ns,
               const std::vector<std::pair<std::string, double>>& series);
  uint64_t dropped_count() const;
  // Writes the end; further events are ignored. The error is the first that happened since create().
  Status close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem
