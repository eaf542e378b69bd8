// SPDX-License-Identifier: Apache-2.0
// Mapping to a DPU: hand-made graphs that break one rule each, the numbered cases of real bug reports, and op
// by op agreement with a file that AMD's compiler has placed.
#include "tandem/partition/mapping.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tandem/base/file.hpp"
#include "tandem/ir/text.hpp"
#include "tandem/testing/shared_path.hpp"
#include "tandem/xir_io/xir_io.hpp"

namespace tandem::partition {
namespace {

// The figures of DPUCZDX8G_ISA1_B4096 that the rules read, in the form of libtarget-factory.
constexpr const char* kB4096 = R"(
name: "DPUCZDX8G_ISA1_B4096"
type: "DPUCZDX8G"
isa_version: 1
bank_group {
  name: "VB0"
  bank_num: 8
  bank_width: 16
  bank_depth: 2048
  type: "Virtual"
}
bank_group {
  name: "CONVW"
  bank_num: 16
  bank_width: 16
  bank_depth: 2048
  type: "Param"
}
bank_group {
  name: "DWCONVW"
  bank_num: 1
  bank_width: 16
  bank_depth: 2048
  type: "Param"
}
conv_engine {
  input_channel_parallel: 16
  output_channel_parallel: 16
  pixel_parallel: 8
  weight_bank: "CONVW"
  nonlinear {
    nonlinear_type: relu
    nonlinear_type: leaky_relu
    nonlinear_type: relu_six
  }
  conv_limit {
    kernel_size: "1-16"
    stride: "1-8"
  }
}
eltwise_engine {
  nonlinear {
    nonlinear_type: relu
  }
}
alu_engine {
  weight_bank: "DWCONVW"
  alu_type: dwconv
  alu_type: avg_pool
  alu_type: max_pool
  alu_type: leaky_relu
  alu_type: hsigmoid
  nonlinear {
    nonlinear_type: relu
    nonlinear_type: relu_six
  }
  alu_limit {
    kernel_size: "1-256"
    stride: "1-256"
  }
  pad_limit {
    pad_left: "0-15"
    pad_right: "0-255"
  }
}
)";

DpuTarget b4096() {
  Result<DpuTarget> target = parse_dpu_target(kB4096);
  EXPECT_TRUE(target.ok());
  return std::move(target).value();
}

struct Mapped {
  ir::Graph graph;
  Mapping mapping;
  const NodeMapping& of(const std::string& name) const {
    for (const NodeMapping& node : mapping.nodes) {
      if (graph.node(node.node).name == name) return node;
    }
    ADD_FAILURE() << "no node " << name;
    return mapping.nodes[0];
  }
  size_t parts(Side side) const {
    size_t count = 0;
    for (const MappedPart& part : mapping.parts) count += part.side == side;
    return count;
  }
};

Mapped map_text(const std::string& text) {
  Result<ir::Graph> graph = ir::parse(text);
  EXPECT_TRUE(graph.ok()) << graph.error().message();
  EXPECT_TRUE(ir::infer_shapes(*graph).ok());
  Result<Mapping> mapping = map_to_dpu(*graph, b4096());
  EXPECT_TRUE(mapping.ok());
  return {std::move(*graph), std::move(*mapping)};
}

// One convolution of `weights` on x, both quantized.
std::string conv_text(const std::string& x, const std::string& weights, const std::string& attributes) {
  return fmt::format(
      "graph \"g\"\ninput %x : {} q(i8 fix5)\nconst %w : f32{} q(i8 fix6) = 1\n"
      "%y : f32[*] q(i8 fix4) = Conv(%x, %w){} \"conv\"\noutput %y\n",
      x, weights, attributes.empty() ? "" : " {" + attributes + "}");
}

TEST(DpuTarget, ReadsTheFiguresOfADescription) {
  const DpuTarget target = b4096();
  EXPECT_EQ(target.name, "DPUCZDX8G_ISA1_B4096");
  EXPECT_EQ(target.channels_max(), 4096);
  EXPECT_EQ(target.weight_bytes, 16 * 16 * 2048);
  EXPECT_EQ(target.conv_kernel.to_string(), "1..16");
  EXPECT_EQ(target.conv_activations.size(), 3u);
  EXPECT_EQ(full_target_name("B512"), "DPUCZDX8G_ISA1_B512");
  EXPECT_FALSE(parse_dpu_target("name: \"other\"\n").ok());
  EXPECT_FALSE(parse_dpu_target("nonsense\n").ok());
}

TEST(Mapping, AConvolutionWithinTheLimitsIsOnTheDpu) {
  const Mapped m =
      map_text(conv_text("f32[1,16,8,8]", "[32,16,3,3]", "window={pads=[1, 1, 1, 1]}, activation=relu"));
  EXPECT_EQ(m.of("conv").side, Side::kDpu);
  EXPECT_EQ(m.mapping.dpu_macs, 8 * 8 * 32 * 16 * 9);
  EXPECT_NE(m.mapping.summary(b4096()).find("1 of 1 nodes on the DPU (100.0 % of MACs) in 1 part"),
            std::string::npos);
}

TEST(Mapping, EveryLimitOfAConvolutionHasItsReason) {
  struct Row {
    std::string x, w, attributes;
    Reason reason;
    std::string limit, actual;
  };
  const std::vector<Row> rows = {
      {"f32[1,8,32,32]", "[8,8,17,17]", "", Reason::kKernel, "1..16", "17"},
      {"f32[1,8,32,32]", "[8,8,1,1]", "window={strides=[9, 9]}", Reason::kStride, "1..8", "9"},
      {"f32[1,1024,9,9]", "[8,1024,2,2]", "window={dilations=[5, 5]}", Reason::kDilation, "4096", "5 * 1024"},
      {"f32[1,8,8,8]", "[8,8,3,3]", "window={pads=[3, 3, 3, 3]}", Reason::kPad, "0..2", "3 and 3"},
      {"f32[1,64,14,14]", "[64,32,3,3]", "window={pads=[1, 1, 1, 1]}, group=2", Reason::kGroup, "1 or 64",
       "2"},
      {"f32[1,4097,1,1]", "[8,4097,1,1]", "", Reason::kDilation, "4096", "1 * 4097"},
      // 9 positions times ceil(4000 / 16) = 250 groups of channels.
      {"f32[1,4000,3,3]", "[8,4000,3,3]", "", Reason::kWeightDepth, "2048", "2250"},
      {"f32[1,8,8,8]", "[8,8,1,1]", "activation=hard_swish", Reason::kActivation,
       "leaky_relu, relu, relu_six", "hswish"},
      {"f32[1,8,8,8]", "[8,8,1,1]", "activation=leaky_relu(0.1, 0)", Reason::kSlope, "0.1015625", "0.1"}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.w + row.attributes);
    const Mapped m = map_text(conv_text(row.x, row.w, row.attributes));
    const NodeMapping& node = m.of("conv");
    EXPECT_EQ(node.side, Side::kCpu);
    EXPECT_EQ(info_of(node.reason).code, info_of(row.reason).code);
    EXPECT_EQ(node.limit, row.limit);
    EXPECT_EQ(node.actual, row.actual);
  }
}

