// SPDX-License-Identifier: Apache-2.0
// What save() adds to to_bytes(): weights beside the model, and the names of dimensions. Method: files are
// written, looked at through protobuf, and read again.
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <unistd.h>

#include <filesystem>

#include "tandem/base/file.hpp"
#include "tandem/onnx_io/model_maker.hpp"
#include "tandem/onnx_io/onnx_io.hpp"

namespace tandem::onnx_io {
namespace {

using ::testing::HasSubstr;

class Save : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / fmt::format("tandem_save_{}", getpid());
  std::string path_ = (folder_ / "model.onnx").string();
};

// Two tensors of 2048 bytes and one of 8.
ir::Graph three_constants() {
  ModelMaker maker;
  maker.input("x", {-1, 512}).floats("a", {512}, 1.5f).floats("b", {512}, 2.5f).floats("c", {2, 1}, 3);
  maker.node("Add", {"x", "a"}, {"xa"}).node("Add", {"xa", "b"}, {"xb"}).node("MatMul", {"c", "xb"}, {"y"});
  return load_bytes(maker.output("y").bytes()).value();
}

TEST_F(Save, LargeConstantsGoIntoAFileOfTheirOwn) {
  const ir::Graph graph = three_constants();
  ASSERT_TRUE(save(graph, path_, {.inline_bytes_max = 2048}).ok());
  // Each begins at a page: 4096 + 2048.
  EXPECT_EQ(std::filesystem::file_size(path_ + ".data"), 6144u);
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(read_file(path_).value()));
  int external = 0;
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) {
      EXPECT_EQ(tensor.name(), "c");
      continue;
    }
    ++external;
    EXPECT_EQ(tensor.external_data(0).value(), "model.onnx.data");
  }
  EXPECT_EQ(external, 2);
  const auto again = load(path_);
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_EQ(again->value(again->find_value("a")).constant->as<float>()[511], 1.5f);
  EXPECT_EQ(again->value(again->find_value("b")).constant->as<float>()[0], 2.5f);
}

TEST_F(Save, SmallModelsAreOneFile) {
  ASSERT_TRUE(save(three_constants(), path_).ok());
  EXPECT_FALSE(std::filesystem::exists(path_ + ".data"));
}

TEST_F(Save, LeavesNothingBehindWhenTheModelCannotBeWritten) {
  std::filesystem::create_directory(path_);
  const Status saved = save(three_constants(), path_, {.inline_bytes_max = 0});
  ASSERT_FALSE(saved.ok());
  EXPECT_THAT(saved.error().message(), HasSubstr("cannot write model"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) EXPECT_EQ(entry.path(), path_);
}

TEST_F(Save, ANodeThatNobodyReadsKeepsAnOutput) {
  ModelMaker maker;
  maker.input("x", {2}).node("Relu", {"x"}, {""}).node("Abs", {"x"}, {"y"}).output("y");
  const auto graph = load_bytes(maker.bytes());
  ASSERT_TRUE(graph.ok());
  const auto bytes = to_bytes(*graph);
  ASSERT_TRUE(bytes.ok());
  onnx::ModelProto file;
  ASSERT_TRUE(file.ParseFromString(*bytes));
  ASSERT_EQ(file.graph().node_size(), 2);
  EXPECT_EQ(file.graph().node(0).output_size(), 1);
  EXPECT_FALSE(file.graph().node(0).name().empty());
  EXPECT_TRUE(load_bytes(*bytes).ok());
}

TEST_F(Save, DimensionsKeepTheirNames) {
  ModelMaker maker;
  maker.input("x", {-1, 3, -1}).node("Relu", {"x"}, {"y"}).output("y");
  auto& shape = *maker.proto()
                     .mutable_graph()
                     ->mutable_input(0)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  shape.mutable_dim(0)->set_dim_param("batch");
  shape.mutable_dim(2)->set_dim_param("width");
  const ir::Graph graph = load_bytes(maker.bytes()).value();
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(to_bytes(graph).value()));
  const auto& written = model.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(written.dim(0).dim_param(), "batch");
  EXPECT_EQ(written.dim(1).dim_value(), 3);
  EXPECT_EQ(written.dim(2).dim_param(), "width");
  EXPECT_EQ(model.metadata_props_size(), 0);
}

TEST_F(Save, DimensionNamesThatAreNoneOfOursAreIgnored) {
  ir::Graph graph = three_constants();
  for (const char* text : {"", "[", "[1]", "{\"x\": 1}", "{\"x\": [[], 2, \"w\", \"too many\"]}"}) {
    graph.metadata["tandem.dimensions"] = text;
    EXPECT_TRUE(to_bytes(graph).ok()) << text;
  }
}

}  // namespace
}  // namespace tandem::onnx_io
