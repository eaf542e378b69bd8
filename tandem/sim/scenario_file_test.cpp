// SPDX-License-Identifier: Apache-2.0
// Goal: scenarios are read as written, and every mistake is named with its place. Method: a small file and
// one broken copy of it per mistake.
#include "tandem/sim/scenario_file.hpp"

#include <gtest/gtest.h>

#include "tandem/sim/engine.hpp"

namespace tandem::sim {
namespace {

constexpr const char* kText = R"(name = "small"
horizon = "2s"
[policy]
switch = "0.1ms"
accelerator = "fpga"
[[device]]
name = "cpu"
[[device]]
name = "fpga"
law = "gamma"
cv = 0.2
[[link]]
between = ["cpu", "fpga"]
latency = "50us"
bandwidth = "2GB/s"
[[background]]
device = "fpga"
work = "1ms"
load = 0.5
[[job]]
[[job.tensor]]
name = "batch"
bytes = "500kB"
fresh = true
[[job.tensor]]
name = "loss"
bytes = "4B"
[[job.stage]]
name = "forward"
on = { cpu = "4ms", fpga = "1ms" }
inputs = ["batch"]
outputs = ["loss"]
[[job.stage]]
name = "update"
on = { cpu = "1ms" }
inputs = ["loss"]
)";

Result<Scenario> read(const std::string& text) {
  const Result<TomlValue> root = parse_toml(text, "s.toml");
  if (!root.ok()) return root.error();
  return read_scenario(*root, "s.toml");
}

std::string message(const std::string& from, const std::string& to) {
  std::string text = kText;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const Result<Scenario> scenario = read(text);
  return scenario.ok() ? "accepted" : scenario.error().message();
}

TEST(ScenarioFile, IsReadAsWritten) {
  const Scenario s = read(kText).value();
  EXPECT_EQ(s.horizon_ns, 2'000'000'000);
  EXPECT_EQ(s.devices[1].law.kind, plan::LawKind::kGamma);
  EXPECT_DOUBLE_EQ(s.backgrounds[0].arrivals.rate_per_s, 500);
  EXPECT_DOUBLE_EQ(offered_load(s, 1), 0.5);
  EXPECT_EQ(s.jobs[0].program.stages[1].nominal_ns[1], sched::kCannotRun);
  EXPECT_EQ(s.policy.switch_ns, 100'000);
  EXPECT_TRUE(simulate(s, "cost").ok());
}

TEST(ScenarioFile, MistakesAreNamedWithTheirPlace) {
  EXPECT_EQ(message("latency = \"50us\"", "latency = \"50\""),
            "s.toml:14: [[link]]: key 'latency': cannot read '50' as a duration\n"
            "  because: the unit is missing\n  hint: write a number and one of: ns us ms s min h");
  EXPECT_EQ(message("device = \"fpga\"", "device = \"fgpa\""),
            "s.toml:17: [[background]] 'background': key 'device': there is no device 'fgpa'\n"
            "  hint: did you mean 'fpga'?");
  EXPECT_EQ(message("cv = 0.2", "cv = 0"),
            "s.toml:11: [[device]] 'fpga': key 'cv': 0 is out of range: 0.001 to 100");
  EXPECT_EQ(message("work = \"1ms\"", "work = \"-1ms\""),
            "s.toml:18: [[background]] 'background': key 'work': cannot read '-1ms' as a duration\n"
            "  because: it must not be negative\n  hint: write a number and one of: ns us ms s min h");
  EXPECT_EQ(message("load = 0.5", "rate = \"0/s\""),
            "s.toml:19: [[background]] 'background': key 'rate': 0/s is out of range: above 0 to 1e9/s");
  EXPECT_EQ(message("inputs = [\"loss\"]", "inputs = [\"los\"]"),
            "s.toml:36: [[job]] 'job' stage 'update': key 'inputs': there is no tensor 'los'\n"
            "  hint: did you mean 'loss'?");
  EXPECT_EQ(message("horizon = \"2s\"", "horizont = \"2s\""),
            "s.toml:1: scenario: key 'horizon': is missing\n"
            "  hint: give a time such as \"3.5ms\"");
  EXPECT_EQ(message("horizon = \"2s\"", "horizon = \"9000h\""),
            "s.toml:2: scenario: key 'horizon': 9000h is out of range: 1us to 8784h00min");
  EXPECT_EQ(message("law = \"gamma\"", "law = \"gama\""),
            "s.toml:10: [[device]] 'fpga': key 'law': does not know 'gama'\n  hint: did you mean 'gamma'?");
  EXPECT_NE(message("inputs = [\"batch\"]", "after = [\"update\"]\ninputs = [\"batch\"]"), "");
}

TEST(ScenarioFile, StagesAreSortedAndCyclesRefused) {
  std::string text = kText;
  text += "after = [\"forward\"]\n";
  EXPECT_TRUE(read(text).ok());
  EXPECT_NE(
      message("inputs = [\"batch\"]", "after = [\"forward\"]").find("stages wait for each other: 'forward'"),
      std::string::npos);
  EXPECT_NE(message("inputs = [\"batch\"]", "after = [\"forwards\"]").find("did you mean 'forward'"),
            std::string::npos);
  const Scenario s = read(std::string(kText).replace(std::string(kText).find("inputs = [\"batch\"]"), 18,
                                                     "after = [\"update\"]"))
                         .value();
  EXPECT_EQ(s.jobs[0].program.stages[0].name, "update");
}

TEST(Trace, IsReadAndItsMistakesNameTheLine) {
  plan::ArrivalSpec arrivals;
  ASSERT_TRUE(read_trace("time,work\n# a comment\n1ms,2ms\n1ms,3us\n", "t.csv", arrivals).ok());
  EXPECT_EQ(arrivals.times_ns, (std::vector<int64_t>{1'000'000, 1'000'000}));
  EXPECT_EQ(arrivals.work_ns, (std::vector<int64_t>{2'000'000, 3'000}));
  const auto error = [](const char* text) {
    plan::ArrivalSpec spec;
    return read_trace(text, "t.csv", spec).error().what();
  };
  EXPECT_EQ(error("2ms\n1ms\n"), "t.csv:2: the time goes back");
  EXPECT_EQ(error("1ms,2ms\n3ms\n"), "t.csv:2: 1 fields, 2 are wanted");
  EXPECT_EQ(error("1ms\n\nx\n"), "t.csv:3: cannot read 'x' as a duration");
  EXPECT_EQ(error("1ms,\n"), "t.csv:1: cannot read '' as a duration");
  EXPECT_EQ(error("\n"), "t.csv: a trace without arrivals");
}

}  // namespace
}  // namespace tandem::sim
