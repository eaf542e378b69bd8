// SPDX-License-Identifier: Apache-2.0
// Three rounds of matching, each on what the ones before it left.
#include "tandem/jobs/match_values.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace tandem::jobs {
namespace {

std::vector<ir::NodeId> execution_order(const ir::Graph& graph) {
  Result<std::vector<ir::NodeId>> order = ir::topological_order(graph);
  return order.ok() ? std::move(order).value() : graph.live_nodes();
}

// "Conv + relu" -> "Conv".
std::string base_op(const ir::Node& node) {
  const std::string text = ir::describe(node.op);
  return text.substr(0, text.find(" + "));
}

class Matcher {
 public:
  Matcher(const ir::Graph& a, const ir::Graph& b)
      : a_(a), b_(b), a_order_(execution_order(a)), b_order_(execution_order(b)) {}

  Matching match() {
    for (size_t i = 0; i < std::min(a_.inputs.size(), b_.inputs.size()); ++i)
      pair(a_.inputs[i], b_.inputs[i]);
    for (const ir::NodeId id : b_order_) {
      for (const ir::ValueId out : b_.node(id).outputs) {
        const ir::ValueId same = out == ir::kNoValue ? ir::kNoValue : a_.find_value(b_.value(out).name);
        if (same != ir::kNoValue && a_.value(same).producer != ir::kNoNode) pair(same, out);
      }
    }
    for (const ir::NodeId id : b_order_) {
      const ir::NodeId same = a_.find_node(b_.node(id).name);
      if (same != ir::kNoNode && base_op(a_.node(same)) == base_op(b_.node(id))) pair_outputs(same, id);
    }
    match_by_place();
    list_unmatched();
    return std::move(result_);
  }

 private:
  bool pair(ir::ValueId a, ir::ValueId b) {
    const std::string& a_name = a_.value(a).name;
    const std::string& b_name = b_.value(b).name;
    if (taken_.count(a_name) > 0 || result_.a_of.count(b_name) > 0) return false;
    if (a_.value(a).shape != b_.value(b).shape) return false;
    taken_.insert(a_name);
    result_.a_of.emplace(b_name, a_name);
    return true;
  }

  void pair_outputs(ir::NodeId a, ir::NodeId b) {
    const auto& from = a_.node(a).outputs;
    const auto& to = b_.node(b).outputs;
    for (size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
      if (from[i] != ir::kNoValue && to[i] != ir::kNoValue) pair(from[i], to[i]);
    }
  }

  // Place in A's order of the node that makes the counterpart of an output of this node of B.
  std::optional<size_t> anchor(ir::NodeId id) const {
    for (const ir::ValueId out : b_.node(id).outputs) {
      if (out == ir::kNoValue) continue;
      const auto found = result_.a_of.find(b_.value(out).name);
      if (found == result_.a_of.end()) continue;
      const ir::NodeId producer = a_.value(a_.find_value(found->second)).producer;
      const auto at = std::find(a_order_.begin(), a_order_.end(), producer);
      if (at != a_order_.end()) return static_cast<size_t>(at - a_order_.begin());
    }
    return std::nullopt;
  }

  void match_by_place() {
    size_t next = 0;  // in A's order, behind the last pair
    for (size_t i = 0; i < b_order_.size(); ++i) {
      if (const auto place = anchor(b_order_[i])) {
        next = std::max(next, *place + 1);
        continue;
      }
      size_t end = a_order_.size();  // the next pair ends the gap
      for (size_t j = i + 1; j < b_order_.size(); ++j) {
        const auto place = anchor(b_order_[j]);
        if (place && *place >= next) {
          end = *place;
          break;
        }
      }
      for (size_t k = next; k < end; ++k) {
        if (base_op(a_.node(a_order_[k])) != base_op(b_.node(b_order_[i]))) continue;
        const size_t before = result_.a_of.size();
        pair_outputs(a_order_[k], b_order_[i]);
        if (result_.a_of.size() == before) continue;
        next = k + 1;
        break;
      }
    }
  }

  void list_unmatched() {
    const auto list = [](const ir::Graph& graph, const std::vector<ir::NodeId>& order, auto&& matched,
                         std::vector<std::string>& names) {
      for (const ir::NodeId id : order) {
        const ir::Node& node = graph.node(id);
        const bool any = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId out) {
          return out != ir::kNoValue && matched(graph.value(out).name);
        });
        if (!any) names.push_back(fmt::format("{} ({})", node.name, ir::describe(node.op)));
      }
    };
    list(
        a_, a_order_, [&](const std::string& name) { return taken_.count(name) > 0; }, result_.only_a);
    list(
        b_, b_order_, [&](const std::string& name) { return result_.a_of.count(name) > 0; }, result_.only_b);
  }

  const ir::Graph& a_;
  const ir::Graph& b_;
  const std::vector<ir::NodeId> a_order_, b_order_;
  std::set<std::string> taken_;  // values of A
  Matching result_;
};

}  // namespace

Matching match_values(const ir::Graph& a, const ir::Graph& b) { return Matcher(a, b).match(); }

}  // namespace tandem::jobs
