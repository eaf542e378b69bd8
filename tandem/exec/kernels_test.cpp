// SPDX-License-Identifier: Apache-2.0
// Row kernels: rounding against the definition in tensor/quant_params.hpp, and the wide builds against the
// portable one, bit for bit.
#include "tandem/exec/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tandem/base/rng.hpp"
#include "tandem/exec/rows.hpp"
#include "tandem/tensor/quant_params.hpp"
#include "tandem/testing/graph_builder.hpp"

namespace tandem::exec {
namespace {

RowType type_of(const QuantParams& q) {
  return {q.dtype,
          q.scale[0],
          q.zero_point[0],
          static_cast<int32_t>(q.lowest()),
          static_cast<int32_t>(q.highest()),
          q.scheme == Scheme::kPow2};
}

std::vector<float> hard_values(Rng& rng, float scale) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> v{0, -0.0f, inf, -inf, std::nanf(""), 1e30f, -1e30f, 1e-30f};
  for (int i = -300; i < 300; ++i) v.push_back((static_cast<float>(i) + 0.5f) * scale);  // ties
  for (int i = 0; i < 400; ++i) v.push_back(static_cast<float>(rng.uniform(-300, 300)) * scale);
  return v;
}

TEST(Kernels, StoreRoundsAsQuantParamsSays) {
  Rng rng(3);
  for (const QuantParams& q :
       {QuantParams::affine(DType::kU8, 0.25f, 0), QuantParams::affine(DType::kI8, 0.0173f, -7),
        QuantParams::affine(DType::kU8, 1.7f, 128), QuantParams::pow2(4), QuantParams::pow2(-2),
        QuantParams::pow2(3, DType::kI8, 5), QuantParams::affine(DType::kI16, 0.01f, 5)}) {
    const std::vector<float> x = hard_values(rng, q.scale[0]);
    const Tensor expected = quantize(Tensor::of<float>(Shape{static_cast<int64_t>(x.size())}, x).view(), q);
    for (const Kernels* k : {&kernels(), &portable_kernels()}) {
      Tensor got(q.dtype, expected.shape());
      k->store(x.data(), type_of(q), got.elements(), got.data());
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size_bytes()), 0)
          << q.to_string() << " by " << k->isa;
      Tensor real(DType::kF32, expected.shape());
      k->load(expected.data(), type_of(q), 1, got.elements(), real.as<float>().data());
      const Tensor wanted = dequantize(expected.view(), q);
      EXPECT_EQ(std::memcmp(real.data(), wanted.data(), real.size_bytes()), 0)
          << q.to_string() << " by " << k->isa;
    }
  }
}

// The wide builds divide by two fused Newton steps: every rounding must be that of x / scale.
TEST(Kernels, StoreDividesExactly) {
  Rng rng(11);
  for (int trial = 0; trial < 200; ++trial) {
    // Mantissas of scales from all over, the two ends of the binade among them.
    const float mantissa = trial == 0   ? 1.0f
                           : trial == 1 ? std::nextafter(2.0f, 0.0f)
                                        : static_cast<float>(rng.uniform(1, 2));
    const float scale = std::ldexp(mantissa, static_cast<int>(rng.uniform(-50, 50)));
    const RowType type = type_of(QuantParams::affine(DType::kI16, scale, 0));
    std::vector<float> x;
    for (int i = 0; i < 512; ++i) {
      // Neighbours of the products nearest to a tie: there one wrong bit of the quotient shows.
      const float tie = (static_cast<float>(static_cast<int>(rng.uniform(-30000, 30000))) + 0.5f) * scale;
      x.insert(x.end(), {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 1e30f)});
    }
    std::vector<int16_t> wide(x.size()), plain(x.size());
    const auto count = static_cast<int64_t>(x.size());
    kernels().store(x.data(), type, count, reinterpret_cast<std::byte*>(wide.data()));
    portable_kernels().store(x.data(), type, count, reinterpret_cast<std::byte*>(plain.data()));
    EXPECT_EQ(wide, plain) << "scale " << scale;
  }
}

