// SPDX-License-Identifier: Apache-2.0
// Goal: files appear whole or not at all, and errors name the path and the cause.
#include "tandem/base/file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tandem {
namespace {

class File : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/tandem-file-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  size_t entries() const {
    size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory_)) ++n;
    return n;
  }
  std::string directory_;
};

TEST(ReadFile, ReadsFilesThatDoNotSayTheirSize) {
  const auto content = read_file("/proc/self/status", 1 << 20);
  ASSERT_TRUE(content.ok()) << content.error().message();
  EXPECT_NE(content->find("Pid:"), std::string::npos);
}

TEST_F(File, WrittenFileReadsBack) {
  const std::string content("a\0b", 3);
  ASSERT_TRUE(write_file(directory_ + "/x", content).ok());
  EXPECT_EQ(*read_file(directory_ + "/x"), content);
  EXPECT_EQ(MappedFile::open(directory_ + "/x")->text(), content);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(File, DroppedFileLeavesNothing) {
  {
    auto file = AtomicFile::create(directory_ + "/y");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("half").ok());
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(File, ErrorsNamePathAndCause) {
  const auto missing = read_file(directory_ + "/none");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::kIo);
  EXPECT_NE(missing.error().message().find("none"), std::string::npos);
  EXPECT_NE(missing.error().message().find("No such file"), std::string::npos);
  EXPECT_NE(read_file(directory_).error().message().find("directory"), std::string::npos);
  ASSERT_TRUE(write_file(directory_ + "/z", "12345").ok());
  EXPECT_EQ(read_file(directory_ + "/z", 4).error().code(), ErrorCode::kBadInput);
  EXPECT_FALSE(write_file(directory_ + "/no/such/dir", "x").ok());
}

TEST_F(File, EmptyFileMaps) {
  ASSERT_TRUE(write_file(directory_ + "/e", "").ok());
  EXPECT_TRUE(MappedFile::open(directory_ + "/e")->bytes().empty());
}

}  // namespace
}  // namespace tandem
