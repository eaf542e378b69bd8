// SPDX-License-Identifier: Apache-2.0
// The judge of operators: runs the ONNX backend tests through an executor and says pass, fail or refused,
// with the reason. Refused means that tandem says so itself (kUnsupported, or an operator it keeps as
// Opaque); everything else that is not the expected result is a failure.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tandem/base/json.hpp"
#include "tandem/ir/graph.hpp"
#include "tests/ops/model_names.hpp"

namespace tandem::ops {

struct Executor {
  std::string name;
  std::function<Result<std::vector<Tensor>>(const ir::Graph&, std::span<const Tensor>)> run;
};

enum class Outcome : uint8_t { kPass, kFail, kRefused };
std::string_view to_string(Outcome outcome);

struct Verdict {
  std::string set;   // "node", "simple", ...
  std::string test;  // "test_abs"
  ModelNames names;
  Outcome outcome = Outcome::kFail;
  std::string reason;  // empty when passed
};

// The tolerance of the runner that ships with ONNX.
inline constexpr double kRelativeTolerance = 1e-3;
inline constexpr double kAbsoluteTolerance = 1e-7;

// Test directories below `data_dir`/<set>, by name; those whose name contains `filter`.
std::vector<std::string> list_tests(const std::string& data_dir, const std::string& set,
                                    const std::string& filter);

// Loads <data_dir>/<set>/<test>/model.onnx and runs every test_data_set_* in it.
Verdict judge(const std::string& data_dir, const std::string& set, const std::string& test,
              const Executor& executor);

struct Counts {
  int pass = 0, fail = 0, refused = 0;
  int total() const { return pass + fail + refused; }
};
// Per set.
std::map<std::string, Counts> count(const std::vector<Verdict>& verdicts);

// Ok unless a test failed or a set has fewer passes than its floor; the message names them.
Status gate(const std::vector<Verdict>& verdicts, const std::map<std::string, int>& floors);

Json to_json(const std::vector<Verdict>& verdicts);

}  // namespace tandem::ops
