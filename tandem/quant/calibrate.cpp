// SPDX-License-Identifier: Apache-2.0
// Calibration over the fast executor: every worker counts into histograms of its own, which are added up at
// the end.
#include "tandem/quant/calibrate.hpp"

#include <mutex>

#include "tandem/exec/runner.hpp"

namespace tandem::quant {
namespace {

// The executor's graph has the same values under the same names; ids may differ.
std::map<ir::ValueId, ir::ValueId> ids_by_name(const ir::Graph& from, const ir::Graph& to) {
  std::map<ir::ValueId, ir::ValueId> ids;
  for (size_t i = 0; i < from.values().size(); ++i) {
    const ir::Value& value = from.values()[i];
    const ir::ValueId same = to.find_value(value.name);
    if (same == ir::kNoValue || value.is_constant() || value.dtype != DType::kF32 || value.quant) continue;
    ids.emplace(ir::ValueId{static_cast<uint32_t>(i)}, same);
  }
  return ids;
}

Status refuse_never_finite(const ir::Graph& graph, const Calibration& calibration) {
  for (const auto& [id, seen] : calibration.seen) {
    if (!seen.empty() || seen.not_finite() == 0) continue;
    const ir::Value& value = graph.value(id);
    const std::string node = value.producer == ir::kNoNode ? "an input" : graph.node(value.producer).name;
    return bad_input(fmt::format("value '{}' of '{}' was never a finite number during calibration",
                                 value.name, node))
        .because("NaN or infinite weights, or preprocessing that the model was not trained with")
        .hint("look at the weights of that node, and at the preprocessing (mean, std, range)");
  }
  return {};
}

// What the workers of one calibration share.
class Watch {
 public:
  Watch(const ir::Graph& graph, bool only_extremes) : graph_(graph), only_extremes_(only_extremes) {}

  void look(Histogram& seen, std::span<const float> values) const {
    if (only_extremes_) {
      seen.add_extremes(values);
    } else {
      seen.add(values);
    }
  }

  exec::ValueObserver observer(size_t worker, const ir::Graph& compiled) {
    const std::lock_guard lock(mutex_);
    auto& seen = by_worker_[worker];  // Stays where it is when others are added.
    return [this, &seen, ids = ids_by_name(compiled, graph_)](ir::ValueId id, const TensorView& t) {
      const auto known = ids.find(id);
      if (known != ids.end()) look(seen[known->second], t.as<float>());
    };
  }

  // Precondition: nothing runs any more.
  std::map<ir::ValueId, Histogram> sum() const {
    std::map<ir::ValueId, Histogram> all;
    for (const auto& [worker, seen] : by_worker_) {
      for (const auto& [id, histogram] : seen) all[id].merge(histogram);
    }
    return all;
  }

 private:
  const ir::Graph& graph_;
  const bool only_extremes_;
  std::mutex mutex_;
  std::map<size_t, std::map<ir::ValueId, Histogram>> by_worker_;
};

// Keeps every stride-th image. When there are too many, every other one goes and the stride doubles: evenly
// spread without knowing how many will come.
class Keeper {
 public:
  Keeper(int64_t wanted, std::vector<Tensor>& kept) : wanted_(wanted), kept_(kept) {}

  void look(const Tensor& batch) {
    if (wanted_ <= 0) return;
    Shape one = batch.shape();
    one[0] = 1;
    const size_t bytes = batch.size_bytes() / static_cast<size_t>(batch.shape()[0]);
    for (int64_t i = 0; i < batch.shape()[0]; ++i, ++index_) {
      if (index_ % stride_ != 0) continue;
      kept_.push_back(
          TensorView(batch.dtype(), one, batch.data() + static_cast<size_t>(i) * bytes).to_tensor());
      if (static_cast<int64_t>(kept_.size()) == 2 * wanted_) thin_out();
    }
  }

 private:
  void thin_out() {
    std::vector<Tensor> fewer;
    for (size_t i = 0; i < kept_.size(); i += 2) fewer.push_back(std::move(kept_[i]));
    kept_ = std::move(fewer);
    stride_ *= 2;
  }
  const int64_t wanted_;
  int64_t index_ = 0, stride_ = 1;
  std::vector<Tensor>& kept_;
};

}  // namespace

Result<Calibration> calibrate(const ir::Graph& graph, const BatchSource& next,
                              const CalibrateOptions& options) {
  if (graph.inputs.size() != 1) {
    return unsupported(fmt::format("calibration feeds one input, the model has {}", graph.inputs.size()));
  }
  std::optional<Tensor> ready = TANDEM_TRY(next());
  if (!ready) {
    return bad_input("calibration got no image").hint("give a folder with at least one readable image");
  }
  Watch watch(graph, options.only_extremes);
  exec::RunnerOptions runner_options;
  runner_options.workers = options.threads;
  runner_options.micro_batch = ready->shape()[0];
  runner_options.compile.input_shapes = {ready->shape()};
  runner_options.compile.observe_in_place = true;
  runner_options.observer = [&watch](size_t worker, const ir::Graph& compiled) {
    return watch.observer(worker, compiled);
  };
  exec::Runner runner = TANDEM_TRY(exec::Runner::create(graph, runner_options).context("calibrating"));
  Calibration calibration;
  Histogram inputs;
  Keeper keeper(options.keep_images, calibration.kept);
  const auto source = [&]() -> Result<std::optional<std::vector<Tensor>>> {
    if (!ready) ready = TANDEM_TRY(next());
    if (!ready) return std::optional<std::vector<Tensor>>();
    if (options.progress && calibration.images > 0) options.progress(calibration.images);
    watch.look(inputs, ready->as<float>());
    keeper.look(*ready);
    calibration.images += ready->shape()[0];
    std::vector<Tensor> batch;
    batch.push_back(std::move(*ready));
    ready.reset();
    return std::optional<std::vector<Tensor>>(std::move(batch));
  };
  const auto sink = [](size_t, const std::vector<Tensor>&) { return Status(); };
  TANDEM_TRY(runner.run(source, sink, options.cancel).context("calibrating"));
  if (options.progress) options.progress(calibration.images);
  calibration.seen = watch.sum();
  calibration.seen[graph.inputs[0]] = inputs;
  TANDEM_TRY(refuse_never_finite(graph, calibration));
  return calibration;
}

}  // namespace tandem::quant
