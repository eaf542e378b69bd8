// SPDX-License-Identifier: Apache-2.0
// Every case of the op table through libxir and back.
#include "tandem/xir_io/round_trip_for_test.hpp"

namespace tandem::xir_io {
namespace {

TEST(RoundTrip, EveryCaseOfTheOpTableSurvivesLibxir) {
  const RoundTrips trips = round_trip_op_table([](size_t) { return true; });
  EXPECT_GT(trips.done, 190);
  EXPECT_EQ(trips.refused, 6);
}

}  // namespace
}  // namespace tandem::xir_io
