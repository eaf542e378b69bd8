// SPDX-License-Identifier: Apache-2.0
// Goal: adapt() from files to files: it learns, writes what it promises, continues after any interruption to
// the same bits, and refuses bad input with the right code and nothing half-written. Method: a small network
// with random weights and pictures of three textures, made in a temporary folder; cancelling and killing at
// many points; broken inputs planted one at a time.
#include "tandem/jobs/adapt.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>

#include "tandem/base/file.hpp"
#include "tandem/exec/runner.hpp"
#include "tandem/jobs/extract_features.hpp"
#include "tandem/jobs/frozen_backbone.hpp"
#include "tandem/jobs/model_source.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/plan/plan.hpp"
#include "tandem/testing/graph_builder.hpp"
#include "tandem/train/head.hpp"

namespace tandem::jobs {
namespace {

namespace fs = std::filesystem;
using testing::GraphBuilder;

constexpr int64_t kSide = 16;

ir::ValueId conv(GraphBuilder& b, Rng& rng, ir::ValueId x, int64_t in, int64_t out, const std::string& name) {
  ir::Conv op;
  op.window.kernel = {3, 3};
  op.window.strides = {2, 2};
  op.window.pads = {1, 1, 1, 1};
  const double bound = std::sqrt(6.0 / static_cast<double>(9 * in));
  const auto w =
      b.constant(testing::random_tensor(rng, DType::kF32, {out, in, 3, 3}, -bound, bound), name + ".w");
  const auto bias = b.constant(testing::random_tensor(rng, DType::kF32, {out}, -0.1, 0.1), name + ".b");
  return b.add(ir::Unary{ir::UnaryKind::kRelu}, {b.add(op, {x, w, bias}, name)}, name + ".relu");
}

// A network for 3-channel pictures with 3 classes whose names are those of the data.
// `classifier`: in place of random numbers.
void save_model(const std::string& path, bool with_preprocess = true,
                const train::Head* classifier = nullptr) {
  GraphBuilder b;
  Rng rng(11);
  ir::ValueId at = b.input("image", {kDynamic, 3, kSide, kSide});
  at = conv(b, rng, at, 3, 12, "conv1");
  at = conv(b, rng, at, 12, 24, "conv2");
  at = b.add(ir::Flatten{}, {b.add(ir::GlobalPool{}, {at}, "pool")}, "flat");
  ir::Gemm gemm;
  gemm.trans_b = true;
  Tensor weights = testing::random_tensor(rng, DType::kF32, {3, 24}), bias(DType::kF32, {3});
  if (classifier != nullptr) {
    weights = Tensor::of<float>({3, 24}, classifier->layers[0].weights);
    bias = Tensor::of<float>({3}, classifier->layers[0].bias);
  }
  const auto w = b.constant(std::move(weights), "fc.w");
  b.output(b.add(gemm, {at, w, b.constant(std::move(bias), "fc.b")}, "fc"));
  ir::Graph graph = b.finish();
  graph.name = "tiny";
  if (with_preprocess) {
    data::Preprocess p;
    p.height = p.width = kSide;
    p.rule = data::ResizeRule::kExact;
    p.crop = data::Crop::kNone;
    p.mean = {127, 127, 127};
    p.std = {64, 64, 64};
    graph.metadata[data::kPreprocessKey] = data::to_json(p).dump();
    graph.metadata[train::kLabelsKey] = train::labels_to_metadata({"checks", "rows", "spots"});
  }
  const Status saved = onnx_io::save(graph, path);
  ASSERT_TRUE(saved.ok()) << saved.error().message();
}

// A picture of a texture in random colours with noise: 0 checks, 1 rows, 2 columns ("spots").
void save_picture(const std::string& path, int texture, uint64_t seed) {
  Rng rng(seed);
  std::string out = fmt::format("P6\n{0} {0}\n255\n", kSide);
  const int light = 150 + static_cast<int>(rng.below(80)), dark = static_cast<int>(rng.below(80));
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const bool on = texture == 0   ? (x / 2 + y / 2) % 2 == 0
                      : texture == 1 ? y / 2 % 2 == 0
                                     : x / 2 % 2 == 0;
      for (int c = 0; c < 3; ++c) {
        const int level = (on ? light : dark) + static_cast<int>(rng.below(20));
        out += static_cast<char>(texture == 2 && c == 0 ? 255 - level : level);
      }
    }
  }
  ASSERT_TRUE(write_file(path, out).ok());
}

