// SPDX-License-Identifier: Apache-2.0
// What a path given by the user stands for, and a plan made ready to run: every part cut out of its model,
// every contract compared with what the model says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/base/result.hpp"
#include "tandem/ir/graph.hpp"
#include "tandem/plan/plan.hpp"

namespace tandem::jobs {

struct ModelPath {
  std::string model;               // the ONNX file
  std::string plan_path;           // empty without a plan
  std::optional<plan::Plan> plan;  // of that model: its hash was compared
};

// An ONNX file stands for itself, a plan.json for the model it names, a run directory for its plan.json, or
// for its adapted.onnx where there is no plan. Errors: kBadInput for a plan of another model and for a folder
// that is no run, kUnsupported for a device that is not here.
Result<ModelPath> open_model_path(const std::string& path);

struct PartGraph {
  std::string name, device;
  std::vector<plan::Contract> inputs, outputs;  // as the plan has them, in the order of the graph's
  ir::Graph graph;
};

// The parts of a plan in its order. `model` is the graph as its file has it. Errors kBadInput name the part:
// a contract that the model does not keep (value, dtype, shape, quantization), a node that no part or the
// wrong part has, an output of the model that no part makes.
Result<std::vector<PartGraph>> cut_parts(const ir::Graph& model, const plan::Plan& plan);

}  // namespace tandem::jobs
