// SPDX-License-Identifier: Apache-2.0
// Goal: the simulator gives what queueing theory says. Method: the true value lies in the simulated 95 %
// interval (99.9 % where several are judged at once), fixed seeds; and the closed forms themselves against
// textbook numbers.
#include "tandem/sim/closed_form.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/sim/worlds.hpp"

namespace tandem::sim {
namespace {

TEST(ClosedForm, TextbookNumbers) {
  EXPECT_DOUBLE_EQ(mm1_wait(0.5, 1), 1);           // rho / (mu - lambda)
  EXPECT_NEAR(mmk_wait(1.5, 1, 2), 1.2857, 1e-4);  // Erlang C(2, 1.5) = 0.642857; / (2 - 1.5)
  EXPECT_DOUBLE_EQ(mg1_wait(0.5, 1, 0), 0.5);      // M/D/1 waits half as long as M/M/1
  EXPECT_NEAR(mm1k(1, 1, 4).refused, 0.2, 1e-12);  // all five states equally likely
  EXPECT_DOUBLE_EQ(mm1k(1, 1, 4).sojourn_s, 2.5);  // 2 in the system at 0.8 a second
  const std::vector<double> alone = {0.5};
  EXPECT_DOUBLE_EQ(priority_waits(alone, 1)[0], mm1_wait(0.5, 1));
  const std::vector<double> equal = {1, 1};
  EXPECT_DOUBLE_EQ(closed_network_throughput(equal, 3), 0.75);  // n / (n + stations - 1)
}

TEST(ClosedForm, MM1) {
  Scenario scenario = single_station(500);
  scenario.horizon_ns = 60 * kSecond;
  const Interval seen = sojourn_of(scenario, 5);
  EXPECT_TRUE(seen.holds(mm1_wait(500, 1000) + 0.001)) << seen.mean << " +- " << seen.half_width;
  EXPECT_FALSE(seen.holds(1.2 * (mm1_wait(500, 1000) + 0.001)));
}

}  // namespace
}  // namespace tandem::sim