const char* const kNames[] = {"checks", "rows", "spots"};

class AdaptTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "adapt_test_" + std::to_string(::getpid());
    fs::remove_all(root_);
    for (int c = 0; c < 3; ++c) {
      for (int i = 0; i < 24; ++i) {
        const std::string folder = root_ + "/data/" + (i < 16 ? "train/" : "val/") + kNames[c];
        fs::create_directories(folder);
        save_picture(fmt::format("{}/{:02}.ppm", folder, i), c, static_cast<uint64_t>(100 * c + i));
      }
    }
    save_model(root_ + "/model.onnx");
  }
  void TearDown() override { fs::remove_all(root_); }

  AdaptOptions options(const std::string& run = "run") const {
    AdaptOptions o;
    o.model = root_ + "/model.onnx";
    o.data = root_ + "/data";
    o.output = root_ + "/" + run;
    o.train.epochs = 4;
    o.train.batch = 8;
    o.train.rate = 0.05;
    o.calib_images = 20;
    o.threads = 2;
    return o;
  }
  std::string head_bytes(const std::string& run) const {
    const auto bytes = read_file(root_ + "/" + run + "/head.safetensors");
    return bytes.ok() ? *bytes : std::string();
  }
  // The names at the top of a run directory.
  std::vector<std::string> files_of(const std::string& run) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(root_ + "/" + run))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string root_;
};

// Calls `strike` at the n-th sign of life of a job.
JobHooks striking(std::atomic<int>& left, std::function<void()> strike) {
  JobHooks hooks;
  hooks.progress = [&left, strike = std::move(strike)](std::string_view label, uint64_t total,
                                                       std::string_view unit) {
    ProgressOptions progress;
    progress.label = std::string(label);
    progress.total = total;
    progress.unit = std::string(unit);
    progress.mode = ProgressMode::kPlain;
    progress.write = [](std::string_view) {};
    progress.now_ns = [&left, strike] {
      if (left.fetch_sub(1) == 0) strike();
      return int64_t{0};
    };
    return Progress(std::move(progress));
  };
  return hooks;
}

TEST_F(AdaptTest, LearnsAndWritesAllThatItPromises) {
  std::vector<std::string> said;
  JobHooks hooks;
  hooks.note = [&](const std::string& sentence) { said.push_back(sentence); };
  const auto result = adapt(options(), hooks);
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_GT(result->int8.value, 0.9);
  ASSERT_TRUE(result->fp32.has_value());
  EXPECT_GT(result->fp32->value, 0.9);
  EXPECT_EQ(result->difference->n, 24);
  EXPECT_EQ(files_of("run"),
            (std::vector<std::string>{"adapted.onnx", "head.safetensors", "metrics.jsonl", "plan.json",
                                      "report.html", "summary.json", "trace.json", "work"}));
  const auto text = read_file(root_ + "/run/summary.json");
  ASSERT_TRUE(text.ok());
  const auto summary = Json::parse(*text);
  ASSERT_TRUE(summary.ok());
  for (const char* key : {"accuracy_int8", "accuracy_fp32", "train_count", "validation_count",
                          "images_skipped", "seconds_total", "model", "device", "isa", "seed"}) {
    EXPECT_TRUE(summary->has(key)) << key;
  }
  EXPECT_EQ((*summary)["train_count"].as_int(), 48);
  EXPECT_EQ((*summary)["validation_count"].as_int(), 24);
  const auto metrics = read_file(root_ + "/run/metrics.jsonl");
  ASSERT_TRUE(metrics.ok());
  EXPECT_EQ(std::count(metrics->begin(), metrics->end(), '\n'), 12);  // 4 epochs, two backbones and a trial
  const auto trace = read_file(root_ + "/run/trace.json");
  ASSERT_TRUE(trace.ok());
  EXPECT_TRUE(Json::parse(*trace).ok());
  EXPECT_NE(trace->find("\"backbone\""), std::string::npos);
}

