// SPDX-License-Identifier: Apache-2.0
// Simplifying with numbered dumps, class names, and dropping quantization.
#include "tandem/jobs/prepare_graph.hpp"

#include <algorithm>
#include <memory>

#include "tandem/base/file.hpp"
#include "tandem/base/json.hpp"
#include "tandem/data/labels.hpp"
#include "tandem/ir/text.hpp"
#include "tandem/ir/verify.hpp"
#include "tandem/passes/pass_runner.hpp"

namespace tandem::jobs {
namespace {

constexpr uint64_t kLabelsLimitBytes = uint64_t{16} << 20;

Result<std::vector<std::string>> labels_of_metadata(const std::string& text) {
  const Json json = TANDEM_TRY(Json::parse(text).context(fmt::format("the model's '{}'", kLabelsKey)));
  std::vector<std::string> labels;
  for (const Json& item : json.items()) {
    if (!item.is_string()) break;
    labels.push_back(item.as_string());
  }
  if (!json.is_array() || labels.size() != json.size()) {
    return bad_input(fmt::format("the model's '{}' is no list of class names", kLabelsKey))
        .hint("give them with --labels FILE, one a line");
  }
  return labels;
}

}  // namespace

Result<std::vector<std::string>> labels_of(const ir::Graph& graph, const std::string& file) {
  if (!file.empty()) {
    const std::string text = TANDEM_TRY(read_file(file, kLabelsLimitBytes));
    return TANDEM_TRY(data::parse_labels(text).context(fmt::format("class names in '{}'", file))).names;
  }
  const auto own = graph.metadata.find(kLabelsKey);
  if (own == graph.metadata.end()) return std::vector<std::string>{};
  return labels_of_metadata(own->second);
}

Result<ir::Graph> simplified(ir::Graph graph, const SimplifyOptions& options) {
  std::vector<passes::Pass> list = passes::simplify_passes();
  if (options.fuse_residual) {
    const std::vector<passes::Pass>& more = passes::affine_passes();
    list.insert(list.end(), more.begin(), more.end());
  }
  passes::PassOptions run_options;
  if (!options.dump_dir.empty()) {
    TANDEM_TRY(make_directories(options.dump_dir));
    run_options.after_each = [&options](int number, std::string_view name, const ir::Graph& state) {
      return write_file(fmt::format("{}/{:03}-{}.ir.txt", options.dump_dir, number, name), ir::print(state));
    };
  }
  TANDEM_TRY(passes::run(graph, list, run_options));
  return graph;
}

bool is_quantized(const ir::Graph& graph) {
  return std::any_of(graph.values().begin(), graph.values().end(), [](const ir::Value& value) {
    return value.quant.has_value() && !value.is_constant() && value.producer != ir::kNoNode;
  });
}

Result<ir::Graph> without_quantization(ir::Graph graph) {
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    ir::Value& value = graph.value(ir::ValueId{i});
    if (!value.quant) continue;
    if (value.is_constant())
      value.constant = std::make_shared<Tensor>(dequantize(*value.constant, *value.quant));
    value.quant.reset();
  }
  for (const ir::NodeId id : graph.live_nodes()) {
    ir::Node& node = graph.node(id);
    if (std::holds_alternative<ir::Requantize>(node.op)) node.op = ir::Identity{};
  }
  TANDEM_TRY(ir::verify(graph).context("the model in floating point"));
  return graph;
}

Status set_open_sizes(ir::Graph& graph, int64_t size) {
  if (size <= 0) return {};
  for (const ir::ValueId id : graph.inputs) {
    ir::Value& value = graph.value(id);
    if (!value.shape || value.shape->rank() != 4) continue;
    for (size_t axis = 1; axis < 4; ++axis) {
      if ((*value.shape)[axis] == kDynamic) (*value.shape)[axis] = size;
    }
  }
  return ir::infer_shapes(graph).context(fmt::format("with --size {}", size));
}

Result<std::vector<Tensor>> random_inputs(const ir::Graph& graph, Rng& rng) {
  std::vector<Tensor> inputs;
  for (const ir::ValueId id : graph.inputs) {
    const ir::Value& value = graph.value(id);
    if (!value.shape || !value.shape->is_static()) {
      return unsupported(fmt::format("the input '{}' has no fixed shape", value.name))
          .hint("give the height and width with --size");
    }
    Tensor real = TANDEM_TRY(Tensor::make(DType::kF32, *value.shape));
    for (float& x : real.as<float>()) x = static_cast<float>(rng.normal());
    if (value.quant) {
      inputs.push_back(quantize(real, *value.quant));
    } else {
      inputs.push_back(value.dtype == DType::kF32 ? std::move(real) : cast(real, value.dtype));
    }
  }
  return inputs;
}

}  // namespace tandem::jobs
