// SPDX-License-Identifier: Apache-2.0
// The neutral form and the helper program: what goes through libxir comes back the same, what libxir aborts
// on is an error.
#include <gtest/gtest.h>

#include "tandem/base/file.hpp"
#include "tandem/testing/shared_path.hpp"
#include "tandem/xir_io/helper.hpp"
#include "tandem/xir_io/xmodel.hpp"

namespace tandem::xir_io {
namespace {

// data -> fix -> relu, in one subgraph of two levels.
XModel small() {
  XModel model;
  model.name = "small";
  model.attributes["origin"] = std::string("hand");
  XOp data;
  data.name = "x";
  data.type = "data";
  data.attributes["shape"] = std::vector<int32_t>{1, 2, 3, 4};
  data.attributes["data_type"] = std::string("FLOAT32");
  data.tensor = {"x", {1, 2, 3, 4}, "FLOAT32", {}};
  XOp fix;
  fix.name = "x_fix";
  fix.type = "fix";
  fix.arguments = {{"input", {0}}};
  fix.attributes["fix_point"] = int32_t{5};
  fix.attributes["bit_width"] = int32_t{8};
  fix.attributes["if_signed"] = true;
  fix.attributes["round_mode"] = std::string("DPU_ROUND");
  fix.tensor = {"x_fix", {1, 2, 3, 4}, "FLOAT32", {}};
  XOp relu;
  relu.name = "y";
  relu.type = "relu";
  relu.arguments = {{"input", {1}}};
  relu.attributes["words"] = std::vector<std::string>{"a", "b"};
  relu.attributes["raw"] = Blob{std::string("\0\1\2", 3)};
  relu.attributes["big"] = uint64_t{1} << 60;
  relu.tensor = {"y_renamed", {1, 2, 3, 4}, "FLOAT32", {{"note", std::string("n")}}};
  model.ops = {data, fix, relu};
  XSubgraph inner{"inner", {{"device", std::string("CPU")}}, {2}, {}};
  XSubgraph outer{"outer", {{"device", std::string("USER")}}, {0}, {}};
  XSubgraph middle{"middle", {}, {1}, {}};
  model.root = {"root", {}, {}, {outer, middle, inner}};
  return model;
}

TEST(Wire, KeepsEverythingAndRefusesDamage) {
  const XModel model = small();
  const std::string wire = to_wire(model);
  const Result<XModel> back = from_wire(wire);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(to_wire(*back), wire);
  EXPECT_EQ(content_hash(*back), content_hash(model));
  for (size_t length = 0; length < wire.size(); ++length) {
    EXPECT_FALSE(from_wire(std::string_view(wire).substr(0, length)).ok()) << length;
  }
  XModel forward = model;
  forward.ops[1].arguments[0].ops[0] = 2;  // a later op
  EXPECT_FALSE(from_wire(to_wire(forward)).ok());
  forward = model;
  forward.root.children[0].ops[0] = 99;
  EXPECT_FALSE(from_wire(to_wire(forward)).ok());
}

TEST(ContentHash, SeesEveryChangeAndNoOrder) {
  const XModel model = small();
  XModel changed = model;
  changed.ops[1].attributes["fix_point"] = int32_t{6};
  EXPECT_NE(content_hash(changed), content_hash(model));
  changed = model;
  changed.root.children[2].attributes["device"] = std::string("DPU");
  EXPECT_NE(content_hash(changed), content_hash(model));
  changed = model;
  changed.ops[2].arguments[0].ops[0] = 0;
  EXPECT_NE(content_hash(changed), content_hash(model));
  // Two independent ops in the other order.
  XModel two;
  two.ops = {model.ops[0], model.ops[0]};
  two.ops[1].name = two.ops[1].tensor.name = "z";
  XModel swapped = two;
  std::swap(swapped.ops[0], swapped.ops[1]);
  EXPECT_EQ(content_hash(two), content_hash(swapped));
}

TEST(Helper, WritesAndReadsBackTheSame) {
  XModel model = small();
  const Result<std::string> bytes = write_xmodel(model);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message();
  EXPECT_TRUE(looks_like_xmodel(*bytes));
  const Result<XModel> back = read_xmodel(*bytes);
  ASSERT_TRUE(back.ok()) << back.error().message();
  ASSERT_EQ(back->ops.size(), 3u);
  EXPECT_EQ(back->root.children.size(), 3u);
  EXPECT_EQ(back->ops[2].tensor.name, "y_renamed");
  EXPECT_EQ(back->ops[2].attributes.at("big"), model.ops[2].attributes.at("big"));
  EXPECT_EQ(back->ops[2].attributes.at("raw"), model.ops[2].attributes.at("raw"));
  // Writing once more gives other bytes perhaps, but the same content.
  const Result<XModel> again = read_xmodel(*write_xmodel(*back));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(content_hash(*again), content_hash(*back));
}

TEST(Helper, TurnsAbortsIntoErrors) {
  const std::string good = *write_xmodel(small());
  for (const std::string& bad :
       {std::string(), std::string("garbage"), std::string(1000, '\xff'), good.substr(0, good.size() / 2)}) {
    const Result<XModel> result = read_xmodel(bad);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code(), ErrorCode::kBadInput);
  }
  XModel twice = small();
  twice.ops[1].name = "x";
  const Result<std::string> refused = write_xmodel(twice);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnsupported);
  XModel lacking = small();
  lacking.ops[1].attributes.erase("fix_point");
  EXPECT_FALSE(write_xmodel(lacking).ok());
  XModel wrong_shape = small();
  wrong_shape.ops[2].tensor.shape = {1, 2, 3, 5};
  EXPECT_FALSE(write_xmodel(wrong_shape).ok());
}

TEST(Helper, KeepsRealFiles) {
  const auto folder = testing::shared_path("xmodels");
  if (!folder) GTEST_SKIP() << "the shared models are not here";
  for (const char* name : {"dpupynq_mnist_classifier", "vitisai_VoxelNet_int", "vitisai_densebox_vck190",
                           "vitisai_pointpillars_zcu102_kv260_v25", "vitisai_tf2_custom_op_vck190",
                           "vitisai_tf2_custom_op_zcu102_kv260_v25"}) {
    SCOPED_TRACE(name);
    const Result<std::string> bytes = read_file(fmt::format("{}/{}.xmodel", *folder, name));
    ASSERT_TRUE(bytes.ok());
    EXPECT_TRUE(looks_like_xmodel(*bytes));
    const Result<XModel> model = read_xmodel(*bytes);
    ASSERT_TRUE(model.ok()) << model.error().message();
    EXPECT_TRUE(model->notices.empty());
    const Result<std::string> written = write_xmodel(*model);
    ASSERT_TRUE(written.ok()) << written.error().message();
    const Result<XModel> back = read_xmodel(*written);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(content_hash(*back), content_hash(*model));
  }
}

TEST(LooksLikeXmodel, TellsOnnxAndGarbageApart) {
  EXPECT_FALSE(looks_like_xmodel(""));
  EXPECT_FALSE(looks_like_xmodel("garbage"));
  EXPECT_FALSE(looks_like_xmodel(std::string("\x08\x08\x12\x04test", 8)));  // ONNX: IR version 8, a producer
  EXPECT_TRUE(looks_like_xmodel(std::string("\x0a\x01x\x2a\x10", 5)));      // a name, then an op cut off
}

}  // namespace
}  // namespace tandem::xir_io
