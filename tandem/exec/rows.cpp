// SPDX-License-Identifier: Apache-2.0
// Planning of row loops.
#include "tandem/exec/rows.hpp"

#include <algorithm>
#include <numeric>

namespace tandem::exec {

RowPlan plan_rows(const Shape& output, Layout layout, const std::vector<RowOperand>& operands) {
  const size_t rank = output.rank();
  std::vector<size_t> order(rank);  // physical, outermost first
  std::iota(order.begin(), order.end(), size_t{0});
  if (layout == Layout::kChannelsLast && rank >= 3)
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());

  std::vector<std::vector<int64_t>> logical;
  for (const RowOperand& o : operands) {
    std::vector<int64_t> strides(rank, 0);
    const std::vector<int64_t> own = strides_of(o.shape, o.layout);
    const size_t shift = rank - o.shape.rank();
    for (size_t d = 0; d < o.shape.rank(); ++d) strides[d + shift] = o.shape[d] == 1 ? 0 : own[d];
    logical.push_back(std::move(strides));
  }
  RowPlan plan;
  plan.stride.resize(operands.size());
  for (const size_t d : order) {
    if (output[d] == 1) continue;
    bool joins = !plan.extent.empty();
    for (size_t o = 0; o < operands.size() && joins; ++o)
      joins = plan.stride[o].back() == logical[o][d] * output[d];
    if (joins) {
      plan.extent.back() *= output[d];
      for (size_t o = 0; o < operands.size(); ++o) plan.stride[o].back() = logical[o][d];
    } else {
      plan.extent.push_back(output[d]);
      for (size_t o = 0; o < operands.size(); ++o) plan.stride[o].push_back(logical[o][d]);
    }
  }
  if (plan.extent.empty()) {
    plan.extent.push_back(1);
    for (auto& s : plan.stride) s.push_back(0);
  }
  for (const auto& s : plan.stride) plan.ok = plan.ok && (s.back() == 0 || s.back() == 1);
  const size_t dims = plan.extent.size();
  const int64_t row = std::max<int64_t>(plan.extent.back(), 1);
  bool joins = dims > 1;
  for (const auto& s : plan.stride) {
    plan.repeats.push_back(dims > 1 && s[dims - 2] == 0);
    joins = joins && (plan.repeats.back() || (s[dims - 2] == row && s[dims - 1] == 1));
  }
  if (joins) plan.rows_at_once = std::max<int64_t>(kRowMax / row, 1);
  return plan;
}

}  // namespace tandem::exec
