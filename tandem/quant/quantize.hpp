// SPDX-License-Identifier: Apache-2.0
// quantize(): a simplified float graph and its calibration become a graph whose values carry QuantParams.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tandem/ir/graph.hpp"
#include "tandem/quant/calibrate.hpp"
#include "tandem/quant/choose_scales.hpp"

namespace tandem::quant {

struct QuantizeOptions {
  Scheme scheme = Scheme::kAffine;
  RangeMethod method = RangeMethod::kMinMax;
  int weight_bits = 8;
  // Nodes that stay in float, by their name or that of a value they make; unknown names are an error that
  // lists the nearest ones.
  std::set<std::string> keep_float;
  // pow2: added to the fix_points that would be chosen; keys are Quantized::positions.
  std::map<std::string, int> fix_offset;
};

struct ValueReport {
  std::string value;
  QuantParams params;
  float min = 0, max = 0;       // as calibrated
  double clipped_fraction = 0;  // of calibration values outside the representable range, by histogram
};

struct QuantizeReport {
  std::vector<ValueReport> activations;
  int64_t quantized_nodes = 0;
  int64_t float_nodes = 0;
  std::vector<std::string> float_reasons;    // "node (op): why"
  std::vector<std::string> dead_channels;    // "conv1: channel 2 of 4"
  std::vector<std::string> constant_values;  // values that were constant during calibration
  std::vector<std::string> raised_scales;    // weight scales raised so that the bias fits its integers
  int64_t saturated_biases = 0;              // pow2: s8 biases that had to clip
};

struct Quantized {
  ir::Graph graph;
  QuantizeReport report;
  // pow2: what has a fix_point of its own to choose, in order of the network: a value (of those that share
  // params, the first one) or "<node>.weight".
  std::vector<std::string> positions;
};

// affine: weights s8 per output channel, activations per tensor (u8 where no value is negative, else
// symmetric s8), bias i32 at s_x * s_w[c]. Where s_x * s_w[c] is too small for the bias, s_w[c] is raised
// until it fits, so that the integers never wrap. pow2: everything s8 with one fix_point each. Ops that only
// move or select elements, and Concat, share the params of their values; an input of Concat that someone else
// reads keeps its own and is requantized for the Concat. Graph inputs and outputs keep their real form: a
// Requantize node stands between. Precondition: `calibration` is of `graph`, the graph carries no QuantParams
// (error kUnsupported otherwise).
Result<Quantized> quantize(const ir::Graph& graph, const Calibration& calibration,
                           const QuantizeOptions& options);

}  // namespace tandem::quant