TEST_F(AdaptTest, AutoTakesTheSmallestHeadThatIsNotClearlyWorse) {
  AdaptOptions o = options("random");
  o.train.epochs = 10;
  o.train.holdout = 0.25;
  const auto learned = adapt(o);
  ASSERT_TRUE(learned.ok()) << learned.error().message();
  EXPECT_EQ(learned->head, "linear");  // the model's own classifier is random
  const Json& tried = learned->summary["heads_tried"];
  ASSERT_EQ(tried.size(), 3u);
  EXPECT_EQ(tried.items()[0]["head"].as_string(), "keep");
  EXPECT_EQ(tried.items()[1]["parameters"].as_int(), 3 * 25);
  EXPECT_EQ(tried.items()[2]["head"].as_string(), "mlp");
  EXPECT_NE(learned->head_why.find("held-out"), std::string::npos);
  // A classifier that is as good already stays.
  const auto head = train::load_head(root_ + "/random/head.safetensors");
  ASSERT_TRUE(head.ok());
  save_model(root_ + "/model.onnx", true, &*head);
  o.output = root_ + "/good";
  const auto kept = adapt(o);
  ASSERT_TRUE(kept.ok()) << kept.error().message();
  EXPECT_EQ(kept->head, "keep");
  EXPECT_EQ(kept->summary["head"].as_string(), "keep");
  EXPECT_GT(kept->int8.value, 0.9);
  const auto written = train::load_head(root_ + "/good/head.safetensors");
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(written->layers, head->layers);
  // Nothing to decide by: linear.
  o.output = root_ + "/few";
  o.train_limit = 9;
  o.train.batch = 4;
  const auto few = adapt(o);
  ASSERT_TRUE(few.ok()) << few.error().message();
  EXPECT_EQ(few->head, "linear");
  EXPECT_FALSE(few->summary.has("heads_tried"));
}

TEST_F(AdaptTest, TheAdaptedFileAnswersAsTheRunMeasured) {
  const auto result = adapt(options());
  ASSERT_TRUE(result.ok()) << result.error().message();
  const auto model = load_image_model(root_ + "/run/adapted.onnx");
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_EQ(train::labels_of(model->graph), (std::vector<std::string>{"checks", "rows", "spots"}));
  auto datasets = data::open_datasets(root_ + "/data");
  ASSERT_TRUE(datasets.ok());
  const auto graph = runnable_features(model->graph, Scheme::kAffine);
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  auto scores = train::FeatureCache::open(root_ + "/scores.bin", "k", 24, 3);
  ASSERT_TRUE(scores.ok());
  ASSERT_TRUE(extract_features(*graph, datasets->val, model->preprocess, {}, {}, *scores).ok());
  int64_t right = 0;
  for (int64_t r = 0; r < 24; ++r) {
    const auto row = scores->row(r);
    right += std::max_element(row.begin(), row.end()) - row.begin() ==
             datasets->val.samples[static_cast<size_t>(r)].label;
  }
  EXPECT_EQ(right, result->int8.correct);
  const auto text = read_file(root_ + "/run/plan.json");
  ASSERT_TRUE(text.ok());
  const auto plan = plan::from_json(*Json::parse(*text));
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  ASSERT_EQ(plan->parts.size(), 2u);
  EXPECT_TRUE(plan::verify(*plan).ok());
  EXPECT_EQ(plan->parts[0].device, "int8");
  EXPECT_EQ(plan->parts[1].device, "host");
  EXPECT_TRUE(plan->parts[0].outputs[0].quant.has_value());  // the contract of the cut keeps its scale
  EXPECT_GE(plan->parts[0].nodes.size(), 3u);
}

