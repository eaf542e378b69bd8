// SPDX-License-Identifier: Apache-2.0
// Both graphs run on the same inputs. A node over the threshold is cut out and fed with what A computed: only
// if it is still over, the fault is its own and not handed down. Where the outputs go over the threshold is
// found by bisection: B up to a cut, A from there on.
#include "tandem/jobs/verify.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tandem/base/rng.hpp"
#include "tandem/data/loader.hpp"
#include "tandem/exec/executable.hpp"
#include "tandem/jobs/match_values.hpp"
#include "tandem/jobs/model_source.hpp"
#include "tandem/jobs/prepare_graph.hpp"
#include "tandem/jobs/quantize.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/partition/extract.hpp"
#include "tandem/ref/ref.hpp"

namespace tandem::jobs {
namespace {

using Values = std::map<std::string, Tensor>;  // by name, as real numbers where the value is f32

// Sums over all inputs, from which every figure follows.
struct Sums {
  double max_abs = 0, abs = 0, aa = 0, bb = 0, ab = 0, dd = 0;
  int64_t count = 0;
  bool shapes_differ = false;

  void add(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape()) {
      shapes_differ = true;
      max_abs = std::numeric_limits<double>::infinity();
      dd = max_abs;
      return;
    }
    const TensorView x(a), y(b);
    for (int64_t i = 0; i < x.elements(); ++i) {
      const double p = element_as_double(x, i), q = element_as_double(y, i);
      const bool same = p == q || (std::isnan(p) && std::isnan(q));
      double d = same ? 0 : std::abs(p - q);
      if (std::isnan(d)) d = std::numeric_limits<double>::infinity();
      max_abs = std::max(max_abs, d);
      abs += d;
      dd += d * d;
      if (!std::isfinite(p) || !std::isfinite(q)) continue;
      aa += p * p;
      bb += q * q;
      ab += p * q;
    }
    count += x.elements();
  }
  double sqnr_db() const {
    if (dd == 0) return std::numeric_limits<double>::infinity();
    return aa == 0 || std::isinf(dd) ? -std::numeric_limits<double>::infinity() : 10 * std::log10(aa / dd);
  }
  double cosine() const {
    if (aa == 0 || bb == 0) return aa == bb ? 1 : 0;
    return ab / std::sqrt(aa * bb);
  }
  double mean_abs() const { return count == 0 ? 0 : abs / static_cast<double>(count); }
};

// One graph on one engine, with every value shown.
class Side {
 public:
  static Result<Side> create(ir::Graph graph, Engine engine) {
    Side side;
    side.engine_ = engine;
    if (engine != Engine::kRef) {
      exec::CompileOptions compile;
      compile.keep_all_values = true;
      side.executable_ =
          std::make_unique<exec::Executable>(TANDEM_TRY(exec::Executable::compile(graph, compile)));
      side.graph_ = side.executable_->graph();
    } else {
      side.graph_ = std::move(graph);
    }
    return side;
  }

  const ir::Graph& graph() const { return graph_; }
  Engine engine() const { return engine_; }

  // All values that nodes make, by name, and the inputs.
  Result<Values> run(const std::vector<Tensor>& inputs, const CancelToken* cancel) {
    Values values;
    for (size_t i = 0; i < inputs.size(); ++i)
      values[graph_.value(graph_.inputs[i]).name] = inputs[i].clone();
    const auto keep = [&](ir::ValueId id, const TensorView& stored) {
      const ir::Value& value = graph_.value(id);
      values[value.name] = value.quant ? dequantize(stored, *value.quant) : stored.to_tensor();
    };
    if (executable_ == nullptr) {
      ref::RunOptions options;
      options.cancel = cancel;
      options.on_value = [&keep](ir::ValueId id, const Tensor& stored) { keep(id, stored); };
      TANDEM_TRY(ref::run(graph_, inputs, options));
      return values;
    }
    executable_->set_observer(keep);
    const std::vector<TensorView> views(inputs.begin(), inputs.end());
    TANDEM_TRY(executable_->run(views));
    return values;
  }

