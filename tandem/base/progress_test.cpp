// SPDX-License-Identifier: Apache-2.0
// Goal: progress is right and seldom printed. The clock and the output are arguments, so every line is exact.
#include "tandem/base/progress.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tandem {
namespace {

struct Recorder {
  int64_t now_ns = 0;
  std::string text;
  ProgressOptions options(ProgressMode mode) {
    ProgressOptions options;
    options.label = "calibrate";
    options.total = 1000;
    options.unit = "images";
    options.mode = mode;
    options.write = [this](std::string_view line) { text += line; };
    options.now_ns = [this] { return now_ns; };
    return options;
  }
};

TEST(Progress, PlainLinesEveryFiveSeconds) {
  Recorder recorder;
  {
    Progress progress(recorder.options(ProgressMode::kPlain));
    // 100 images per second.
    for (int second = 1; second <= 10; ++second) {
      recorder.now_ns = second * 1'000'000'000LL;
      progress.advance(100);
    }
  }
  EXPECT_EQ(recorder.text,
            "calibrate   50% 500/1000 images  100/s  5s left\n"
            "calibrate  100% 1000/1000 images  100/s  0ns left\n"
            "calibrate  100% 1000/1000 images  100/s  in 10s\n");
}

TEST(Progress, TerminalRefreshesInPlace) {
  Recorder recorder;
  Progress progress(recorder.options(ProgressMode::kTerminal));
  recorder.now_ns = 50'000'000;
  progress.update(10);
  EXPECT_EQ(recorder.text, "") << "too soon";
  recorder.now_ns = 200'000'000;
  progress.update(20);
  EXPECT_EQ(recorder.text, "\rcalibrate    2% 20/1000 images  100/s  9.8s left\x1b[K");
  recorder.text.clear();
  progress.finish();
  progress.finish();
  EXPECT_EQ(recorder.text, "\rcalibrate    2% 20/1000 images  100/s  in 200ms\x1b[K\n");
}

TEST(Progress, QuietCountsOnly) {
  Recorder recorder;
  Progress progress(recorder.options(ProgressMode::kQuiet));
  recorder.now_ns = 60'000'000'000;
  progress.advance(600);
  const ProgressState state = progress.state();
  EXPECT_EQ(state.done, 600u);
  EXPECT_DOUBLE_EQ(state.rate_per_s, 10.0);
  EXPECT_EQ(state.left_ns, 40'000'000'000);
  progress.finish();
  EXPECT_EQ(recorder.text, "");
}

TEST(Progress, UnknownTotalHasNoShare) {
  EXPECT_EQ(progress_line({.label = "scan", .unit = "files"}, {.done = 7, .elapsed_ns = 1}, false),
            "scan  7 files");
}

TEST(Progress, DisabledDoesNothing) {
  Progress progress;
  progress.advance();
  progress.update(3);
  progress.finish();
  EXPECT_EQ(progress.state().done, 0u);
}

TEST(Progress, CountsFromManyThreads) {
  Recorder recorder;
  Progress progress(recorder.options(ProgressMode::kPlain));
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 250; ++k) progress.advance();
    });
  }
  threads.clear();
  EXPECT_EQ(progress.state().done, 1000u);
}

}  // namespace
}  // namespace tandem
