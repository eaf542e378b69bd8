// SPDX-License-Identifier: Apache-2.0
// Files that are no models, or models that lie. Goal: each gives a message that says what it is and where;
// none crashes.
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <limits>
#include <set>

#include "tandem/base/file.hpp"
#include "tandem/onnx_io/model_maker.hpp"
#include "tandem/onnx_io/onnx_io.hpp"

namespace tandem::onnx_io {
namespace {

using ::testing::HasSubstr;

std::string message_of(const std::string& bytes) {
  const auto loaded = load_bytes(bytes);
  return loaded.ok() ? "loaded" : loaded.error().message();
}

ModelMaker small() {
  ModelMaker maker;
  maker.input("x", {1, 4}).floats("w", {4, 64}, 0.5f).node("MatMul", {"x", "w"}, {"y"}).output("y");
  return maker;
}

// G27: five files, five messages, one exit code.
TEST(BadFiles, G27EachKindHasItsOwnMessage) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid "
      "sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
      "size 12345\n";
  EXPECT_THAT(message_of(pointer), HasSubstr("Git LFS pointer"));

  const std::string whole = small().bytes();
  const std::string cut = whole.substr(0, whole.size() * 6 / 10);
  EXPECT_THAT(message_of(cut), HasSubstr(fmt::format("truncated: it ends at byte {}", cut.size())));
  EXPECT_THAT(message_of(cut), HasSubstr("model.graph"));

  ModelMaker future_ir(17, 99);
  future_ir.input("x", {1}).output("x");
  EXPECT_THAT(message_of(future_ir.bytes()), HasSubstr("IR version 99; versions 3 to 13"));

  ModelMaker future_opset(99);
  future_opset.input("x", {1}).output("x");
  EXPECT_THAT(message_of(future_opset.bytes()), HasSubstr("opset 99; opsets 6 to 28"));

  const std::string page = "\n<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>";
  EXPECT_THAT(message_of(page), HasSubstr("web page"));

  std::set<std::string> messages;
  for (const std::string& bytes : {pointer, cut, future_ir.bytes(), future_opset.bytes(), page}) {
    const auto loaded = load_bytes(bytes);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code(), ErrorCode::kBadInput);
    messages.insert(loaded.error().what());
  }
  EXPECT_EQ(messages.size(), 5u);
}

TEST(BadFiles, EmptyZipAndGarbageSayWhatTheyAre) {
  EXPECT_THAT(message_of(""), HasSubstr("empty"));
  EXPECT_THAT(message_of(std::string("PK\x03\x04zzzz", 8)), HasSubstr("zip archive"));
  EXPECT_THAT(message_of("hello, this is plain text"), HasSubstr("not an ONNX model"));
  EXPECT_THAT(message_of(std::string(64, '\xff')), HasSubstr("not an ONNX model"));
  onnx::ModelProto no_graph;
  no_graph.set_ir_version(8);
  EXPECT_THAT(message_of(no_graph.SerializeAsString()), HasSubstr("no graph"));
}

// Cutting anywhere must end in a message; where the cut leaves a whole message behind, in a model without its
// tail.
TEST(BadFiles, ACutAtEveryByteNeverCrashes) {
  const std::string whole = small().bytes();
  int truncated = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string message = message_of(whole.substr(0, size));
    if (message.find("truncated") != std::string::npos) ++truncated;
  }
  EXPECT_GT(truncated, static_cast<int>(whole.size()) * 9 / 10);
}

TEST(BadFiles, CyclesDuplicatesAndUnknownNamesAreNamed) {
  ModelMaker cycle;
  cycle.input("x", {1})
      .node("Add", {"x", "b"}, {"a"}, {}, "first")
      .node("Relu", {"a"}, {"b"}, {}, "second")
      .output("b");
  EXPECT_THAT(message_of(cycle.bytes()), HasSubstr("cycle"));
  EXPECT_THAT(message_of(cycle.bytes()), HasSubstr("'first'"));

  ModelMaker twice;
  twice.input("x", {1}).node("Relu", {"x"}, {"y"}).node("Neg", {"x"}, {"y"}).output("y");
  EXPECT_THAT(message_of(twice.bytes()), HasSubstr("'y' is defined twice"));

  ModelMaker unknown;
  unknown.input("x", {1}).node("Add", {"x", "ghost"}, {"y"}, {}, "adder").output("y");
  EXPECT_THAT(message_of(unknown.bytes()), HasSubstr("'adder' (Add) reads 'ghost', which nothing defines"));

  ModelMaker no_output;
  no_output.input("x", {1}).output("y");
  EXPECT_THAT(message_of(no_output.bytes()), HasSubstr("'y' is made by nothing"));
}

