// SPDX-License-Identifier: Apache-2.0
// Dispatch over the variant of ops.
#include "tandem/ir/op.hpp"

#include <type_traits>

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {
namespace {

template <typename T>
std::string kind_of(const T& op) {
  std::string text;
  if constexpr (requires { EnumNames<decltype(op.kind)>::names; })
    text += " " + std::string(enum_name(op.kind));
  if constexpr (requires { op.activation.kind; }) {
    if (op.activation) text += " + " + std::string(enum_name(op.activation.kind));
  }
  return text;
}

}  // namespace

Op::Op() = default;
Op::Op(const Op& other) = default;
Op::Op(Op&& other) noexcept = default;
Op& Op::operator=(const Op& other) = default;
Op& Op::operator=(Op&& other) noexcept = default;
Op::~Op() = default;

std::string_view op_name(const Op& op) {
  return std::visit(
      [](const auto& o) -> std::string_view {
        using T = std::decay_t<decltype(o)>;
        if constexpr (std::is_same_v<T, Opaque>)
          return o.op_type;
        else
          return T::kName;
      },
      op);
}

std::string describe(const Op& op) {
  if (const Opaque* opaque = std::get_if<Opaque>(&op)) {
    return "Opaque " + (opaque->domain.empty() ? "" : opaque->domain + "::") + opaque->op_type;
  }
  return std::visit([](const auto& o) { return std::string(std::decay_t<decltype(o)>::kName) + kind_of(o); },
                    op);
}

Inferred infer(const Op& op, InputInfos in, size_t output_count) {
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i].shape) TANDEM_TRY(rules::check_size(*in[i].shape).context(fmt::format("input {}", i)));
  }
  std::vector<OutputInfo> out =
      TANDEM_TRY(std::visit([&](const auto& o) { return infer(o, in, output_count); }, op));
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].shape) TANDEM_TRY(rules::check_size(*out[i].shape).context(fmt::format("output {}", i)));
  }
  return out;
}

}  // namespace tandem::ir
