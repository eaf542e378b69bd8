// SPDX-License-Identifier: Apache-2.0
// Goal: which elements a pool sees and what it divides by. Method: small planes by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "tandem/ref/kernels_for_test.hpp"

namespace tandem::ref {
namespace {

using Floats = std::vector<float>;
using ir::PoolKind;

ir::Pool pool(PoolKind kind, std::vector<int64_t> kernel, std::vector<int64_t> strides,
              std::vector<int64_t> pads = {}) {
  ir::Pool op;
  op.kind = kind;
  op.window.kernel = std::move(kernel);
  op.window.strides = std::move(strides);
  op.window.pads = std::move(pads);
  return op;
}

TEST(MaxPool, AllNegativeWindowsStayNegative) {
  const Tensor x = f32({1, 1, 2, 2}, {-4, -3, -2, -9});
  EXPECT_EQ(values<float>(run_op(pool(PoolKind::kMax, {2, 2}, {1, 1}, {1, 1, 0, 0}), {&x})[0]),
            (Floats{-4, -3, -2, -2}));
}

TEST(MaxPool, IndicesAreFlatOverAllOfX) {
  ir::Pool op = pool(PoolKind::kMax, {2, 2}, {2, 2});
  const Tensor x = f32({1, 2, 2, 4}, {0, 9, 1, 2, 3, 4, 8, 5, 7, 0, 0, 0, 0, 0, 0, 6});
  auto y = run_op(op, {&x}, 2);
  EXPECT_EQ(values<float>(y[0]), (Floats{9, 8, 7, 6}));
  EXPECT_EQ(values<int64_t>(y[1]), (std::vector<int64_t>{1, 6, 8, 15}));
  op.storage_order = 1;  // column-major: (row 0, column 1) is 0 + 1 * 2
  y = run_op(op, {&x}, 2);
  EXPECT_EQ(values<int64_t>(y[1]), (std::vector<int64_t>{2, 5, 8, 15}));
}

TEST(MaxPool, CeilModeAddsAPartialWindow) {
  ir::Pool op = pool(PoolKind::kMax, {2}, {2});
  const Tensor x = f32({1, 1, 5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(values<float>(run_op(op, {&x})[0]), (Floats{2, 4}));
  op.ceil_mode = true;
  EXPECT_EQ(values<float>(run_op(op, {&x})[0]), (Floats{2, 4, 5}));
}

TEST(AveragePool, CountsPaddingOnlyWhenAsked) {
  ir::Pool op = pool(PoolKind::kAverage, {3}, {2}, {1, 1});
  const Tensor x = f32({1, 1, 3}, {3, 6, 9});
  EXPECT_EQ(values<float>(run_op(op, {&x})[0]), (Floats{4.5f, 7.5f}));
  op.count_include_pad = true;
  EXPECT_EQ(values<float>(run_op(op, {&x})[0]), (Floats{3, 5}));
}

TEST(AveragePool, CeilModeBeyondThePaddingNeverCounts) {
  ir::Pool op = pool(PoolKind::kAverage, {3}, {2});
  op.ceil_mode = true;
  op.count_include_pad = true;
  const Tensor x = f32({1, 1, 4}, {3, 6, 9, 12});
  EXPECT_EQ(values<float>(run_op(op, {&x})[0]), (Floats{6, 10.5f}));  // the second window has two elements
}

TEST(GlobalPool, AverageMaxAndNorm) {
  const Tensor x = f32({1, 2, 1, 2}, {3, 4, -5, 12});
  EXPECT_EQ(values<float>(run_op(ir::GlobalPool{PoolKind::kAverage}, {&x})[0]), (Floats{3.5f, 3.5f}));
  EXPECT_EQ(values<float>(run_op(ir::GlobalPool{PoolKind::kMax}, {&x})[0]), (Floats{4, 12}));
  EXPECT_EQ(values<float>(run_op(ir::GlobalPool{PoolKind::kLp, 2}, {&x})[0]), (Floats{5, 13}));
}

}  // namespace
}  // namespace tandem::ref
