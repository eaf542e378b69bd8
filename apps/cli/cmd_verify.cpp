// SPDX-License-Identifier: Apache-2.0
// tandem verify
#include <algorithm>
#include <memory>

#include "apps/cli/shared_flags.hpp"
#include "tandem/base/text.hpp"
#include "tandem/jobs/verify.hpp"

namespace tandem::cli {
namespace {

struct Options {
  jobs::VerifyOptions job;
  std::string executors;
  int64_t random = 0;
  bool all = false;
  PreprocessFlags preprocess;
  EngineFlags engine;
};

// "ref,exec": exec is the fast executor, int8 where the model is quantized.
Result<jobs::Engine> executor(std::string_view name) {
  if (name == "exec") return jobs::Engine::kInt8;
  Result<jobs::Engine> engine = jobs::engine_from_string(name);
  if (engine.ok()) return engine;
  return usage_error(fmt::format("there is no executor '{}'", name))
      .hint("ref, exec (the same as int8) or host");
}

Status set_engines(Options& options) {
  options.job.a_engine = options.job.b_engine = TANDEM_TRY(options.engine.engine());
  if (options.executors.empty()) {
    if (!options.job.b.empty()) return {};
    return usage_error("B is missing")
        .hint("give a second model, or --executors ref,exec to compare two executors");
  }
  const std::vector<std::string_view> names = split(options.executors, ',');
  if (names.size() != 2)
    return usage_error("--executors wants two names").hint("for example --executors ref,exec");
  options.job.a_engine = TANDEM_TRY(executor(trim(names[0])));
  options.job.b_engine = TANDEM_TRY(executor(trim(names[1])));
  if (options.job.b.empty()) options.job.b = options.job.a;
  return {};
}

std::string optional_decibel(const std::optional<double>& db) { return db ? decibel(*db) : ""; }

void print_unmatched(const Session& session, const char* model, const std::vector<std::string>& nodes) {
  constexpr size_t kShown = 8;
  if (nodes.empty()) return;
  std::vector<std::string> shown(nodes.begin(),
                                 nodes.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, nodes.size())));
  if (nodes.size() > kShown) shown.push_back(fmt::format("and {} more", nodes.size() - kShown));
  session.print(fmt::format("only in {}: {}\n", model, join(shown, ", ")));
}

void print_result(const Session& session, const Options& options, const jobs::VerifyResult& r) {
  TextTable table({{"value"},
                   {"made by"},
                   {"max", Align::kRight},
                   {"mean", Align::kRight},
                   {"cosine", Align::kRight},
                   {"SQNR", Align::kRight},
                   {"alone", Align::kRight},
                   {""}});
  for (const jobs::ValueDifference& d : r.values) {
    table.add_row({d.value == d.a_value ? d.value : fmt::format("{} = {} of A", d.value, d.a_value), d.op,
                   fmt::format("{:.3g}", d.max_abs), fmt::format("{:.3g}", d.mean_abs),
                   fmt::format("{:.6f}", d.cosine), decibel(d.sqnr_db), optional_decibel(d.local_sqnr_db),
                   d.over ? "over" : ""});
  }
  session.print(table.to_string());
  session.print(fmt::format("\n{} inputs; {} values compared\n", r.inputs, r.values.size()));
  print_unmatched(session, "A", r.only_a);
  print_unmatched(session, "B", r.only_b);
  if (!options.job.min_sqnr_db && !options.job.max_abs) return;
  if (!r.culprit.empty()) {
    session.print(fmt::format("first node over the threshold when fed with A's values: '{}'\n", r.culprit));
  } else if (!r.passed) {
    session.print("no node is over the threshold by itself: the differences add up\n");
  }
  if (r.over_from.empty()) return;
  const std::string before =
      r.within_until.empty() ? "with A alone" : fmt::format("up to '{}'", r.within_until);
  session.print(fmt::format("bisected: with B up to '{}' and A behind it the output is over, {} it is not\n",
                            r.over_from, before));
}

Status run(Session& session, Options& options) {
  TANDEM_TRY(set_engines(options));
  if (options.random > 0 && !options.job.data.empty())
    return usage_error("--data and --random exclude each other");
  if (options.random > 0) options.job.inputs = options.random;
  options.job.preprocess = TANDEM_TRY(options.preprocess.overrides());
  options.job.dump_dir = options.engine.dump_dir;
  options.job.strict = session.strict;
  const jobs::VerifyResult result = TANDEM_TRY(jobs::verify(options.job, session.hooks()));
  print_result(session, options, result);
  TANDEM_TRY(session.write_json(jobs::to_json(result)));
  if (result.passed) return {};
  return Error(ErrorCode::kGateFailed, "the outputs differ by more than allowed")
      .because(result.culprit.empty() ? "the differences of many nodes add up"
                                      : fmt::format("the first fault is in node '{}'", result.culprit));
}

}  // namespace

Verb verify_verb() {
  const auto o = std::make_shared<Options>();
  Verb verb{"verify", "compare two models value by value, and find the first node at fault"};
  verb.description =
      "Values meet by name, else by the name of their node, else by place; every figure says how far B is "
      "from A. "
      "With a threshold, a node whose value is over it is computed once more from A's values: if it is still "
      "over, "
      "the fault is its own (column 'alone'), else it was handed down. When an output is over, bisection "
      "tells up to "
      "which node B may compute, with A behind it, before it is. Random inputs are used when no --data is "
      "given.";
  verb.flags = {
      required({"A", &o->job.a, "The model that is right"}),
      {"B", &o->job.b, "The model that is judged; not needed with --executors"},
      {"--data", &o->job.data, "Images", "PATH", {}, Takes::kPath},
      {"--random", &o->random, "So many random inputs in place of images", "N"},
      {"--inputs", &o->job.inputs, "Inputs at most", "N"},
      {"--executors", &o->executors, "What computes A and B: two of ref, exec, host", "A,B"},
      {"--min-sqnr", &o->job.min_sqnr_db, "Fail when an output's SQNR is lower", "DB"},
      {"--max-abs", &o->job.max_abs, "Fail when an element of an output is further away", "X"},
      {"--local", &o->job.local, "Compute every node from A's values, not only those over a threshold"},
      {"--seed", &o->job.seed, "Of random inputs and of the choice of images", "N"}};
  o->engine.add_to(verb.flags);
  o->preprocess.add_to(verb.flags);
  verb.examples = {
      {"verify float.onnx int8.onnx --data photos/ --min-sqnr 15", "what quantization cost, where"},
      {"verify int8.onnx --executors ref,exec --random 4", "the fast executor against the reference"},
      {"verify a.onnx b.onnx --random 8 --max-abs 1e-4 --json diff.json", "two exports of one network"}};
  verb.run = [o](Session& session) { return run(session, *o); };
  return verb;
}

}  // namespace tandem::cli
