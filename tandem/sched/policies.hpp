// SPDX-License-Identifier: Apache-2.0
// How each policy is made (the rows of the table in policy.cpp), and what several of them share. Internal to
// sched.
#pragma once

#include "tandem/sched/policy.hpp"

namespace tandem::sched {

using MakePolicy = std::unique_ptr<Policy>(const PolicyOptions&, const PolicyContext&);

MakePolicy make_static_cpu, make_static_accelerator, make_static_split;  // fixed.cpp
MakePolicy make_random, make_round_robin;                                // turns.cpp
MakePolicy make_join_shortest_queue;                                     // shortest_queue.cpp
MakePolicy make_earliest_finish, make_earliest_finish_priority;          // earliest_finish.cpp
MakePolicy make_cost, make_cost_hysteresis;                              // least_cost.cpp
MakePolicy make_threshold;                                               // threshold.cpp
MakePolicy make_work_function;                                           // work_function.cpp
MakePolicy make_lookahead;                                               // lookahead.cpp
MakePolicy make_ucb, make_thompson;                                      // learning.cpp

// Whether the stage can run on the device now: it is there, knows the stage, and its inputs can reach it.
bool can_run(const Situation& situation, DeviceId device);

// The decision for `wanted`, or, where it cannot run the stage, for the first device that can (kFallback), or
// hold.
Decision want(const Situation& situation, DeviceId wanted, Reason reason);

// Fills decision.terms for every device and chooses the cheapest; the first of equals. Holds when there is
// none.
Decision cheapest(const Situation& situation, const CostWeights& weights);

// The least time of the stages [first, last), and the device of the first of them, by dynamic programming
// over the device of the previous stage. Each state carries the tensor locations of its best path, so the
// result is exact where a stage needs only what the previous one made or what never moved, and a good path
// otherwise.
struct PathPlan {
  int64_t total_ns = kCannotRun;
  DeviceId first_device = kNoDevice;
};
PathPlan cheapest_path(const Situation& situation, uint32_t last, const CostWeights& weights);

}  // namespace tandem::sched
