// SPDX-License-Identifier: Apache-2.0
// Goal: every error says file, line, key and what was expected. Method: exact messages.
#include "tandem/base/toml.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace {

constexpr const char* kText =
    "name = \"x\"\n"
    "[[device]]\n"
    "name = \"cpu\"\n"
    "servers = 0\n"
    "latency = \"3.5ms\"\n"
    "rate = \"90/min\"\n"
    "speed = \"1.2GB/s\"\n"
    "bad = \"3.5\"\n"
    "sise = 1\n";

struct Fixture {
  TomlValue root = parse_toml(kText, "s.toml").value();
  TomlReader reader{std::get<TomlValue::Array>(root.find("device")->value)[0], "s.toml", "[[device]] 'cpu'"};
};

TEST(Toml, ReadsValuesWithUnits) {
  Fixture f;
  EXPECT_EQ(f.reader.text("name").value(), "cpu");
  EXPECT_EQ(f.reader.duration_ns("latency", 0, INT64_MAX).value(), 3'500'000);
  EXPECT_DOUBLE_EQ(f.reader.rate_per_s("rate").value(), 1.5);
  EXPECT_DOUBLE_EQ(f.reader.bandwidth("speed").value(), 1.2e9);
  EXPECT_EQ(f.reader.whole("absent", 0, 9, 5).value(), 5);
}

TEST(Toml, ErrorsNameFileLineKeyAndRange) {
  Fixture f;
  EXPECT_EQ(f.reader.whole("servers", 1, 8).error().message(),
            "s.toml:4: [[device]] 'cpu': key 'servers': 0 is out of range: 1 to 8");
  EXPECT_EQ(f.reader.duration_ns("bad", 0, 9).error().message(),
            "s.toml:8: [[device]] 'cpu': key 'bad': cannot read '3.5' as a duration\n"
            "  because: the unit is missing\n"
            "  hint: write a number and one of: ns us ms s min h");
  EXPECT_EQ(
      f.reader.duration_ns("servers", 0, 9).error().what(),
      "s.toml:4: [[device]] 'cpu': key 'servers': wants a time with its unit in quotes, such as \"3.5ms\"");
  EXPECT_EQ(f.reader.duration_ns("absent", 0, 9).error().message(),
            "s.toml:2: [[device]] 'cpu': key 'absent': is missing\n  hint: give a time such as \"3.5ms\"");
  EXPECT_FALSE(f.reader.rate_per_s("latency").ok());
}

TEST(Toml, UnknownKeysAreRefusedWithASuggestion) {
  Fixture f;
  for (const char* key : {"name", "servers", "latency", "rate", "speed", "bad", "size"}) {
    (void)f.reader.has(key);
    (void)f.reader.text(key, "");
  }
  EXPECT_EQ(f.reader.finish().error().message(),
            "s.toml:9: [[device]] 'cpu': key 'sise': is not known here\n  hint: did you mean 'size'?");
}

TEST(Toml, BrokenTextSaysWhere) {
  EXPECT_NE(parse_toml("a = \n", "s.toml").error().message().find("s.toml:1:"), std::string::npos);
  EXPECT_FALSE(parse_toml("a = 2026-01-01", "s.toml").ok());
  EXPECT_FALSE(parse_toml("a = " + std::string(5000, '[') + std::string(5000, ']'), "s.toml").ok());
}

TEST(Toml, SetsByPath) {
  TomlValue root = parse_toml(kText, "s.toml").value();
  ASSERT_TRUE(set_toml(root, "device.cpu.servers", "4").ok());
  ASSERT_TRUE(set_toml(root, "device.latency", "7ms").ok());
  ASSERT_TRUE(set_toml(root, "device.0.fresh", "true").ok());
  const TomlValue& device = std::get<TomlValue::Array>(root.find("device")->value)[0];
  EXPECT_EQ(std::get<int64_t>(device.find("servers")->value), 4);
  EXPECT_EQ(std::get<std::string>(device.find("latency")->value), "7ms");
  EXPECT_EQ(std::get<bool>(device.find("fresh")->value), true);
  EXPECT_FALSE(set_toml(root, "nothing.x", "1").ok());
  EXPECT_FALSE(set_toml(root, "device.5.x", "1").ok());
}

}  // namespace
}  // namespace tandem
