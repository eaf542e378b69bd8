// SPDX-License-Identifier: Apache-2.0
// On CPUs without VNNI oneDNN's 8-bit products saturate in 16 bits. The same tests as everywhere must pass
// there: they are run again in a child process whose library is told to use less than the CPU has.
#include "tandem/exec/isa.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tandem/exec/dnn.hpp"

namespace tandem::exec {
namespace {

int run_again(const std::string& isa, const std::string& filter) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "ONEDNN_MAX_CPU_ISA=" + isa + " '" + self +
                              "' --gtest_brief=1 --gtest_filter='" + filter + "' >/dev/null 2>&1";
  return std::system(command.c_str());
}

TEST(IsaExactness, IntegersStayRightWithoutVnni) {
  for (const char* isa : {"AVX2", "AVX512_CORE"}) {
    EXPECT_EQ(run_again(isa, "RandomNets.Affine*:RandomNets.Pow2*:IsaProbe.*"), 0) << isa;
  }
}

// u8 255 x s8 127 over 64 channels: 2072640, or 1048544 where pairs saturate (AVX2, AVX512_CORE).
TEST(IsaProbe, LibrarySaysWhetherProductsSaturate) {
  dnn::ConvSpec spec;
  spec.src = {DType::kU8, Shape{1, 64, 1, 1}, dnn::Layout::kChannelsLast};
  spec.dst = {DType::kI32, Shape{1, 16, 1, 1}, dnn::Layout::kChannelsLast};
  spec.weights_dtype = DType::kI8;
  spec.weights_shape = Shape{16, 64, 1, 1};
  spec.strides = spec.dilations = {1, 1};
  spec.pad_begin = spec.pad_end = {0, 0};
  dnn::Primitive primitive = dnn::Primitive::conv(spec).value();
  const Tensor w = Tensor::of<int8_t>(spec.weights_shape, std::vector<int8_t>(16 * 64, 127));
  Tensor x = Tensor::of<uint8_t>(Shape{64}, std::vector<uint8_t>(64, 255)), y(DType::kI32, Shape{16});
  Tensor scratch(DType::kU8, Shape{static_cast<int64_t>(primitive.scratchpad_bytes()) + 64});
  dnn::Stream stream;
  dnn::Call call(primitive);
  call.bind(dnn::Role::kWeights, primitive.pack_weights(w.view()).value());
  call.bind(dnn::Role::kSrc, x.data());
  call.bind(dnn::Role::kDst, y.data());
  call.bind_scratchpad(scratch.data());
  ASSERT_TRUE(call.execute(stream).ok());
  EXPECT_EQ(y.as<int32_t>()[0] == 2072640, isa().exact_int8)
      << isa().effective << " gave " << y.as<int32_t>()[0];
}

}  // namespace
}  // namespace tandem::exec
