// SPDX-License-Identifier: Apache-2.0
// Coordinate descent over fix_points; the fast executor, which equals the reference in pow2, judges each
// trial.
#include "tandem/quant/search_fix_points.hpp"

#include <algorithm>
#include <cstring>

#include "tandem/base/check.hpp"
#include "tandem/exec/runner.hpp"

namespace tandem::quant {
namespace {

constexpr int64_t kTrialBatch = 4;
// A gain below it is noise of the few images rather than a better position.
constexpr double kGain = 1e-3;

Result<Tensor> joined(const std::vector<Tensor>& images) {
  Shape shape = images[0].shape();
  shape[0] = static_cast<int64_t>(images.size());
  Tensor all = TANDEM_TRY(Tensor::make(DType::kF32, shape));
  size_t at = 0;
  for (const Tensor& image : images) {
    std::memcpy(all.data() + at, image.data(), image.size_bytes());
    at += image.size_bytes();
  }
  return all;
}

class Search {
 public:
  Search(const ir::Graph& graph, const Calibration& calibration, QuantizeOptions options,
         const SearchOptions& search)
      : graph_(graph), calibration_(calibration), options_(std::move(options)), search_(search) {}

  Result<SearchResult> run() {
    images_ = TANDEM_TRY(joined(calibration_.kept));
    wanted_ = TANDEM_TRY(outputs_of(graph_).context("the float network"));
    SearchResult result{TANDEM_TRY(quantize(graph_, calibration_, options_)), 0, 0, 0, 0};
    double least = TANDEM_TRY(error_of(result.best));
    result.error_before = least;
    const std::vector<std::string> positions = result.best.positions;
    const size_t total = positions.size() * static_cast<size_t>(search_.sweeps);
    size_t done = 0;
    for (int sweep = 0; sweep < search_.sweeps; ++sweep) {
      for (const std::string& position : positions) {
        TANDEM_TRY(try_position(position, least, result));
        if (search_.progress) search_.progress(++done, total);
      }
    }
    result.error_after = least;
    for (const auto& [position, offset] : options_.fix_offset) result.moved += offset != 0;
    return result;
  }

 private:
  // Coarser first: clipping hurts more than rounding. The other way is not tried once one way was better.
  Status try_position(const std::string& position, double& least, SearchResult& result) {
    const int start = offset(position);
    for (const int step : {-1, 1}) {
      if (search_.cancel != nullptr) TANDEM_TRY(search_.cancel->check());
      options_.fix_offset[position] = start + step;
      Quantized made = TANDEM_TRY(quantize(graph_, calibration_, options_));
      const double error = TANDEM_TRY(error_of(made));
      ++result.trials;
      if (error < least * (1 - kGain)) {
        least = error;
        result.best = std::move(made);
        return {};
      }
    }
    options_.fix_offset[position] = start;
    return {};
  }

  int offset(const std::string& position) const {
    const auto found = options_.fix_offset.find(position);
    return found == options_.fix_offset.end() ? 0 : found->second;
  }

  Result<std::vector<Tensor>> outputs_of(const ir::Graph& graph) const {
    exec::RunnerOptions options;
    options.workers = search_.threads;
    options.micro_batch = std::min(kTrialBatch, images_.shape()[0]);
    options.compile.input_shapes = {images_.shape()};
    options.compile.input_shapes[0][0] = options.micro_batch;
    exec::Runner runner = TANDEM_TRY(exec::Runner::create(graph, options));
    const TensorView view(images_);
    return runner.run_all(std::span<const TensorView>(&view, 1));
  }

  Result<double> error_of(const Quantized& made) const {
    const std::vector<Tensor> outputs = TANDEM_TRY(outputs_of(made.graph));
    double error = 0, size = 0;
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (outputs[o].dtype() != DType::kF32) continue;
      const auto is = outputs[o].as<float>(), should = wanted_[o].as<float>();
      for (size_t i = 0; i < is.size(); ++i) {
        const double d = double{is[i]} - double{should[i]};
        error += d * d;
        size += double{should[i]} * double{should[i]};
      }
    }
    return size > 0 ? error / size : error;
  }

  const ir::Graph& graph_;
  const Calibration& calibration_;
  QuantizeOptions options_;
  const SearchOptions& search_;
  Tensor images_;
  std::vector<Tensor> wanted_;
};

}  // namespace

Result<SearchResult> search_fix_points(const ir::Graph& graph, const Calibration& calibration,
                                       QuantizeOptions options, const SearchOptions& search) {
  TANDEM_CHECK(options.scheme == Scheme::kPow2 && !calibration.kept.empty(), "pow2 and images to judge by");
  return Search(graph, calibration, std::move(options), search).run();
}

}  // namespace tandem::quant
