// SPDX-License-Identifier: Apache-2.0
// Loading, calibrating, and the search for positions.
#include "tandem/jobs/quantize_on_images.hpp"

#include <algorithm>
#include <thread>

#include "tandem/data/loader.hpp"
#include "tandem/quant/search_fix_points.hpp"

namespace tandem::jobs {
namespace {

constexpr int64_t kCalibrationBatch = 4;
// Images by which fix_points are judged, up to twice as many.
constexpr int64_t kJudgingImages = 32;

Result<quant::Quantized> searched(const ir::Graph& graph, const quant::Calibration& calibration,
                                  const QuantizeOnImagesOptions& options, const JobHooks& hooks) {
  std::optional<Progress> progress;
  quant::SearchOptions search;
  search.threads = options.threads;
  search.cancel = hooks.cancel;
  search.progress = [&](size_t done, size_t total) {
    if (!progress) progress.emplace(hooks.start("fix points", total, "tensors"));
    progress->update(done);
  };
  quant::SearchResult found = TANDEM_TRY(
      quant::search_fix_points(graph, calibration, options.quantize, search).context("choosing fix_points"));
  if (progress) progress->finish();
  hooks.say(fmt::format(
      "{} of {} fix_points moved in {} trials: squared error of the outputs {:.4f} -> {:.4f} of their size",
      found.moved, found.best.positions.size(), found.trials, found.error_before, found.error_after));
  return std::move(found.best);
}

}  // namespace

Result<QuantizedOnImages> quantize_on_images(const ir::Graph& graph, const ImageModel& model,
                                             const data::Dataset& images,
                                             const QuantizeOnImagesOptions& options, const JobHooks& hooks) {
  data::LoaderOptions load;
  load.batch = std::min(model.micro_batch, kCalibrationBatch);
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  load.threads = static_cast<size_t>(options.threads > 0 ? options.threads : cores);
  load.ahead = 2 * static_cast<int64_t>(load.threads);
  load.layout = model.preprocess.layout;
  load.strict = options.strict;
  load.cancel = hooks.cancel;
  data::BatchLoader loader(images, model.preprocess, load);
  Progress bar = hooks.start("calibrate", images.samples.size(), "images");
  const auto next = [&loader]() -> Result<std::optional<Tensor>> {
    std::optional<data::Batch> batch = TANDEM_TRY(loader.next());
    if (!batch) return std::optional<Tensor>();
    return std::optional<Tensor>(std::move(batch->images));
  };
  const bool pow2 = options.quantize.scheme == Scheme::kPow2;
  quant::CalibrateOptions calibrate;
  calibrate.threads = options.threads;
  // Affine minmax clips nothing; in pow2 the bins tell what the nearest power of two clips.
  calibrate.only_extremes = !pow2 && options.quantize.method == quant::RangeMethod::kMinMax;
  calibrate.keep_images = pow2 ? kJudgingImages : 0;
  calibrate.cancel = hooks.cancel;
  calibrate.progress = [&bar](int64_t done) { bar.update(static_cast<uint64_t>(done)); };
  const quant::Calibration calibration = TANDEM_TRY(quant::calibrate(graph, next, calibrate));
  bar.finish();
  QuantizedOnImages result;
  result.images = calibration.images;
  result.skipped = loader.skipped();
  result.made = pow2 ? TANDEM_TRY(searched(graph, calibration, options, hooks))
                     : TANDEM_TRY(quant::quantize(graph, calibration, options.quantize));
  return result;
}

}  // namespace tandem::jobs
