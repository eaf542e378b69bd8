// SPDX-License-Identifier: Apache-2.0
// Loading, and agreement between a model's input and the preprocessing.
#include "tandem/jobs/model_source.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/base/hash.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/passes/rewrites.hpp"

namespace tandem::jobs {
namespace {

constexpr const char* kFlags =
    "give --mean and --std (in 0..255 units, for example --mean 127 --std 128), and where they differ "
    "--size, "
    "--resize-short, --crop and --color";

Result<const ir::Value*> image_input(const ir::Graph& graph) {
  if (graph.inputs.size() != 1) {
    return unsupported(fmt::format("the model has {} inputs", graph.inputs.size()))
        .because("one image input is expected");
  }
  const ir::Value& input = graph.value(graph.inputs[0]);
  if (!input.shape || input.shape->rank() != 4) {
    return unsupported(fmt::format("the input '{}' has shape {}", input.name,
                                   input.shape ? input.shape->to_string() : "unknown"))
        .because("images need a shape of 4 dimensions, [N,C,H,W] or [N,H,W,C]");
  }
  if (input.dtype != DType::kF32) {
    return unsupported(fmt::format("the input '{}' is {}", input.name, to_string(input.dtype)))
        .because("images are fed as f32");
  }
  return &input;
}

// The preprocessing for a model that brings none.
Result<data::Preprocess> invented(const Shape& shape, const data::PreprocessOverrides& overrides) {
  if (!overrides.mean || !overrides.std) {
    return usage_error("the model does not say how its images are prepared")
        .because(fmt::format("it has no '{}' in its metadata", data::kPreprocessKey))
        .hint(kFlags);
  }
  data::Preprocess p;
  const bool nhwc = (shape[3] == 3 || shape[3] == 1) && shape[1] != 3 && shape[1] != 1;
  p.layout = nhwc ? data::PixelLayout::kNhwc : data::PixelLayout::kNchw;
  const int64_t channels = shape[nhwc ? 3 : 1];
  if (channels == 1) {
    p.color = data::Color::kGray;
    p.mean = {0};
    p.std = {1};
  }
  const int64_t height = shape[nhwc ? 1 : 2], width = shape[nhwc ? 2 : 3];
  if (height > 0 && width > 0) {
    p.height = height;
    p.width = width;
  } else if (overrides.size) {
    p.height = p.width = *overrides.size;
  } else {
    return usage_error("the model takes images of any size").hint("give --size, for example --size 224");
  }
  constexpr int64_t kSmallMax = 96;  // pictures of that size are wholes already, as in CIFAR and MNIST
  if (std::max(p.height, p.width) <= kSmallMax || p.height != p.width) {
    p.rule = data::ResizeRule::kExact;
    p.crop = data::Crop::kNone;
  } else {
    p.short_side = std::llround(static_cast<double>(p.height) * 256 / 224);
  }
  return p;
}

// Nothing that such a model computes means anything, so it is refused here; inspect shows it.
Status check_finite(const ir::Graph& graph) {
  for (const ir::Value& value : graph.values()) {
    if (!value.is_constant() || value.constant->dtype() != DType::kF32) continue;
    const auto numbers = value.constant->as<float>();
    const auto bad = std::find_if(numbers.begin(), numbers.end(), [](float x) { return std::isnan(x); });
    if (bad == numbers.end()) continue;
    return bad_input(
               fmt::format("the weights hold NaN: element {} of '{}'", bad - numbers.begin(), value.name))
        .because("what the model computes with it is no number")
        .hint("export the model again, from a checkpoint whose training did not diverge");
  }
  return {};
}

Status check_agreement(const ir::Value& input, const data::Preprocess& p) {
  const Shape& shape = *input.shape;
  const bool nchw = p.layout == data::PixelLayout::kNchw;
  const Shape made = nchw ? Shape{shape[0], p.channels(), p.height, p.width}
                          : Shape{shape[0], p.height, p.width, p.channels()};
  for (size_t axis = 1; axis < 4; ++axis) {
    if (shape[axis] < 0 || shape[axis] == made[axis]) continue;
    return bad_input(fmt::format("the model takes {}, its images are prepared as {}", shape.to_string(),
                                 made.to_string()))
        .hint("correct the size with --size, the colours with --color rgb, bgr or gray");
  }
  return {};
}

// Exported in the middle of training, but here to be used.
Status freeze(ImageModel& model) {
  const auto& nodes = model.graph.nodes();
  const bool training = std::any_of(nodes.begin(), nodes.end(), [](const ir::Node& node) {
    const auto* op = std::get_if<ir::BatchNorm>(&node.op);
    return op != nullptr && op->training;
  });
  if (!training) return {};
  const std::vector<passes::Pass> list = {{"freeze_batch_norm", passes::freeze_batch_norm}};
  for (const passes::PassReport& report : TANDEM_TRY(passes::run(model.graph, list))) {
    model.notices.insert(model.notices.end(), report.log.notes.begin(), report.log.notes.end());
  }
  return {};
}

}  // namespace

Result<data::Preprocess> preprocess_of(const ir::Graph& graph, const data::PreprocessOverrides& overrides) {
  const ir::Value* input = TANDEM_TRY(image_input(graph));
  const auto own = graph.metadata.find(data::kPreprocessKey);
  data::Preprocess preprocess;
  if (own != graph.metadata.end()) {
    preprocess = TANDEM_TRY(
        data::parse_preprocess(own->second).context(fmt::format("the model's '{}'", data::kPreprocessKey)));
  } else {
    preprocess = TANDEM_TRY(invented(*input->shape, overrides));
  }
  preprocess = TANDEM_TRY(data::with_overrides(std::move(preprocess), overrides));
  TANDEM_TRY(check_agreement(*input, preprocess));
  return preprocess;
}

Result<ImageModel> load_image_model(const std::string& path, const data::PreprocessOverrides& overrides) {
  onnx_io::LoadedModel loaded = TANDEM_TRY(onnx_io::load_model(path));
  ImageModel model;
  model.preprocess =
      TANDEM_TRY(preprocess_of(loaded.graph, overrides).context(fmt::format("model '{}'", path)));
  TANDEM_TRY(check_finite(loaded.graph).context(fmt::format("model '{}'", path)));
  model.graph = std::move(loaded.graph);
  model.notices = std::move(loaded.report.notices);
  TANDEM_TRY(freeze(model));
  model.path = path;
  model.hash = TANDEM_TRY(sha256_file_hex(path));
  ir::Value& input = model.graph.value(model.graph.inputs[0]);
  const data::Preprocess& p = model.preprocess;
  const bool nchw = p.layout == data::PixelLayout::kNchw;
  const Shape shape = nchw ? Shape{(*input.shape)[0], p.channels(), p.height, p.width}
                           : Shape{(*input.shape)[0], p.height, p.width, p.channels()};
  if (shape != *input.shape) {
    input.shape = shape;
    TANDEM_TRY(ir::infer_shapes(model.graph)
                   .context(fmt::format("model '{}' with input {}", path, shape.to_string())));
  }
  if (!ir::bind_batch(model.graph, model.micro_batch).ok()) model.micro_batch = 1;
  return model;
}

}  // namespace tandem::jobs
