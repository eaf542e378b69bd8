// SPDX-License-Identifier: Apache-2.0
// Goal: edits of a graph keep names, producers and order consistent, and give the same result every time.
#include "tandem/ir/graph.hpp"

#include <gmock/gmock.h>

#include "tandem/ir/text.hpp"
#include "tandem/ir/verify.hpp"

namespace tandem::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Value named(std::string name) {
  Value value;
  value.name = std::move(name);
  value.shape = Shape{2};
  return value;
}

Node relu(ValueId from, ValueId to, std::string name) { return Node{std::move(name), Unary{}, {from}, {to}}; }

// x -> a -> b -> y, with the nodes added in the order c, b, a.
struct Chain {
  Graph graph;
  ValueId x = graph.add_input(named("x"));
  ValueId p = graph.add_value(named("p")), q = graph.add_value(named("q")), y = graph.add_value(named("y"));
  NodeId c = graph.add_node(relu(q, y, "c")), b = graph.add_node(relu(p, q, "b")),
         a = graph.add_node(relu(x, p, "a"));
  Chain() { graph.outputs = {y}; }
};

std::vector<std::string> node_names(const Graph& graph) {
  std::vector<std::string> names;
  for (NodeId id : graph.live_nodes()) names.push_back(graph.node(id).name);
  return names;
}

TEST(Graph, TakenNamesGetASuffixAndEmptyOnesAreInvented) {
  Graph graph;
  EXPECT_EQ(graph.value(graph.add_value(named("x"))).name, "x");
  EXPECT_EQ(graph.value(graph.add_value(named("x"))).name, "x_1");
  EXPECT_EQ(graph.value(graph.add_value(named(""))).name, "v2");
  EXPECT_EQ(graph.find_value("x_1"), ValueId{1});
  EXPECT_EQ(graph.find_value("nothing"), kNoValue);
}

TEST(Graph, RenameFreesTheOldName) {
  Chain g;
  g.graph.rename(g.p, "r");
  EXPECT_EQ(g.graph.find_value("r"), g.p);
  EXPECT_EQ(g.graph.find_value("p"), kNoValue);
  g.graph.rename(g.q, "p");
  EXPECT_EQ(g.graph.find_value("p"), g.q);
}

TEST(Graph, FindNodeSeesLiveNodesOnly) {
  Chain g;
  EXPECT_EQ(g.graph.find_node("b"), g.b);
  g.graph.remove_node(g.b);
  EXPECT_EQ(g.graph.find_node("b"), kNoNode);
  EXPECT_EQ(g.graph.value(g.q).producer, kNoNode);
}

TEST(Graph, ReplaceUsesReachesNodesAndOutputs) {
  Chain g;
  g.graph.replace_uses(g.q, g.x);
  EXPECT_THAT(g.graph.node(g.c).inputs, ElementsAre(g.x));
  g.graph.replace_uses(g.y, g.p);
  EXPECT_THAT(g.graph.outputs, ElementsAre(g.p));
  EXPECT_TRUE(g.graph.is_output(g.p));
  EXPECT_FALSE(g.graph.is_output(g.y));
}

TEST(Graph, ConsumersAreListedOncePerNode) {
  Chain g;
  const ValueId z = g.graph.add_value(named("z"));
  const NodeId sum = g.graph.add_node(Node{"sum", Binary{}, {g.p, g.p}, {z}});
  EXPECT_THAT(consumers_of(g.graph)[index_of(g.p)], ElementsAre(g.b, sum));
}

TEST(Graph, OrderIsTopologicalWithTiesByIndex) {
  Chain g;
  EXPECT_THAT(topological_order(g.graph).value(), ElementsAre(g.a, g.b, g.c));
  const ValueId z = g.graph.add_value(named("z"));
  const NodeId side =
      g.graph.add_node(relu(g.x, z, "side"));  // ready from the start, but of the highest index
  EXPECT_THAT(topological_order(g.graph).value(), ElementsAre(g.a, g.b, g.c, side));
}

TEST(Graph, CompactSortsDropsAndRenumbers) {
  Chain g;
  g.graph.add_constant("unused", Tensor::scalar(1.0f));
  const ValueId z = g.graph.add_value(named("z"));
  g.graph.remove_node(g.graph.add_node(relu(g.x, z, "dead")));
  ASSERT_TRUE(g.graph.compact().ok());
  EXPECT_THAT(node_names(g.graph), ElementsAre("a", "b", "c"));
  EXPECT_EQ(g.graph.values().size(), 4u);  // x, p, q, y
  EXPECT_EQ(g.graph.find_value("unused"), kNoValue);
  EXPECT_EQ(g.graph.value(g.graph.find_value("p")).producer, NodeId{0});
  EXPECT_TRUE(verify(g.graph).ok());
  const std::string once = print(g.graph);
  ASSERT_TRUE(g.graph.compact().ok());
  EXPECT_EQ(print(g.graph), once);
}

TEST(Graph, UnusedInputsStay) {
  Chain g;
  g.graph.add_input(named("unused"));
  ASSERT_TRUE(g.graph.compact().ok());
  EXPECT_EQ(g.graph.inputs.size(), 2u);
}

TEST(Graph, ACycleIsRefusedByName) {
  Chain g;
  g.graph.node(g.a).inputs = {g.q};  // b reads a, a reads b
  const Status status = g.graph.compact();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kBadInput);
  EXPECT_THAT(status.error().message(), HasSubstr("cycle"));
  EXPECT_THAT(status.error().message(), HasSubstr("node '"));
}

// Case G25: an output that is also an input, and a graph without nodes.
TEST(Graph, G25OutputThatIsAnInput) {
  Graph graph;
  graph.outputs = {graph.add_input(named("x"))};
  ASSERT_TRUE(graph.compact().ok());
  EXPECT_TRUE(verify(graph).ok());
  EXPECT_TRUE(infer_shapes(graph).ok());
  EXPECT_EQ(graph.outputs, graph.inputs);
}

}  // namespace
}  // namespace tandem::ir
