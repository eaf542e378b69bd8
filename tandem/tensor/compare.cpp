// SPDX-License-Identifier: Apache-2.0
// Comparison in double precision.
#include "tandem/tensor/compare.hpp"

#include <cmath>
#include <limits>

namespace tandem {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::abs(a - b);
  return std::isnan(d) ? kInfinity : d;
}

Status same_shape(const TensorView& a, const TensorView& b) {
  if (a.shape() == b.shape()) return {};
  return bad_input(fmt::format("shapes differ: {} and {}", a.shape().to_string(), b.shape().to_string()));
}

}  // namespace

std::string Difference::to_string() const {
  return fmt::format("{} of {} differ, max {:.6g} at {}, mean {:.6g}, cosine {:.6f}, SQNR {:.2f} dB",
                     differing, elements, max_abs, max_abs_index, mean_abs, cosine, sqnr_db);
}

Result<Difference> compare(const TensorView& expected, const TensorView& actual) {
  TANDEM_TRY(same_shape(expected, actual));
  Difference result;
  result.elements = expected.elements();
  double aa = 0, bb = 0, ab = 0, dd = 0, sum = 0;
  for (int64_t i = 0; i < result.elements; ++i) {
    const double a = element_as_double(expected, i);
    const double b = element_as_double(actual, i);
    const double d = distance(a, b);
    if (d > 0) ++result.differing;
    if (d > result.max_abs) {
      result.max_abs = d;
      result.max_abs_index = i;
    }
    sum += d;
    dd += d * d;
    aa += a * a;
    bb += b * b;
    ab += a * b;
  }
  if (result.elements > 0) result.mean_abs = sum / static_cast<double>(result.elements);
  if (aa > 0 && bb > 0)
    result.cosine = ab / std::sqrt(aa * bb);
  else
    result.cosine = aa == bb ? 1 : 0;
  if (dd == 0) {
    result.sqnr_db = kInfinity;
  } else {
    result.sqnr_db = 10 * std::log10(aa / dd);
    result.nmse = aa > 0 ? dd / aa : kInfinity;
  }
  return result;
}

Status all_close(const TensorView& expected, const TensorView& actual, double rtol, double atol) {
  TANDEM_TRY(same_shape(expected, actual));
  int64_t worst = -1, count = 0;
  double worst_excess = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    const double a = element_as_double(expected, i);
    const double d = distance(a, element_as_double(actual, i));
    const double allowed = atol + rtol * std::abs(a);
    if (d == 0 || d <= allowed) continue;
    ++count;
    const double excess = d - (std::isnan(allowed) ? 0 : allowed);
    if (worst < 0 || excess > worst_excess) {
      worst = i;
      worst_excess = excess;
    }
  }
  if (worst < 0) return {};
  return Error(ErrorCode::kGateFailed,
               fmt::format("{} of {} elements differ; worst at index {}: expected {}, got {}", count,
                           expected.elements(), worst, element_as_double(expected, worst),
                           element_as_double(actual, worst)))
      .because(fmt::format("allowed is {} + {} * |expected|", atol, rtol));
}

}  // namespace tandem
