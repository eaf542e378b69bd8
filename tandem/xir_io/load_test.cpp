// SPDX-License-Identifier: Apache-2.0
// Reading real files of several Vitis AI releases. The strongest judge of what ops mean here: a graph that
// the quantizer wrote and the file that AMD's compiler made of it must give the same integers.
#include <gtest/gtest.h>

#include <cstring>

#include "tandem/base/rng.hpp"
#include "tandem/ir/verify.hpp"
#include "tandem/ref/ref.hpp"
#include "tandem/testing/graph_builder.hpp"
#include "tandem/testing/shared_path.hpp"
#include "tandem/xir_io/xir_io.hpp"

namespace tandem::xir_io {
namespace {

struct RealFile {
  const char* name;
  FileKind kind;
  size_t opaque;  // ops that stay unknown: custom ones, and weights in an order of another DPU
};
constexpr RealFile kRealFiles[] = {{"dpupynq_mnist_classifier", FileKind::kCompiled, 0},
                                   {"vitisai_VoxelNet_int", FileKind::kQuantized, 1},
                                   {"vitisai_densebox_vck190", FileKind::kCompiled, 28},
                                   {"vitisai_pointpillars_zcu102_kv260_v25", FileKind::kCompiled, 1},
                                   {"vitisai_tf2_custom_op_vck190", FileKind::kCompiled, 10},
                                   {"vitisai_tf2_custom_op_zcu102_kv260_v25", FileKind::kCompiled, 1}};

TEST(Load, ReadsEveryRealFile) {
  TANDEM_SHARED_OR_SKIP(folder, "xmodels");
  for (const RealFile& file : kRealFiles) {
    SCOPED_TRACE(file.name);
    const Result<LoadedModel> model = load_model(fmt::format("{}/{}.xmodel", folder, file.name));
    ASSERT_TRUE(model.ok()) << model.error().message();
    EXPECT_EQ(model->report.kind, file.kind);
    EXPECT_EQ(model->report.opaque_ops.size(), file.opaque) << model->report.opaque_ops[0];
    EXPECT_EQ(model->report.devices.empty(), file.kind != FileKind::kCompiled);
    EXPECT_EQ(model->graph.metadata.count(kSubgraphsKey) > 0, file.kind == FileKind::kCompiled);
  }
}

// The part between two values, with another input size: a fully convolutional part works for any.
Result<ir::Graph> part(const ir::Graph& whole, const std::string& from, const std::vector<std::string>& to,
                       const Shape& shape) {
  ir::Graph graph = whole;
  const ir::ValueId input = graph.find_value(from);
  if (input == ir::kNoValue) return bad_input("no value " + from);
  if (graph.value(input).producer != ir::kNoNode) graph.remove_node(graph.value(input).producer);
  graph.inputs = {input};
  graph.outputs.clear();
  for (const std::string& name : to) {
    if (graph.find_value(name) == ir::kNoValue) return bad_input("no value " + name);
    graph.outputs.push_back(graph.find_value(name));
  }
  std::vector<ir::ValueId> needed = graph.outputs;
  std::vector<bool> used(graph.nodes().size(), false);
  for (size_t i = 0; i < needed.size(); ++i) {
    const ir::NodeId producer = graph.value(needed[i]).producer;
    if (producer == ir::kNoNode || used[index_of(producer)]) continue;
    used[index_of(producer)] = true;
    for (const ir::ValueId id : graph.node(producer).inputs) {
      if (id != ir::kNoValue) needed.push_back(id);
    }
  }
  for (const ir::NodeId id : graph.live_nodes()) {
    if (!used[index_of(id)]) graph.remove_node(id);
  }
  TANDEM_TRY(graph.compact());
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    if (!graph.values()[i].is_constant()) graph.value(ir::ValueId{i}).shape.reset();
  }
  graph.value(graph.inputs[0]).shape = shape;
  TANDEM_TRY(ir::infer_shapes(graph));
  TANDEM_TRY(ir::verify(graph));
  return graph;
}

// Both files name their tensors alike.
const std::string kNet = "VoxelNet__VoxelNet_";
const std::string kScattered = kNet + "input_4_fix";
TEST(Load, CompiledWeightsAreThoseOfTheirSource) {
  TANDEM_SHARED_OR_SKIP(folder, "xmodels");
  const Result<LoadedModel> source = load_model(folder + "/vitisai_VoxelNet_int.xmodel");
  const Result<LoadedModel> compiled = load_model(folder + "/vitisai_pointpillars_zcu102_kv260_v25.xmodel");
  ASSERT_TRUE(source.ok() && compiled.ok());
  int compared = 0, differing = 0;
  for (const ir::Value& value : source->graph.values()) {
    if (!value.is_constant() || !value.quant) continue;
    // "x_weight" and its fix there is one op in the compiled file, whose tensor has the name of the fix.
    const ir::ValueId other = compiled->graph.find_value(value.name + "_fix");
    ASSERT_NE(other, ir::kNoValue) << value.name;
    const ir::Value& theirs = compiled->graph.value(other);
    EXPECT_EQ(*value.quant, *theirs.quant) << value.name;
    ASSERT_EQ(value.constant->shape(), theirs.constant->shape()) << value.name;
    ++compared;
    differing +=
        std::memcmp(value.constant->data(), theirs.constant->data(), value.constant->size_bytes()) != 0;
  }
  EXPECT_EQ(compared, 46);
  EXPECT_EQ(differing, 0);
}

TEST(Load, TheCompiledFileComputesWhatItsSourceDoes) {
  TANDEM_SHARED_OR_SKIP(folder, "xmodels");
  const Result<LoadedModel> source = load_model(folder + "/vitisai_VoxelNet_int.xmodel");
  const Result<LoadedModel> compiled = load_model(folder + "/vitisai_pointpillars_zcu102_kv260_v25.xmodel");
  ASSERT_TRUE(source.ok() && compiled.ok());
  const std::string rpn = kNet + "RPN_rpn__Conv2d_conv_";
  const std::vector<std::string> heads = {rpn + "box__486_fix", rpn + "cls__496_fix",
                                          rpn + "dir_cls__514_fix"};
  Rng rng(3);
  // 64 channels on a grid of 32 x 24 instead of 496 x 432.
  std::vector<std::string> in_nchw;  // the source's outputs are turned to NHWC; these are they before
  for (const std::string& head : heads) in_nchw.push_back(head + ".inner");
  const auto a = part(source->graph, kScattered, in_nchw, Shape{1, 64, 32, 24});
  const auto b = part(compiled->graph, kScattered, heads, Shape{1, 64, 32, 24});
  ASSERT_TRUE(a.ok()) << a.error().message();
  ASSERT_TRUE(b.ok()) << b.error().message();
  const Tensor x = testing::random_tensor(rng, DType::kI8, Shape{1, 64, 32, 24}, -20, 90);
  const std::span<const Tensor> inputs(&x, 1);
  const auto left = ref::run(*a, inputs), right = ref::run(*b, inputs);
  ASSERT_TRUE(left.ok()) << left.error().message();
  ASSERT_TRUE(right.ok()) << right.error().message();
  for (size_t i = 0; i < heads.size(); ++i) {
    ASSERT_EQ((*left)[i].shape(), (*right)[i].shape());
    EXPECT_EQ(std::memcmp((*left)[i].data(), (*right)[i].data(), (*left)[i].size_bytes()), 0) << heads[i];
    float least = 0, greatest = 0;
    for (const float v : (*left)[i].as<float>()) {
      least = std::min(least, v);
      greatest = std::max(greatest, v);
    }
    EXPECT_LT(least, greatest) << "nothing was computed";
  }
}

}  // namespace
}  // namespace tandem::xir_io
