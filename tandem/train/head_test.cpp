// SPDX-License-Identifier: Apache-2.0
// Goal: heads compute what a person computes, survive their file, and stay the same behind a backbone.
// Method: hand-computed layers; round trips; the reference interpreter on the graph; planted faults in files.
#include "tandem/train/head.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "tandem/ref/ref.hpp"
#include "tandem/testing/graph_builder.hpp"

namespace tandem::train {
namespace {

using testing::GraphBuilder;

Head small_mlp() {
  Head head;
  head.activation = exec::HiddenActivation::kRelu;
  head.class_names = {"cat", "dog"};
  head.layers.push_back({2, 3, {1, 0, 0, 1, -1, -1}, {0, 0.5f, 0}});
  head.layers.push_back({3, 2, {1, 2, 3, -1, 0, 1}, {0.25f, 0}});
  return head;
}

TEST(Head, ComputesAHiddenLayerByHand) {
  // x = (1, -2): z = (1, -2 + 0.5, -1 + 2) = (1, -1.5, 1), relu (1, 0, 1).
  // y = (1 + 3 + 0.25, -1 + 1) = (4.25, 0).
  const std::vector<float> x = {1, -2};
  const auto y = logits_of(small_mlp(), x);
  EXPECT_EQ(y, (std::vector<float>{4.25f, 0}));
}

TEST(Head, SurvivesItsFile) {
  const Head head = small_mlp();
  const auto back = head_from_tensors(to_tensors(head));
  ASSERT_TRUE(back.ok()) << back.error().message();
  EXPECT_EQ(*back, head);
  const std::string path = ::testing::TempDir() + "head_test.safetensors";
  ASSERT_TRUE(save_head(head, path).ok());
  const auto loaded = load_head(path);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(*loaded, head);
  std::filesystem::remove(path);
}

TEST(Head, FilesWithFaultsAreRefusedAndSayWhere) {
  const auto refused = [](auto&& spoil) {
    TensorFile file = to_tensors(small_mlp());
    spoil(file);
    const auto head = head_from_tensors(file);
    return head.ok() ? std::string() : head.error().message();
  };
  EXPECT_NE(refused([](TensorFile& f) {
              f.tensors.at("layer1.bias").as<float>()[0] = std::nanf("");
            }).find("layer1.bias"),
            std::string::npos);
  EXPECT_NE(refused([](TensorFile& f) { f.tensors.erase("layer0.bias"); }).find("layer0.bias"),
            std::string::npos);
  EXPECT_NE(refused([](TensorFile& f) { f.tensors.erase("layer0.weight"); }), "");
  EXPECT_NE(refused([](TensorFile& f) { f.metadata["classes"] = "[\"cat\"]"; }).find("1 class names"),
            std::string::npos);
  EXPECT_NE(refused([](TensorFile& f) { f.metadata["activation"] = "swoosh"; }).find("swoosh"),
            std::string::npos);
  EXPECT_NE(refused([](TensorFile& f) { f.metadata.erase("format"); }), "");
  EXPECT_NE(refused([](TensorFile& f) {
              f.tensors["layer1.weight"] = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
            }).find("layer 1"),
            std::string::npos);
}

TEST(Head, SameSeedSameWeightsWithinTheBound) {
  HeadOptions options;
  options.features = 16;
  options.class_names = {"a", "b", "c"};
  options.hidden = 4;
  const Head one = make_head(options);
  EXPECT_EQ(one, make_head(options));
  options.seed = 43;
  EXPECT_NE(one, make_head(options));
  ASSERT_EQ(one.layers.size(), 2u);
  for (const float w : one.layers[0].weights) EXPECT_LE(std::abs(w), 0.25f);  // 1/sqrt(16)
  EXPECT_EQ(one.layers[1].outputs, 3);
}

TEST(Head, MoreClassesKeepTheOldAnswers) {
  const Head wider = with_more_classes(small_mlp(), {"fox"}, 1);
  EXPECT_EQ(wider.class_names, (std::vector<std::string>{"cat", "dog", "fox"}));
  const auto y = logits_of(wider, std::vector<float>{1, -2});
  ASSERT_EQ(y.size(), 3u);
  EXPECT_EQ(y[0], 4.25f);
  EXPECT_EQ(y[1], 0.0f);
}

// x [N,2,H,W] straight to the output.
ir::Graph identity_backbone(const Shape& shape) {
  GraphBuilder b;
  b.output(b.add(ir::Unary{ir::UnaryKind::kNeg}, {b.input("logits", shape)}));  // a name that the head wants
  return b.finish();
}

std::vector<float> run_graph(const ir::Graph& graph, const Tensor& x) {
  const auto out = ref::run(graph, {&x, 1});
  EXPECT_TRUE(out.ok()) << out.error().message();
  if (!out.ok()) return {};
  const auto y = (*out)[0].as<float>();
  return {y.begin(), y.end()};
}

TEST(AttachHead, AveragesAMapAndGivesTheHeadsLogits) {
  auto flat = with_flat_features(identity_backbone({kDynamic, 2, 2, 2}));
  ASSERT_TRUE(flat.ok()) << flat.error().message();
  for (const Head& head : {small_mlp(), with_more_classes(small_mlp(), {"fox"}, 1)}) {
    const auto graph = attach_head(*flat, head);
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_EQ(labels_of(*graph), head.class_names);
    EXPECT_EQ(graph->value(graph->outputs[0]).name, "logits");
    // Means of the negated maps: (-1, 2).
    const Tensor x = Tensor::of<float>({1, 2, 2, 2}, {0, 1, 2, 1, -2, -2, -1, -3});
    const auto got = run_graph(*graph, x), expected = logits_of(head, std::vector<float>{-1, 2});
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5);
  }
}

TEST(AttachHead, RefusesAnotherWidthAndOtherRanks) {
  EXPECT_FALSE(attach_head(identity_backbone({kDynamic, 3}), small_mlp()).ok());
  EXPECT_FALSE(with_flat_features(identity_backbone({kDynamic, 2, 5})).ok());
  EXPECT_TRUE(attach_head(identity_backbone({kDynamic, 2}), small_mlp()).ok());
}

TEST(Labels, JsonAndLinesAndNothing) {
  ir::Graph graph;
  EXPECT_TRUE(labels_of(graph).empty());
  graph.metadata[kLabelsKey] = "a\n b \n\n";
  EXPECT_EQ(labels_of(graph), (std::vector<std::string>{"a", "b"}));
  graph.metadata[kLabelsKey] = labels_to_metadata({"x \"y\"", "z\n"});
  EXPECT_EQ(labels_of(graph), (std::vector<std::string>{"x \"y\"", "z\n"}));
}

}  // namespace
}  // namespace tandem::train