TEST(Mapping, CaseG01AnUnquantizedAdditionIsNamedWithItsReason) {
  const Mapped m = map_text(R"(graph "g01"
input %x : f32[1,8,16,16] q(i8 fix5)
const %w : f32[8,8,3,3] q(i8 fix6) = 1
const %v : f32[8,8,1,1] q(i8 fix6) = 1
const %half : f32[] = 0.5
%a : f32[*] q(i8 fix4) = Conv(%x, %w) {window={pads=[1, 1, 1, 1]}} "first"
%b : f32[*] = Binary(%a, %half) "add"
%c : f32[*] q(i8 fix4) = Conv(%b, %v) "second"
output %c
)");
  EXPECT_EQ(m.of("add").side, Side::kCpu);
  EXPECT_EQ(info_of(m.of("add").reason).code, "constant-operand");
  EXPECT_EQ(info_of(m.of("second").reason).code, "not-quantized");  // what it reads is real
  EXPECT_EQ(m.of("first").side, Side::kDpu);
  EXPECT_EQ(m.parts(Side::kDpu), 1u);
}

TEST(Mapping, CaseG02EveryLeakyReluIsNamedAndThePartsAreCounted) {
  const auto chain = [](const std::string& slope) {
    std::string text =
        "graph \"g02\"\ninput %x : f32[1,16,32,32] q(i8 fix5)\nconst %w : f32[16,16,3,3] q(i8 fix6) = 1\n";
    std::string from = "%x";
    for (int i = 0; i < 4; ++i) {
      text += fmt::format(
          "%c{0} : f32[*] q(i8 fix4) = Conv({1}, %w) {{window={{pads=[1, 1, 1, 1]}}}} \"conv{0}\"\n", i,
          from);
      text += fmt::format(
          "%l{0} : f32[*] q(i8 fix4) = Unary(%c{0}) {{kind=leaky_relu, alpha={1}}} \"leaky{0}\"\n", i, slope);
      from = fmt::format("%l{}", i);
    }
    return text + "output %l3\n";
  };
  const Mapped refused = map_text(chain("0.1"));
  for (int i = 0; i < 4; ++i) {
    const NodeMapping& node = refused.of(fmt::format("leaky{}", i));
    EXPECT_EQ(node.side, Side::kCpu);
    EXPECT_EQ(node.limit, "0.1015625");
    EXPECT_EQ(node.actual, "0.1");
  }
  EXPECT_EQ(refused.parts(Side::kDpu), 4u);
  EXPECT_EQ(refused.parts(Side::kCpu), 4u);
  const Mapped allowed = map_text(chain("0.1015625"));
  EXPECT_EQ(allowed.parts(Side::kDpu), 1u);
  EXPECT_EQ(allowed.parts(Side::kCpu), 0u);
}

