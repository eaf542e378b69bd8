// SPDX-License-Identifier: Apache-2.0
// What the shape rules of all ops share: counting inputs, limits against hostile numbers, dimensions that may
// be unknown.
#pragma once

#include <string>
#include <string_view>

#include "tandem/ir/fields.hpp"
#include "tandem/ir/infer.hpp"
#include "tandem/ir/ops/window.hpp"

namespace tandem::ir::rules {

inline constexpr size_t kMaxRank = 32;
inline constexpr int64_t kMaxElements = int64_t{1} << 48;   // of one tensor; also the largest dimension
inline constexpr int64_t kMaxAttribute = int64_t{1} << 31;  // of kernels, strides, pads and the like

// Inputs [0, required) are present and there are at most `allowed`; the same for outputs.
struct Arity {
  size_t inputs_required = 1;
  size_t inputs_allowed = 1;
  size_t outputs_allowed = 1;
};
Status check_arity(InputInfos in, size_t output_count, const Arity& arity);
// The input, or nullptr when it is absent.
const InputInfo* optional_input(InputInfos in, size_t index);

// The first output_count of `all`.
std::vector<OutputInfo> outputs(std::vector<OutputInfo> all, size_t output_count);
inline std::vector<OutputInfo> output(DType dtype, std::optional<Shape> shape) {
  return {OutputInfo{dtype, std::move(shape)}};
}

// Error over kMaxRank, kMaxElements (dynamic and empty dimensions count as 1) or a negative size.
Status check_size(const Shape& shape);

// A shape of that rank of which nothing else is known.
Shape unknown_of_rank(size_t rank);

// One extent from two statements about it; nothing when they contradict each other.
std::optional<int64_t> merge(int64_t a, int64_t b);
// Dimension by dimension; error when ranks or known dimensions differ. `what` names the second for the
// message.
Result<Shape> merge(const Shape& a, const Shape& b, std::string_view what);

// The product of dimensions: a symbol survives when everything else is 1. Precondition: factors passed
// check_size().
int64_t product(std::span<const int64_t> dims);

// NumPy broadcasting with symbols; unknown when one of the shapes is.
Result<std::optional<Shape>> broadcast(const std::optional<Shape>& a, const std::optional<Shape>& b);
// Error unless `from` broadcasts to exactly `to`.
Status broadcasts_to(const std::optional<Shape>& from, const std::optional<Shape>& to, std::string_view what);

// The dtype that all these inputs (those present) share; those of unknown dtype do not count.
Result<DType> common_dtype(InputInfos in);
Status expect_dtype(const InputInfo& input, DType dtype, std::string_view what);
Status expect_integer(const InputInfo& input, std::string_view what);
// Error when the rank is known and differs.
Status expect_rank(const InputInfo& input, size_t rank, std::string_view what);
Status expect_scalar(const InputInfo& input, std::string_view what);  // rank 0, or one element

// Number of elements of a 1-D input when that is known.
std::optional<int64_t> length_of(const InputInfo& input);
// All elements when every one is known.
std::optional<std::vector<int64_t>> known_ints(const InputInfo& input);

// Axes in positive form; error when one is out of range or given twice.
Result<std::vector<size_t>> normalize_axes(const std::vector<int64_t>& axes, size_t rank);

// Every value in [low, high].
Status check_range(const std::vector<int64_t>& values, int64_t low, int64_t high, std::string_view what);

// y [N,O,spatial...] of a convolution of x [N,C,spatial...] with w [O,C/group,kernel...]; unknown when x and
// w are.
Result<std::optional<Shape>> convolve(const Window& window, int64_t group, const InputInfo& x,
                                      const InputInfo& w);
// A per-channel vector: shape [channels] when both are known.
Status expect_channels(const InputInfo* vector, int64_t channels, std::string_view what);

Result<std::optional<Shape>> matmul_shape(const InputInfo& a, const InputInfo& b);

}  // namespace tandem::ir::rules