 private:
  Engine engine_ = Engine::kInt8;
  ir::Graph graph_;
  std::unique_ptr<exec::Executable> executable_;
};

// A model as the two sides want it: simplified; `image` when it has preprocessing for images.
struct Loaded {
  ir::Graph graph;
  std::optional<data::Preprocess> preprocess;
};

Result<Loaded> load_side(const std::string& path, Engine engine, const VerifyOptions& options,
                         const JobHooks& hooks) {
  Loaded loaded;
  if (!options.data.empty()) {
    ImageModel model = TANDEM_TRY(load_image_model(path, options.preprocess));
    for (const std::string& notice : model.notices) hooks.say(fmt::format("{}: {}", path, notice));
    loaded.graph = std::move(model.graph);
    loaded.preprocess = std::move(model.preprocess);
  } else {
    onnx_io::LoadedModel model = TANDEM_TRY(onnx_io::load_model(path));
    for (const std::string& notice : model.report.notices) hooks.say(fmt::format("{}: {}", path, notice));
    loaded.graph = std::move(model.graph);
  }
  if (engine == Engine::kHost) loaded.graph = TANDEM_TRY(without_quantization(std::move(loaded.graph)));
  // Residuals stay apart: a value that one side fuses away cannot be compared.
  loaded.graph =
      TANDEM_TRY(simplified(std::move(loaded.graph), {.fuse_residual = false, .dump_dir = options.dump_dir}));
  loaded.graph = TANDEM_TRY(ir::bind_batch(loaded.graph, 1).context(path));
  return loaded;
}

Status check_inputs(const ir::Graph& a, const ir::Graph& b) {
  if (a.inputs.size() != b.inputs.size()) {
    return bad_input(fmt::format("model A takes {} inputs, model B {}", a.inputs.size(), b.inputs.size()));
  }
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const ir::Value& x = a.value(a.inputs[i]);
    const ir::Value& y = b.value(b.inputs[i]);
    if (x.dtype == y.dtype && x.shape == y.shape && x.quant == y.quant) continue;
    const auto text = [](const ir::Value& v) {
      return fmt::format("'{}' {} {}", v.name, to_string(v.storage()),
                         v.shape ? v.shape->to_string() : "unknown");
    };
    return bad_input("the models take different inputs")
        .because(fmt::format("{} against {}", text(x), text(y)));
  }
  return {};
}

// The inputs, one sample each. Random ones are normal numbers (whole ones for integers), by seed.
Result<std::vector<std::vector<Tensor>>> make_inputs(const Loaded& model, const VerifyOptions& options,
                                                     const JobHooks& hooks) {
  std::vector<std::vector<Tensor>> all;
  if (!options.data.empty()) {
    const data::Dataset dataset =
        TANDEM_TRY(open_calibration(options.data, options.inputs, options.seed, hooks));
    data::LoaderOptions load;
    load.batch = 1;
    load.layout = model.preprocess->layout;
    load.strict = options.strict;
    load.cancel = hooks.cancel;
    data::BatchLoader loader(dataset, *model.preprocess, load);
    while (true) {
      std::optional<data::Batch> batch = TANDEM_TRY(loader.next());
      if (!batch) break;
      all.emplace_back().push_back(std::move(batch->images));
    }
    for (const data::Skipped& s : loader.skipped())
      hooks.say(fmt::format("skipped {}: {}", s.path, s.reason));
    return all;
  }
  Rng rng(options.seed);
  for (int64_t n = 0; n < options.inputs; ++n) {
    all.push_back(TANDEM_TRY(random_inputs(model.graph, rng)));
  }
  return all;
}

bool over(const VerifyOptions& options, double sqnr_db, double max_abs) {
  return (options.min_sqnr_db && !(sqnr_db >= *options.min_sqnr_db)) ||
         (options.max_abs && !(max_abs <= *options.max_abs));
}

