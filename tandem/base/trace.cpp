// SPDX-License-Identifier: Apache-2.0
// Events are put together as text: one allocation-light line each, and exact decimal microseconds.
#include "tandem/base/trace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <mutex>

namespace tandem {
namespace {

constexpr size_t kPieceBytes = size_t{64} << 10;

std::string quoted(std::string_view text) { return Json(text).dump(); }

// Nanoseconds as decimal microseconds without rounding: 1234567 -> 1234.567.
std::string microseconds(int64_t ns) {
  const bool negative = ns < 0;
  const uint64_t size = negative ? ~static_cast<uint64_t>(ns) + 1 : static_cast<uint64_t>(ns);
  return fmt::format("{}{}.{:03}", negative ? "-" : "", size / 1000, size % 1000);
}

std::string args_member(const Json& args) { return args.is_null() ? "" : ",\"args\":" + args.dump(); }

}  // namespace

struct TraceWriter::Impl {
  mutable std::mutex mutex;
  std::string path;
  TraceOptions options;
  int fd = -1;
  std::string buffer;
  uint64_t written_bytes = 0;
  uint64_t dropped = 0;
  bool first = true;
  Status status;

  ~Impl() {
    if (fd >= 0) ::close(fd);
  }

  void flush() {
    std::string_view left = buffer;
    while (!left.empty() && status.ok()) {
      const ssize_t n = ::write(fd, left.data(), left.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        status = io_error(fmt::format("cannot write trace '{}'", path)).because(std::strerror(errno));
        break;
      }
      left.remove_prefix(static_cast<size_t>(n));
    }
    written_bytes += buffer.size();
    buffer.clear();
  }

  // `force` is for the note about dropped events, which must not be dropped itself.
  void put(const std::string& event, bool force = false) {
    const std::lock_guard lock(mutex);
    put_locked(event, force);
  }
  void put_locked(const std::string& event, bool force) {
    if (fd < 0) return;
    if (!force && written_bytes + buffer.size() + event.size() > options.limit_bytes) {
      ++dropped;
      return;
    }
    buffer += first ? "\n" : ",\n";
    buffer += event;
    first = false;
    if (buffer.size() >= kPieceBytes) flush();
  }
};

TraceWriter::TraceWriter() = default;
TraceWriter::TraceWriter(TraceWriter&&) noexcept = default;

TraceWriter& TraceWriter::operator=(TraceWriter&& other) noexcept {
  static_cast<void>(close());
  impl_ = std::move(other.impl_);
  return *this;
}

TraceWriter::~TraceWriter() { static_cast<void>(close()); }

Result<TraceWriter> TraceWriter::create(const std::string& path, TraceOptions options) {
  TraceWriter writer;
  writer.impl_ = std::make_unique<Impl>();
  writer.impl_->path = path;
  writer.impl_->options = options;
  writer.impl_->fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (writer.impl_->fd < 0) {
    return io_error(fmt::format("cannot write trace '{}'", path)).because(std::strerror(errno));
  }
  writer.impl_->buffer = "[";
  return writer;
}

void TraceWriter::name_process(int32_t process, std::string_view name) {
  if (!impl_) return;
  impl_->put(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":{}}}}})",
                         process, quoted(name)));
}

void TraceWriter::name_thread(TraceTrack track, std::string_view name) {
  if (!impl_) return;
  impl_->put(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
                         track.process, track.thread, quoted(name)));
}

void TraceWriter::span(TraceTrack track, std::string_view name, int64_t start_ns, int64_t duration_ns,
                       const Json& args) {
  if (!impl_) return;
  impl_->put(fmt::format(R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":{}{}}})", quoted(name),
                         track.process, track.thread, microseconds(start_ns), microseconds(duration_ns),
                         args_member(args)));
}

void TraceWriter::instant(TraceTrack track, std::string_view name, int64_t at_ns, const Json& args) {
  if (!impl_) return;
  impl_->put(fmt::format(R"({{"ph":"i","s":"t","name":{},"pid":{},"tid":{},"ts":{}{}}})", quoted(name),
                         track.process, track.thread, microseconds(at_ns), args_member(args)));
}

void TraceWriter::counter(int32_t process, std::string_view name, int64_t at_ns,
                          const std::vector<std::pair<std::string, double>>& series) {
  if (!impl_) return;
  Json values = Json::object();
  for (const auto& one : series) values.set(one.first, one.second);
  impl_->put(fmt::format(R"({{"ph":"C","name":{},"pid":{},"tid":0,"ts":{}{}}})", quoted(name), process,
                         microseconds(at_ns), args_member(values)));
}

uint64_t TraceWriter::dropped_count() const {
  if (!impl_) return 0;
  const std::lock_guard lock(impl_->mutex);
  return impl_->dropped;
}

Status TraceWriter::close() {
  if (!impl_) return {};
  const std::lock_guard lock(impl_->mutex);
  Impl& trace = *impl_;
  if (trace.fd < 0) return trace.status;
  if (trace.dropped > 0) {
    trace.put_locked(
        fmt::format(R"({{"ph":"M","name":"dropped_events","pid":0,"tid":0,"args":{{"count":{}}}}})",
                    trace.dropped),
        true);
  }
  trace.buffer += "\n]\n";
  trace.flush();
  const int fd = std::exchange(trace.fd, -1);
  if (::close(fd) != 0 && trace.status.ok()) {
    trace.status = io_error(fmt::format("cannot write trace '{}'", trace.path)).because(std::strerror(errno));
  }
  return trace.status;
}

}  // namespace tandem
