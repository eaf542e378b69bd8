// SPDX-License-Identifier: Apache-2.0
// Padding arithmetic of sliding windows, after the operator definitions of ONNX (Conv, MaxPool).
#include "tandem/ir/ops/window.hpp"

#include <algorithm>

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {
namespace {

Status check_window(const Window& window, size_t n) {
  const auto check_length = [&](const std::vector<int64_t>& values, size_t expected,
                                std::string_view what) -> Status {
    if (values.empty() || values.size() == expected) return {};
    return bad_input(fmt::format("{} has {} entries for {} spatial dimensions", what, values.size(), n));
  };
  if (window.kernel.size() != n) {
    return bad_input(fmt::format("kernel has {} entries for {} spatial dimensions", window.kernel.size(), n));
  }
  TANDEM_TRY(check_length(window.strides, n, "strides"));
  TANDEM_TRY(check_length(window.dilations, n, "dilations"));
  TANDEM_TRY(check_length(window.pads, 2 * n, "pads"));
  TANDEM_TRY(rules::check_range(window.kernel, 1, rules::kMaxAttribute, "kernel"));
  TANDEM_TRY(rules::check_range(window.strides, 1, rules::kMaxAttribute, "stride"));
  TANDEM_TRY(rules::check_range(window.dilations, 1, rules::kMaxAttribute, "dilation"));
  TANDEM_TRY(rules::check_range(window.pads, 0, rules::kMaxAttribute, "pad"));
  for (size_t i = 0; i < n; ++i) {
    if (window.extent(i) > rules::kMaxElements) return bad_input("the dilated kernel is too large");
  }
  const bool padded = std::any_of(window.pads.begin(), window.pads.end(), [](int64_t p) { return p != 0; });
  if (padded && window.auto_pad != AutoPad::kExplicit) {
    return bad_input(fmt::format("pads are given together with auto_pad {}", enum_name(window.auto_pad)));
  }
  return {};
}

}  // namespace

Result<ResolvedWindow> resolve(const Window& window, const std::vector<int64_t>& spatial, bool ceil_mode) {
  const size_t n = spatial.size();
  TANDEM_TRY(check_window(window, n));
  ResolvedWindow resolved;
  for (size_t i = 0; i < n; ++i) {
    const int64_t in = spatial[i], stride = window.stride(i), extent = window.extent(i);
    int64_t begin = 0, end = 0, out = kDynamic;
    if (window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower) {
      // As many windows as strides start inside the input; one stride keeps the extent, known or not.
      if (in >= 0)
        out = (in + stride - 1) / stride;
      else if (stride == 1)
        out = in;
      if (in < 0 && stride != 1) {
        begin = end = kDynamic;
      } else {
        const int64_t total = in < 0 ? extent - 1 : std::max<int64_t>(0, (out - 1) * stride + extent - in);
        begin = window.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
        end = total - begin;
      }
    } else {
      if (!window.pads.empty()) {
        begin = window.pads[i];
        end = window.pads[n + i];
      }
      if (in >= 0) {
        const int64_t room = in + begin + end - extent;
        if (room < 0)
          out = 0;
        else
          out = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
        if (ceil_mode && out > 0 && (out - 1) * stride >= in + begin) --out;
      } else if (stride == 1 && begin + end == extent - 1) {
        out = in;
      }
    }
    if (in >= 0 && out <= 0) {
      return bad_input(fmt::format("the output of spatial dimension {} would be empty", i))
          .because(fmt::format("extent {} with pads {} and {} is smaller than the dilated kernel of {}", in,
                               begin, end, extent));
    }
    resolved.pad_begin.push_back(begin);
    resolved.pad_end.push_back(end);
    resolved.output.push_back(out);
  }
  return resolved;
}

}  // namespace tandem::ir