// One node of B as a graph of its own.
struct Alone {
  Side side;
  std::vector<std::string> inputs;
};

Result<Alone> cut_out(const Side& b, const ir::Node& node) {
  std::vector<ir::ValueId> inputs, outputs;
  std::set<ir::ValueId> seen;
  for (const ir::ValueId id : node.inputs) {
    if (id != ir::kNoValue && !b.graph().value(id).is_constant() && seen.insert(id).second)
      inputs.push_back(id);
  }
  for (const ir::ValueId id : node.outputs) {
    if (id != ir::kNoValue) outputs.push_back(id);
  }
  ir::Graph part = TANDEM_TRY(partition::extract(b.graph(), inputs, outputs));
  TANDEM_TRY(part.compact());
  std::vector<std::string> names;
  for (const ir::ValueId id : part.inputs) names.push_back(part.value(id).name);
  return Alone{TANDEM_TRY(Side::create(std::move(part), b.engine())), std::move(names)};
}

// B's node fed with A's values, against A's result. Nothing when A lacks an input of it.
Result<std::optional<Sums>> judge_alone(const Side& b, ir::NodeId id, const std::string& value,
                                        const Matching& matching, const std::vector<Values>& a_values) {
  Alone alone = TANDEM_TRY(cut_out(b, b.graph().node(id)));
  Sums sums;
  for (const Values& known : a_values) {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < alone.inputs.size(); ++i) {
      const auto partner = matching.a_of.find(alone.inputs[i]);
      if (partner == matching.a_of.end()) return std::optional<Sums>();
      const auto found = known.find(partner->second);
      if (found == known.end()) return std::optional<Sums>();
      const ir::Value& wanted = alone.side.graph().value(alone.side.graph().inputs[i]);
      inputs.push_back(wanted.quant ? quantize(found->second, *wanted.quant) : found->second.clone());
    }
    const Values made = TANDEM_TRY(alone.side.run(inputs, nullptr));
    sums.add(known.at(matching.a_of.at(value)), made.at(value));
  }
  return std::optional<Sums>(sums);
}

class Comparison {
 public:
  Comparison(Side a, Side b, const VerifyOptions& options)
      : a_(std::move(a)),
        b_(std::move(b)),
        options_(options),
        matching_(match_values(a_.graph(), b_.graph())) {}

  Status feed(const std::vector<Tensor>& inputs, const JobHooks& hooks) {
    Values a = TANDEM_TRY(a_.run(inputs, hooks.cancel));
    Values b = TANDEM_TRY(b_.run(inputs, hooks.cancel));
    for (const auto& [b_name, a_name] : matching_.a_of) {
      const auto x = a.find(a_name), y = b.find(b_name);
      if (x != a.end() && y != b.end()) sums_[b_name].add(x->second, y->second);
    }
    a_values_.push_back(std::move(a));
    if (options_.min_sqnr_db || options_.max_abs) b_values_.push_back(std::move(b));
    return {};
  }

  Result<VerifyResult> finish(const JobHooks& hooks) {
    VerifyResult result;
    result.inputs = static_cast<int64_t>(a_values_.size());
    result.only_a = matching_.only_a;
    result.only_b = matching_.only_b;
    const std::vector<ir::NodeId> order = TANDEM_TRY(ir::topological_order(b_.graph()));
    Progress bar = hooks.start("compare", order.size(), "nodes");
    for (const ir::NodeId id : order) {
      TANDEM_TRY(hooks.check());
      TANDEM_TRY(add_node(id, result));
      bar.advance();
    }
    bar.finish();
    if (result.values.empty()) {
      return bad_input("the two models share no value but the inputs")
          .because("neither names nor places in the graph match")
          .hint("compare a model with one that tandem made from it");
    }
    if (!result.passed) TANDEM_TRY(bisect(order, hooks, result));
    return result;
  }

