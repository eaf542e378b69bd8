// SPDX-License-Identifier: Apache-2.0
// Plans as JSON, and their invariants.
#include "tandem/plan/plan.hpp"

#include <set>

namespace tandem::plan {
namespace {

constexpr int64_t kFormatVersion = 1;

Error wrong(std::string_view what, std::string_view expected) {
  return bad_input(fmt::format("the plan's {} is missing or wrong", what))
      .because(fmt::format("expected {}", expected));
}

Json contracts_to_json(const std::vector<Contract>& contracts) {
  Json out = Json::array();
  for (const Contract& c : contracts) {
    Json item = Json::object({{"value", c.value}, {"dtype", to_string(c.dtype)}});
    if (c.shape) item.set("shape", Json(c.shape->dims()));
    if (c.quant) item.set("quant", to_json(*c.quant));
    out.push(std::move(item));
  }
  return out;
}

Result<std::vector<Contract>> contracts_from_json(const Json& json, std::string_view where) {
  std::vector<Contract> contracts;
  if (!json.is_array()) return wrong(where, "an array of contracts");
  for (const Json& item : json.items()) {
    Contract c;
    c.value = item["value"].as_string();
    const auto dtype = dtype_from_string(item["dtype"].as_string());
    if (c.value.empty() || !dtype) return wrong(where, "a value name and a dtype in each contract");
    c.dtype = *dtype;
    if (item.has("shape")) {
      std::vector<int64_t> dims;
      for (const Json& dim : item["shape"].items()) {
        if (!dim.is_int() || dim.as_int() < kDynamic) return wrong("shape of " + c.value, "integers >= -1");
        dims.push_back(dim.as_int());
      }
      c.shape = Shape(std::move(dims));
    }
    if (item.has("quant"))
      c.quant = TANDEM_TRY(quant_params_from_json(item["quant"]).context("contract of " + c.value));
    contracts.push_back(std::move(c));
  }
  return contracts;
}

}  // namespace

Contract contract_of(const ir::Graph& graph, ir::ValueId id) {
  const ir::Value& value = graph.value(id);
  return Contract{value.name, value.storage(), value.shape, value.quant};
}

Json to_json(const QuantParams& p) {
  return Json::object({{"scheme", p.scheme == Scheme::kPow2 ? "pow2" : "affine"},
                       {"dtype", to_string(p.dtype)},
                       {"bits", p.bits},
                       {"axis", p.axis},
                       {"scale", Json(p.scale)},
                       {"zero_point", Json(p.zero_point)}});
}

Result<QuantParams> quant_params_from_json(const Json& json) {
  QuantParams p;
  const std::string scheme = json["scheme"].as_string();
  const auto dtype = dtype_from_string(json["dtype"].as_string());
  if ((scheme != "pow2" && scheme != "affine") || !dtype)
    return wrong("quant", "scheme affine|pow2 and a dtype");
  p.scheme = scheme == "pow2" ? Scheme::kPow2 : Scheme::kAffine;
  p.dtype = *dtype;
  p.bits = static_cast<int>(json["bits"].as_int());
  p.axis = json["axis"].as_int(-1);
  p.scale.clear();
  p.zero_point.clear();
  for (const Json& s : json["scale"].items()) p.scale.push_back(static_cast<float>(s.as_number()));
  for (const Json& z : json["zero_point"].items()) p.zero_point.push_back(static_cast<int32_t>(z.as_int()));
  TANDEM_TRY(tandem::verify(p, p.axis < 0 ? 1 : static_cast<int64_t>(p.scale.size())));
  return p;
}

Json to_json(const Plan& plan) {
  Json parts = Json::array();
  for (const Part& part : plan.parts) {
    parts.push(Json::object({{"name", part.name},
                             {"device", part.device},
                             {"inputs", contracts_to_json(part.inputs)},
                             {"outputs", contracts_to_json(part.outputs)},
                             {"nodes", Json(part.nodes)}}));
  }
  return Json::object({{"format", "tandem.plan"},
                       {"version", kFormatVersion},
                       {"model", plan.model},
                       {"model_hash", plan.model_hash},
                       {"parts", std::move(parts)}});
}

Result<Plan> from_json(const Json& json) {
  if (json["format"].as_string() != "tandem.plan") return wrong("format", "\"tandem.plan\"");
  if (json["version"].as_int() != kFormatVersion) {
    return unsupported(fmt::format("plan version {} is not known", json["version"].as_int()))
        .because(fmt::format("this program reads version {}", kFormatVersion));
  }
  Plan plan;
  plan.model = json["model"].as_string();
  plan.model_hash = json["model_hash"].as_string();
  if (!json["parts"].is_array()) return wrong("parts", "an array");
  for (const Json& item : json["parts"].items()) {
    Part part;
    part.name = item["name"].as_string();
    part.device = item["device"].as_string();
    if (part.name.empty() || part.device.empty()) return wrong("parts", "a name and a device in each part");
    part.inputs = TANDEM_TRY(contracts_from_json(item["inputs"], "inputs of part " + part.name));
    part.outputs = TANDEM_TRY(contracts_from_json(item["outputs"], "outputs of part " + part.name));
    for (const Json& node : item["nodes"].items()) part.nodes.push_back(node.as_string());
    plan.parts.push_back(std::move(part));
  }
  TANDEM_TRY(verify(plan));
  return plan;
}

Status verify(const Plan& plan) {
  std::set<std::string> nodes, parts, available;
  std::set<std::string> produced;
  for (const Part& part : plan.parts) {
    for (const Contract& output : part.outputs) produced.insert(output.value);
  }
  for (const Part& part : plan.parts) {
    if (!parts.insert(part.name).second) return bad_input(fmt::format("two parts are named '{}'", part.name));
    for (const Contract& input : part.inputs) {
      if (produced.count(input.value) > 0 && available.count(input.value) == 0) {
        return bad_input(fmt::format("part '{}' reads '{}' before it is made", part.name, input.value));
      }
    }
    for (const std::string& node : part.nodes) {
      if (!nodes.insert(node).second) return bad_input(fmt::format("node '{}' is in two parts", node));
    }
    for (const Contract& output : part.outputs) available.insert(output.value);
  }
  return {};
}

}  // namespace tandem::plan
