// SPDX-License-Identifier: Apache-2.0
// Shape rules of optimizer steps: every output is like the tensor it replaces.
#include "tandem/ir/ops/optimizer.hpp"

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {
namespace {

// Inputs: rate, step, X..., G..., then `states` tensors per X. Outputs: new X..., new states...
Inferred step(InputInfos in, size_t output_count, size_t states) {
  TANDEM_TRY(rules::check_arity(in, output_count, {std::max<size_t>(in.size(), 2), SIZE_MAX, SIZE_MAX}));
  const size_t per_tensor = 2 + states;
  const size_t count = (in.size() - 2) / per_tensor;
  if (count == 0 || in.size() != 2 + count * per_tensor) {
    return bad_input(fmt::format("{} inputs given", in.size()))
        .because(fmt::format("expected rate, step and {} inputs for each tensor", per_tensor));
  }
  TANDEM_TRY(rules::expect_scalar(in[0], "rate"));
  TANDEM_TRY(rules::expect_scalar(in[1], "step"));
  if (output_count > count * (1 + states))
    return bad_input(fmt::format("{} outputs for {} tensors", output_count, count));
  std::vector<OutputInfo> out;
  for (size_t i = 0; i < count; ++i) {
    std::optional<Shape> shape = in[2 + i].shape;
    for (size_t other = 1; other < per_tensor; ++other) {
      const std::optional<Shape>& like = in[2 + other * count + i].shape;
      if (shape && like)
        shape = TANDEM_TRY(rules::merge(*shape, *like, other == 1 ? "a gradient" : "an optimizer state"));
    }
    out.push_back({in[2 + i].dtype, std::move(shape)});
  }
  for (size_t state = 0; state < states; ++state) {
    for (size_t i = 0; i < count; ++i) out.push_back(out[i]);
  }
  return rules::outputs(std::move(out), output_count);
}

}  // namespace

Inferred infer(const Adam&, InputInfos in, size_t output_count) { return step(in, output_count, 2); }
Inferred infer(const Momentum&, InputInfos in, size_t output_count) { return step(in, output_count, 1); }
Inferred infer(const Adagrad&, InputInfos in, size_t output_count) { return step(in, output_count, 1); }

}  // namespace tandem::ir
