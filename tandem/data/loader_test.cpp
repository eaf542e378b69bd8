// SPDX-License-Identifier: Apache-2.0
// Goal: batches come in order, complete, the same for any number of threads; what cannot be used is named; it
// can be stopped.
#include "tandem/data/loader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tandem/data/test_images.hpp"

namespace tandem::data {
namespace {

using test::Folder;
using test::formula_image;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Preprocess tiny() {
  Preprocess p;
  p.height = p.width = 4;
  p.short_side = 5;
  p.mean = {10, 20, 30};
  p.std = {2, 2, 2};
  return p;
}

class Loader : public ::testing::Test {
 protected:
  Loader() {
    for (int i = 0; i < 12; ++i) {
      const Image image = formula_image(20 + i, 15);
      folder_.write(fmt::format("{}/{:02}.png", i % 2 == 0 ? "a" : "b", i),
                    i == 5 ? "text" : *encode_png(image));
    }
    dataset_ = *open_labelled(folder_.path());
  }

  struct All {
    std::vector<size_t> sizes, samples;
    std::vector<int32_t> labels;
    std::vector<float> values;
    std::vector<Skipped> skipped;
  };
  All run(LoaderOptions options) const {
    All all;
    BatchLoader loader(dataset_, tiny(), std::move(options));
    while (true) {
      auto batch = loader.next();
      EXPECT_TRUE(batch.ok()) << batch.error().message();
      if (!batch.ok() || !batch->has_value()) break;
      const Batch& b = **batch;
      all.sizes.push_back(b.samples.size());
      EXPECT_EQ(b.images.shape()[0], static_cast<int64_t>(b.samples.size()));
      all.samples.insert(all.samples.end(), b.samples.begin(), b.samples.end());
      all.labels.insert(all.labels.end(), b.labels.begin(), b.labels.end());
      if (b.images.dtype() == DType::kF32) {
        const auto values = b.images.as<float>();
        all.values.insert(all.values.end(), values.begin(), values.end());
      } else {
        for (const uint8_t level : b.images.as<uint8_t>()) all.values.push_back(level);
      }
    }
    all.skipped = loader.skipped();
    return all;
  }

  Folder folder_;
  Dataset dataset_;
};

TEST_F(Loader, BatchesAreInOrderAndBadImagesAreNamed) {
  LoaderOptions options;
  options.batch = 4;
  const All all = run(options);
  EXPECT_THAT(all.sizes, ElementsAre(4, 4, 3));
  // Class a has samples 0..5 (files 00, 02, ...), class b 6..11; file 05 is sample 8.
  EXPECT_THAT(all.samples, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11));
  EXPECT_THAT(all.labels, ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1));
  ASSERT_EQ(all.skipped.size(), 1u);
  EXPECT_THAT(all.skipped[0].path, HasSubstr("b/05.png"));
  EXPECT_THAT(all.skipped[0].reason, HasSubstr("not an image"));
  EXPECT_EQ(all.skipped[0].reason.find("05.png"), std::string::npos);
  std::vector<float> one(3 * 4 * 4);
  ASSERT_TRUE(apply(tiny(), *load_image(dataset_, 9), PixelLayout::kNchw, one).ok());
  EXPECT_TRUE(std::equal(one.begin(), one.end(), all.values.begin() + 8 * 48));
}

TEST_F(Loader, ThreadsAndAheadDoNotChangeTheResult) {
  LoaderOptions options;
  options.batch = 5;
  options.augment = {true, true};
  options.threads = 1;
  options.ahead = 1;
  const All one = run(options);
  for (const size_t threads : {2, 3, 16}) {
    options.threads = threads;
    options.ahead = static_cast<int64_t>(threads);
    const All many = run(options);
    EXPECT_EQ(many.values, one.values);
    EXPECT_EQ(many.samples, one.samples);
    EXPECT_EQ(many.skipped.size(), 1u);
  }
}

TEST_F(Loader, AugmentationDependsOnSeedEpochAndSampleOnly) {
  LoaderOptions options;
  options.augment = {true, true};
  options.batch = 1;
  const All first = run(options);
  options.epoch = 1;
  EXPECT_NE(run(options).values, first.values);
  options.epoch = 0;
  options.seed = 43;
  EXPECT_NE(run(options).values, first.values);
  options.seed = 42;
  options.order = {7, 0};
  const All two = run(options);
  EXPECT_THAT(two.samples, ElementsAre(7, 0));
  EXPECT_TRUE(std::equal(two.values.begin() + 48, two.values.end(), first.values.begin()));
  EXPECT_TRUE(std::equal(two.values.begin(), two.values.begin() + 48, first.values.begin() + 7 * 48));
}

TEST_F(Loader, FlipMirrorsHalfOfTheImages) {
  const Preprocess p = tiny();
  const Image image = formula_image(20, 15);
  const Image plain = *fit(p, image), mirrored = oriented(*fit(p, image), 2);
  int flips = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const Image got = *fit_augmented(p, image, {true, false}, Rng(i));
    if (got.rgb == mirrored.rgb) {
      ++flips;
    } else {
      ASSERT_EQ(got.rgb, plain.rgb);
    }
  }
  EXPECT_NEAR(flips, 100, 35);  // five standard deviations of 7
}

TEST_F(Loader, LevelsFoldToTheSameInput) {
  LoaderOptions options;
  options.layout = PixelLayout::kNhwc;
  const All floats = run(options);
  options.levels = true;
  const All levels = run(options);
  const Affine affine = normalization(tiny());
  ASSERT_EQ(levels.values.size(), floats.values.size());
  for (size_t i = 0; i < floats.values.size(); ++i) {
    ASSERT_FLOAT_EQ(floats.values[i], levels.values[i] * affine.scale[i % 3] + affine.offset[i % 3]);
  }
}

TEST_F(Loader, StrictFailsAtTheFirstBadImage) {
  LoaderOptions options;
  options.strict = true;
  options.batch = 3;
  BatchLoader loader(dataset_, tiny(), options);
  EXPECT_TRUE(loader.next().ok());
  EXPECT_TRUE(loader.next().ok());
  const auto third = loader.next();
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code(), ErrorCode::kGateFailed);
  EXPECT_THAT(third.error().message(), HasSubstr("05.png"));
}

TEST_F(Loader, CancelStops) {
  CancelToken cancel;
  LoaderOptions options;
  options.batch = 2;
  options.cancel = &cancel;
  BatchLoader loader(dataset_, tiny(), options);
  EXPECT_TRUE(loader.next().ok());
  cancel.request(2);
  EXPECT_EQ(loader.next().error().code(), ErrorCode::kInterrupted);
}

TEST_F(Loader, CanBeDroppedEarlyAndHoldsNothingUsable) {
  { BatchLoader loader(dataset_, tiny(), {}); }
  LoaderOptions options;
  options.order = {8};
  BatchLoader loader(dataset_, tiny(), options);
  const auto batch = loader.next();
  ASSERT_FALSE(batch.ok());
  EXPECT_THAT(batch.error().message(), HasSubstr("none of the images"));
  Dataset empty;
  BatchLoader nothing(empty, tiny(), {});
  EXPECT_FALSE(nothing.next()->has_value());
}

}  // namespace
}  // namespace tandem::data
