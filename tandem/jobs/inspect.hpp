// SPDX-License-Identifier: Apache-2.0
// inspect(): what is in a model file: nodes with shapes and costs, values with their quantization, and for
// each node where it would run and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/data/preprocess.hpp"
#include "tandem/ir/graph.hpp"

namespace tandem::jobs {

struct InspectOptions {
  std::string model;      // as open_model_path() takes it
  int64_t size = 0;       // height and width where the model leaves them open
  bool placement = true;  // needs to compile the model; false: only what the file says
  bool simplify = true;   // what the executors see; false: the nodes as the file has them
  std::string dump_dir;
};

enum class Placement : uint8_t {
  kInt8,     // reads its activations as integers
  kFloat,    // reads at least one in floating point
  kConvert,  // quantizes or dequantizes: from one to the other
  kNothing,  // a view or a shape computation: no work
  kMissing,  // nothing here executes it
};
std::string_view to_string(Placement placement);

struct NodeInfo {
  std::string name, op, shape;  // of the first output
  int64_t macs = 0, parameters = 0;
  std::string part, device;  // of the plan, or the device that `run` takes without one
  Placement placement = Placement::kFloat;
  std::string implementation;  // of the executor; empty when nothing was compiled
  std::string reason;          // why it is not in integers, or not faster
};

struct ValueInfo {
  std::string name, dtype, shape, quant, producer;
};

struct InspectResult {
  std::string path, producer, text;  // text: the IR's text form, of a plan that of each part
  std::string plan_path;             // empty when no plan was given
  int64_t opset = 0, ir_version = 0;
  std::vector<ValueInfo> inputs, outputs, values;
  std::vector<NodeInfo> nodes;
  int64_t macs = 0, parameters = 0;
  uint64_t constant_bytes = 0;
  bool quantized = false;
  // Where `quantize` would put the nodes of a float model, not where they run now.
  bool placement_is_forecast = false;
  std::string placement_note;  // why there is no placement; empty when there is
  std::optional<data::Preprocess> preprocess;
  std::vector<std::string> labels, notices, opaque;
};

// Works for models that cannot run: their unknown ops are listed.
Result<InspectResult> inspect(const InspectOptions& options);
Json to_json(const InspectResult& result);

}  // namespace tandem::jobs
