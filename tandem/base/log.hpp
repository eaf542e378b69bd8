// SPDX-License-Identifier: Apache-2.0
// Diagnostics on stderr. The library returns data and does not narrate; use debug for what only a developer
// wants.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace tandem::log {

enum class Level { kDebug, kInfo, kWarn, kError, kOff };

// Messages below the level are not even formatted. The default is kWarn. Thread-safe.
void set_level(Level level);
bool enabled(Level level);
void write(Level level, std::string_view message);

template <typename... Args>
void debug(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::kDebug)) write(Level::kDebug, fmt::format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void info(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::kInfo)) write(Level::kInfo, fmt::format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void warn(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::kWarn)) write(Level::kWarn, fmt::format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void error(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::kError)) write(Level::kError, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace tandem::log