TEST(BadFiles, ShapesThatLieAreRefusedBeforeMemoryIsAskedFor) {
  ModelMaker lying = small();
  lying.proto().mutable_graph()->mutable_initializer(0)->set_dims(1, 65);
  EXPECT_THAT(message_of(lying.bytes()),
              HasSubstr("'w' has 1024 bytes of data, but its shape [4,65] of f32 needs 1040"));

  ModelMaker huge = small();
  huge.proto().mutable_graph()->mutable_initializer(0)->set_dims(0, int64_t{1} << 40);
  huge.proto().mutable_graph()->mutable_initializer(0)->set_dims(1, int64_t{1} << 40);
  EXPECT_THAT(message_of(huge.bytes()), HasSubstr("'w' has an impossible shape"));

  ModelMaker negative = small();
  negative.proto().mutable_graph()->mutable_initializer(0)->set_dims(0, -4);
  EXPECT_THAT(message_of(negative.bytes()), HasSubstr("'w' has an impossible shape"));

  ModelMaker typed;
  auto& tensor = *typed.input("x", {2})
                      .node("Add", {"x", "w"}, {"y"})
                      .output("y")
                      .proto()
                      .mutable_graph()
                      ->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::INT8);
  tensor.add_dims(2);
  tensor.add_int32_data(1);
  EXPECT_THAT(message_of(typed.bytes()), HasSubstr("'w' has 1 elements of data"));
  tensor.add_int32_data(300);
  EXPECT_THAT(message_of(typed.bytes()), HasSubstr("element 1 is 300, which i8 cannot hold"));
}

TEST(BadFiles, AnAttributeOfTheWrongTypeNamesNodeAndAttribute) {
  ModelMaker maker;
  maker.input("x", {1, 4}).node("Flatten", {"x"}, {"y"}, {{"axis", std::string("one")}}, "flat").output("y");
  EXPECT_THAT(message_of(maker.bytes()),
              HasSubstr("importing node 'flat' (Flatten): attribute 'axis' is no integer"));
}

TEST(BadFiles, NanWeightsLoadWithANotice) {
  ModelMaker maker;
  maker.input("x", {1})
      .floats("w", {1}, std::numeric_limits<float>::quiet_NaN())
      .node("Add", {"x", "w"}, {"y"})
      .output("y");
  const auto loaded = load_model_bytes(maker.bytes(), "");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message();
  EXPECT_THAT(loaded->report.notices, ::testing::Contains(HasSubstr("'w' contains NaN")));
}

class ExternalDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / "tandem_external_data";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "model");
    write_file((folder_ / "secret.bin").string(), std::string(64, 's')).value();
    std::string data(16, '\0');
    const float values[4] = {1, 2, 3, 4};
    data.append(reinterpret_cast<const char*>(values), sizeof values);
    write_file((folder_ / "model" / "weights.bin").string(), data).value();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<ir::Graph> load_with(const std::string& location, const std::string& offset,
                              const std::string& length) {
    ModelMaker maker;
    auto& tensor = *maker.input("x", {4})
                        .node("Add", {"x", "w"}, {"y"})
                        .output("y")
                        .proto()
                        .mutable_graph()
                        ->add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(4);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto put = [&](const char* key, const std::string& value) {
      if (value.empty()) return;
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    put("location", location);
    put("offset", offset);
    put("length", length);
    const std::string path = (folder_ / "model" / "model.onnx").string();
    write_file(path, maker.bytes()).value();
    return load(path);
  }
  std::string message_with(const std::string& location, const std::string& offset,
                           const std::string& length) {
    const auto loaded = load_with(location, offset, length);
    return loaded.ok() ? "loaded" : loaded.error().message();
  }
  std::filesystem::path folder_;
};

TEST_F(ExternalDataTest, IsReadFromItsOffset) {
  const auto graph = load_with("weights.bin", "16", "16");
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  const auto weights = graph->value(graph->find_value("w")).constant->as<float>();
  EXPECT_THAT(std::vector<float>(weights.begin(), weights.end()), ::testing::ElementsAre(1, 2, 3, 4));
}

TEST_F(ExternalDataTest, OffsetAndLengthAreChecked) {
  EXPECT_THAT(message_with("weights.bin", "20", "16"), HasSubstr("too short"));
  EXPECT_THAT(message_with("weights.bin", "18446744073709551615", "16"), HasSubstr("too short"));
  EXPECT_THAT(message_with("weights.bin", "16", "12"), HasSubstr("12 bytes of data"));
  EXPECT_THAT(message_with("weights.bin", "-1", "16"), HasSubstr("not a number of bytes"));
  EXPECT_THAT(message_with("", "0", "16"), HasSubstr("without a location"));
  EXPECT_THAT(message_with("nothing.bin", "0", "16"), HasSubstr("nothing.bin"));
}

TEST_F(ExternalDataTest, PathsThatLeaveTheFolderAreRefused) {
  EXPECT_THAT(message_with("../secret.bin", "0", "16"), HasSubstr("leaves the model's folder"));
  EXPECT_THAT(message_with("a/../../secret.bin", "0", "16"), HasSubstr("leaves the model's folder"));
  EXPECT_THAT(message_with((folder_ / "secret.bin").string(), "0", "16"), HasSubstr("absolute path"));
  std::filesystem::create_symlink(folder_ / "secret.bin", folder_ / "model" / "link.bin");
  EXPECT_THAT(message_with("link.bin", "0", "16"), HasSubstr("leaves the model's folder"));
}

}  // namespace
}  // namespace tandem::onnx_io
