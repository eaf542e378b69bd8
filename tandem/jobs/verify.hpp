// SPDX-License-Identifier: Apache-2.0
// verify(): two models, or one model on two executors, compared value by value; and the first node that is at
// fault.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/data/preprocess.hpp"
#include "tandem/jobs/forward.hpp"
#include "tandem/jobs/hooks.hpp"

namespace tandem::jobs {

struct VerifyOptions {
  std::string a;  // the reference
  std::string b;  // the judged; the same file for one model on two executors
  Engine a_engine = Engine::kInt8;
  Engine b_engine = Engine::kInt8;
  std::string data;    // images; empty: random inputs
  int64_t inputs = 8;  // how many images or random inputs at most
  data::PreprocessOverrides preprocess;
  uint64_t seed = 42;
  std::optional<double> min_sqnr_db;
  std::optional<double> max_abs;
  bool local = false;  // also feed every node of B with A's inputs, not only those over the threshold
  bool strict = false;
  std::string dump_dir;
};

// How far B's value is from A's, over all inputs.
struct ValueDifference {
  std::string value;
  std::string a_value;  // what A calls it
  std::string node;     // of B, that makes it; empty for a graph input
  std::string op;
  double max_abs = 0;
  double mean_abs = 0;
  double cosine = 1;
  double sqnr_db = 0;                   // infinity when equal
  std::optional<double> local_sqnr_db;  // of B's node alone, fed with A's values
  std::optional<double> local_max_abs;
  bool over = false;  // over a threshold
};

struct VerifyResult {
  std::vector<ValueDifference> values;  // in B's execution order, the outputs among them
  int64_t inputs = 0;
  std::vector<std::string> only_a, only_b;  // nodes without a counterpart, as "name (op)"
  bool passed = true;                       // no output is over a threshold
  // The first node over a threshold when it is fed with A's values; empty when each node alone is within it.
  std::string culprit;
  // Found by bisection, when an output is over: with B's nodes up to `over_from` and A's behind them an
  // output is over the threshold, with those up to `within_until` (empty: none of B's) it is not. Both empty
  // when no cut of B has a counterpart in A.
  std::string over_from, within_until;
};

// Values meet as match_values() says. Without thresholds nothing is over, and no node is fed alone unless
// `local` says so. Error kBadInput when the models share no value but the inputs, or take different inputs.
Result<VerifyResult> verify(const VerifyOptions& options, const JobHooks& hooks = {});
Json to_json(const VerifyResult& result);

}  // namespace tandem::jobs
