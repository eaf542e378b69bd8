// SPDX-License-Identifier: Apache-2.0
// Making, keeping and attaching heads.
#include "tandem/train/head.hpp"

#include <cmath>

#include "tandem/base/json.hpp"
#include "tandem/base/text.hpp"
#include "tandem/ir/verify.hpp"

namespace tandem::train {
namespace {

constexpr const char* kFormat = "tandem.head.1";

DenseLayer random_layer(int64_t inputs, int64_t outputs, Rng rng) {
  DenseLayer layer{inputs, outputs, {}, {}};
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  layer.weights.resize(static_cast<size_t>(inputs * outputs));
  layer.bias.resize(static_cast<size_t>(outputs));
  for (float& w : layer.weights) w = static_cast<float>(rng.uniform(-bound, bound));
  for (float& b : layer.bias) b = static_cast<float>(rng.uniform(-bound, bound));
  return layer;
}

std::string_view name_of(exec::HiddenActivation activation) {
  switch (activation) {
    case exec::HiddenActivation::kNone: return "none";
    case exec::HiddenActivation::kRelu: return "relu";
    case exec::HiddenActivation::kHardSwish: return "hard_swish";
  }
  return "none";
}

Error broken(std::string what) { return bad_input("not a usable head: " + std::move(what)); }

Result<std::vector<float>> finite_floats(const TensorFile& file, const std::string& name) {
  const Tensor& tensor = file.tensors.at(name);
  if (tensor.dtype() != DType::kF32) return broken(fmt::format("'{}' is not f32", name));
  const auto values = tensor.as<float>();
  for (const float v : values) {
    if (!std::isfinite(v)) return broken(fmt::format("'{}' holds NaN or infinity", name));
  }
  return std::vector<float>(values.begin(), values.end());
}

Result<DenseLayer> layer_from(const TensorFile& file, const std::string& name) {
  const std::string weight = name + ".weight", bias = name + ".bias";
  if (file.tensors.count(bias) == 0) return broken(fmt::format("'{}' is missing", bias));
  const Shape& shape = file.tensors.at(weight).shape();
  if (shape.rank() != 2 || shape[0] < 1 || shape[1] < 1) {
    return broken(fmt::format("'{}' has shape {}, expected [outputs, inputs]", weight, shape.to_string()));
  }
  if (file.tensors.at(bias).shape() != Shape{shape[0]}) {
    return broken(fmt::format("'{}' does not have {} elements", bias, shape[0]));
  }
  DenseLayer layer{shape[1], shape[0], {}, {}};
  layer.weights = TANDEM_TRY(finite_floats(file, weight));
  layer.bias = TANDEM_TRY(finite_floats(file, bias));
  return layer;
}

}  // namespace

Head make_head(const HeadOptions& options) {
  const auto classes = static_cast<int64_t>(options.class_names.size());
  TANDEM_CHECK(options.features > 0 && classes > 0 && options.hidden >= 0, "a head of no size");
  const Rng root = Rng(options.seed).fork(0x68656164);  // "head": apart from the streams of shuffling
  Head head;
  head.activation = options.activation;
  head.class_names = options.class_names;
  if (options.hidden == 0) {
    head.layers.push_back(random_layer(options.features, classes, root.fork(0)));
  } else {
    head.layers.push_back(random_layer(options.features, options.hidden, root.fork(0)));
    head.layers.push_back(random_layer(options.hidden, classes, root.fork(1)));
  }
  return head;
}

Head with_more_classes(const Head& head, const std::vector<std::string>& added, uint64_t seed) {
  TANDEM_CHECK(!head.layers.empty(), "a head of no layers");
  Head wider = head;
  if (added.empty()) return wider;
  DenseLayer& last = wider.layers.back();
  const DenseLayer more =
      random_layer(last.inputs, static_cast<int64_t>(added.size()), Rng(seed).fork(0x6d6f7265));
  last.weights.insert(last.weights.end(), more.weights.begin(), more.weights.end());
  last.bias.insert(last.bias.end(), more.bias.begin(), more.bias.end());
  last.outputs += more.outputs;
  wider.class_names.insert(wider.class_names.end(), added.begin(), added.end());
  return wider;
}

TensorFile to_tensors(const Head& head) {
  TensorFile file;
  for (size_t i = 0; i < head.layers.size(); ++i) {
    const DenseLayer& layer = head.layers[i];
    file.tensors.emplace(fmt::format("layer{}.weight", i),
                         Tensor::of<float>({layer.outputs, layer.inputs}, layer.weights));
    file.tensors.emplace(fmt::format("layer{}.bias", i), Tensor::of<float>({layer.outputs}, layer.bias));
  }
  file.metadata["format"] = kFormat;
  file.metadata["activation"] = std::string(name_of(head.activation));
  file.metadata["classes"] = labels_to_metadata(head.class_names);
  return file;
}

Result<Head> head_from_tensors(const TensorFile& file) {
  const auto text = [&](const char* key) {
    const auto found = file.metadata.find(key);
    return found == file.metadata.end() ? std::string() : found->second;
  };
  if (text("format") != kFormat)
    return broken(fmt::format("its format is '{}', expected '{}'", text("format"), kFormat));
  Head head;
  bool known = false;
  for (const auto activation :
       {exec::HiddenActivation::kNone, exec::HiddenActivation::kRelu, exec::HiddenActivation::kHardSwish}) {
    if (name_of(activation) != text("activation")) continue;
    head.activation = activation;
    known = true;
  }
  if (!known) return broken(fmt::format("unknown activation '{}'", text("activation")));
  const Json classes = TANDEM_TRY(Json::parse(text("classes")).context("classes of the head"));
  for (const Json& name : classes.items()) head.class_names.push_back(name.as_string());
  for (size_t i = 0; file.tensors.count(fmt::format("layer{}.weight", i)) > 0; ++i) {
    head.layers.push_back(TANDEM_TRY(layer_from(file, fmt::format("layer{}", i))));
    if (i > 0 && head.layers[i].inputs != head.layers[i - 1].outputs) {
      return broken(fmt::format("layer {} takes {} values, layer {} gives {}", i, head.layers[i].inputs,
                                i - 1, head.layers[i - 1].outputs));
    }
  }
  if (head.layers.empty()) return broken("it has no layer");
  if (static_cast<int64_t>(head.class_names.size()) != head.class_count()) {
    return broken(fmt::format("{} class names for {} outputs", head.class_names.size(), head.class_count()));
  }
  return head;
}

Status save_head(const Head& head, const std::string& path) {
  return save_safetensors(to_tensors(head), path);
}

Result<Head> load_head(const std::string& path) {
  const TensorFile file = TANDEM_TRY(load_safetensors(path));
  return head_from_tensors(file).context(fmt::format("'{}'", path));
}

std::vector<exec::LinearLayerState> layer_states(const Head& head) {
  std::vector<exec::LinearLayerState> layers;
  for (const DenseLayer& layer : head.layers) {
    exec::LinearLayerState state;
    state.inputs = layer.inputs;
    state.outputs = layer.outputs;
    state.weights = layer.weights;
    state.bias = layer.bias;
    layers.push_back(std::move(state));
  }
  return layers;
}

std::vector<float> logits_of(const Head& head, std::span<const float> features) {
  const int64_t rows = static_cast<int64_t>(features.size()) / head.feature_count();
  exec::HeadTrainer forward(layer_states(head), head.activation, exec::AdamW{});
  const int64_t classes = head.class_count();
  std::vector<float> logits(static_cast<size_t>(rows * classes));
  constexpr int64_t kRows = 256;  // bounds the hidden activations
  for (int64_t first = 0; first < rows; first += kRows) {
    const int64_t count = std::min(kRows, rows - first);
    forward.logits(features.subspan(static_cast<size_t>(first * head.feature_count()),
                                    static_cast<size_t>(count * head.feature_count())),
                   count,
                   std::span<float>(logits).subspan(static_cast<size_t>(first * classes),
                                                    static_cast<size_t>(count * classes)));
  }
  return logits;
}

namespace {

ir::ValueId add_node(ir::Graph& graph, ir::Op op, std::vector<ir::ValueId> inputs, const std::string& name,
                     const std::string& output) {
  ir::Value value;
  value.name = output;
  const ir::ValueId id = graph.add_value(std::move(value));
  ir::Node node;
  node.name = name;
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.outputs = {id};
  graph.add_node(std::move(node));
  return id;
}

// A value of the backbone may already have a name that is promised for an output.
void free_name(ir::Graph& graph, const std::string& name) {
  const ir::ValueId taken = graph.find_value(name);
  if (taken == ir::kNoValue) return;
  std::string other = name + "_backbone";
  while (graph.find_value(other) != ir::kNoValue) other += "_";
  graph.rename(taken, other);
}

Result<const Shape*> only_output_shape(const ir::Graph& graph) {
  if (graph.outputs.size() != 1)
    return bad_input(fmt::format("a backbone has one output, this has {}", graph.outputs.size()));
  const ir::Value& value = graph.value(graph.outputs[0]);
  if (!value.shape || value.shape->rank() < 2 || (*value.shape)[1] < 1) {
    return unsupported(fmt::format("'{}' cannot be features: its shape is {}", value.name,
                                   value.shape ? value.shape->to_string() : "unknown"));
  }
  return &*value.shape;
}

Result<ir::Graph> finished(ir::Graph graph) {
  TANDEM_TRY(graph.compact());
  TANDEM_TRY(ir::infer_shapes(graph));
  TANDEM_TRY(ir::verify(graph));
  return graph;
}

}  // namespace

Result<ir::Graph> with_flat_features(ir::Graph backbone) {
  const Shape shape = *TANDEM_TRY(only_output_shape(backbone));
  if (shape.rank() == 2) return backbone;
  if (shape.rank() != 4) {
    return unsupported(fmt::format("features of shape {}", shape.to_string()))
        .because("a head needs [N,C] or [N,C,H,W]");
  }
  free_name(backbone, "features");
  ir::ValueId at = backbone.outputs[0];
  at = add_node(backbone, ir::GlobalPool{}, {at}, "head.pool", "head.pooled");
  at = add_node(backbone, ir::Flatten{}, {at}, "head.flatten", "features");
  backbone.outputs = {at};
  return finished(std::move(backbone));
}

Result<ir::Graph> attach_head(ir::Graph features, const Head& head) {
  const Shape shape = *TANDEM_TRY(only_output_shape(features));
  if (shape.rank() != 2 || shape[1] != head.feature_count()) {
    return bad_input(
        fmt::format("the head takes [N,{}], the backbone gives {}", head.feature_count(), shape.to_string()));
  }
  free_name(features, "logits");
  ir::ValueId at = features.outputs[0];
  for (size_t i = 0; i < head.layers.size(); ++i) {
    const DenseLayer& layer = head.layers[i];
    const bool last = i + 1 == head.layers.size();
    const std::string name = fmt::format("head{}", i);
    const ir::ValueId w = features.add_constant(
        name + ".weight", Tensor::of<float>({layer.outputs, layer.inputs}, layer.weights));
    const ir::ValueId b =
        features.add_constant(name + ".bias", Tensor::of<float>({layer.outputs}, layer.bias));
    ir::Gemm gemm;
    gemm.trans_b = true;
    at = add_node(features, gemm, {at, w, b}, name, last ? "logits" : name + ".out");
    if (last || head.activation == exec::HiddenActivation::kNone) continue;
    const bool relu = head.activation == exec::HiddenActivation::kRelu;
    at = add_node(features, ir::Unary{relu ? ir::UnaryKind::kRelu : ir::UnaryKind::kHardSwish}, {at},
                  name + ".act", name + ".act.out");
  }
  features.outputs = {at};
  features.metadata[kLabelsKey] = labels_to_metadata(head.class_names);
  return finished(std::move(features));
}

std::string labels_to_metadata(const std::vector<std::string>& names) { return Json(names).dump(); }

std::vector<std::string> labels_of(const ir::Graph& graph) {
  std::vector<std::string> names;
  const auto found = graph.metadata.find(kLabelsKey);
  if (found == graph.metadata.end()) return names;
  const std::string_view text = trim(found->second);
  if (!text.empty() && text.front() == '[') {
    const auto json = Json::parse(text);
    if (json.ok()) {
      for (const Json& name : json->items()) names.push_back(name.as_string());
      return names;
    }
  }
  for (const std::string_view line : split(text, '\n')) {
    if (!trim(line).empty()) names.emplace_back(trim(line));
  }
  return names;
}

}  // namespace tandem::train
