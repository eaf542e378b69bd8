// SPDX-License-Identifier: Apache-2.0
// Goal: the bytes are those of the format, and broken files are refused. Method: a file written out by hand;
// cuts at every byte.
#include "tandem/tensor/safetensors.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Safetensors, ReadsAFileWrittenByHand) {
  const std::string header =
      R"({"__metadata__":{"k":"v"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  bytes += header;
  bytes += std::string("\0\0\x80\x3f\0\0\0\xc0", 8);  // 1.0f, -2.0f
  const auto file = from_safetensors(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(file->metadata.at("k"), "v");
  EXPECT_EQ(file->tensors.at("w").as<float>()[0], 1.0f);
  EXPECT_EQ(file->tensors.at("w").as<float>()[1], -2.0f);
}

TEST(Safetensors, SurvivesARoundTripWithEveryDType) {
  TensorFile file;
  for (int i = 0; i < kDTypeCount; ++i) {
    file.tensors.emplace("t" + std::to_string(i), Tensor(static_cast<DType>(i), Shape{2, 3}));
  }
  file.tensors.emplace("scalar", Tensor::scalar(7.5f));
  const auto back = from_safetensors(to_safetensors(file));
  ASSERT_TRUE(back.ok()) << back.error().message();
  ASSERT_EQ(back->tensors.size(), file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) EXPECT_EQ(back->tensors.at(name).dtype(), tensor.dtype());
  EXPECT_EQ(back->tensors.at("scalar").as<float>()[0], 7.5f);
}

TEST(Safetensors, RefusesAFileCutAtAnyByte) {
  TensorFile file;
  file.tensors.emplace("w", Tensor::of<float>({3}, {1, 2, 3}));
  const std::string whole = to_safetensors(file);
  for (size_t n = 0; n < whole.size(); ++n) ASSERT_FALSE(from_safetensors(whole.substr(0, n)).ok()) << n;
}

TEST(Safetensors, RefusesLies) {
  const auto with_entry = [](const std::string& entry) {
    const std::string header = "{\"w\":" + entry + "}";
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(header.size());
    return from_safetensors(bytes + header + std::string(8, '\0'));
  };
  EXPECT_TRUE(with_entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})").ok());
  EXPECT_FALSE(with_entry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})").ok());
  EXPECT_FALSE(with_entry(R"({"dtype":"F99","shape":[2],"data_offsets":[0,8]})").ok());
  EXPECT_FALSE(with_entry(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})").ok());
  EXPECT_FALSE(with_entry(R"({"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]})").ok());
  EXPECT_FALSE(with_entry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,16]})").ok());
  EXPECT_FALSE(with_entry(R"(3)").ok());
}

}  // namespace
}  // namespace tandem
