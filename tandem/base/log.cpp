// SPDX-License-Identifier: Apache-2.0
// spdlog behind four levels; the only file that sees it.
#include "tandem/base/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <memory>

namespace tandem::log {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug: return spdlog::level::debug;
    case Level::kInfo: return spdlog::level::info;
    case Level::kWarn: return spdlog::level::warn;
    case Level::kError: return spdlog::level::err;
    case Level::kOff: return spdlog::level::off;
  }
  return spdlog::level::off;
}

// Not in spdlog's registry: a program that embeds us keeps its own loggers.
spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("tandem", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    // On a terminal a progress line may stand there: start at its beginning and wipe it.
    made.set_pattern(::isatty(STDERR_FILENO) == 1 ? "\r\x1b[K[%l] %v" : "[%l] %v");
    made.set_level(spdlog::level::warn);
    made.flush_on(spdlog::level::trace);
    return made;
  }();
  return instance;
}

}  // namespace

void set_level(Level level) { logger().set_level(to_spdlog(level)); }

bool enabled(Level level) { return level != Level::kOff && logger().should_log(to_spdlog(level)); }

void write(Level level, std::string_view message) {
  logger().log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace tandem::log