TEST_F(AdaptTest, CancelledAnywhereItResumesToTheSameBits) {
  ASSERT_TRUE(adapt(options("whole")).ok());
  const std::string whole = head_bytes("whole");
  ASSERT_FALSE(whole.empty());
  int interrupted = 0;
  for (const int strikes : {0, 3, 9, 18, 30, 45, 60}) {
    CancelToken cancel;
    std::atomic<int> left = strikes;
    JobHooks hooks = striking(left, [&] { cancel.request(SIGINT); });
    hooks.cancel = &cancel;
    AdaptOptions o = options("cancelled");
    const auto broken = adapt(o, hooks);
    if (!broken.ok()) {
      ++interrupted;
      EXPECT_EQ(broken.error().code(), ErrorCode::kInterrupted) << broken.error().message();
      EXPECT_FALSE(fs::exists(o.output + "/summary.json"));
      EXPECT_FALSE(fs::exists(o.output + "/head.safetensors"));
    }
    o.resume = true;
    o.threads = 1;  // changes nothing
    const auto resumed = adapt(o);
    ASSERT_TRUE(resumed.ok()) << resumed.error().message();
    EXPECT_EQ(head_bytes("cancelled"), whole) << "struck at " << strikes;
    fs::remove_all(o.output);
  }
  EXPECT_GE(interrupted, 4);
}

TEST_F(AdaptTest, KilledAnywhereItResumesToTheSameBits) {
  ASSERT_TRUE(adapt(options("whole")).ok());
  const std::string whole = head_bytes("whole");
  int killed = 0;
  for (const int strikes : {2, 12, 25, 40}) {
    AdaptOptions o = options("killed");
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::atomic<int> left = strikes;
      static_cast<void>(adapt(o, striking(left, [] { ::raise(SIGKILL); })));
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 1 : 0;
    o.resume = true;
    const auto resumed = adapt(o);
    ASSERT_TRUE(resumed.ok()) << resumed.error().message();
    EXPECT_EQ(head_bytes("killed"), whole) << "killed at " << strikes;
    fs::remove_all(o.output);
  }
  EXPECT_GE(killed, 2);
}

TEST_F(AdaptTest, AFullDiskIsSaidAndLeavesNoResult) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};  // of a file: the feature cache is larger
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto result = adapt(options("full"));
    ::_exit(result.ok() ? 0 : static_cast<int>(result.error().code()));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ErrorCode::kIo));
  for (const char* name : {"adapted.onnx", "head.safetensors", "plan.json", "summary.json", "report.html"}) {
    EXPECT_FALSE(fs::exists(root_ + "/full/" + name)) << name;
  }
}

TEST_F(AdaptTest, BadInputGivesItsCodeAndNoRunDirectory) {
  const auto code = [&](auto&& change) {
    AdaptOptions o = options("refused");
    change(o);
    const auto result = adapt(o);
    EXPECT_FALSE(fs::exists(root_ + "/refused"));
    if (!result.ok()) {
      EXPECT_FALSE(result.error().message().empty());
      return static_cast<int>(result.error().code());
    }
    return 0;
  };
  EXPECT_EQ(code([](AdaptOptions& o) { o.model += "x"; }), 7);
  EXPECT_EQ(code([](AdaptOptions& o) { o.data += "x"; }), 7);
  EXPECT_EQ(code([](AdaptOptions& o) { o.train.batch = 1000; }), 2);
  EXPECT_EQ(code([](AdaptOptions& o) { o.train.epochs = 0; }), 2);
  EXPECT_EQ(code([](AdaptOptions& o) { o.device = "fpga"; }), 2);
  EXPECT_EQ(code([](AdaptOptions& o) { o.features = "nowhere"; }), 2);
  EXPECT_EQ(code([&](AdaptOptions& o) { o.output = root_ + "/model.onnx/refused"; }), 7);
  EXPECT_EQ(code([](AdaptOptions& o) { o.preprocess.size = 20; }), 3);  // the model takes 16
  EXPECT_EQ(code([&](AdaptOptions& o) {
              save_model(root_ + "/bare.onnx", false);
              o.model = root_ + "/bare.onnx";
            }),
            2);
  EXPECT_EQ(code([&](AdaptOptions& o) {
              fs::create_directories(root_ + "/empty/a");
              fs::create_directories(root_ + "/empty/b");
              o.data = root_ + "/empty";
            }),
            3);
  EXPECT_EQ(code([&](AdaptOptions& o) {  // one class only
              fs::create_directories(root_ + "/one/a");
              save_picture(root_ + "/one/a/0.ppm", 0, 1);
              o.data = root_ + "/one";
            }),
            3);
}

