// SPDX-License-Identifier: Apache-2.0
// Writing and reading back: every case of the op table becomes XIR and gives the same bits in ref afterwards.
// Here most of them stay in neutral form; round_trip_slow_test.cpp sends all of them through libxir.
#include "tandem/xir_io/round_trip_for_test.hpp"

namespace tandem::xir_io {
namespace {

TEST(RoundTrip, EveryCaseOfTheOpTableKeepsItsBits) {
  const RoundTrips trips = round_trip_op_table([](size_t index) { return index % 16 == 0; });
  EXPECT_GT(trips.done, 190);
  // A scalar input cannot be said in XIR.
  EXPECT_EQ(trips.refused, 6);
}

}  // namespace
}  // namespace tandem::xir_io
