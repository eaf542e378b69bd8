// SPDX-License-Identifier: Apache-2.0
// Writing and reading back: every case of the op table becomes XIR and gives the same bits in ref afterwards. Most of
// them stay in neutral form, one in sixteen goes through libxir: a process for each would take a minute.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "tandem/ref/ref.hpp"
#include "tandem/testing/op_cases.hpp"
#include "tandem/xir_io/xir_io.hpp"

namespace tandem::xir_io {
namespace {


// What a run of the read-back graph gets: reals where the original took integers.
std::vector<Tensor> inputs_for(const ir::Graph& graph, const ir::Graph& original,
                                      const std::vector<Tensor>& given) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < given.size(); ++i) {
    const ir::Value& value = original.value(original.inputs[i]);
    const bool dequantized =
        value.quant && given[i].dtype() == value.quant->dtype && !graph.value(graph.inputs[i]).quant;
    inputs.push_back(dequantized ? dequantize(given[i], *value.quant) : given[i].clone());
  }
  return inputs;
}

::testing::AssertionResult same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size())
    return ::testing::AssertionFailure() << a.size() << " and " << b.size() << " outputs";
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype() != b[i].dtype() || !(a[i].shape() == b[i].shape())) {
      return ::testing::AssertionFailure() << "output " << i << " is " << b[i].shape().to_string()
                                           << " instead of " << a[i].shape().to_string();
    }
    if (a[i].size_bytes() > 0 && std::memcmp(a[i].data(), b[i].data(), a[i].size_bytes()) != 0)
      return ::testing::AssertionFailure() << "output " << i << " has other values";
  }
  return ::testing::AssertionSuccess();
}

Result<LoadedModel> there_and_back(const ir::Graph& graph, bool through_libxir) {
  if (!through_libxir) return import_model(TANDEM_TRY(export_model(graph)));
  const std::string bytes = TANDEM_TRY(to_bytes(graph));
  return load_model_bytes(bytes);
}

struct RoundTrips {
  int done = 0, refused = 0;
};

RoundTrips round_trip_op_table(const std::function<bool(size_t)>& through_libxir) {
  RoundTrips trips;
  size_t index = 0;
  for (const testing::OpCase& op_case : testing::op_cases()) {
    if (op_case.kind == testing::CaseKind::kAffine) continue;
    SCOPED_TRACE(op_case.name);
    const testing::BuiltCase built = testing::build(op_case, 7);
    const Result<std::vector<Tensor>> expected = ref::run(built.graph, built.inputs);
    if (!expected.ok()) continue;  // not for the reference either
    const Result<LoadedModel> back = there_and_back(built.graph, through_libxir(index++));
    if (!back.ok() && back.error().message().find("scalar") != std::string::npos) {
      ++trips.refused;
      continue;
    }
    if (!back.ok()) {
      ADD_FAILURE() << back.error().message();
      continue;
    }
    EXPECT_TRUE(back->report.opaque_ops.empty()) << back->report.opaque_ops[0];
    const Result<std::vector<Tensor>> actual =
        ref::run(back->graph, inputs_for(back->graph, built.graph, built.inputs));
    if (!actual.ok())
      ADD_FAILURE() << actual.error().message();
    else
      EXPECT_TRUE(same_bits(*expected, *actual));
    ++trips.done;
  }
  return trips;
}

TEST(RoundTrip, EveryCaseOfTheOpTableKeepsItsBits) {
  const RoundTrips trips = round_trip_op_table([](size_t index) { return index % 16 == 0; });
  EXPECT_GT(trips.done, 190);
  // A scalar input cannot be said in XIR.
  EXPECT_EQ(trips.refused, 6);
}

}  // namespace
}  // namespace tandem::xir_io
