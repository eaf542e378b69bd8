// SPDX-License-Identifier: Apache-2.0
// Losses over class scores. x [N,C,d...] | labels [N,d...]
#pragma once

#include "tandem/ir/fields.hpp"
#include "tandem/ir/infer.hpp"

namespace tandem::ir {

enum class LossReduction : uint8_t { kNone, kMean, kSum };
template <>
struct EnumNames<LossReduction> {
  static constexpr std::array<std::string_view, 3> names = {"none", "mean", "sum"};
};

// Inputs: scores, labels, class weights (optional). Outputs: loss, log probabilities (optional).
struct SoftmaxCrossEntropyLoss {
  static constexpr std::string_view kName = "SoftmaxCrossEntropyLoss";
  LossReduction reduction = LossReduction::kMean;
  bool has_ignore_index = false;
  int64_t ignore_index = 0;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("reduction", s.reduction);
    f("has_ignore_index", s.has_ignore_index);
    f("ignore_index", s.ignore_index);
  }
};

// Inputs: log probabilities, labels, class weights (optional).
struct NegativeLogLikelihoodLoss {
  static constexpr std::string_view kName = "NegativeLogLikelihoodLoss";
  LossReduction reduction = LossReduction::kMean;
  bool has_ignore_index = false;
  int64_t ignore_index = 0;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("reduction", s.reduction);
    f("has_ignore_index", s.has_ignore_index);
    f("ignore_index", s.ignore_index);
  }
};

Inferred infer(const SoftmaxCrossEntropyLoss& op, InputInfos in, size_t output_count);
Inferred infer(const NegativeLogLikelihoodLoss& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
