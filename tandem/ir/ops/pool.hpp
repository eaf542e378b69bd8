// SPDX-License-Identifier: Apache-2.0
// Pools over a window or over all spatial dimensions. x [N,C,spatial...]
#pragma once

#include "tandem/ir/infer.hpp"
#include "tandem/ir/ops/window.hpp"

namespace tandem::ir {

enum class PoolKind : uint8_t { kMax, kAverage, kLp };
template <>
struct EnumNames<PoolKind> {
  static constexpr std::array<std::string_view, 3> names = {"max", "average", "lp"};
};

// Outputs: y, and for max optionally the i64 indices of the winners (flat over the whole of x).
struct Pool {
  static constexpr std::string_view kName = "Pool";
  PoolKind kind = PoolKind::kMax;
  Window window;
  bool ceil_mode = false;
  bool count_include_pad = false;  // average only
  int64_t p = 2;                   // lp only
  int64_t storage_order = 0;       // of the indices: 0 row-major, 1 column-major
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind);
    f("window", s.window);
    f("ceil_mode", s.ceil_mode);
    f("count_include_pad", s.count_include_pad);
    f("p", s.p);
    f("storage_order", s.storage_order);
  }
};

struct GlobalPool {
  static constexpr std::string_view kName = "GlobalPool";
  PoolKind kind = PoolKind::kAverage;
  int64_t p = 2;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind);
    f("p", s.p);
  }
};

Inferred infer(const Pool& op, InputInfos in, size_t output_count);
Inferred infer(const GlobalPool& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
