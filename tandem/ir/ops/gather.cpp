// SPDX-License-Identifier: Apache-2.0
// Shape rules of gathers and scatters.
#include "tandem/ir/ops/gather.hpp"

#include "tandem/ir/ops/rules.hpp"

namespace tandem::ir {

Inferred infer(const Gather& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 2, 1}));
  const InputInfo &x = in[0], &indices = in[1];
  TANDEM_TRY(rules::expect_integer(indices, "indices"));
  if (!x.shape) return rules::output(x.dtype, std::nullopt);
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, x.shape->rank()));
  if (const auto known = rules::known_ints(indices); known && (*x.shape)[axis] >= 0) {
    TANDEM_TRY(rules::check_range(*known, -(*x.shape)[axis], (*x.shape)[axis] - 1, "index"));
  }
  if (!indices.shape) return rules::output(x.dtype, std::nullopt);
  Shape y;
  for (size_t i = 0; i < axis; ++i) y.push_back((*x.shape)[i]);
  for (int64_t d : *indices.shape) y.push_back(d);
  for (size_t i = axis + 1; i < x.shape->rank(); ++i) y.push_back((*x.shape)[i]);
  return rules::output(x.dtype, std::move(y));
}

Inferred infer(const GatherElements& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 2, 1}));
  TANDEM_TRY(rules::expect_integer(in[1], "indices"));
  if (in[0].shape) {
    const size_t axis = TANDEM_TRY(normalize_axis(op.axis, in[0].shape->rank()));
    TANDEM_TRY(rules::expect_rank(in[1], in[0].shape->rank(), "indices"));
    for (size_t i = 0; in[1].shape && i < in[0].shape->rank(); ++i) {
      const int64_t have = (*in[0].shape)[i], want = (*in[1].shape)[i];
      if (i != axis && have >= 0 && want > have) {
        return bad_input(fmt::format("indices {} reach outside of x {}", in[1].shape->to_string(),
                                     in[0].shape->to_string()));
      }
    }
  }
  return rules::output(in[0].dtype, in[1].shape);
}

Inferred infer(const GatherNd& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {2, 2, 1}));
  const InputInfo &x = in[0], &indices = in[1];
  TANDEM_TRY(rules::expect_integer(indices, "indices"));
  if (op.batch_dims < 0 || op.batch_dims > static_cast<int64_t>(rules::kMaxRank)) {
    return bad_input(fmt::format("batch_dims is {}", op.batch_dims));
  }
  if (!x.shape || !indices.shape) return rules::output(x.dtype, std::nullopt);
  const size_t batch = static_cast<size_t>(op.batch_dims);
  if (indices.shape->rank() <= batch || x.shape->rank() <= batch) {
    return bad_input(fmt::format("batch_dims {} with x {} and indices {}", batch, x.shape->to_string(),
                                 indices.shape->to_string()));
  }
  const int64_t depth = (*indices.shape)[indices.shape->rank() - 1];
  if (depth < 0) return rules::output(x.dtype, std::nullopt);
  if (depth < 1 || static_cast<size_t>(depth) > x.shape->rank() - batch) {
    return bad_input(fmt::format("indices of {} coordinates into x {}", depth, x.shape->to_string()));
  }
  Shape y;
  for (size_t i = 0; i + 1 < indices.shape->rank(); ++i) {
    const std::optional<int64_t> dim =
        i < batch ? rules::merge((*x.shape)[i], (*indices.shape)[i]) : (*indices.shape)[i];
    if (!dim) return bad_input(fmt::format("x and indices differ in batch dimension {}", i));
    y.push_back(*dim);
  }
  for (size_t i = batch + static_cast<size_t>(depth); i < x.shape->rank(); ++i) y.push_back((*x.shape)[i]);
  return rules::output(x.dtype, std::move(y));
}

Inferred infer(const ScatterElements& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {3, 3, 1}));
  TANDEM_TRY(rules::expect_integer(in[1], "indices"));
  if (in[0].shape) {
    const size_t axis = TANDEM_TRY(normalize_axis(op.axis, in[0].shape->rank()));
    TANDEM_TRY(rules::expect_rank(in[1], in[0].shape->rank(), "indices"));
    for (size_t i = 0; in[1].shape && i < in[0].shape->rank(); ++i) {
      if (i != axis && (*in[0].shape)[i] >= 0 && (*in[1].shape)[i] > (*in[0].shape)[i]) {
        return bad_input(fmt::format("indices {} reach outside of x {}", in[1].shape->to_string(),
                                     in[0].shape->to_string()));
      }
    }
  }
  if (in[1].shape && in[2].shape) TANDEM_TRY(rules::merge(*in[1].shape, *in[2].shape, "updates"));
  return rules::output(in[0].dtype, in[0].shape);
}

Inferred infer(const ScatterNd&, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {3, 3, 1}));
  TANDEM_TRY(rules::expect_integer(in[1], "indices"));
  const std::optional<Shape>&x = in[0].shape, &indices = in[1].shape;
  if (x && indices) {
    if (indices->rank() == 0) return bad_input("indices are a scalar");
    const int64_t depth = (*indices)[indices->rank() - 1];
    if (depth == 0 || depth > static_cast<int64_t>(x->rank())) {
      return bad_input(fmt::format("indices of {} coordinates into x {}", depth, x->to_string()));
    }
    if (depth > 0 && in[2].shape) {
      Shape expected(std::vector<int64_t>(indices->begin(), indices->end() - 1));
      for (size_t i = static_cast<size_t>(depth); i < x->rank(); ++i) expected.push_back((*x)[i]);
      TANDEM_TRY(rules::merge(expected, *in[2].shape, "updates"));
    }
  }
  return rules::output(in[0].dtype, in[0].shape);
}

Inferred infer(const OneHot& op, InputInfos in, size_t output_count) {
  TANDEM_TRY(rules::check_arity(in, output_count, {3, 3, 1}));
  TANDEM_TRY(rules::expect_scalar(in[1], "depth"));
  if (const auto count = rules::length_of(in[2]); count && *count != 2) {
    return bad_input(fmt::format("values has {} elements, expected off and on", *count));
  }
  if (!in[0].shape) return rules::output(in[2].dtype, std::nullopt);
  const size_t axis = TANDEM_TRY(normalize_axis(op.axis, in[0].shape->rank() + 1));
  int64_t depth = kDynamic;
  if (in[1].ints && in[1].ints->size() == 1) {
    const int64_t element = (*in[1].ints)[0];
    if (is_known_int(element) && element < 1) return bad_input(fmt::format("depth is {}", element));
    depth = dim_of_int(element);
  }
  std::vector<int64_t> dims = in[0].shape->dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  return rules::output(in[2].dtype, Shape(std::move(dims)));
}

}  // namespace tandem::ir
