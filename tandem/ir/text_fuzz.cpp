// SPDX-License-Identifier: Apache-2.0
// Any bytes either fail to parse with a place, or give a graph that prints to a fixed point; and whatever
// parses may be verified, inferred, costed and bound to a batch without a crash.
#include <cstdint>
#include <string_view>
#include <vector>

#include "tandem/base/check.hpp"
#include "tandem/ir/cost.hpp"
#include "tandem/ir/text.hpp"
#include "tandem/ir/verify.hpp"

extern "C" bool tandem_fuzz_seed(size_t index, std::vector<uint8_t>* bytes) {
  constexpr std::string_view kSeeds[] = {
      R"(graph "g"
meta "k" = "v\n"
input %x : f32[?,3,8,8] q(u8 0.5 z128)
const %w : f32[4,3,1,1] q(i8 axis0 [0.1, 0.25, 1e-05, 3]) = 1
%y : f32[?,4,4,4] q(i8 fix5) = Conv(%x, %w, _) {window={strides=[2, 2], auto_pad=same_upper}, activation=clip(0, 6)} "c"
%s : i64[4] = ShapeOf(%y)
const %i : i64[1] = [0]
%n : i64[1] = Gather(%s, %i)
const %m : i64[1] = [-1]
%t : i64[2] = Concat(%n, %m)
%flat : f32[?,64] = Reshape(%y, %t)
output %flat
)",
      R"(input %x : f32[2,4]
const %k : i64[1] = [2]
%v : f32[2,2], %p : i64[2,2] = TopK(%x, %k) {axis=-1, sorted=false}
%o : f32[*] = Opaque(%v, _) {domain="d", op_type="Foo", attributes={a=1, b=float 0.5, g=tensor u8[2] = [1, 2], h=encoded "\x00"}}
%z : f32[2,2] = Pool(%v) {kind=max, window={kernel=[1, 1], pads=[0, 0, 1, 1]}, ceil_mode=true}
output %o
)",
      R"(input %x : f32[1,2,5,5]
const %sc : f32[4] = [1, 1, 2, 0.5]
%r : f32[1,2,10,2] = Resize(%x, _, %sc) {mode=linear, coordinates=align_corners}
const %st : i64[2] = [0, -9223372036854775807]
const %en : i64[2] = [9223372036854775807, 3]
%sl : f32[*] = Slice(%r, %st, %en)
const %pd : i64[8] = [0, 0, 1, 1, 0, 0, -1, 1]
%pp : f32[*] = Pad(%x, %pd) {mode=reflect}
%b : f32[*] = Binary(%sl, %pp) {kind=mul}
%d : f32[*] = ConvTranspose(%x, %sc) {output_padding=[1, 1], output_shape=[4, 4], group=2}
output %b
)"};
  if (index >= std::size(kSeeds)) return false;
  bytes->assign(kSeeds[index].begin(), kSeeds[index].end());
  return true;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const tandem::Result<tandem::ir::Graph> graph = tandem::ir::parse(text);
  if (!graph.ok()) return 0;
  const tandem::ir::PrintOptions all{.constant_elements_max = INT64_MAX};
  const std::string printed = tandem::ir::print(*graph, all);
  const tandem::Result<tandem::ir::Graph> again = tandem::ir::parse(printed);
  TANDEM_CHECK(again.ok(), "what print() wrote does not parse");
  TANDEM_CHECK(tandem::ir::print(*again, all) == printed, "printing is no fixed point");
  if (tandem::ir::verify(*graph).ok()) static_cast<void>(tandem::ir::total_cost(*graph));
  static_cast<void>(tandem::ir::parameter_count(*graph));
  static_cast<void>(tandem::ir::bind_batch(*graph, 3));
  tandem::ir::Graph copy = *graph;
  static_cast<void>(tandem::ir::infer_shapes(copy));
  return 0;
}
