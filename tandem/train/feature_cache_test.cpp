// SPDX-License-Identifier: Apache-2.0
// Goal: rows survive closing, other keys start anew, damaged files are not trusted.
#include "tandem/train/feature_cache.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tandem/base/file.hpp"

namespace tandem::train {
namespace {

class FeatureCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/tandem-cache-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    path_ = name + "/f";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string directory_, path_;
};

TEST_F(FeatureCacheTest, ContinuesWhereItStopped) {
  const std::vector<float> one = {1, 2}, two = {3, 4, 5, 6};
  {
    auto cache = FeatureCache::open(path_, "k", 3, 2);
    ASSERT_TRUE(cache.ok()) << cache.error().message();
    EXPECT_EQ(cache->rows_done(), 0);
    cache->append(one);
  }
  auto cache = FeatureCache::open(path_, "k", 3, 2);
  ASSERT_TRUE(cache.ok());
  EXPECT_EQ(cache->rows_done(), 1);
  cache->append(two);
  EXPECT_TRUE(cache->complete());
  EXPECT_EQ(cache->row(2)[1], 6.0f);
  EXPECT_EQ(cache->all().size(), 6u);
}

TEST_F(FeatureCacheTest, AnotherKeyOrSizeStartsAnew) {
  const std::vector<float> row = {1, 2};
  FeatureCache::open(path_, "k", 3, 2)->append(row);
  EXPECT_EQ(FeatureCache::open(path_, "other", 3, 2)->rows_done(), 0);
  FeatureCache::open(path_, "k", 3, 2)->append(row);
  EXPECT_EQ(FeatureCache::open(path_, "k", 4, 2)->rows_done(), 0);
}

TEST_F(FeatureCacheTest, DoesNotTrustAFileOfTheSameSize) {
  ASSERT_TRUE(write_file(path_, std::string(4096 + 24, '\xff')).ok());
  const auto cache = FeatureCache::open(path_, "k", 3, 2);
  ASSERT_TRUE(cache.ok());
  EXPECT_EQ(cache->rows_done(), 0);
}

TEST_F(FeatureCacheTest, SaysWhyItCannotBeMade) {
  EXPECT_EQ(FeatureCache::open(directory_ + "/no/f", "k", 3, 2).error().code(), ErrorCode::kIo);
  EXPECT_EQ(FeatureCache::open(path_, "k", int64_t{1} << 60, 1280).error().code(), ErrorCode::kBadInput);
}

}  // namespace
}  // namespace tandem::train