TEST_F(AdaptTest, BrokenImagesAreSkippedCountedAndListed) {
  ASSERT_TRUE(write_file(root_ + "/data/train/rows/00a.png", "no picture").ok());
  ASSERT_TRUE(write_file(root_ + "/data/val/spots/zz.jpg", "neither").ok());
  const auto result = adapt(options());
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_EQ(result->images_skipped, 2);
  EXPECT_EQ(result->train_count, 48);
  EXPECT_EQ(result->validation_count, 24);
  const Json& skipped = result->summary["skipped"];
  ASSERT_EQ(skipped.size(), 2u);
  EXPECT_NE(skipped.items()[0]["path"].as_string().find("00a.png"), std::string::npos);
  EXPECT_FALSE(skipped.items()[0]["reason"].as_string().empty());
  AdaptOptions strict = options("strict");
  strict.strict = true;
  const auto refused = adapt(strict);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("00a.png"), std::string::npos) << refused.error().message();
  EXPECT_FALSE(fs::exists(root_ + "/strict/adapted.onnx"));
}

TEST_F(AdaptTest, ASecondRunReusesTheFeaturesAndOtherDataDoesNot) {
  AdaptOptions o = options();
  ASSERT_TRUE(adapt(o).ok());
  const auto stamp = [&] { return fs::last_write_time(fs::path(o.output) / "work" / "backbone-int8.onnx"); };
  const auto first = stamp();
  o.train.epochs = 2;
  ASSERT_TRUE(adapt(o).ok());
  EXPECT_EQ(stamp(), first);
  save_picture(root_ + "/data/train/rows/99.ppm", 1, 999);
  const auto more = adapt(o);
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->train_count, 49);
  EXPECT_NE(stamp(), first);
}

TEST_F(AdaptTest, ResumingWithOtherClassesOrOptionsIsRefusedShowingBoth) {
  AdaptOptions o = options();
  ASSERT_TRUE(adapt(o).ok());
  o.resume = true;
  o.train.rate = 0.01;
  auto refused = adapt(o);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUsage);
  EXPECT_NE(refused.error().message().find("lr: then 0.05, now 0.01"), std::string::npos)
      << refused.error().message();
  EXPECT_TRUE(fs::exists(o.output + "/head.safetensors"));  // what is there stays
  o.train.rate = 0.05;
  for (const char* part : {"/data/train/", "/data/val/"}) {
    fs::create_directories(root_ + part + "waves");
    save_picture(root_ + part + "waves/0.ppm", 1, 5);
  }
  refused = adapt(o);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("waves"), std::string::npos) << refused.error().message();
}

TEST_F(AdaptTest, KeptHeadIsMeasuredAndMustKnowTheClasses) {
  AdaptOptions o = options();
  o.head = HeadChoice::kKeep;
  const auto result = adapt(o);
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_EQ(result->int8.count, 24);
  EXPECT_FALSE(fs::exists(o.output + "/head.safetensors"));
  EXPECT_EQ(result->summary["head"].as_string(), "keep");
  for (const char* part : {"/data/train/", "/data/val/"})
    fs::rename(root_ + part + "spots", root_ + part + "aspots");
  EXPECT_EQ(adapt(o).error().code(), ErrorCode::kBadInput);  // the same number in another order
}

