// SPDX-License-Identifier: Apache-2.0
// Calls of a model's local functions become the functions' bodies, with names of their own.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/onnx_io/build_graph.hpp"

namespace onnx {
class FunctionProto;
class NodeProto;
}  // namespace onnx

namespace tandem::onnx_io {

class FunctionInliner {
 public:
  struct Call {
    const onnx::NodeProto* node;
    const OpsetMap* opsets;
  };

  explicit FunctionInliner(const onnx::ModelProto& model);
  ~FunctionInliner();
  // The nodes that stand for `call`: itself when it calls no function, or one whose body holds sub-graphs
  // (those stay calls). Error for calls that call themselves and for bodies that grow beyond reason. Nodes
  // live as long as this does.
  Status expand(const Call& call, std::vector<Call>& out) { return expand(call, out, 0); }

 private:
  Status expand(const Call& call, std::vector<Call>& out, int depth);
  std::string fresh(const std::string& stem);

  std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions_;
  std::deque<onnx::NodeProto> nodes_;
  std::deque<OpsetMap> opsets_;
  std::set<std::string> names_;  // every value name of the main graph, then every invented one
};

}  // namespace tandem::onnx_io