 private:
  // The values at a cut behind the first `count` nodes of B that somebody behind it reads, and the outputs
  // that are made already. Nothing when one has no counterpart.
  std::optional<std::vector<std::string>> frontier(const std::vector<ir::NodeId>& order, size_t count) const {
    const ir::Graph& g = b_.graph();
    std::set<ir::ValueId> made(g.inputs.begin(), g.inputs.end()), live;
    for (size_t i = 0; i < count; ++i)
      made.insert(g.node(order[i]).outputs.begin(), g.node(order[i]).outputs.end());
    for (size_t i = count; i < order.size(); ++i) {
      for (const ir::ValueId id : g.node(order[i]).inputs) {
        if (made.count(id) > 0) live.insert(id);
      }
    }
    for (const ir::ValueId id : g.outputs) {
      if (made.count(id) > 0) live.insert(id);
    }
    std::vector<std::string> names;
    for (const ir::ValueId id : live) {
      if (matching_.a_of.count(g.value(id).name) == 0) return std::nullopt;
      names.push_back(g.value(id).name);
    }
    return names;
  }

  // Whether an output of A is over the threshold when A goes on from B's values. Nothing when A cannot be cut
  // there.
  Result<std::optional<bool>> over_behind(const std::vector<std::string>& frontier) {
    const ir::Graph& g = a_.graph();
    std::vector<ir::ValueId> inputs;
    for (const std::string& name : frontier) inputs.push_back(g.find_value(matching_.a_of.at(name)));
    Result<ir::Graph> rest = partition::extract(g, inputs, g.outputs);
    if (!rest.ok()) return std::optional<bool>();
    Side side = TANDEM_TRY(Side::create(std::move(rest).value(), a_.engine()));
    std::map<std::string, Sums> sums;
    for (size_t n = 0; n < b_values_.size(); ++n) {
      std::vector<Tensor> given;
      for (size_t i = 0; i < frontier.size(); ++i) {
        const Tensor& real = b_values_[n].at(frontier[i]);
        const ir::Value& wanted = side.graph().value(side.graph().inputs[i]);
        given.push_back(wanted.quant ? quantize(real, *wanted.quant) : real.clone());
      }
      const Values made = TANDEM_TRY(side.run(given, nullptr));
      for (const ir::ValueId id : g.outputs) {
        const std::string& name = g.value(id).name;
        sums[name].add(a_values_[n].at(name), made.at(name));
      }
    }
    return std::optional<bool>(std::any_of(sums.begin(), sums.end(), [&](const auto& item) {
      return over(options_, item.second.sqnr_db(), item.second.max_abs);
    }));
  }

  Status bisect(const std::vector<ir::NodeId>& order, const JobHooks& hooks, VerifyResult& result) {
    std::vector<size_t> cuts;  // numbers of nodes of B before a cut that A has as well
    for (size_t count = 1; count < order.size(); ++count) {
      if (frontier(order, count)) cuts.push_back(count);
    }
    size_t within = 0, beyond = order.size();  // nothing of B is within, all of B is over
    while (!cuts.empty()) {
      TANDEM_TRY(hooks.check());
      const auto middle = cuts.begin() + static_cast<std::ptrdiff_t>(cuts.size() / 2);
      const std::optional<bool> is_over = TANDEM_TRY(over_behind(*frontier(order, *middle)));
      if (!is_over) {
        cuts.erase(middle);
      } else if (*is_over) {
        beyond = *middle;
        cuts.erase(middle, cuts.end());
      } else {
        within = *middle;
        cuts.erase(cuts.begin(), middle + 1);
      }
    }
    if (within == 0 && beyond == order.size()) return {};
    result.over_from = b_.graph().node(order[beyond - 1]).name;
    if (within > 0) result.within_until = b_.graph().node(order[within - 1]).name;
    return {};
  }

