// SPDX-License-Identifier: Apache-2.0
// Goal: what is logged at a level shows from that level on, and only on stderr.
#include "tandem/base/log.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace {

std::string logged_at(log::Level level) {
  log::set_level(level);
  ::testing::internal::CaptureStderr();
  log::debug("d {}", 1);
  log::info("i {}", 2);
  log::warn("w {}", 3);
  log::error("e {{}} {}", "{}");
  log::set_level(log::Level::kWarn);
  return ::testing::internal::GetCapturedStderr();
}

TEST(Log, LevelsFilter) {
  // gtest captures into a file, so the first logger that is made may still think of a terminal: compare the
  // ends.
  const std::string all = logged_at(log::Level::kDebug);
  EXPECT_NE(all.find("[debug] d 1\n"), std::string::npos);
  EXPECT_NE(all.find("[info] i 2\n"), std::string::npos);
  const std::string some = logged_at(log::Level::kWarn);
  EXPECT_EQ(some.find("i 2"), std::string::npos);
  EXPECT_NE(some.find("[warning] w 3\n"), std::string::npos);
  EXPECT_NE(some.find("[error] e {} {}\n"), std::string::npos);
  EXPECT_EQ(logged_at(log::Level::kOff), "");
}

}  // namespace
}  // namespace tandem