TEST(Mapping, CaseG03AReluBehindAPoolIsRefusedWithTheWayOut) {
  const Mapped m = map_text(R"(graph "g03"
input %x : f32[1,8,28,28] q(i8 fix5)
%p : f32[*] q(i8 fix5) = Pool(%x) {window={kernel=[2, 2], strides=[2, 2]}} "pool"
%r : f32[*] q(i8 fix5) = Unary(%p) "relu"
output %r
)");
  EXPECT_EQ(m.of("pool").side, Side::kDpu);
  EXPECT_EQ(m.of("relu").side, Side::kCpu);
  EXPECT_EQ(info_of(m.of("relu").reason).code, "activation-alone");
  EXPECT_NE(std::string(info_of(m.of("relu").reason).fix).find("max pool"), std::string::npos);
}

TEST(Mapping, CaseG07AFloatModelMapsNothing) {
  const Mapped m = map_text(R"(graph "g07"
input %x : f32[1,8,8,8]
const %w : f32[8,8,1,1] = 1
%y : f32[*] = Conv(%x, %w) "conv"
output %y
)");
  EXPECT_EQ(m.parts(Side::kDpu), 0u);
  EXPECT_EQ(info_of(m.of("conv").reason).code, "not-quantized");
  EXPECT_NE(m.mapping.summary(b4096()).find("0 of 1 nodes"), std::string::npos);
}

TEST(Mapping, EveryReasonHasOneRow) {
  std::map<std::string_view, int> codes;
  for (const ReasonInfo& info : reason_table()) ++codes[info.code];
  EXPECT_EQ(codes.size(), reason_table().size());
  EXPECT_EQ(reason_table().size(), static_cast<size_t>(Reason::kScale) + 1);
}

// docs/mapping.md: UPDATE_GOLDEN=1 writes it again.
TEST(Mapping, TheDocumentIsTheTable) {
  std::string page =
      "# What a DPU takes, and the reasons why not\n"
      "\n"
      "Written by `UPDATE_GOLDEN=1 partition_tests --gtest_filter='Mapping.TheDocumentIsTheTable'` from the table in\n"
      "`tandem/partition/mapping.cpp`. `map_to_dpu()` names the reason, the limit of the target and the actual value for every node\n"
      "that stays on the CPU. Limits come from the target's own description\n"
      "(libtarget-factory 2.5); the rules are those of DPUCZDX8G with ISA 1.\n"
      "\n"
      "| reason | what must hold | what helps |\n|---|---|---|\n";
  for (const ReasonInfo& info : reason_table())
    page += fmt::format("| {} | {} | {} |\n", info.code, info.rule, info.fix);
  if (getenv("UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file("docs/mapping.md", page).ok());
  }
  const Result<std::string> file = read_file("docs/mapping.md");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*file, page);
}

TEST(Mapping, AgreesOpByOpWithTheCompiler) {
  TANDEM_SHARED_OR_SKIP(folder, "xmodels");
  const Result<xir_io::LoadedModel> source = xir_io::load_model(folder + "/vitisai_VoxelNet_int.xmodel");
  const Result<xir_io::LoadedModel> compiled =
      xir_io::load_model(folder + "/vitisai_pointpillars_zcu102_kv260_v25.xmodel");
  ASSERT_TRUE(source.ok() && compiled.ok());
  const Result<Mapping> mapping = map_to_dpu(source->graph, b4096());
  ASSERT_TRUE(mapping.ok());
  // Tensors have one name in both files; the compiler's copies of them at a border have more in their names.
  std::map<std::string, std::string> placed;
  for (const auto& [name, device] : compiled->report.devices) {
    const ir::NodeId id = compiled->graph.find_node(name);
    if (id == ir::kNoNode) continue;
    std::string value = compiled->graph.value(compiled->graph.node(id).outputs[0]).name;
    if (value.ends_with("_download_0")) value.resize(value.size() - 11);
    const bool border = std::holds_alternative<ir::Identity>(compiled->graph.node(id).op);
    if (!border) placed[value] = device;
  }
  int compared = 0;
  for (const NodeMapping& node : mapping->nodes) {
    if (node.side == Side::kNothing) continue;
    std::string value = source->graph.value(source->graph.node(node.node).outputs[0]).name;
    if (value.ends_with(".inner")) value.resize(value.size() - 6);
    auto found = placed.find(value);
    // A result that gets its scale behind a Concat is fixed by the compiler, under a longer name.
    if (found == placed.end()) found = placed.lower_bound(value);
    ASSERT_TRUE(found != placed.end() && found->first.starts_with(value)) << value;
    EXPECT_EQ(to_string(node.side), found->second) << value << ": " << info_of(node.reason).code;
    ++compared;
  }
  EXPECT_EQ(compared, 26);
  size_t dpu_parts = 0;
  for (const MappedPart& part : mapping->parts) dpu_parts += part.side == Side::kDpu;
  EXPECT_EQ(dpu_parts, 2u);  // as in the compiled file: before and behind the scatter
}

}  // namespace
}  // namespace tandem::partition
