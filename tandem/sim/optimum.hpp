// SPDX-License-Identifier: Apache-2.0
// The clairvoyant optimum: the least time in which one closed-loop job can finish its first steps when
// everything that will happen is known. Exact for FIFO devices of one server and constant speed, one job and
// no faults; a lower bound for everything else, and labelled so.
#pragma once

#include <cstdint>
#include <string>

#include "tandem/base/result.hpp"
#include "tandem/sim/model.hpp"

namespace tandem::sim {

struct Optimum {
  int64_t end_ns = 0;     // when the last of the steps ends
  bool exact = false;     // else a lower bound of that
  std::string why_bound;  // what makes it a bound; empty when exact
  uint64_t label_count = 0;
};

// Labels (time, background backlog of each device) are kept per stage and tensor locations unless another is
// no later and, brought to the same time, no fuller. Own jobs displace the background: what arrives while one
// waits or is served stands behind it. Errors: more than one job (kUnsupported), an open loop, no steps.
Result<Optimum> clairvoyant_optimum(const Scenario& scenario, uint64_t seed, uint64_t steps);

// The same by trying every placement of every stage; for tests. Precondition: at most 2^20 placements.
Result<int64_t> brute_force_optimum_ns(const Scenario& scenario, uint64_t seed, uint64_t steps);

}  // namespace tandem::sim