TEST_F(AdaptTest, HiddenLayerAndAugmentationTrainToo) {
  AdaptOptions o = options();
  o.head = HeadChoice::kMlp;
  o.hidden = 16;
  o.augment.flip = true;
  o.compare_fp32 = false;
  const auto result = adapt(o);
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_GT(result->int8.value, 0.8);
  EXPECT_FALSE(result->fp32.has_value());
  EXPECT_EQ(result->summary["head"].as_string(), "mlp");
  EXPECT_TRUE(result->summary["accuracy_fp32"].is_null());
  const std::string whole = head_bytes("run");
  CancelToken cancel;
  std::atomic<int> left = 60;
  JobHooks hooks = striking(left, [&] { cancel.request(SIGTERM); });
  hooks.cancel = &cancel;
  o.output += "2";
  static_cast<void>(adapt(o, hooks));
  o.resume = true;
  ASSERT_TRUE(adapt(o).ok());
  EXPECT_EQ(head_bytes("run2"), whole);
}

TEST_F(AdaptTest, ExtendedItKnowsOldAndNewClasses) {
  for (const char* part : {"/data/train/", "/data/val/"}) {
    fs::create_directories(root_ + "/more/" + fs::path(part).parent_path().filename().string());
    fs::rename(root_ + part + "spots",
               root_ + "/more/" + fs::path(part).parent_path().filename().string() + "/spots");
    const std::string rows = root_ + "/more/" + fs::path(part).parent_path().filename().string() + "/rows";
    fs::create_directories(rows);
    save_picture(rows + "/new.ppm", 1, 77);
  }
  AdaptOptions o = options("first");
  ASSERT_TRUE(adapt(o).ok());
  AdaptOptions more = options("second");
  more.extend = root_ + "/first/adapted.onnx";
  more.data = root_ + "/more";
  const auto result = adapt(more);
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_EQ(result->class_names, (std::vector<std::string>{"checks", "rows", "spots"}));
  EXPECT_EQ(result->train_count, 32 + 17);
  EXPECT_EQ(result->validation_count, 16 + 9);
  EXPECT_GT(result->summary["accuracy_old_classes"].as_number(), 0.8);
  EXPECT_GT(result->summary["accuracy_new_classes"].as_number(), 0.8);
  ASSERT_TRUE(result->fp32 && result->int8_by_age && result->fp32_by_age);
  EXPECT_EQ(result->int8_by_age->old_classes.count, 16 + 1);
  EXPECT_EQ(result->fp32_by_age->new_classes.count, 8);
  EXPECT_GT(result->fp32_by_age->old_classes.value, 0.8);
  EXPECT_GT(result->fp32_by_age->new_classes.value, 0.8);
  AdaptOptions again = more;  // from an extended run, and from one without FP32
  again.extend = root_ + "/second";
  again.output = root_ + "/again";
  const auto twice = adapt(again);
  ASSERT_TRUE(twice.ok()) << twice.error().message();
  EXPECT_EQ(twice->train_count, 32 + 17 + 17);
  EXPECT_TRUE(twice->fp32.has_value());
  o.compare_fp32 = false;
  o.output = root_ + "/plain";
  ASSERT_TRUE(adapt(o).ok());
  again.extend = root_ + "/plain";
  again.output = root_ + "/plain2";
  const auto plain = adapt(again);
  ASSERT_TRUE(plain.ok()) << plain.error().message();
  EXPECT_FALSE(plain->fp32.has_value());
  more.extend = root_ + "/data";
  more.output = root_ + "/third";
  EXPECT_EQ(adapt(more).error().code(), ErrorCode::kBadInput);
}

}  // namespace
}  // namespace tandem::jobs