  Status add_node(ir::NodeId id, VerifyResult& result) {
    const ir::Node& node = b_.graph().node(id);
    for (const ir::ValueId out : node.outputs) {
      if (out == ir::kNoValue) continue;
      const std::string& name = b_.graph().value(out).name;
      const auto found = sums_.find(name);
      if (found == sums_.end()) continue;
      const Sums& sums = found->second;
      ValueDifference difference;
      difference.value = name;
      difference.a_value = matching_.a_of.at(name);
      difference.node = node.name;
      difference.op = ir::describe(node.op);
      difference.max_abs = sums.max_abs;
      difference.mean_abs = sums.mean_abs();
      difference.cosine = sums.cosine();
      difference.sqnr_db = sums.sqnr_db();
      difference.over = over(options_, difference.sqnr_db, difference.max_abs);
      if ((difference.over && result.culprit.empty()) || options_.local) {
        const std::optional<Sums> alone = TANDEM_TRY(judge_alone(b_, id, name, matching_, a_values_)
                                                         .context(fmt::format("node '{}' alone", node.name)));
        if (alone) {
          difference.local_sqnr_db = alone->sqnr_db();
          difference.local_max_abs = alone->max_abs;
          const bool guilty = over(options_, *difference.local_sqnr_db, *difference.local_max_abs);
          if (guilty && result.culprit.empty()) result.culprit = node.name;
        }
      }
      if (difference.over && b_.graph().is_output(out)) result.passed = false;
      result.values.push_back(std::move(difference));
    }
    return {};
  }

  Side a_, b_;
  const VerifyOptions& options_;
  const Matching matching_;
  std::vector<Values> a_values_, b_values_;  // B's where there is a threshold
  std::map<std::string, Sums> sums_;
};

}  // namespace

Result<VerifyResult> verify(const VerifyOptions& options, const JobHooks& hooks) {
  if (options.inputs < 1) return usage_error("at least one input is needed to compare");
  Loaded a = TANDEM_TRY(load_side(options.a, options.a_engine, options, hooks));
  Loaded b = TANDEM_TRY(load_side(options.b, options.b_engine, options, hooks));
  TANDEM_TRY(check_inputs(a.graph, b.graph));
  const std::vector<std::vector<Tensor>> inputs = TANDEM_TRY(make_inputs(a, options, hooks));
  Side a_side = TANDEM_TRY(Side::create(std::move(a.graph), options.a_engine).context(options.a));
  Side b_side = TANDEM_TRY(Side::create(std::move(b.graph), options.b_engine).context(options.b));
  Comparison comparison(std::move(a_side), std::move(b_side), options);
  Progress bar = hooks.start("run both", inputs.size(), "inputs");
  for (const std::vector<Tensor>& one : inputs) {
    TANDEM_TRY(hooks.check());
    TANDEM_TRY(comparison.feed(one, hooks));
    bar.advance();
  }
  bar.finish();
  return comparison.finish(hooks);
}

Json to_json(const VerifyResult& result) {
  Json values = Json::array();
  for (const ValueDifference& d : result.values) {
    Json one = Json::object({{"value", d.value},
                             {"a_value", d.a_value},
                             {"node", d.node},
                             {"op", d.op},
                             {"max_abs", d.max_abs},
                             {"mean_abs", d.mean_abs},
                             {"cosine", d.cosine},
                             {"sqnr_db", d.sqnr_db},
                             {"over", d.over}});
    if (d.local_sqnr_db) one.set("local_sqnr_db", *d.local_sqnr_db);
    if (d.local_max_abs) one.set("local_max_abs", *d.local_max_abs);
    values.push(std::move(one));
  }
  return Json::object({{"passed", result.passed},
                       {"culprit", result.culprit},
                       {"inputs", result.inputs},
                       {"over_from", result.over_from},
                       {"within_until", result.within_until},
                       {"only_a", Json(result.only_a)},
                       {"only_b", Json(result.only_b)},
                       {"values", values}});
}

}  // namespace tandem::jobs
