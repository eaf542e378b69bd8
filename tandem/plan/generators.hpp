// SPDX-License-Identifier: Apache-2.0
// Seeded generators of arrivals and of service times, used wherever load is made: simulation, modelled
// devices, load programs. Plain data with a state; next() and sample() allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tandem/base/rng.hpp"

namespace tandem::plan {

// Exponential with mean 1.
double sample_exponential(Rng& rng);

enum class LawKind : uint8_t { kDeterministic, kExponential, kLogNormal, kGamma, kEmpirical };

// A law of positive numbers with mean 1: what a mean service time is multiplied by.
struct ServiceLaw {
  LawKind kind = LawKind::kDeterministic;
  double cv = 1;                    // log-normal and gamma: standard deviation over mean, > 0
  std::vector<double> values = {};  // empirical: drawn with equal chance; mean 1 after normalize()

  double sample(Rng& rng) const;
  // Squared coefficient of variation.
  double variance() const;
  // Scales `values` to mean 1. False when they are empty, negative or all zero.
  bool normalize();
};

enum class ArrivalKind : uint8_t {
  kNone,
  kPoisson,   // rate_per_s
  kPeriodic,  // every 1 / rate_per_s, starting at one period
  kMmpp,     // Poisson whose rate is rate_per_s or burst_rate_per_s, for exponential times of mean calm_s and
             // burst_s
  kOnOff,    // Poisson of rate_per_s while on, nothing while off; on and off times are Pareto(alpha) of mean
             // burst_s and calm_s
  kDiurnal,  // Poisson of rate rate_per_s * (1 + swing * sin(2 pi t / period_s))
  kTrace,    // times_ns, ascending; work_ns where known
};

struct ArrivalSpec {
  ArrivalKind kind = ArrivalKind::kNone;
  double rate_per_s = 0;
  double burst_rate_per_s = 0;
  double calm_s = 1, burst_s = 1;
  double alpha = 1.5;              // > 1: the mean exists
  double swing = 0, period_s = 1;  // swing in [0, 1]
  std::vector<int64_t> times_ns = {};
  std::vector<int64_t> work_ns = {};  // empty, or as many as times

  double mean_rate_per_s() const;
};

inline constexpr int64_t kNever = INT64_MAX;

// The arrivals of a spec, one after the other. Precondition: rates and times are positive where the kind
// reads them.
class Arrivals {
 public:
  // `spec` outlives this.
  Arrivals(const ArrivalSpec& spec, Rng rng);
  // The next arrival, later than or equal to the last; kNever when there is none.
  int64_t next_ns();
  // The work of the arrival that next_ns() gave last, when the trace knows it; else 0.
  int64_t traced_work_ns() const;

 private:
  double pareto_ns(double mean_s);
  void advance_phase();

  const ArrivalSpec* spec_;
  Rng rng_;
  double now_ns_ = 0;        // of the last arrival; doubles are exact to a ns for a hundred days
  double phase_end_ns_ = 0;  // MMPP, on-off
  bool burst_ = false;
  size_t index_ = 0;
};

}  // namespace tandem::plan
