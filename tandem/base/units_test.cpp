// SPDX-License-Identifier: Apache-2.0
// Goal: quantities are read exactly, printed shortly, and what is printed can be read. All values worked out
// by hand.
#include "tandem/base/units.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tandem {
namespace {

TEST(Units, ReadsDurationsExactly) {
  EXPECT_EQ(*parse_duration_ns("3.5ms"), 3'500'000);
  EXPECT_EQ(*parse_duration_ns(" 12 us "), 12'000);
  EXPECT_EQ(*parse_duration_ns("12\xC2\xB5s"), 12'000);
  EXPECT_EQ(*parse_duration_ns("0.1s"), 100'000'000);
  EXPECT_EQ(*parse_duration_ns("1.5h"), 5'400'000'000'000);
  EXPECT_EQ(*parse_duration_ns("2min05s"), 125'000'000'000);
  EXPECT_EQ(*parse_duration_ns("0.4ns"), 0);
  EXPECT_EQ(*parse_duration_ns("0.5ns"), 1);
}

TEST(Units, ReadsSizesAndRates) {
  EXPECT_EQ(*parse_bytes("1GiB"), 1'073'741'824u);
  EXPECT_EQ(*parse_bytes("1gb"), 1'000'000'000u);
  EXPECT_EQ(*parse_bytes("1.5 KiB"), 1536u);
  EXPECT_EQ(*parse_bytes("77"), 77u);
  EXPECT_EQ(*parse_bandwidth_bytes_per_s("1.2GB/s"), 1'200'000'000u);
  EXPECT_EQ(*parse_count("10k"), 10'000u);
  EXPECT_EQ(*parse_count("1.5M"), 1'500'000u);
  EXPECT_EQ(*parse_count("0"), 0u);
}

TEST(Units, ErrorsNameTextAndUnits) {
  const auto unknown = parse_duration_ns("3 lightyears");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code(), ErrorCode::kUsage);
  EXPECT_EQ(unknown.error().message(),
            "cannot read '3 lightyears' as a duration\n"
            "  because: the unit 'lightyears' is unknown\n"
            "  hint: write a number and one of: ns us ms s min h");
  EXPECT_EQ(parse_duration_ns("5").error().because_text(), "the unit is missing");
  EXPECT_EQ(parse_bytes("-1").error().because_text(), "it must not be negative");
  EXPECT_EQ(parse_bytes("").error().because_text(), "it does not start with a number");
  EXPECT_EQ(parse_bytes(".").error().because_text(), "it does not start with a number");
  EXPECT_EQ(parse_bytes("99999999TiB").error().because_text(), "it is too large");
  EXPECT_EQ(parse_duration_ns("3000000h").error().because_text(), "it is too large");
  EXPECT_EQ(parse_duration_ns("2000000h2000000h").error().because_text(), "it is too large");
  EXPECT_EQ(parse_count("1234567890123456789").error().because_text(), "it has more than 18 digits");
  EXPECT_EQ(parse_count("0.00000000000000000000000001").error().because_text(), "it has more than 18 digits");
  EXPECT_EQ(parse_bandwidth_bytes_per_s("1GB").error().because_text(), "it does not end with '/s'");
  EXPECT_EQ(parse_count("1e9").error().because_text(), "the unit 'e9' is unknown");
  EXPECT_FALSE(parse_bytes(std::string(100000, '9')).ok());
}

TEST(Units, PrintsThreeDigits) {
  EXPECT_EQ(format_duration_ns(0), "0ns");
  EXPECT_EQ(format_duration_ns(850), "850ns");
  EXPECT_EQ(format_duration_ns(3'500'000), "3.5ms");
  EXPECT_EQ(format_duration_ns(999'600), "1ms");
  EXPECT_EQ(format_duration_ns(12'340'000'000), "12.3s");
  EXPECT_EQ(format_duration_ns(59'990'000'000), "1min00s");
  EXPECT_EQ(format_duration_ns(125'000'000'000), "2min05s");
  EXPECT_EQ(format_duration_ns(3'720'000'000'000), "1h02min");
  EXPECT_EQ(format_duration_ns(-1'000), "-1us");
  EXPECT_EQ(format_bytes(512), "512B");
  EXPECT_EQ(format_bytes(1'610'612'736), "1.5GiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<uint64_t>::max()), "16EiB");
  EXPECT_EQ(format_bandwidth(1.2e9), "1.2GB/s");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1'234'567), "1.23M");
  EXPECT_EQ(format_count(-5), "-5");
}

TEST(Units, WhatIsPrintedCanBeRead) {
  for (int64_t ns = 1; ns < int64_t{1} << 56; ns = ns * 3 + 1) {
    const auto back = parse_duration_ns(format_duration_ns(ns));
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_NEAR(static_cast<double>(*back), static_cast<double>(ns), 0.01 * static_cast<double>(ns));
  }
  for (uint64_t bytes = 1; bytes < uint64_t{1} << 62; bytes = bytes * 3 + 1) {
    const auto back = parse_bytes(format_bytes(bytes));
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_NEAR(static_cast<double>(*back), static_cast<double>(bytes), 0.01 * static_cast<double>(bytes));
  }
}

}  // namespace
}  // namespace tandem
