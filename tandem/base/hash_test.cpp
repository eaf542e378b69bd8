// SPDX-License-Identifier: Apache-2.0
// Goal: digests equal the published examples (FIPS 180-2 appendix B and the NIST empty-message example).
#include "tandem/base/hash.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tandem/base/file.hpp"

namespace tandem {
namespace {

TEST(Sha256, PublishedExamples) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheSameDigestAsTheWhole) {
  const std::string text =
      "The quick brown fox jumps over the lazy dog, again and again, until the block of 64 bytes is full.";
  for (size_t step = 1; step < text.size(); ++step) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += step) hash.update(std::string_view(text).substr(at, step));
    EXPECT_EQ(hash.hex(), sha256_hex(text)) << step;
  }
}

TEST(Sha256, FramesKeepPartsApart) {
  EXPECT_NE(Sha256().add("ab").add("c").hex(), Sha256().add("a").add("bc").hex());
  EXPECT_NE(Sha256().add("a").hex(), Sha256().add("a").add("").hex());
  EXPECT_EQ(Sha256().add("a").add(uint64_t{7}).hex(), Sha256().add("a").add(uint64_t{7}).hex());
}

TEST(Sha256, HashesFiles) {
  std::string directory = ::testing::TempDir() + "/tandem-hash-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  ASSERT_TRUE(write_file(directory + "/x", "abc").ok());
  EXPECT_EQ(*sha256_file_hex(directory + "/x"), sha256_hex("abc"));
  EXPECT_FALSE(sha256_file_hex(directory + "/none").ok());
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace tandem
