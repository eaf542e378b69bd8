// SPDX-License-Identifier: Apache-2.0
// Goal: values meet although names differ, and bisection finds the node with the planted fault. Method: a
// chain of four layers saved twice: with other names, and with one weight changed in a known place.
#include "tandem/jobs/verify.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "tandem/jobs/match_values.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/testing/graph_builder.hpp"

namespace tandem::jobs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::GraphBuilder;
using ::testing::IsEmpty;

constexpr int kLayers = 4;

// Dense layers, each followed by a Tanh; `faulty` (from 0) has its weights doubled. An extra Abs at the end
// of one that has nothing to change there.
ir::Graph chain(const std::string& prefix, int faulty = -1, bool extra = false) {
  Rng rng(3);
  GraphBuilder b;
  ir::ValueId at = b.input("x", {1, 6});
  for (int i = 0; i < kLayers; ++i) {
    Tensor w = testing::random_tensor(rng, DType::kF32, {6, 6});
    if (i == faulty) {
      for (float& v : w.as<float>()) v *= 2;
    }
    at = b.add(ir::Gemm{}, {at, b.constant(std::move(w))}, fmt::format("{}fc{}", prefix, i));
    at = b.add(ir::Unary{ir::UnaryKind::kTanh}, {at}, fmt::format("{}tanh{}", prefix, i));
  }
  if (extra) at = b.add(ir::Unary{ir::UnaryKind::kAbs}, {at}, prefix + "abs");
  b.output(at);
  return b.finish();
}

class VerifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "verify_test_" + std::to_string(::getpid());
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string save(const ir::Graph& graph, const std::string& name) const {
    const std::string path = root_ + "/" + name;
    EXPECT_TRUE(onnx_io::save(graph, path).ok());
    return path;
  }
  VerifyOptions options(const std::string& a, const std::string& b) const {
    VerifyOptions o;
    o.a = a;
    o.b = b;
    o.inputs = 2;
    o.max_abs = 1e-4;
    return o;
  }
  std::string root_;
};

TEST(MatchValues, ByNameThenByNodeThenByPlace) {
  const ir::Graph a = chain("");
  ir::Graph b = chain("");
  b.value(b.find_value("fc1")).name = "other";  // its node is still called fc1
  Matching m = match_values(a, b);
  EXPECT_EQ(m.a_of.at("other"), "fc1");
  EXPECT_EQ(m.a_of.at("tanh3"), "tanh3");
  EXPECT_THAT(m.only_a, IsEmpty());
  // No name in common: by place.
  m = match_values(a, chain("new_"));
  EXPECT_EQ(m.a_of.at("new_fc2"), "fc2");
  EXPECT_EQ(m.a_of.at("new_tanh3"), "tanh3");
  EXPECT_THAT(m.only_b, IsEmpty());
  // What one of them has not is said, and nothing else is put in its place.
  m = match_values(a, chain("new_", -1, true));
  EXPECT_THAT(m.only_b, ElementsAre("new_abs (Unary abs)"));
  EXPECT_THAT(m.only_a, IsEmpty());
}

TEST_F(VerifyTest, EqualModelsWithOtherNamesPass) {
  const auto result = verify(options(save(chain(""), "a.onnx"), save(chain("n_"), "b.onnx")));
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_TRUE(result->passed);
  EXPECT_TRUE(result->over_from.empty() && result->culprit.empty());
  EXPECT_GE(result->values.size(), 4u);
  EXPECT_NE(result->values[0].value, result->values[0].a_value);
}

TEST_F(VerifyTest, BisectionFindsThePlantedFaultWhereverItIs) {
  const std::string a = save(chain(""), "a.onnx");
  for (int faulty = 0; faulty < kLayers; ++faulty) {
    for (const char* prefix : {"", "n_"}) {
      const auto result = verify(options(a, save(chain(prefix, faulty), "b.onnx")));
      ASSERT_TRUE(result.ok()) << result.error().message();
      EXPECT_FALSE(result->passed);
      // The activation may be fused to the layer.
      EXPECT_EQ(result->culprit.rfind(fmt::format("{}fc{}", prefix, faulty), 0), 0u) << result->culprit;
      EXPECT_EQ(result->over_from, result->culprit);
      EXPECT_EQ(result->within_until.empty(), faulty == 0) << result->within_until;
    }
  }
}

}  // namespace
}  // namespace tandem::jobs