TEST(Kernels, EveryInstructionSetGivesTheSameBits) {
  Rng rng(5);
  const std::vector<float> a = hard_values(rng, 0.1f), b = hard_values(rng, 0.03f);
  const int64_t count = static_cast<int64_t>(std::min(a.size(), b.size()));
  for (const RowOp op : {RowOp::kAdd, RowOp::kSub, RowOp::kMul, RowOp::kDiv, RowOp::kMin, RowOp::kMax}) {
    std::vector<float> x(static_cast<size_t>(count)), y = x;
    kernels().binary(op, a.data(), b.data(), count, x.data());
    portable_kernels().binary(op, a.data(), b.data(), count, y.data());
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])))
          << static_cast<int>(op) << " at " << i;
    }
  }
  for (const RowFunction f : {RowFunction::kRelu, RowFunction::kClip, RowFunction::kLeakyRelu,
                              RowFunction::kHardSigmoid, RowFunction::kHardSwish}) {
    std::vector<float> x = a, y = a;
    kernels().function(f, 0.2f, 0.5f, x.data(), static_cast<int64_t>(x.size()));
    portable_kernels().function(f, 0.2f, 0.5f, y.data(), static_cast<int64_t>(y.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])))
          << static_cast<int>(f) << " at " << i;
    }
  }
}

TEST(Rows, BroadcastAcrossLayouts) {
  // y[n,c,h,w] = x[n,c,h,w] * s[c], x and y channels last: rows of channels, s is read from its start in
  // each.
  const Shape x{1, 3, 2, 2}, s{3, 1, 1};
  const RowPlan plan = plan_rows(x, Layout::kChannelsLast, {{x, Layout::kChannelsLast}, {s, Layout::kPlain}});
  EXPECT_TRUE(plan.ok);
  EXPECT_EQ(plan.extent, (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(plan.stride[1], (std::vector<int64_t>{0, 1}));
  std::vector<float> in(12), scale{1, 10, 100}, out(12);
  for (size_t i = 0; i < 12; ++i) in[i] = static_cast<float>(i);
  const std::byte* from[2] = {reinterpret_cast<const std::byte*>(in.data()),
                              reinterpret_cast<const std::byte*>(scale.data())};
  run_rows(plan, from, {RowType{}, RowType{}}, RowType{}, reinterpret_cast<std::byte*>(out.data()),
           [](const float* const* r, int64_t count, float* y) {
             kernels().binary(RowOp::kMul, r[0], r[1], count, y);
           });
  EXPECT_EQ(out, (std::vector<float>{0, 10, 200, 3, 40, 500, 6, 70, 800, 9, 100, 1100}));
}

// Several narrow rows are handled as one, and a row of gates is read once for all pixels: the values stay
// those of the plain loop, for full and partial blocks, several images and rows longer than a block.
TEST(Rows, NarrowRowsAreJoined) {
  Rng rng(7);
  for (const int64_t channels : {1, 3, 24, 72, 700, 1024, 1500}) {
    for (const DType dtype : {DType::kF32, DType::kU8}) {
      const Shape x{2, channels, 5, 7}, gate{2, channels, 1, 1};
      const RowPlan plan =
          plan_rows(x, Layout::kChannelsLast, {{x, Layout::kChannelsLast}, {gate, Layout::kChannelsLast}});
      EXPECT_EQ(plan.rows_at_once > 1, channels < 700 && channels > 1) << channels;
      const QuantParams q = QuantParams::affine(DType::kU8, 0.05f, 3);
      const RowType type = dtype == DType::kU8 ? type_of(q) : RowType{};
      const Tensor a = testing::random_tensor(rng, dtype, x), b = testing::random_tensor(rng, dtype, gate);
      Tensor y(DType::kF32, x);
      const std::byte* from[2] = {a.data(), b.data()};
      run_rows(plan, from, {type, type}, RowType{}, y.data(),
               [](const float* const* r, int64_t count, float* out) {
                 kernels().binary(RowOp::kMul, r[0], r[1], count, out);
               });
      const auto real = [&](const Tensor& t, int64_t i) {
        return dtype == DType::kF32 ? t.as<float>()[static_cast<size_t>(i)]
                                    : 0.05f * static_cast<float>(t.as<uint8_t>()[static_cast<size_t>(i)] - 3);
      };
      for (int64_t i = 0; i < y.elements(); ++i) {
        const int64_t of_gate = i / (channels * 35) * channels + i % channels;
        ASSERT_EQ(y.as<float>()[static_cast<size_t>(i)], real(a, i) * real(b, of_gate))
            << channels << " channels, element " << i;
      }
    }
  }
}

TEST(Rows, StridedRowIsRefused) {
  const Shape x{1, 3, 2, 2}, map{3, 2, 2};
  EXPECT_FALSE(plan_rows(x, Layout::kChannelsLast, {{map, Layout::kPlain}}).ok);
}

}  // namespace
}  // namespace tandem::exec
