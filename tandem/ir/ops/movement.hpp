// SPDX-License-Identifier: Apache-2.0
// Ops that move elements and compute nothing.
#pragma once

#include "tandem/ir/fields.hpp"
#include "tandem/ir/infer.hpp"

namespace tandem::ir {

// An empty perm reverses the dimensions.
struct Transpose {
  static constexpr std::string_view kName = "Transpose";
  std::vector<int64_t> perm;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("perm", s.perm);
  }
};

struct Concat {
  static constexpr std::string_view kName = "Concat";
  int64_t axis = 0;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
};

// Inputs: x, extents (i64, optional: equal parts, the last one smaller when they do not divide).
struct Split {
  static constexpr std::string_view kName = "Split";
  int64_t axis = 0;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
};

// Inputs: x, starts, ends, axes (optional), steps (optional); all i64 or i32, clamped as NumPy does.
struct Slice {
  static constexpr std::string_view kName = "Slice";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };
template <>
struct EnumNames<PadMode> {
  static constexpr std::array<std::string_view, 4> names = {"constant", "reflect", "edge", "wrap"};
};

// Inputs: x, pads (i64: all begins, all ends; negative crops), value (scalar, optional), axes (optional).
struct Pad {
  static constexpr std::string_view kName = "Pad";
  PadMode mode = PadMode::kConstant;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("mode", s.mode);
  }
};

// Inputs: x, shape (i64), broadcast in both directions.
struct Expand {
  static constexpr std::string_view kName = "Expand";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

// Inputs: x, repeats (i64).
struct Tile {
  static constexpr std::string_view kName = "Tile";
  template <typename S, typename F>
  static void fields(S&, F&&) {}
};

enum class DepthToSpaceMode : uint8_t { kDcr, kCrd };
template <>
struct EnumNames<DepthToSpaceMode> {
  static constexpr std::array<std::string_view, 2> names = {"dcr", "crd"};
};

// x [N,C,H,W] to [N,C/b^2,H*b,W*b].
struct DepthToSpace {
  static constexpr std::string_view kName = "DepthToSpace";
  int64_t blocksize = 1;
  DepthToSpaceMode mode = DepthToSpaceMode::kDcr;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("blocksize", s.blocksize);
    f("mode", s.mode);
  }
};

struct SpaceToDepth {
  static constexpr std::string_view kName = "SpaceToDepth";
  int64_t blocksize = 1;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("blocksize", s.blocksize);
  }
};

// Inputs: x, k (i64 scalar, optional).
struct Trilu {
  static constexpr std::string_view kName = "Trilu";
  bool upper = true;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("upper", s.upper);
  }
};

Inferred infer(const Transpose& op, InputInfos in, size_t output_count);
Inferred infer(const Concat& op, InputInfos in, size_t output_count);
Inferred infer(const Split& op, InputInfos in, size_t output_count);
Inferred infer(const Slice& op, InputInfos in, size_t output_count);
Inferred infer(const Pad& op, InputInfos in, size_t output_count);
Inferred infer(const Expand& op, InputInfos in, size_t output_count);
Inferred infer(const Tile& op, InputInfos in, size_t output_count);
Inferred infer(const DepthToSpace& op, InputInfos in, size_t output_count);
Inferred infer(const SpaceToDepth& op, InputInfos in, size_t output_count);
Inferred infer(const Trilu& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
