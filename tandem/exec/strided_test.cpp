// SPDX-License-Identifier: Apache-2.0
// Strided copies against the definition, element by element, on random strides; and the cases that must not
// move at all.
#include "tandem/exec/strided.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tandem/base/rng.hpp"
#include "tandem/exec/program.hpp"

namespace tandem::exec {
namespace {

TEST(StridedCopy, ChannelsLastIsATransposeOfPixelsAndChannels) {
  const Shape shape{1, 2, 1, 3};
  const std::vector<uint8_t> from{1, 2, 3, 10, 20, 30};
  std::vector<uint8_t> to(6);
  run(simplified({shape.dims(), strides_of(shape, Layout::kChannelsLast), shape.strides(), 1}),
      reinterpret_cast<const std::byte*>(from.data()), reinterpret_cast<std::byte*>(to.data()));
  EXPECT_EQ(to, (std::vector<uint8_t>{1, 10, 2, 20, 3, 30}));
}

TEST(StridedCopy, SameStridesAreOneRun) {
  const Shape shape{2, 3, 4, 5};
  EXPECT_TRUE(is_contiguous(simplified({shape.dims(), shape.strides(), shape.strides(), 4})));
  EXPECT_FALSE(is_contiguous(
      simplified({shape.dims(), strides_of(shape, Layout::kChannelsLast), shape.strides(), 4})));
  // One channel: both layouts are the same bytes.
  const Shape grey{2, 1, 4, 5};
  EXPECT_TRUE(
      is_contiguous(simplified({grey.dims(), strides_of(grey, Layout::kChannelsLast), grey.strides(), 4})));
  EXPECT_TRUE(layouts_agree(grey));
}

TEST(StridedCopy, RandomPermutationsOfAllWidthsMatchTheDefinition) {
  Rng rng(11);
  for (int round = 0; round < 300; ++round) {
    const size_t rank = 1 + rng.below(5);
    std::vector<int64_t> extent(rank);
    for (auto& e : extent) e = static_cast<int64_t>(1 + rng.below(20));
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), size_t{0});
    rng.shuffle(order);
    std::vector<int64_t> to_stride(rank), from_stride = Shape(extent).strides();
    int64_t step = 1;
    for (size_t i = rank; i-- > 0;) {
      to_stride[order[i]] = step;
      step *= extent[order[i]];
    }
    if (rng.below(4) == 0) from_stride[rng.below(rank)] = 0;  // broadcast
    const size_t width = size_t{1} << rng.below(4);
    const size_t count = static_cast<size_t>(step);
    std::vector<std::byte> from(count * width), to(count * width, std::byte{0}), expected = to;
    for (auto& b : from) b = static_cast<std::byte>(rng.below(256));
    for (size_t i = 0; i < count; ++i) {
      size_t rest = i;
      int64_t at_to = 0, at_from = 0;
      for (size_t d = rank; d-- > 0;) {
        const int64_t index = static_cast<int64_t>(rest % static_cast<size_t>(extent[d]));
        rest /= static_cast<size_t>(extent[d]);
        at_to += index * to_stride[d];
        at_from += index * from_stride[d];
      }
      std::copy_n(from.begin() + at_from * static_cast<int64_t>(width), width,
                  expected.begin() + at_to * static_cast<int64_t>(width));
    }
    run(simplified({extent, to_stride, from_stride, width}), from.data(), to.data());
    ASSERT_EQ(to, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace tandem::exec
