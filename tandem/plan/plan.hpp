// SPDX-License-Identifier: Apache-2.0
// Plan: parts of a model, the device of each, their order, and the contracts of the values that cross between
// them. A plan is data: it prints, diffs, loads and replays. Everything that executes, executes a plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/base/json.hpp"
#include "tandem/ir/graph.hpp"

namespace tandem::plan {

// What both sides of a cut agree on for one value. Shape may have a dynamic batch.
struct Contract {
  std::string value;
  DType dtype = DType::kF32;  // as stored
  std::optional<Shape> shape;
  std::optional<QuantParams> quant;
  friend bool operator==(const Contract&, const Contract&) = default;
};

struct Part {
  std::string name;                // "backbone", "head", "part0", ...
  std::string device;              // "int8", "host", ...
  std::vector<std::string> nodes;  // names of the model's nodes, in execution order
  std::vector<Contract> inputs, outputs;
};

// Parts in execution order; an input of a part is a model input or an output of an earlier part.
struct Plan {
  std::string model;       // file the plan belongs to
  std::string model_hash;  // of its content, so that a plan is never run on another model
  std::vector<Part> parts;
};

Contract contract_of(const ir::Graph& graph, ir::ValueId value);

Json to_json(const Plan& plan);
// Error kBadInput names the member that is missing or wrong.
Result<Plan> from_json(const Json& json);
// Every part input is available when its part runs, no node is in two parts. Error kBadInput names the part
// and the value.
Status verify(const Plan& plan);

// The params as JSON and back; used by plans and reports.
Json to_json(const QuantParams& params);
Result<QuantParams> quant_params_from_json(const Json& json);

}  // namespace tandem::plan
