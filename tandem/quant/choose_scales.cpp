// SPDX-License-Identifier: Apache-2.0
// Threshold searches over histograms, and weight scales.
#include "tandem/quant/choose_scales.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tandem/base/check.hpp"

namespace tandem::quant {
namespace {

constexpr std::array<std::string_view, 4> kMethodNames = {"minmax", "percentile", "mse", "entropy"};
constexpr double kPercentile = 0.9999;
constexpr int kThresholdSteps = 128;
// No float scale below this: 1/scale must stay finite with room for a product of two.
constexpr double kScaleMin = 1e-18;

double level_count(bool is_signed, int bits) {
  return is_signed ? std::ldexp(1.0, bits - 1) - 1 : std::ldexp(1.0, bits) - 1;
}

constexpr double kFixPointMax = 60;

// The finest position at which `levels` steps reach the threshold.
int fix_point_holding(double threshold, double levels) {
  return static_cast<int>(std::clamp(std::floor(std::log2(levels / threshold)), -kFixPointMax, kFixPointMax));
}

QuantParams params_for(double threshold, bool is_signed, Scheme scheme, int bits) {
  const double levels = level_count(is_signed, bits);
  if (scheme == Scheme::kPow2) {
    if (threshold <= 0) return QuantParams::pow2(0, DType::kI8, bits);
    const double fix = std::clamp(std::round(std::log2(levels / threshold)), -kFixPointMax, kFixPointMax);
    return QuantParams::pow2(static_cast<int>(fix), DType::kI8, bits);
  }
  QuantParams p = QuantParams::affine(is_signed ? DType::kI8 : DType::kU8, 1.0f, 0);
  p.bits = bits;
  if (threshold > 0) p.scale = {static_cast<float>(std::max(threshold / levels, kScaleMin))};
  return p;
}

// Quantized counts of the first `used` bins spread back over `levels` groups; divergence to the clipped
// reference.
double divergence(const std::vector<int64_t>& bins, int used, int levels) {
  std::vector<double> p(bins.begin(), bins.begin() + used);
  for (size_t i = static_cast<size_t>(used); i < bins.size(); ++i) p.back() += static_cast<double>(bins[i]);
  std::vector<double> q(static_cast<size_t>(used), 0);
  for (int level = 0; level < levels; ++level) {
    const int first = static_cast<int>(int64_t{level} * used / levels);
    const int last = static_cast<int>(int64_t{level + 1} * used / levels);
    double sum = 0;
    int occupied = 0;
    for (int i = first; i < last; ++i) {
      sum += static_cast<double>(bins[static_cast<size_t>(i)]);
      occupied += p[static_cast<size_t>(i)] > 0;
    }
    for (int i = first; i < last && occupied > 0; ++i) {
      if (p[static_cast<size_t>(i)] > 0) q[static_cast<size_t>(i)] = sum / occupied;
    }
  }
  double p_sum = 0, q_sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    p_sum += p[i];
    q_sum += q[i];
  }
  if (p_sum == 0 || q_sum == 0) return std::numeric_limits<double>::infinity();
  double kl = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0) continue;
    // Clipped mass can land in an empty group; a small count keeps the divergence finite, as it is a search
    // only.
    const double qi = std::max(q[i] / q_sum, 1e-9);
    kl += p[i] / p_sum * std::log(p[i] / p_sum / qi);
  }
  return kl;
}

double entropy_threshold(const Histogram& seen, bool is_signed, int bits) {
  std::vector<int64_t> bins(Histogram::kBins);
  for (int i = 0; i < Histogram::kBins; ++i)
    bins[static_cast<size_t>(i)] = seen.positive(i) + seen.negative(i);
  bins[0] = bins[1];  // Exact zeros (ReLU) say nothing about the threshold.
  const int levels = static_cast<int>(level_count(is_signed, bits)) + 1;
  double best = std::numeric_limits<double>::infinity();
  int best_used = Histogram::kBins;
  for (int used = levels; used <= Histogram::kBins; used += 8) {
    const double kl = divergence(bins, used, levels);
    if (kl < best) {
      best = kl;
      best_used = used;
    }
  }
  return best_used * seen.width();
}

double mse_threshold(const Histogram& seen, double full, bool is_signed, int bits) {
  double best = std::numeric_limits<double>::infinity(), best_threshold = full;
  for (int step = kThresholdSteps; step >= kThresholdSteps / 8; --step) {
    const double threshold = full * step / kThresholdSteps;
    const double error =
        expected_squared_error(seen, params_for(threshold, is_signed, Scheme::kAffine, bits));
    if (error < best) {
      best = error;
      best_threshold = threshold;
    }
  }
  return best_threshold;
}

}  // namespace

