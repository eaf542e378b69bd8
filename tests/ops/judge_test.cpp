// SPDX-License-Identifier: Apache-2.0
// Goal: the judge can say no. Method: faults planted in the executor around a test that passes, and in a list
// of verdicts.
#include "tests/ops/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tandem/ref/ref.hpp"
#include "tests/ops/operators_page.hpp"

namespace tandem::ops {
namespace {

using ::testing::HasSubstr;

constexpr const char* kData = "/usr/share/libonnx-testdata/data";

using Spoil = std::function<void(std::vector<Tensor>&)>;

Verdict judge_spoiled(const std::string& test, const Spoil& spoil) {
  const Executor executor{"spoiled", [&](const ir::Graph& graph, std::span<const Tensor> inputs) {
                            auto outputs = ref::run(graph, inputs);
                            if (outputs.ok()) spoil(*outputs);
                            return outputs;
                          }};
  return judge(kData, "node", test, executor);
}

class JudgeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kData))
      GTEST_SKIP() << "needs " << kData << " (Debian package libonnx-testdata)";
  }
};

TEST_F(JudgeTest, PassesWhatIsRight) {
  const Verdict v = judge_spoiled("test_abs", [](std::vector<Tensor>&) {});
  EXPECT_EQ(v.outcome, Outcome::kPass) << v.reason;
  EXPECT_THAT(v.names.operators, ::testing::ElementsAre("Abs"));
  EXPECT_GT(v.names.opset, 0);
}

TEST_F(JudgeTest, SeesOneWrongElement) {
  const Verdict v =
      judge_spoiled("test_abs", [](std::vector<Tensor>& outputs) { outputs[0].as<float>()[7] += 0.1f; });
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_THAT(v.reason, HasSubstr("index 7"));
}

TEST_F(JudgeTest, SeesAWrongShape) {
  const Verdict v = judge_spoiled("test_abs", [](std::vector<Tensor>& outputs) {
    outputs[0] = std::move(outputs[0]).reshaped({outputs[0].elements()});
  });
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_THAT(v.reason, HasSubstr("shapes differ"));
}

TEST_F(JudgeTest, SeesAWrongDtype) {
  const Verdict v = judge_spoiled(
      "test_abs", [](std::vector<Tensor>& outputs) { outputs[0] = cast(outputs[0], DType::kF64); });
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_THAT(v.reason, HasSubstr("is f64, expected f32"));
}

TEST_F(JudgeTest, SeesAMissingOutputAndANan) {
  EXPECT_EQ(judge_spoiled("test_abs", [](std::vector<Tensor>& outputs) { outputs.clear(); }).outcome,
            Outcome::kFail);
  EXPECT_EQ(judge_spoiled("test_abs", [](std::vector<Tensor>& outputs) { outputs[0].as<float>()[0] = NAN; })
                .outcome,
            Outcome::kFail);
}

TEST_F(JudgeTest, TellsRefusalsFromFailures) {
  const auto with_error = [](ErrorCode code) {
    return Executor{"broken",
                    [code](const ir::Graph&, std::span<const Tensor>) -> Result<std::vector<Tensor>> {
                      return Error(code, "no");
                    }};
  };
  EXPECT_EQ(judge(kData, "node", "test_abs", with_error(ErrorCode::kUnsupported)).outcome, Outcome::kRefused);
  EXPECT_EQ(judge(kData, "node", "test_abs", with_error(ErrorCode::kBadInput)).outcome, Outcome::kFail);
  EXPECT_EQ(judge(kData, "node", "test_no_such_test", with_error(ErrorCode::kBadInput)).outcome,
            Outcome::kFail);
}

Verdict verdict(std::string test, Outcome outcome) {
  Verdict v;
  v.set = "node";
  v.test = std::move(test);
  v.outcome = outcome;
  v.names = {13, {"Abs"}};
  return v;
}

TEST(Gate, FailsOnAFailureAndBelowTheFloor) {
  const std::vector<Verdict> good = {verdict("a", Outcome::kPass), verdict("b", Outcome::kRefused)};
  EXPECT_TRUE(gate(good, {{"node", 1}}).ok());
  EXPECT_THAT(gate(good, {{"node", 2}}).error().message(), HasSubstr("only 1 tests"));
  EXPECT_THAT(gate({}, {{"node", 1}}).error().message(), HasSubstr("only 0 tests"));
  EXPECT_THAT(gate({verdict("a", Outcome::kPass), verdict("c", Outcome::kFail)}, {}).error().message(),
              HasSubstr("node/c"));
}

TEST(OperatorsPage, CountsPerOperator) {
  Verdict refused = verdict("b", Outcome::kRefused);
  refused.reason = "Abs (node 'n'): of strings";
  Verdict absent = verdict("c", Outcome::kRefused);
  absent.names.operators = {"Foo"};
  const std::string page = operators_page({{"ref", {verdict("a", Outcome::kPass), refused, absent}}});
  EXPECT_THAT(page, HasSubstr("| Abs | 13 | 1 of 2 | - | of strings |"));
  EXPECT_THAT(page, HasSubstr("| ref | node | 1 | 0 | 2 |"));
  EXPECT_THAT(page, HasSubstr("\n\nFoo\n"));
}

TEST(OperatorsPage, IsSeenToBeStale) {
  const std::vector<std::pair<std::string, std::vector<Verdict>>> now = {
      {"ref", {verdict("a", Outcome::kPass)}}};
  const std::string page = operators_page(now);
  EXPECT_TRUE(check_operators_page(page, now).ok());
  const Status stale =
      check_operators_page(page, {{"ref", {verdict("a", Outcome::kPass), verdict("b", Outcome::kPass)}}});
  ASSERT_FALSE(stale.ok());
  EXPECT_THAT(stale.error().because_text(),
              HasSubstr("'| ref | node | 1 | 0 | 0 |' should be '| ref | node | 2 | 0 | 0 |'"));
  EXPECT_FALSE(check_operators_page("", now).ok());
  EXPECT_FALSE(check_operators_page(page + "more\n", now).ok());
}

TEST(ModelNames, SurvivesGarbage) {
  EXPECT_TRUE(model_names("").operators.empty());
  EXPECT_TRUE(model_names(std::string(100, '\xff')).operators.empty());
  EXPECT_TRUE(model_names(std::string("\x3a\x7f", 2)).operators.empty());
}

}  // namespace
}  // namespace tandem::ops
