// SPDX-License-Identifier: Apache-2.0
// One step of an optimizer on any number of tensors. Inputs: rate, step, then X..., G..., state...
#pragma once

#include "tandem/ir/fields.hpp"
#include "tandem/ir/infer.hpp"

namespace tandem::ir {

// State per tensor: first and second moment.
struct Adam {
  static constexpr std::string_view kName = "Adam";
  float alpha = 0.9f;
  float beta = 0.999f;
  float epsilon = 1e-6f;
  float norm_coefficient = 0;
  float norm_coefficient_post = 0;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("alpha", s.alpha);
    f("beta", s.beta);
    f("epsilon", s.epsilon);
    f("norm_coefficient", s.norm_coefficient);
    f("norm_coefficient_post", s.norm_coefficient_post);
  }
};

enum class MomentumMode : uint8_t { kStandard, kNesterov };
template <>
struct EnumNames<MomentumMode> {
  static constexpr std::array<std::string_view, 2> names = {"standard", "nesterov"};
};

// State per tensor: the velocity.
struct Momentum {
  static constexpr std::string_view kName = "Momentum";
  float alpha = 0;
  float beta = 0;
  float norm_coefficient = 0;
  MomentumMode mode = MomentumMode::kStandard;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("alpha", s.alpha);
    f("beta", s.beta);
    f("norm_coefficient", s.norm_coefficient);
    f("mode", s.mode);
  }
};

// State per tensor: the sum of squares.
struct Adagrad {
  static constexpr std::string_view kName = "Adagrad";
  float norm_coefficient = 0;
  float epsilon = 1e-6f;
  float decay_factor = 0;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("norm_coefficient", s.norm_coefficient);
    f("epsilon", s.epsilon);
    f("decay_factor", s.decay_factor);
  }
};

Inferred infer(const Adam& op, InputInfos in, size_t output_count);
Inferred infer(const Momentum& op, InputInfos in, size_t output_count);
Inferred infer(const Adagrad& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