std::string_view to_string(RangeMethod method) { return kMethodNames[static_cast<size_t>(method)]; }

std::optional<RangeMethod> range_method_from_string(std::string_view name) {
  for (size_t i = 0; i < kMethodNames.size(); ++i) {
    if (kMethodNames[i] == name) return static_cast<RangeMethod>(i);
  }
  return std::nullopt;
}

double expected_squared_error(const Histogram& seen, const QuantParams& params) {
  const double width = seen.width(), scale = params.scale[0];
  if (seen.count() == 0 || width == 0) return 0;
  const double low = static_cast<double>(params.lowest() - params.zero_point[0]) * scale;
  const double high = static_cast<double>(params.highest() - params.zero_point[0]) * scale;
  double sum = 0;
  const auto add = [&](double x, int64_t n) {
    if (n == 0) return;
    const double q = std::clamp(std::nearbyint(x / scale) * scale, low, high);
    sum += static_cast<double>(n) * (x - q) * (x - q);
  };
  for (int i = 0; i < Histogram::kBins; ++i) {
    const double centre = (i + 0.5) * width;
    add(centre, seen.positive(i));
    add(-centre, seen.negative(i));
  }
  return sum / static_cast<double>(seen.count());
}

QuantParams choose_activation(const Histogram& seen, RangeMethod method, Scheme scheme, int bits) {
  const bool is_signed = scheme == Scheme::kPow2 || seen.min() < 0;
  const double levels = level_count(is_signed, bits);
  // One more level below zero than above.
  const double full =
      std::max<double>(seen.max(), is_signed ? -double{seen.min()} * levels / (levels + 1) : 0);
  if (full <= 0) return params_for(0, is_signed, scheme, bits);
  double threshold = full;
  if (method == RangeMethod::kPercentile) threshold = std::min(full, seen.magnitude_quantile(kPercentile));
  if (method == RangeMethod::kEntropy) threshold = std::min(full, entropy_threshold(seen, is_signed, bits));
  if (method == RangeMethod::kMse && scheme == Scheme::kAffine)
    threshold = mse_threshold(seen, full, is_signed, bits);
  QuantParams params = params_for(threshold, is_signed, scheme, bits);
  if (method == RangeMethod::kMse && scheme == Scheme::kPow2) {
    // From the position that just holds the range on: finer steps clip more, and that can be the smaller
    // error.
    const int base = fix_point_holding(full, levels);
    double best = std::numeric_limits<double>::infinity();
    for (int fix = base; fix <= base + 4; ++fix) {
      const auto candidate = QuantParams::pow2(fix, DType::kI8, bits);
      const double error = expected_squared_error(seen, candidate);
      if (error < best) {
        best = error;
        params = candidate;
      }
    }
  }
  return params;
}

QuantParams choose_pow2_bias(const TensorView& bias) {
  double high = 0, low = 0;
  for (float x : bias.as<float>()) {
    high = std::max(high, double{x});
    low = std::min(low, double{x});
  }
  const double levels = level_count(true, 8);
  const double largest = std::max(high, -low * levels / (levels + 1));
  return QuantParams::pow2(largest > 0 ? fix_point_holding(largest, levels) : 0);
}

QuantParams choose_weights(const TensorView& w, int64_t axis, Scheme scheme, int bits) {
  const auto elements = w.as<float>();
  const double levels = level_count(true, bits);
  if (scheme == Scheme::kPow2 || axis < 0) {
    double largest = 0;
    for (float x : elements) largest = std::max(largest, std::abs(double{x}));
    return params_for(largest, true, scheme, bits);
  }
  const int64_t channels = w.shape()[static_cast<size_t>(axis)];
  const int64_t inner = w.shape().strides()[static_cast<size_t>(axis)];
  std::vector<double> largest(static_cast<size_t>(channels), 0);
  for (int64_t i = 0; i < w.elements(); ++i) {
    double& m = largest[static_cast<size_t>(i / inner % channels)];
    m = std::max(m, std::abs(double{elements[static_cast<size_t>(i)]}));
  }
  std::vector<float> scales;
  for (double m : largest)
    scales.push_back(m > 0 ? static_cast<float>(std::max(m / levels, kScaleMin)) : 1.0f);
  QuantParams params = QuantParams::affine_per_axis(DType::kI8, axis, std::move(scales));
  params.bits = bits;
  return params;
}

}  // namespace tandem::quant
