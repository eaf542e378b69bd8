// SPDX-License-Identifier: Apache-2.0
// Goal: traces are valid JSON with exact times, bounded, safe from many threads, and readable after a kill.
#include "tandem/base/trace.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "tandem/base/file.hpp"

namespace tandem {
namespace {

class Trace : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/tandem-trace-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    path_ = directory_ + "/trace.json";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
  std::string path_;
};

TEST_F(Trace, WritesExactEvents) {
  auto trace = TraceWriter::create(path_);
  ASSERT_TRUE(trace.ok());
  trace->name_process(1, "host");
  trace->name_thread({1, 2}, "worker \"2\"");
  trace->span({1, 2}, "conv", 1'234'567, 89, Json::object({{"batch", 4}}));
  trace->instant({1, 2}, "cut", -1);
  trace->counter(1, "queue", 5'000, {{"depth", 3.0}});
  ASSERT_TRUE(trace->close().ok());
  EXPECT_EQ(*read_file(path_),
            "[\n"
            R"({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"host"}},)"
            "\n"
            R"({"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"worker \"2\""}},)"
            "\n"
            R"({"ph":"X","name":"conv","pid":1,"tid":2,"ts":1234.567,"dur":0.089,"args":{"batch":4}},)"
            "\n"
            R"({"ph":"i","s":"t","name":"cut","pid":1,"tid":2,"ts":-0.001},)"
            "\n"
            R"({"ph":"C","name":"queue","pid":1,"tid":0,"ts":5.000,"args":{"depth":3.0}})"
            "\n]\n");
  EXPECT_TRUE(Json::parse(*read_file(path_)).ok());
}

TEST_F(Trace, EmptyTraceIsValid) {
  ASSERT_TRUE(TraceWriter::create(path_)->close().ok());
  const auto parsed = Json::parse(*read_file(path_));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->size(), 0u);
}

TEST_F(Trace, WhatIsOnDiskBeforeCloseNeedsOnlyTheBracket) {
  auto trace = TraceWriter::create(path_);
  for (int i = 0; i < 3000; ++i) trace->span({0, 0}, "s", i, 1);
  const std::string cut = *read_file(path_);  // As a kill would leave it.
  EXPECT_GT(cut.size(), 60'000u);
  EXPECT_TRUE(Json::parse(cut + "]").ok());
}

TEST_F(Trace, KeepsTheLimitAndSaysSo) {
  auto trace = TraceWriter::create(path_, {.limit_bytes = 10'000});
  for (int i = 0; i < 3000; ++i) trace->span({0, 0}, "s", i, 1);
  EXPECT_GT(trace->dropped_count(), 2000u);
  const uint64_t dropped = trace->dropped_count();
  ASSERT_TRUE(trace->close().ok());
  const std::string text = *read_file(path_);
  EXPECT_LT(text.size(), 10'200u);
  const auto parsed = Json::parse(text);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->items().back()["args"]["count"].as_int(), static_cast<int64_t>(dropped));
  EXPECT_EQ(parsed->size() - 1 + dropped, 3000u);
}

TEST_F(Trace, ManyThreads) {
  auto trace = TraceWriter::create(path_);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&trace, t] {
      for (int i = 0; i < 500; ++i) trace->span({0, t}, "s", i, 1);
    });
  }
  threads.clear();
  ASSERT_TRUE(trace->close().ok());
  EXPECT_EQ(Json::parse(*read_file(path_))->size(), 2000u);
}

TEST_F(Trace, ReportsAFullDisk) {
  auto trace = TraceWriter::create("/dev/full");
  ASSERT_TRUE(trace.ok());
  trace->instant({0, 0}, "x", 0);
  const Status status = trace->close();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kIo);
  EXPECT_FALSE(TraceWriter::create(directory_ + "/no/such").ok());
}

TEST(TraceWriter, DisabledDoesNothing) {
  TraceWriter trace;
  trace.instant({0, 0}, "x", 0);
  EXPECT_FALSE(trace.enabled());
  EXPECT_TRUE(trace.close().ok());
}

}  // namespace
}  // namespace tandem
