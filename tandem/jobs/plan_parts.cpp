// SPDX-License-Identifier: Apache-2.0
// Reading plans, and cutting a model along one.
#include "tandem/jobs/plan_parts.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "tandem/base/file.hpp"
#include "tandem/base/hash.hpp"
#include "tandem/jobs/forward.hpp"
#include "tandem/partition/extract.hpp"

namespace tandem::jobs {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kPlanLimitBytes = uint64_t{64} << 20;

Result<ModelPath> open_plan(const std::string& path) {
  const std::string text = TANDEM_TRY(read_file(path, kPlanLimitBytes));
  const std::string where = fmt::format("plan '{}'", path);
  const Json json = TANDEM_TRY(Json::parse(text).context(where));
  plan::Plan plan = TANDEM_TRY(plan::from_json(json).context(where));
  if (plan.parts.empty()) return bad_input(fmt::format("{} has no parts", where));
  for (const plan::Part& part : plan.parts) {
    if (!engine_from_string(part.device).ok()) {
      return unsupported(fmt::format("part '{}' of {} wants device '{}'", part.name, where, part.device))
          .because("this machine has int8, host and ref");
    }
  }
  // A plan lies beside its model: a name with folders in it would reach elsewhere.
  if (plan.model.empty() || fs::path(plan.model).filename() != plan.model) {
    return bad_input(fmt::format("{} names the model '{}'", where, plan.model))
        .because("the name of a file beside the plan is expected, without folders");
  }
  std::string model = (fs::path(path).parent_path() / plan.model).string();
  const std::string hash = TANDEM_TRY(sha256_file_hex(model).context(fmt::format("the model of {}", where)));
  if (hash != plan.model_hash) {
    return bad_input(fmt::format("'{}' is not the model that {} was made for", model, where))
        .because(fmt::format("its SHA-256 is {}, the plan says {}", hash, plan.model_hash))
        .hint("run the model itself, or make the plan again");
  }
  return ModelPath{std::move(model), path, std::move(plan)};
}

std::string text_of(const plan::Contract& c) {
  return fmt::format("{} {} {}", to_string(c.dtype), c.shape ? c.shape->to_string() : "of any shape",
                     c.quant ? c.quant->to_string() : "without quantization");
}

// Dimensions that either side leaves open fit everything.
bool shapes_fit(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b) return true;
  if (a->rank() != b->rank()) return false;
  for (size_t i = 0; i < a->rank(); ++i) {
    if ((*a)[i] != (*b)[i] && (*a)[i] != kDynamic && (*b)[i] != kDynamic) return false;
  }
  return true;
}

Result<ir::ValueId> check_contract(const ir::Graph& model, const plan::Part& part,
                                   const plan::Contract& contract) {
  const ir::ValueId id = model.find_value(contract.value);
  if (id == ir::kNoValue) {
    return bad_input(fmt::format("the plan's part '{}' speaks of '{}', which the model does not have",
                                 part.name, contract.value));
  }
  const plan::Contract is = plan::contract_of(model, id);
  if (is.dtype == contract.dtype && is.quant == contract.quant && shapes_fit(is.shape, contract.shape))
    return id;
  return bad_input(fmt::format("the model does not keep the contract of '{}' with part '{}'", contract.value,
                               part.name))
      .because(fmt::format("the plan says {}, the model {}", text_of(contract), text_of(is)))
      .hint("make the plan again from this model");
}

// The nodes that the cut gives must be those that the plan lists.
Status check_nodes(const ir::Graph& part_graph, const plan::Part& part) {
  std::set<std::string> listed(part.nodes.begin(), part.nodes.end());
  for (const ir::NodeId id : part_graph.live_nodes()) {
    const std::string& name = part_graph.node(id).name;
    if (listed.erase(name) == 0) {
      return bad_input(
          fmt::format("part '{}' needs node '{}', which the plan does not give it", part.name, name));
    }
  }
  if (listed.empty()) return {};
  return bad_input(fmt::format("part '{}' lists node '{}'", part.name, *listed.begin()))
      .because("none of its outputs needs a node of that name");
}

Status check_available(const ir::Graph& model, const std::vector<PartGraph>& before, const plan::Part& part) {
  for (const plan::Contract& input : part.inputs) {
    const ir::ValueId id = model.find_value(input.value);
    const bool from_model = std::find(model.inputs.begin(), model.inputs.end(), id) != model.inputs.end();
    const bool from_part = std::any_of(before.begin(), before.end(), [&](const PartGraph& p) {
      return std::any_of(p.outputs.begin(), p.outputs.end(),
                         [&](const plan::Contract& o) { return o.value == input.value; });
    });
    if (!from_model && !from_part)
      return bad_input(fmt::format("nothing before part '{}' makes its input '{}'", part.name, input.value));
  }
  return {};
}

}  // namespace

Result<ModelPath> open_model_path(const std::string& path) {
  std::error_code code;
  if (fs::is_directory(path, code)) {
    const fs::path plan = fs::path(path) / "plan.json", adapted = fs::path(path) / "adapted.onnx";
    if (fs::exists(plan, code)) return open_plan(plan.string());
    if (fs::exists(adapted, code)) return ModelPath{adapted.string(), "", std::nullopt};
    return bad_input(fmt::format("'{}' is a folder without plan.json and adapted.onnx", path))
        .hint("give a model file, a plan.json or a run directory of tandem adapt");
  }
  if (path.ends_with(".json")) return open_plan(path);
  return ModelPath{path, "", std::nullopt};
}

Result<std::vector<PartGraph>> cut_parts(const ir::Graph& model, const plan::Plan& plan) {
  std::vector<PartGraph> parts;
  std::set<std::string> made;
  for (const plan::Part& part : plan.parts) {
    std::vector<ir::ValueId> inputs, outputs;
    for (const plan::Contract& c : part.inputs) inputs.push_back(TANDEM_TRY(check_contract(model, part, c)));
    for (const plan::Contract& c : part.outputs) {
      outputs.push_back(TANDEM_TRY(check_contract(model, part, c)));
      made.insert(c.value);
    }
    TANDEM_TRY(check_available(model, parts, part));
    if (outputs.empty()) return bad_input(fmt::format("part '{}' of the plan makes nothing", part.name));
    ir::Graph graph = TANDEM_TRY(
        partition::extract(model, inputs, outputs).context(fmt::format("part '{}' of the plan", part.name)));
    TANDEM_TRY(graph.compact());
    TANDEM_TRY(check_nodes(graph, part));
    TANDEM_TRY(ir::infer_shapes(graph).context(fmt::format("part '{}' of the plan", part.name)));
    parts.push_back({part.name, part.device, part.inputs, part.outputs, std::move(graph)});
  }
  for (const ir::ValueId id : model.outputs) {
    if (made.count(model.value(id).name) == 0)
      return bad_input(
          fmt::format("no part of the plan makes the model's output '{}'", model.value(id).name));
  }
  return parts;
}

}  // namespace tandem::jobs
