// SPDX-License-Identifier: Apache-2.0
// The text form of a graph: what a person reads, edits, diffs, and writes tests in. One statement a line:
//
//   graph "tiny"
//   meta "tandem.labels" = "cat\ndog"
//   input %x : f32[?,3,8,8]                                    ? is a dynamic dimension, f32[*] an unknown
//   rank const %w : f32[4,3,1,1] q(i8 axis0 [0.1, 0.2, 0.1, 0.3]) = [1, -2, ...] %y : f32[?,4,8,8] q(i8 fix5)
//   = Conv(%x, %w, _) {window={strides=[2, 2]}, activation=clip(0, 6)} "conv1" %values : f32[?,1], _ =
//   TopK(%scores, %k)                  _ is an absent input or output output %y # a comment
//
// Attributes that have their default value are not printed. Names of other characters than letters, digits
// and _ . / - stand in quotes: %"a b", with \" \\ \n \xNN. q(...) is how the value is stored: q(u8 0.5 z128),
// q(i8:4 0.1) with 4 bits used, q(i8 fix5) with a scale of 2^-5, q(i8 axis0 [scales] z[zero points]). A
// constant of one number has it everywhere. Inside brackets a statement may go on in the next line. Values
// are declared before they are used.
#pragma once

#include <string>
#include <string_view>

#include "tandem/ir/graph.hpp"

namespace tandem::ir {

struct PrintOptions {
  int64_t constant_elements_max =
      16;  // larger constants print a hash instead of their values and cannot be parsed back
};

std::string print(const Graph& graph, const PrintOptions& options = {});
// Errors name line and column. The graph is well formed in itself, but only verify() says whether its ops fit
// together. Constants written as one number may take 256 MiB in all. NaNs lose their payload.
Result<Graph> parse(std::string_view text);
// Equality of ops by their fields; floats and tensors by their bits.
bool equal(const Op& a, const Op& b);

}  // namespace tandem::ir
