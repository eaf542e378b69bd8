// SPDX-License-Identifier: Apache-2.0
// Closed forms of queueing theory, as yardsticks for the simulator. Rates per second, times in seconds;
// precondition of all but M/M/1/K and MVA: the load is below 1. Formulas: Kleinrock, Queueing Systems I
// (1975).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tandem::sim {

// Mean time in line (without service).
double mm1_wait(double arrival, double service);
double mmk_wait(double arrival, double service, int servers);                // Erlang C
double mg1_wait(double arrival, double mean_service_s, double service_cv2);  // Pollaczek and Khinchine
// P(wait <= t) of M/M/1.
double mm1_wait_cdf(double t, double arrival, double service);
// Mean waits of M/M/1 with non-preemptive priorities, classes of equal service rate, highest first (Cobham
// 1954).
std::vector<double> priority_waits(std::span<const double> arrivals, double service);
// Of M/M/1/K (K with the one in service): mean time there of those admitted, and the share refused.
struct FiniteQueue {
  double sojourn_s = 0;
  double refused = 0;
};
FiniteQueue mm1k(double arrival, double service, int capacity);
// Mean time in M/G/1 processor sharing, for any law.
double processor_sharing_sojourn(double arrival, double mean_service_s);
// Closed network of single-server exponential stations, `customers` in it: throughput by mean value analysis
// (Reiser and Lavenberg 1980).
double closed_network_throughput(std::span<const double> mean_service_s, int customers);

// Lin and Kumar's system: Poisson arrivals, one line, a fast and a slow exponential server.
struct TwoServers {
  double arrival = 0, fast = 0, slow = 0;
};
// Mean number in the system under the best policy, by value iteration on the uniformized chain with at most
// `line_max` in line, and the best threshold (the line length, the head included, above which the slow server
// is used).
struct TwoServerOptimum {
  double mean_number = 0;
  int threshold = 0;
};
TwoServerOptimum two_server_optimum(const TwoServers& system, int line_max = 200);

}  // namespace tandem::sim
