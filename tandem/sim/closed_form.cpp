// SPDX-License-Identifier: Apache-2.0
// Closed forms and the Markov decision problem of Lin and Kumar.
#include "tandem/sim/closed_form.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::sim {

double mm1_wait(double arrival, double service) { return arrival / service / (service - arrival); }

double mmk_wait(double arrival, double service, int servers) {
  const double offered = arrival / service;
  // Erlang B by its recursion, then C.
  double blocked = 1;
  for (int k = 1; k <= servers; ++k) blocked = offered * blocked / (k + offered * blocked);
  const double waits = blocked / (1 - offered / servers * (1 - blocked));
  return waits / (servers * service - arrival);
}

double mg1_wait(double arrival, double mean_service_s, double service_cv2) {
  const double load = arrival * mean_service_s;
  return load * mean_service_s * (1 + service_cv2) / 2 / (1 - load);
}

double mm1_wait_cdf(double t, double arrival, double service) {
  return t < 0 ? 0 : 1 - arrival / service * std::exp(-(service - arrival) * t);
}

std::vector<double> priority_waits(std::span<const double> arrivals, double service) {
  double all = 0;
  for (const double arrival : arrivals) all += arrival / service;
  const double residual = all / service;  // of the job in service
  std::vector<double> waits;
  double above = 0;
  for (const double arrival : arrivals) {
    const double upto = above + arrival / service;
    waits.push_back(residual / (1 - above) / (1 - upto));
    above = upto;
  }
  return waits;
}

FiniteQueue mm1k(double arrival, double service, int capacity) {
  const double load = arrival / service;
  double weight = 1, sum = 0, number = 0, last = 0;
  for (int n = 0; n <= capacity; ++n, weight *= load) {
    sum += weight;
    number += n * weight;
    last = weight;
  }
  const double refused = last / sum;
  return {number / sum / (arrival * (1 - refused)), refused};
}

double processor_sharing_sojourn(double arrival, double mean_service_s) {
  return mean_service_s / (1 - arrival * mean_service_s);
}

double closed_network_throughput(std::span<const double> mean_service_s, int customers) {
  std::vector<double> number(mean_service_s.size(), 0);
  double throughput = 0;
  for (int n = 1; n <= customers; ++n) {
    double round_s = 0;
    for (size_t i = 0; i < number.size(); ++i) round_s += mean_service_s[i] * (1 + number[i]);
    throughput = n / round_s;
    for (size_t i = 0; i < number.size(); ++i) number[i] = throughput * mean_service_s[i] * (1 + number[i]);
  }
  return throughput;
}

namespace {

// States: line length (those not in service) x fast busy x slow busy. After each event the line may hand jobs
// over.
class TwoServerChain {
 public:
  TwoServerChain(const TwoServers& s, int line_max)
      : line_max_(line_max),
        total_(s.arrival + s.fast + s.slow),
        arrival_(s.arrival / total_),
        fast_(s.fast / total_),
        slow_(s.slow / total_),
        value_(static_cast<size_t>(line_max + 2) * 4, 0) {}

  // One sweep of relative value iteration; returns the bounds of the cost per second.
  std::pair<double, double> sweep() {
    std::vector<double> next(value_.size());
    double low = INFINITY, high = -INFINITY;
    for (int line = 0; line <= line_max_; ++line) {
      for (int busy = 0; busy < 4; ++busy) {
        const bool fast = (busy & 1) != 0, slow = (busy & 2) != 0;
        const double number = line + (fast ? 1 : 0) + (slow ? 1 : 0);
        const double expected = arrival_ * best(std::min(line + 1, line_max_), busy) +
                                fast_ * (fast ? best(line, busy & ~1) : value_[at(line, busy)]) +
                                slow_ * (slow ? best(line, busy & ~2) : value_[at(line, busy)]);
        next[at(line, busy)] = number + expected;
        const double change = next[at(line, busy)] - value_[at(line, busy)];
        low = std::min(low, change);
        high = std::max(high, change);
      }
    }
    const double base = next[0];
    for (double& v : next) v -= base;
    value_ = std::move(next);
    return {low, high};
  }

  // The least line at which a free slow server is used while the fast one is busy.
  int threshold() const {
    for (int line = 1; line <= line_max_; ++line) {
      if (value_[at(line - 1, 3)] < value_[at(line, 1)]) return line - 1;
    }
    return line_max_;
  }

 private:
  static size_t at(int line, int busy) { return static_cast<size_t>(line) * 4 + static_cast<size_t>(busy); }
  // Least value over what may be handed to free servers.
  double best(int line, int busy) const {
    double least = value_[at(line, busy)];
    if (line >= 1 && (busy & 1) == 0) least = std::min(least, value_[at(line - 1, busy | 1)]);
    if (line >= 1 && (busy & 2) == 0) least = std::min(least, value_[at(line - 1, busy | 2)]);
    if (line >= 2 && busy == 0) least = std::min(least, value_[at(line - 2, 3)]);
    return least;
  }

  int line_max_;
  double total_, arrival_, fast_, slow_;
  std::vector<double> value_;
};

}  // namespace

TwoServerOptimum two_server_optimum(const TwoServers& system, int line_max) {
  TwoServerChain chain(system, line_max);
  std::pair<double, double> bounds;
  for (int i = 0; i < 200000; ++i) {
    bounds = chain.sweep();
    if (bounds.second - bounds.first < 1e-6) break;
  }
  return {(bounds.first + bounds.second) / 2, chain.threshold()};
}

}  // namespace tandem::sim
