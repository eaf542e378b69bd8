// SPDX-License-Identifier: Apache-2.0
// Real networks and the ONNX backend tests. Goal: all of them load; the networks have the ops their authors
// wrote and give the same graph after a way out and in again.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "tandem/ir/text.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/testing/shared_path.hpp"

namespace tandem::onnx_io {
namespace {

std::map<std::string, int> op_counts(const ir::Graph& graph) {
  std::map<std::string, int> counts;
  for (ir::NodeId id : graph.live_nodes()) ++counts[std::string(ir::op_name(graph.node(id).op))];
  return counts;
}

// Constants byte by byte, then the rest as text, in which hashes of large constants would take most of the
// time.
void expect_same(const ir::Graph& a, const ir::Graph& b) {
  ir::Graph rest_a = a, rest_b = b;
  ASSERT_EQ(a.values().size(), b.values().size());
  for (uint32_t i = 0; i < a.values().size(); ++i) {
    const ir::Value& mine = a.values()[i];
    if (!mine.is_constant()) continue;
    const ir::ValueId found = b.find_value(mine.name);
    ASSERT_NE(found, ir::kNoValue) << mine.name;
    ASSERT_TRUE(b.value(found).is_constant()) << mine.name;
    const Tensor& x = *mine.constant;
    const Tensor& y = *b.value(found).constant;
    ASSERT_EQ(x.dtype(), y.dtype()) << mine.name;
    ASSERT_TRUE(x.shape() == y.shape()) << mine.name;
    const bool same = x.size_bytes() == 0 || std::memcmp(x.data(), y.data(), x.size_bytes()) == 0;
    EXPECT_TRUE(same) << mine.name;
    rest_a.value(ir::ValueId{i}).constant = rest_b.value(found).constant =
        std::make_shared<const Tensor>(Tensor::scalar<float>(0));
  }
  EXPECT_EQ(ir::print(rest_a), ir::print(rest_b));
}

struct Expected {
  std::string name;
  int convolutions;
  int quantized_values;  // not constant
  std::string input_shape;
  friend void PrintTo(const Expected& e, std::ostream* out) { *out << e.name; }
};

class Models : public ::testing::TestWithParam<Expected> {};

TEST_P(Models, LoadAndComeBackTheSame) {
  TANDEM_SHARED_OR_SKIP(path, "models/" + GetParam().name + ".onnx");
  auto model = load_model(path);
  ASSERT_TRUE(model.ok()) << model.error().message();
  const ir::Graph& graph = model->graph;
  EXPECT_TRUE(model->report.opaque_ops.empty()) << model->report.opaque_ops[0];
  const auto counts = op_counts(graph);
  EXPECT_EQ(counts.at("Conv"), GetParam().convolutions);
  EXPECT_EQ(counts.count("QuantizeLinear") + counts.count("DequantizeLinear"), 0u);
  int quantized = 0;
  for (const ir::Value& value : graph.values()) quantized += value.quant && !value.is_constant() ? 1 : 0;
  EXPECT_EQ(quantized, GetParam().quantized_values);
  EXPECT_EQ(graph.value(graph.inputs[0]).shape->to_string(), GetParam().input_shape);

  const auto bytes = to_bytes(graph);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message();
  const auto again = load_bytes(*bytes);
  ASSERT_TRUE(again.ok()) << again.error().message();
  expect_same(*again, graph);
}

INSTANTIATE_TEST_SUITE_P(Shared, Models,
                         ::testing::Values(Expected{"efficientnet_lite0", 49, 0, "[?,3,224,224]"},
                                           Expected{"squeezenet1_0", 26, 0, "[?,3,227,227]"},
                                           Expected{"resnet20_cifar10", 19, 0, "[?,3,32,32]"},
                                           Expected{"mobilenet_v2_float", 53, 0, "[?,3,224,224]"},
                                           Expected{"mobilenet_v2_qdq", 53, 66, "[?,3,224,224]"},
                                           Expected{"tf2_mobilenet_v2_ptq_qdq", 53, 66, "[?,3,224,224]"},
                                           Expected{"resnet8_float", 9, 0, "[?,3,32,32]"},
                                           Expected{"resnet8_qdq", 9, 16, "[?,3,32,32]"},
                                           Expected{"vww_float", 27, 0, "[?,3,96,96]"},
                                           Expected{"vww_qdq", 27, 31, "[?,3,96,96]"},
                                           Expected{"ppocr_cls", 53, 0, "[?,3,?,?]"}),
                         [](const auto& test) { return test.param.name; });

constexpr const char* kBackendTests = "/usr/share/libonnx-testdata/data";

// Every model of Debian's libonnx-testdata either loads, or is refused as unsupported. Nothing crashes, and
// the operators that stay opaque are the ones this list knows.
TEST(BackendModels, LoadOrAreRefusedWithAReason) {
  if (!std::filesystem::exists(kBackendTests)) GTEST_SKIP() << "needs the Debian package libonnx-testdata";
  int loaded = 0, clear = 0, refused = 0, failed = 0;
  std::map<std::string, int> opaque;
  std::string failures;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kBackendTests)) {
    if (entry.path().filename() == "model.onnx") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    const auto model = load_model(path.string());
    if (!model.ok()) {
      if (model.error().code() == ErrorCode::kUnsupported) {
        ++refused;
      } else {
        ++failed;
        failures += path.parent_path().filename().string() + ": " + model.error().message() + "\n";
      }
      continue;
    }
    ++loaded;
    if (model->report.opaque_ops.empty()) ++clear;
    std::set<std::string> kinds;
    for (const std::string& text : model->report.opaque_ops) kinds.insert(text.substr(0, text.find(' ')));
    for (const std::string& kind : kinds) ++opaque[kind];
  }
  std::cout << loaded << " of " << paths.size() << " load, " << clear << " of them without an opaque op, "
            << refused << " are refused, " << failed << " fail\n";
  for (const auto& [kind, count] : opaque) std::cout << "  opaque: " << kind << " in " << count << "\n";
  EXPECT_EQ(failed, 0) << failures;
}

TEST(BackendTensors, AreRead) {
  const std::string folder = std::string(kBackendTests) + "/node/test_add/test_data_set_0/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "needs the Debian package libonnx-testdata";
  const auto tensor = tensor_from_proto_file(folder + "input_0.pb");
  ASSERT_TRUE(tensor.ok()) << tensor.error().message();
  EXPECT_EQ(tensor->shape(), (Shape{3, 4, 5}));
  const auto sequence = tensor_from_proto_file(
      std::string(kBackendTests) + "/node/test_sequence_insert_at_back/test_data_set_0/input_0.pb");
  ASSERT_FALSE(sequence.ok());
  EXPECT_EQ(sequence.error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace tandem::onnx_io
