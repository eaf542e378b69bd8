// SPDX-License-Identifier: Apache-2.0
// Normalizations, softmax among them.
#pragma once

#include "tandem/ir/fields.hpp"
#include "tandem/ir/infer.hpp"

namespace tandem::ir {

// Along axis. With flatten (opsets below 13) all dimensions from axis on form one.
struct Softmax {
  static constexpr std::string_view kName = "Softmax";
  int64_t axis = -1;
  bool log = false;
  bool flatten = false;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
    f("log", s.log);
    f("flatten", s.flatten);
  }
};

// Inputs: x [N,C,...], scale, bias, mean, variance [C]. Outputs: y; in training also running mean and
// variance.
struct BatchNorm {
  static constexpr std::string_view kName = "BatchNorm";
  float epsilon = 1e-5f;
  float momentum = 0.9f;
  bool training = false;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("epsilon", s.epsilon);
    f("momentum", s.momentum);
    f("training", s.training);
  }
};

// Inputs: x, scale, bias (optional), over the dimensions from axis on. Outputs: y, mean, inverse deviation
// (optional).
struct LayerNorm {
  static constexpr std::string_view kName = "LayerNorm";
  int64_t axis = -1;
  float epsilon = 1e-5f;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
    f("epsilon", s.epsilon);
  }
};

// Inputs: x [N,C,...], scale [C], bias [C].
struct InstanceNorm {
  static constexpr std::string_view kName = "InstanceNorm";
  float epsilon = 1e-5f;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("epsilon", s.epsilon);
  }
};

// Inputs: x [N,C,...], scale [C] or [groups], bias likewise.
struct GroupNorm {
  static constexpr std::string_view kName = "GroupNorm";
  int64_t num_groups = 1;
  float epsilon = 1e-5f;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("num_groups", s.num_groups);
    f("epsilon", s.epsilon);
  }
};

// Local response normalization across channels.
struct Lrn {
  static constexpr std::string_view kName = "Lrn";
  int64_t size = 1;
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 1;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("size", s.size);
    f("alpha", s.alpha);
    f("beta", s.beta);
    f("bias", s.bias);
  }
};

// x / ||x||_p along axis.
struct LpNorm {
  static constexpr std::string_view kName = "LpNorm";
  int64_t axis = -1;
  int64_t p = 2;
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
    f("p", s.p);
  }
};

// (x - mean) / deviation over axes.
struct MeanVarianceNorm {
  static constexpr std::string_view kName = "MeanVarianceNorm";
  std::vector<int64_t> axes = {0, 2, 3};
  template <typename S, typename F>
  static void fields(S& s, F&& f) {
    f("axes", s.axes);
  }
};

Inferred infer(const Softmax& op, InputInfos in, size_t output_count);
Inferred infer(const BatchNorm& op, InputInfos in, size_t output_count);
Inferred infer(const LayerNorm& op, InputInfos in, size_t output_count);
Inferred infer(const InstanceNorm& op, InputInfos in, size_t output_count);
Inferred infer(const GroupNorm& op, InputInfos in, size_t output_count);
Inferred infer(const Lrn& op, InputInfos in, size_t output_count);
Inferred infer(const LpNorm& op, InputInfos in, size_t output_count);
Inferred infer(const MeanVarianceNorm& op, InputInfos in, size_t output_count);

}  // namespace tandem::ir
